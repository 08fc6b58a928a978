package matcher

import (
	"regexp"
	"strings"
)

// form is a way of writing that tells what a value is.
type form struct {
	names   map[string]bool // stems of parameter names that ask for it
	pattern *regexp.Regexp
}

var forms = []form{
	{stems("email mail"), regexp.MustCompile(`[\pL\pN._%+-]+@[\pL\pN-]+(?:\.[\pL\pN-]+)+`)},
	{stems("url link website homepage uri webpage"), regexp.MustCompile(`https?://[^\s<>"']+|\bwww\.[^\s<>"']+`)},
	{stems("phone telephone mobile tel"), regexp.MustCompile(`\+?\(?\d[\d ()/.-]{5,}\d`)},
}

// pattern returns the form of the slot's values, or nil.
func (s *slot) pattern() *regexp.Regexp {
	if !isText(s) || len(s.Allowed) > 0 {
		return nil
	}
	for _, f := range forms {
		if s.called(f.names) {
			return f.pattern
		}
	}
	return nil
}

// readPatterns fills e-mail addresses, URLs and telephone numbers where the text has
// one and one parameter asks for it.
func (r *valueReader) readPatterns() {
	for _, f := range forms {
		wanted := r.slots(func(s *slot) bool { return s.pattern() == f.pattern })
		found := f.pattern.FindAllStringIndex(r.text, 2)
		if len(wanted) != 1 || len(found) != 1 {
			continue
		}
		value := strings.TrimRight(r.text[found[0][0]:found[0][1]], ".,;:!?)")
		first, end := r.within(found[0][0], found[0][0]+len(value))
		r.fill(wanted[0], value, first, end)
	}
}
