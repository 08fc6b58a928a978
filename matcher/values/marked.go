package values

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"earshot/matcher/text"
	"earshot/repositories"
	"earshot/repositories/annotations"
)

// lesson is what the marks in a tool's examples teach of its parameters.
type lesson struct {
	of map[string]*taught // by the parameter's name
	// said are the stems of the examples outside of marks, and brings how often each word
	// stands before a value of any parameter, among all that it is said.
	said   map[string]bool
	brings map[string]share
}

// share is how many of some are of a kind.
type share struct{ of, all int }

// taught is what marks teach of one parameter.
type taught struct {
	values   [][]text.Word // in the words that were marked
	surfaces []string      // the same as they were written
	// left and right are the words beside the values, articles left out; atStart, atEnd or
	// atValue if there is no word of the example's own.
	left, right map[string]bool
	// before are the two words before a value, joined by a space.
	before  map[string]bool
	inside  map[string]bool // grammar words in values
	longest int             // in words
	article bool            // a value may begin with one
	names   bool            // all begin with a capital letter
}

// What stands beside a value that is no word.
const (
	atStart = "^" // the start of a clause
	atEnd   = "$" // its end
	atValue = "|" // another value
)

type lessonForm struct{}

// lessonOf is worked out once in the life of the tool; nil where nothing is marked.
func lessonOf(tool *repositories.Tool) *lesson {
	if len(tool.Marked()) == 0 {
		return nil
	}
	return tool.Params().Derived(lessonForm{}, func() any {
		l := &lesson{of: map[string]*taught{}, said: map[string]bool{}, brings: map[string]share{}}
		for _, example := range tool.Marked() {
			l.read(example)
		}
		for _, plain := range tool.Spoken() {
			l.count(plain)
		}
		return l
	}).(*lesson)
}

// read takes in one example.
func (l *lesson) read(example annotations.Example) {
	s := sentence{text: example.Text, words: text.Split(example.Text)}
	s.taken = make([]bool, len(s.words))
	for _, mark := range example.Marks {
		first, last := s.within(mark.From, mark.To)
		for i := first; i < last; i++ {
			s.taken[i] = true
		}
	}
	for _, mark := range example.Marks {
		if first, last := s.within(mark.From, mark.To); first < last {
			l.learn(s, mark.Parameter, first, last)
		}
	}
	for i, w := range s.words {
		if !s.taken[i] {
			l.said[w.Stem] = true
		}
	}
}

func (l *lesson) learn(s sentence, parameter string, first, last int) {
	of := l.of[parameter]
	if of == nil {
		of = &taught{left: map[string]bool{}, right: map[string]bool{}, before: map[string]bool{}, inside: map[string]bool{}, names: true}
		l.of[parameter] = of
	}
	of.values = append(of.values, s.words[first:last])
	of.surfaces = append(of.surfaces, s.text[s.words[first].Start:s.words[last-1].End])
	of.longest = max(of.longest, last-first)
	of.article = of.article || s.words[first].Is(text.Determiners)
	of.names = of.names && s.capital(first)
	for _, w := range s.words[first:last] {
		of.inside[w.Norm] = of.inside[w.Norm] || w.Is(text.StopWords)
	}
	left, before := s.leftOf(first)
	of.left[left], of.before[before] = true, true
	for _, right := range s.rightOf(last) {
		of.right[right] = true
	}
	one := l.brings[left]
	one.of++
	l.brings[left] = one
}

// count counts the words of all examples, marked or not.
func (l *lesson) count(plain string) {
	for _, w := range text.Split(plain) {
		one := l.brings[w.Norm]
		one.all++
		l.brings[w.Norm] = one
	}
}

// always reports whether the word stands nowhere in the examples but before values.
func (l *lesson) always(word string) bool {
	one := l.brings[word]
	return one.of > 0 && one.of >= one.all
}

// sentence is a text in which some words are of values.
type sentence struct {
	text  string
	words []text.Word
	taken []bool
}

func (s sentence) within(from, to int) (first, last int) {
	for first < len(s.words) && s.words[first].End <= from {
		first++
	}
	for last = first; last < len(s.words) && s.words[last].Start < to; last++ {
	}
	return first, last
}

// parted reports whether a mark ends a clause after the word at i.
func (s sentence) parted(i int) bool {
	if i < 0 || i+1 >= len(s.words) {
		return true
	}
	gap := s.text[s.words[i].End:max(s.words[i].End, s.words[i+1].Start)]
	return strings.ContainsAny(gap, ".,;:!?\n")
}

func (s sentence) capital(i int) bool {
	first, _ := utf8.DecodeRuneInString(s.text[s.words[i].Start:])
	return unicode.IsUpper(first) || unicode.IsDigit(first)
}

// leftOf is what stands before the word at first, articles left out, and the same with the
// word before it.
func (s sentence) leftOf(first int) (left, both string) {
	i := first - 1
	for i >= 0 && !s.parted(i) && !s.taken[i] && s.words[i].Is(text.Determiners) {
		i--
	}
	switch {
	case s.parted(i):
		return atStart, atStart
	case s.taken[i]:
		return atValue, atValue
	case s.parted(i-1) || s.taken[i-1]:
		return s.words[i].Norm, atStart + " " + s.words[i].Norm
	}
	return s.words[i].Norm, s.words[i-1].Norm + " " + s.words[i].Norm
}

// rightOf is what stands from the word at last on: politeness at the end is nothing, and a
// grammar word before another value is both.
func (s sentence) rightOf(last int) []string {
	i := last
	for !s.parted(i-1) && s.words[i].Is(text.PoliteWords) {
		i++
	}
	switch {
	case s.parted(i - 1):
		return []string{atEnd}
	case s.taken[last]:
		return []string{atValue}
	case s.words[last].Is(text.StopWords) && !s.parted(last) && s.taken[last+1]:
		return []string{s.words[last].Norm, atValue}
	}
	return []string{s.words[last].Norm}
}
