package files

import (
	"regexp"
	"strings"
)

// placeholder is ${NAME} or ${NAME:default}. A default ends at the first brace, on the same line.
var placeholder = regexp.MustCompile(`\$\{(\w+)(:[^}\n]*)?\}`)

// Characters for placeholders while YAML is parsed: a first one, two for the number, and padding that preserves
// columns. They are from a plane for private use.
const (
	markFirst = '\U000F0000'
	markPad   = '\U000F0001'
	markDigit = '\U000F0100'
	markBase  = 0x8000
	markLast  = '\U000FFFFF'
)

// environment resolves placeholders of variables. They are masked before parsing and filled in afterwards, in
// values only, so that no variable changes the structure.
type environment struct {
	file string
	// lookup is nil if placeholders stay unchanged.
	lookup func(string) (string, bool)
	masked []maskedVariable
}

type maskedVariable struct {
	text string
	at   position
}

// mask replaces every placeholder by characters of the same length without meaning in YAML.
func (e *environment) mask(source string) string {
	at := newCursor(e.file)
	var out strings.Builder
	end := 0
	for _, found := range placeholder.FindAllStringIndex(source, -1) {
		if len(e.masked) == markBase*markBase {
			break
		}
		variable := source[found[0]:found[1]]
		out.WriteString(source[end:found[0]])
		n := len(e.masked)
		out.WriteRune(markFirst)
		out.WriteRune(markDigit + rune(n/markBase))
		out.WriteRune(markDigit + rune(n%markBase))
		for range len([]rune(variable)) - 3 {
			out.WriteRune(markPad)
		}
		e.masked = append(e.masked, maskedVariable{variable, at.advance(source, found[0])})
		end = found[1]
	}
	out.WriteString(source[end:])
	return out.String()
}

func (e *environment) split(masked string) (texts []string, marks []maskedVariable) {
	if !strings.ContainsRune(masked, markFirst) {
		return []string{masked}, nil
	}
	runes := []rune(masked)
	start := 0
	for i := 0; i < len(runes); i++ {
		if runes[i] != markFirst || i+2 >= len(runes) {
			continue
		}
		texts = append(texts, string(runes[start:i]))
		marks = append(marks, e.masked[int(runes[i+1]-markDigit)*markBase+int(runes[i+2]-markDigit)])
		i += 2
		for i+1 < len(runes) && runes[i+1] == markPad {
			i++
		}
		start = i + 1
	}
	return append(texts, string(runes[start:])), marks
}

// fillMasked replaces the placeholders of a masked value; whole is true if the value is one placeholder.
func (e *environment) fillMasked(masked string, faults *Faults) (filled string, isPlaceholder bool) {
	texts, marks := e.split(masked)
	var out strings.Builder
	for i, mark := range marks {
		out.WriteString(texts[i] + e.value(mark, faults))
	}
	out.WriteString(texts[len(marks)])
	return out.String(), len(marks) == 1 && texts[0] == "" && texts[1] == ""
}

func (e *environment) value(mark maskedVariable, faults *Faults) string {
	if e.lookup == nil {
		return mark.text
	}
	parts := placeholder.FindStringSubmatch(mark.text)
	if value, set := e.lookup(parts[1]); set {
		return value
	}
	if parts[2] != "" {
		return parts[2][1:]
	}
	faults.addUnset(mark.at, parts[1])
	return ""
}
