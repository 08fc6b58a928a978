// Package values reads the values of a tool's parameters from the words of a text, without a
// model. A value is taken only where its reading is certain: words that could belong to two
// parameters are given to neither, and nothing is made up. A value that is wrong does harm; one
// that is missing is asked for.
package values

import (
	"maps"
	"regexp"
	"slices"

	"earshot/matcher/datetime"
	"earshot/matcher/shown"
	"earshot/matcher/text"
	"earshot/repositories"
	"earshot/repositories/parameters"
)

// Reading is what a text says of a tool's parameters.
type Reading struct {
	*datetime.Text
	Values map[string]any // by the names of the parameters; numbers are json.Number
	Taken  []bool         // by word: it is of a value
	// Why says of a parameter why a number in the text is no value of it.
	Why map[string]string
	// Asks has a question for each parameter whose words have two readings: "at 9: 09:00 or 21:00?".
	Asks map[string]string
}

// Of reads the values that the text gives for the tool's parameters.
func Of(said *datetime.Text, tool *repositories.Tool) Reading {
	r := tailReader{nameReader{momentReader{codeReader{numberReader{choiceReader{newFiller(said, tool)}}}}}}
	for _, read := range []func(){
		r.readPatterns, r.readAllowed, r.readKnown, r.readCodes, r.readNamed, r.readBooleans, r.readDurations, r.readAmounts, r.readMoments,
		r.readSpokenNumbers, r.readNumbers, r.readLists, r.readCued, r.readPlaces, r.readQuoted, r.readRest,
	} {
		read()
	}
	return Reading{said, r.values, r.taken, r.why, r.asks}
}

// filler is the state of reading one text's values. Each reader marks the words that it
// uses as taken, and later readers leave them alone.
type filler struct {
	*datetime.Text
	*asked
	taken    []bool       // by word
	open     []*slot      // those that have no value yet
	listedAt map[int]bool // the words at which a listed value begins that was taken
	values   map[string]any
	why      map[string]string // by name: why a number is no value of a parameter
	asks     map[string]string // by name: which of two readings is meant
}

// The readers of a filler stand on each other, in this order: what a reader calls is of itself or of one
// before it.
type (
	choiceReader struct{ *filler }      // of what is one of a few, and of booleans
	numberReader struct{ choiceReader } // of numbers, amounts and durations
	codeReader   struct{ numberReader }
	momentReader struct{ codeReader }   // of dates and times of day
	nameReader   struct{ momentReader } // of names, and of what is cued or quoted
	tailReader   struct{ nameReader }   // of the rest of a sentence
)

func newFiller(said *datetime.Text, tool *repositories.Tool) *filler {
	r := &filler{Text: said, asked: askedBy(tool), values: map[string]any{}, listedAt: map[int]bool{}, why: map[string]string{}, asks: map[string]string{}}
	r.taken, r.open = make([]bool, len(said.Words)), r.all
	return r
}

// asked is what a tool asks to know, and in which words it speaks of it. It is shared by all
// texts, and never changed.
type asked struct {
	all    []*slot
	kinds  Kinds
	texts  int             // how many free strings there are
	counts bool            // there are parameters for moments or numbers
	lesson *lesson         // nil where no example marks values
	name   map[string]bool // the subjects of the tool's name
	verb   string          // the first word of the tool's name
	own    map[string]bool // the stems of its name and description, and of its examples outside of marks
	verbs  map[string]bool // those that its examples begin with
}

type askedForm struct{}

// askedBy is worked out once in the life of the tool. The words of an example without marks
// may be values.
func askedBy(tool *repositories.Tool) *asked {
	return tool.Params().Derived(askedForm{}, func() any {
		name := text.Identifier(tool.Name)
		f := &asked{lesson: lessonOf(tool), name: text.Subjects(name), own: map[string]bool{}, verbs: map[string]bool{}}
		if named := text.Split(name); len(named) > 0 {
			f.verb = named[0].Norm
		}
		for _, w := range text.Split(name + " " + tool.Description) {
			f.own[w.Stem] = true
		}
		if f.lesson != nil {
			maps.Copy(f.own, f.lesson.said)
		}
		for _, example := range tool.Spoken() {
			f.begin(text.Split(example))
		}
		for _, parameter := range shown.Parameters(tool.Params()) {
			f.add(newSlot(parameter, f.lesson))
		}
		return f
	}).(*asked)
}

// begin takes in the verb of an example: its first word that says something, unless it is all
// of it.
func (f *asked) begin(words []text.Word) {
	if i := slices.IndexFunc(words, text.Word.IsSubject); i >= 0 && len(words) > 1 {
		f.verbs[words[i].Stem] = true
	}
}

// add takes in a parameter.
func (f *asked) add(s *slot) {
	f.all = append(f.all, s)
	f.kinds.All = append(f.kinds.All, s.Name)
	if s.free {
		f.texts++
		f.kinds.Free = append(f.kinds.Free, s.Name)
	}
	if s.Format != "" {
		f.kinds.Formatted = append(f.kinds.Formatted, s.Name)
	}
	if s.Type != "string" || len(s.Allowed) > 0 {
		f.kinds.Chosen = append(f.kinds.Chosen, s.Name)
	}
	f.counts = f.counts || s.isMoment() || s.Format != "" || isNumeric(s) || s.amount
	f.kinds.Timed = f.kinds.Timed || s.isMoment() || s.Format != "" || s.namesDays() || s.Unit != nil && text.TimeUnits.Has(text.Fold(s.Unit.String()))
}

// slot is a parameter, and what its values look like.
type slot struct {
	shown.Parameter
	name    []text.Word     // the words of its name
	about   map[string]bool // the stems of its name and description
	taught  *taught         // nil where no example marks a value of it
	date    bool            // a string that holds a date
	clock   bool            // a string that holds a time of day
	amount  bool            // a string that holds a number
	pattern *regexp.Regexp  // how its values are written, or nil
	code    bool            // a string that holds a code
	free    bool            // any words can be its value: it is a string without a form of its own
}

func newSlot(parameter shown.Parameter, learned *lesson) *slot {
	s := &slot{Parameter: parameter, name: text.Split(text.Identifier(parameter.Name)), about: map[string]bool{}}
	if learned != nil {
		s.taught = learned.of[parameter.Name]
	}
	for _, w := range append(text.Split(parameter.Description), s.name...) {
		s.about[w.Stem] = true
	}
	switch {
	case s.Format != "" && len(s.Allowed) == 0:
		s.date = s.Format == parameters.Date || s.Format == parameters.DateTime
		s.clock = s.Format == parameters.Time || s.Format == parameters.DateTime
	case isText(s) && len(s.Allowed) == 0:
		s.date, s.clock, s.amount, s.pattern = s.isDate(), s.hasWord(text.ClockNames), s.isAmount(), s.form()
		formless := !s.isMoment() && !s.amount && s.pattern == nil
		s.code = formless && s.isCode()
		s.free = formless && !s.code
	}
	return s
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

func freeText(s *slot) bool { return s.free }
