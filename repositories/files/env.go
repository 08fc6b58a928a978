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
	masked []marked
}

type marked struct {
	text string
	at   position
}

// mask replaces every placeholder by characters of the same length without meaning in YAML.
func (e *environment) mask(source string) string {
	at := newCursor(e.file)
	var out strings.Builder
	last := 0
	for _, found := range placeholder.FindAllStringIndex(source, -1) {
		if len(e.masked) == markBase*markBase {
			break
		}
		whole := source[found[0]:found[1]]
		out.WriteString(source[last:found[0]])
		n := len(e.masked)
		out.WriteRune(markFirst)
		out.WriteRune(markDigit + rune(n/markBase))
		out.WriteRune(markDigit + rune(n%markBase))
		for range len([]rune(whole)) - 3 {
			out.WriteRune(markPad)
		}
		e.masked = append(e.masked, marked{whole, at.to(source, found[0])})
		last = found[1]
	}
	out.WriteString(source[last:])
	return out.String()
}

func (e *environment) split(masked string) (texts []string, marks []marked) {
	if !strings.ContainsRune(masked, markFirst) {
		return []string{masked}, nil
	}
	rest := []rune(masked)
	from := 0
	for i := 0; i < len(rest); i++ {
		if rest[i] != markFirst || i+2 >= len(rest) {
			continue
		}
		texts = append(texts, string(rest[from:i]))
		marks = append(marks, e.masked[int(rest[i+1]-markDigit)*markBase+int(rest[i+2]-markDigit)])
		i += 2
		for i+1 < len(rest) && rest[i+1] == markPad {
			i++
		}
		from = i + 1
	}
	return append(texts, string(rest[from:])), marks
}

// fillMasked replaces the placeholders of a masked value; whole is true if the value is one placeholder.
func (e *environment) fillMasked(masked string, faults *Faults) (filled string, whole bool) {
	texts, marks := e.split(masked)
	var out strings.Builder
	for i, mark := range marks {
		out.WriteString(texts[i] + e.value(mark, faults))
	}
	out.WriteString(texts[len(marks)])
	return out.String(), len(marks) == 1 && texts[0] == "" && texts[1] == ""
}

func (e *environment) value(mark marked, faults *Faults) string {
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
