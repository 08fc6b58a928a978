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

// statement is one statement that is ready to run.
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
		return s, dead(effect.ReasonRequest, "the statement of the tool has a zero byte, at which a database stops reading")
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
		s.text, err = parsed.Fill(given, pastes{})
	}
	if err != nil {
		return s, dead(effect.ReasonRequest, "the statement of the tool: %s", clip(err.Error()))
	}
	return s, nil
}

// pastes is the place of template parameters: they are written as they are, since
// their own rules have let them through and escaped them.
type pastes struct{}

// Literal returns the text as it is.
func (pastes) Literal(s string) string { return s }

// Paste writes a scalar.
func (pastes) Paste(value any) (string, error) {
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

// oneStatement reports whether a text of SQLite holds no second statement. The driver
// would run that as well, and a pasted value could bring one along. What cannot be
// told apart counts as two.
func oneStatement(sql string) bool {
	for i := 0; i < len(sql); {
		if sql[i] == ';' {
			return blank(sql[i+1:])
		}
		end := tokenEnd(sql, i)
		if end < 0 {
			return true // it does not end, and SQLite will say so
		}
		i = end
	}
	return true
}

// blank reports whether a text has nothing but spaces, comments and semicolons.
func blank(sql string) bool {
	for i := 0; i < len(sql); {
		comment := strings.HasPrefix(sql[i:], "--") || strings.HasPrefix(sql[i:], "/*")
		if !comment && !strings.ContainsRune(" \t\r\n\f;", rune(sql[i])) {
			return false
		}
		end := tokenEnd(sql, i)
		if end < 0 {
			return true
		}
		i = end
	}
	return true
}

// tokenEnd returns where the quoted text or the comment at i ends, i+1 where there is
// neither, and -1 where it does not end.
func tokenEnd(sql string, i int) int {
	switch rest := sql[i:]; {
	case rest[0] == '\'' || rest[0] == '"' || rest[0] == '`':
		// A doubled quote inside ends one text and begins another, which is as good.
		return after(sql, i+1, rest[:1])
	case rest[0] == '[':
		return after(sql, i+1, "]")
	case strings.HasPrefix(rest, "--"):
		return after(sql, i+2, "\n")
	case strings.HasPrefix(rest, "/*"):
		return after(sql, i+2, "*/")
	default:
		return i + 1
	}
}

func after(sql string, from int, closing string) int {
	found := strings.Index(sql[from:], closing)
	if found < 0 {
		return -1
	}
	return from + found + len(closing)
}
