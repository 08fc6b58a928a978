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
	// if there is no value.
	names  []string
	values []any
	// pasted are the values that stand in the text itself.
	pasted []any
	// readOnly says why it must not change anything; empty where it may.
	readOnly string
	// json names the columns whose texts are JSON.
	json []string
}

// prepare pastes the template parameters and lists the others.
func prepare(app *repositories.App, tool *repositories.Tool, values map[string]any) (statement, error) {
	s, err := filled(tool, values)
	if app.ReadOnly(tool) {
		s.readOnly = whyReadOnly(app, tool)
	}
	return s, err
}

// whyReadOnly says by what a tool runs queries alone.
func whyReadOnly(app *repositories.App, tool *repositories.Tool) string {
	source, _ := app.Source(tool.Source)
	switch {
	case source.ReadOnly != nil && *source.ReadOnly:
		return fmt.Sprintf("the source %q is read-only", source.Name)
	case tool.ReadOnly != nil || tool.ListsTables():
		return fmt.Sprintf("the tool %q is read-only", tool.Name)
	default:
		return fmt.Sprintf("the tool %q runs queries alone, as neither it nor its source says readOnly: false", tool.Name)
	}
}

// filled is the statement of a tool with its values.
func filled(tool *repositories.Tool, values map[string]any) (statement, error) {
	switch {
	case tool.Executes():
		return executed(values)
	case tool.ListsTables():
		return listing(tool, values), nil
	default:
		return pastedInto(tool, values)
	}
}

// executed is the statement that is a value itself.
func executed(values map[string]any) (statement, error) {
	given, _ := values[repositories.SQLParameter].(string)
	if strings.ContainsRune(given, 0) {
		return statement{}, effect.Permanent(effect.ReasonRequest, "the statement has a zero byte, at which a database stops reading")
	}
	return statement{text: given}, nil
}

// pastedInto is the statement of a tool of its own.
func pastedInto(tool *repositories.Tool, values map[string]any) (statement, error) {
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

// refused is the failure of a statement that must run queries alone and is none. nonQuery
// finds the words by which it is none, queries names what would be. Pasted values stay out
// of it.
func refused(s statement, nonQuery func(sql string) string, queries string) error {
	if s.readOnly == "" {
		return nil
	}
	words := nonQuery(s.text)
	if words == "" {
		return nil
	}
	what := effect.Clip(words) + " is"
	if len(s.pasted) > 0 {
		what = "what it says is"
	}
	return effect.Permanent(effect.ReasonRequest, "%s, and %s no query: it runs %s", s.readOnly, what, queries)
}
