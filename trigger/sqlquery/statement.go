package sqlquery

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"earshot/repositories"
	"earshot/repositories/parameters"
	"earshot/repositories/template"
	"earshot/trigger/effect"
)

// statement is a SQL statement that is ready to run, with its bound values.
type statement struct {
	text string
	// names and values of what is bound, in the order of the tool's parameters; nil
	// where there is no value.
	names  []string
	values []any
	// pasted are the values that stand in the text itself.
	pasted []any
}

// prepare pastes the template parameters and lists the others.
func prepare(tool *repositories.Tool, values map[string]any) (statement, error) {
	s := statement{text: tool.Statement, names: tool.BoundNames()}
	for _, name := range s.names {
		s.values = append(s.values, values[name])
	}
	if strings.ContainsRune(s.text, 0) {
		return s, effect.Permanent(effect.ReasonRequest, "the statement of the tool has a zero byte, at which a database stops reading")
	}
	pasted := repositories.ParameterNames(tool.TemplateParameters)
	if len(pasted) == 0 {
		return s, nil // braces in it are its own
	}
	given := make(map[string]any, len(pasted))
	for _, name := range pasted {
		given[name] = values[name]
		s.pasted = append(s.pasted, values[name])
	}
	parsed, err := template.Parse(tool.Statement, template.Array)
	if err == nil {
		s.text, err = parsed.Fill(given, verbatim{})
	}
	if err != nil {
		return s, effect.Permanent(effect.ReasonRequest, "the statement of the tool: %s", effect.Clip(err.Error()))
	}
	return s, nil
}

// verbatim is the template.Escaper of template parameters: they are written as they are,
// since their own rules have let them through and escaped them.
type verbatim struct{}

// Literal returns the text as it is.
func (verbatim) Literal(s string) string { return s }

// Paste writes a scalar.
func (verbatim) Paste(value any) (string, error) {
	switch value := value.(type) {
	case nil:
		return "", errors.New("there is no value to paste")
	case string:
		if found, has := parameters.ControlCharacter(value); has {
			return "", fmt.Errorf("a value with the control character U+%04X is not pasted", found)
		}
		return value, nil
	case json.Number:
		return value.String(), nil
	case bool:
		if value {
			return "true", nil
		}
		return "false", nil
	default:
		return "", errors.New("lists are pasted by the function array, and maps not at all")
	}
}
