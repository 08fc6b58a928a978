// Package values reads the values of a tool's parameters from the words of a text, without a
// model. A value is taken only where its reading is certain: words that could belong to two
// parameters are given to neither, and nothing is made up. A value that is wrong does harm; one
// that is missing is asked for.
package values

import (
	"maps"
	"slices"
	"time"

	"earshot/matcher/moment"
	"earshot/matcher/shown"
	"earshot/matcher/text"
	"earshot/repositories"
)

// Reading is what a text says of a tool's parameters.
type Reading struct {
	Values map[string]any // by the names of the parameters; numbers are json.Number
	Words  []text.Word    // those of the text
	Taken  []bool         // by word: it is of a value
}

// Of reads the values that the text gives for the tool's parameters. Dates are counted from
// now.
func Of(said string, tool *repositories.Tool, now time.Time) Reading {
	r := newFiller(said, tool, now)
	for _, read := range []func(){
		r.readPatterns, r.readAllowed, r.readKnown, r.readCodes, r.readNamed, r.readBooleans, r.readAmounts, r.readMoments,
		r.readSpokenNumbers, r.readNumbers, r.readLists, r.readCued, r.readPlaces, r.readQuoted, r.readRest,
	} {
		read()
	}
	return Reading{Values: r.values, Words: r.Words, Taken: r.taken}
}

// filler is the state of reading one text's values. Each reader marks the words that it
// uses as taken, and later readers leave them alone.
type filler struct {
	*moment.Text
	ownWords
	taken    []bool // by word
	open     []*slot
	listedAt map[int]bool // the words at which a listed value begins that was taken
	values   map[string]any
	counts   bool            // there are parameters for moments or numbers
	lesson   *lesson         // nil where no example marks values
	texts    int             // how many free strings the tool has
	name     map[string]bool // the subjects of the tool's name
	verb     string          // the first word of the tool's name
}

// slot is a parameter that has no value yet.
type slot struct {
	shown.Parameter
	name   []text.Word     // the words of its name
	about  map[string]bool // the stems of its name and description
	code   bool            // it holds a code
	taught *taught         // nil where no example marks a value of it
}

func newFiller(said string, tool *repositories.Tool, now time.Time) *filler {
	r := &filler{Text: &moment.Text{Source: said, Words: text.Split(said), Now: now}, values: map[string]any{}, listedAt: map[int]bool{}}
	r.taken, r.lesson = make([]bool, len(r.Words)), lessonOf(tool)
	r.name = text.Subjects(text.Identifier(tool.Name))
	if named := text.Split(text.Identifier(tool.Name)); len(named) > 0 {
		r.verb = named[0].Norm
	}
	r.ownWords = wordsOf(tool, r.lesson)
	for _, parameter := range shown.Parameters(tool.Params()) {
		s := &slot{Parameter: parameter, name: text.Split(text.Identifier(parameter.Name)), about: map[string]bool{}}
		if r.lesson != nil {
			s.taught = r.lesson.of[parameter.Name]
		}
		for _, w := range append(text.Split(parameter.Description), s.name...) {
			s.about[w.Stem] = true
		}
		s.code = s.isCode()
		r.open = append(r.open, s)
		if freeText(s) {
			r.texts++
		}
		r.counts = r.counts || s.isMoment() || isNumeric(s) || s.isAmount()
	}
	return r
}

// ownWords are words that a tool itself says, by their stems.
type ownWords struct {
	own   map[string]bool // of its name and description, and of its examples outside of marks
	verbs map[string]bool // those that its examples begin with
}

type ownForm struct{}

// wordsOf is worked out once in the life of the tool. The words of an example without marks
// may be values.
func wordsOf(tool *repositories.Tool, learned *lesson) ownWords {
	return tool.Params().Derived(ownForm{}, func() any {
		known := ownWords{own: map[string]bool{}, verbs: map[string]bool{}}
		for _, w := range text.Split(text.Identifier(tool.Name) + " " + tool.Description) {
			known.own[w.Stem] = true
		}
		if learned != nil {
			maps.Copy(known.own, learned.said)
		}
		for _, example := range tool.Spoken() {
			known.begin(text.Split(example))
		}
		return known
	}).(ownWords)
}

// begin takes in the verb of an example: its first word that says something, unless it is all
// of it.
func (o ownWords) begin(words []text.Word) {
	if i := slices.IndexFunc(words, text.IsSubject); i >= 0 && len(words) > 1 {
		o.verbs[words[i].Stem] = true
	}
}

// fill gives the slot its value, which stands in the words from first to before end.
func (r *filler) fill(s *slot, value any, first, end int) {
	r.values[s.Name] = value
	for i := first; i < end; i++ {
		r.taken[i] = true
	}
	kept := r.open[:0:0]
	for _, other := range r.open {
		if other != s {
			kept = append(kept, other)
		}
	}
	r.open = kept
}

// slots returns the open slots that satisfy the condition.
func (r *filler) slots(want func(*slot) bool) []*slot {
	var found []*slot
	for _, s := range r.open {
		if want(s) {
			found = append(found, s)
		}
	}
	return found
}

// free reports whether no value has taken the words from first to before end.
func (r *filler) free(first, end int) bool {
	for i := first; i < end; i++ {
		if r.taken[i] {
			return false
		}
	}
	return true
}

// describedBy reports whether the slot's name or description has one of the words.
func (s *slot) describedBy(stems map[string]bool) bool {
	for stem := range s.about {
		if stems[stem] {
			return true
		}
	}
	return false
}

// namedBy reports whether the slot's name has one of the words.
func (s *slot) namedBy(stems map[string]bool) bool {
	for _, w := range s.name {
		if stems[w.Stem] {
			return true
		}
	}
	return false
}

func isText(s *slot) bool { return s.Type == "string" || s.Type == "" }

// freeText reports whether any words can be the slot's value: it is a string without
// a form of its own.
func freeText(s *slot) bool {
	return isText(s) && len(s.Allowed) == 0 && !s.isMoment() && s.pattern() == nil && !s.isAmount() && !s.code
}
