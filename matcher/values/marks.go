package values

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"earshot/matcher/text"
	"earshot/repositories"
)

// lesson is what the marks in a tool's examples tell of its parameters.
type lesson struct {
	of map[string]*taught // by parameter name
	// stems are the stems of the examples outside of marks, and brings how often each word precedes a value of any
	// parameter, among all its occurrences.
	stems  map[string]bool
	brings map[string]share
}

type share struct{ of, all int }

// taught is the marks of one parameter.
type taught struct {
	values   [][]text.Word // the marked words
	surfaces []string      // the same as written
	// left and right are the words beside the values, without articles; atStart, atEnd or atValue for no word.
	left, right map[string]bool
	beside      map[string]bool // the words on both sides of one value, joined by a space
	before      map[string]bool // the two words before a value, joined by a space
	inside      map[string]bool // grammar words in values
	longest     int             // in words
	article     bool            // a value may begin with one
	names       bool            // all begin with a capital letter
	acts        bool            // one begins with a verb, and more: "call mum"
}

// Neighbours of a value other than words.
const (
	atStart = "^" // the start of a clause
	atEnd   = "$" // its end
	atValue = "|" // another value
)

func noWord(cue string) bool { return cue == atStart || cue == atEnd || cue == atValue }

// lessonOf reads the examples of a tool; nil without marks.
func lessonOf(tool *repositories.Tool) *lesson {
	if len(tool.Marked()) == 0 {
		return nil
	}
	l := &lesson{of: map[string]*taught{}, stems: map[string]bool{}, brings: map[string]share{}}
	for _, example := range tool.Marked() {
		s := sentence{Text: text.Of(example.Text)}
		s.taken = make([]bool, len(s.Words))
		for _, mark := range example.Marks {
			first, end := s.Within(mark.From, mark.To)
			for i := first; i < end; i++ {
				s.taken[i] = true
			}
		}
		for _, mark := range example.Marks {
			if first, end := s.Within(mark.From, mark.To); first < end {
				l.learn(s, mark.Parameter, first, end)
			}
		}
		for i, w := range s.Words {
			if !s.taken[i] {
				l.stems[w.Stem] = true
			}
		}
	}
	for _, plain := range tool.Spoken() {
		for _, w := range text.Split(plain) {
			one := l.brings[w.Norm]
			one.all++
			l.brings[w.Norm] = one
		}
	}
	return l
}

func (l *lesson) learn(s sentence, parameter string, first, end int) {
	of := l.of[parameter]
	if of == nil {
		of = &taught{left: map[string]bool{}, right: map[string]bool{}, beside: map[string]bool{}, before: map[string]bool{}, inside: map[string]bool{}, names: true}
		l.of[parameter] = of
	}
	of.values = append(of.values, s.Words[first:end])
	of.surfaces = append(of.surfaces, s.Surface(first, end))
	of.longest = max(of.longest, end-first)
	of.article = of.article || s.Words[first].Is(text.Determiners)
	of.names = of.names && s.capital(first)
	w := s.Words[first]
	of.acts = of.acts || end > first+1 && !s.capital(first) && (w.Is(text.ActionVerbs, text.LightVerbs) || text.ActingOf(s.Words[first:first+1]).Plain)
	for _, w := range s.Words[first:end] {
		of.inside[w.Norm] = of.inside[w.Norm] || w.Is(text.StopWords)
	}
	left, before := s.leftOf(first)
	of.left[left], of.before[before] = true, true
	for _, right := range s.rightOf(end) {
		of.right[right], of.beside[left+" "+right] = true, true
	}
	one := l.brings[left]
	one.of++
	l.brings[left] = one
}

// knows returns the right neighbour that follows the parameter's values. Before another value, they end as at the
// end.
func (t *taught) knows(rights []string) (string, bool) {
	for _, right := range rights {
		if t.right[right] || right == atValue && t.right[atEnd] {
			return right, true
		}
	}
	return "", false
}

// sentence is a text with the words that values have taken.
type sentence struct {
	text.Text
	taken []bool
}

// parted reports whether punctuation ends a clause after the word at i.
func (s sentence) parted(i int) bool {
	return i < 0 || i+1 >= len(s.Words) || !s.Joined(i) && strings.ContainsAny(s.Gap(i), ".,;:!?\n")
}

func (s sentence) capital(i int) bool {
	first, _ := utf8.DecodeRuneInString(s.Said[s.Words[i].Start:])
	return unicode.IsUpper(first) || unicode.IsDigit(first)
}

// leftOf returns the neighbour before the word at first, without articles, and the same with the word before it.
func (s sentence) leftOf(first int) (left, both string) {
	i := first - 1
	for i >= 0 && !s.parted(i) && !s.taken[i] && s.Words[i].Is(text.Determiners) {
		i--
	}
	switch {
	case s.parted(i):
		return atStart, atStart
	case s.taken[i]:
		return atValue, atValue
	case s.parted(i-1) || s.taken[i-1]:
		return s.Norm(i), atStart + " " + s.Norm(i)
	}
	return s.Norm(i), s.Norm(i-1) + " " + s.Norm(i)
}

// rightOf returns the neighbours from the word at end on: politeness at the end counts as the end, and a grammar
// word before another value as both.
func (s sentence) rightOf(end int) []string {
	i := end
	for !s.parted(i-1) && s.Words[i].Is(text.PoliteWords) {
		i++
	}
	switch {
	case s.parted(i - 1):
		return []string{atEnd}
	case s.taken[end]:
		return []string{atValue}
	case s.Words[end].Is(text.StopWords) && !s.parted(end) && s.taken[end+1]:
		return []string{s.Norm(end), atValue}
	}
	return []string{s.Norm(end)}
}
