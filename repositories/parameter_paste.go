package repositories

import (
	"fmt"
	"strings"
	"unicode"

	"earshot/repositories/fault"
)

// ControlCharacter returns the first control character of a text. None may be pasted
// into a statement: a zero byte ends the text where the database reads it, and with it
// all that the statement says after the value.
func ControlCharacter(text string) (found rune, has bool) {
	at := strings.IndexFunc(text, unicode.IsControl)
	if at < 0 {
		return 0, false
	}
	return []rune(text[at:])[0], true
}

// pasteFlaws names the control characters in a value that is pasted, in its members and
// their names, whatever the rules of the parameter would let through.
func (p *parameter) pasteFlaws(value any, at string) []flaw {
	if !p.pasted {
		return nil
	}
	return controlFlaws(value, at)
}

func controlFlaws(value any, at string) []flaw {
	var flaws []flaw
	switch value := value.(type) {
	case string:
		if found, has := ControlCharacter(value); has {
			return []flaw{{at, fmt.Sprintf("%s has the control character U+%04X, which is never pasted into a statement", fault.Show(value), found)}}
		}
	case []any:
		for i := range value {
			flaws = append(flaws, controlFlaws(value[i], index(at, i))...)
		}
	case map[string]any:
		for _, key := range sortedKeys(value) {
			flaws = append(flaws, controlFlaws(key, at)...)
			flaws = append(flaws, controlFlaws(value[key], member(at, key))...)
		}
	}
	return flaws
}
