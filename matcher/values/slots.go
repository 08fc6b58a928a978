package values

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"earshot/matcher"
	"earshot/matcher/datetime"
	"earshot/matcher/text"
	"earshot/repositories"
	"earshot/repositories/parameters"
)

// Kinds are the parameters of a tool that a model may fill, by their possible values.
type Kinds struct {
	All       []string // names of all
	Free      []string // those that take any words
	Named     []string // those of them that take a name, and no sentence or search
	Chosen    []string // those whose values are recognisable: numbers, and enumerated values
	Formatted []string // those whose format differs from users' words: dates, times, durations
	Dates     []string // those that hold a day, maybe with a time
	Clocks    []string // those that hold a time of day, maybe with a day
	Spans     []string // those that hold an amount of time
	Lists     []string // arrays of any words, which are also in Free
}

// addTimes adds the parameter to the kinds of times that it holds. One with some days as its allowed values holds days.
func (k *Kinds) addTimes(s *slot) {
	days, parts := s.date, s.clock
	for _, value := range s.Allowed {
		if literal, ok := value.(string); ok && isCalendar(strings.ToLower(literal)) {
			part := text.DayParts.Has(strings.ToLower(literal))
			days, parts = days || !part, parts || part
		}
	}
	if days {
		k.Dates = append(k.Dates, s.Name)
	}
	if parts {
		k.Clocks = append(k.Clocks, s.Name)
	}
	if s.Format == parameters.Duration || s.Unit != nil && text.TimeUnits.Has(text.Fold(s.Unit.String())) {
		k.Spans = append(k.Spans, s.Name)
	}
}

// KindsOf classifies the parameters of a tool. The lists are shared and must not be modified.
func KindsOf(tool *repositories.Tool) Kinds { return toolSlotsOf(tool).kinds }

// toolSlots is a tool's parameters and its own words. It is shared by all texts and immutable.
type toolSlots struct {
	all    []*slot
	kinds  Kinds
	counts bool            // has parameters for moments or numbers
	texts  int             // number of parameters for free texts and addresses
	lesson *lesson         // nil without marked examples
	name   map[string]bool // subjects of the tool's name
	verb   string          // first word of the tool's name
	own    map[string]bool // stems of its name and description, and of its examples outside of marks
	verbs  map[string]bool // first words of its examples

	language string // of its examples; empty if unknown
}

type toolSlotsKey struct{}

// toolSlotsOf returns the tool's toolSlots, which the tool caches. The words of an example without marks may be values.
func toolSlotsOf(tool *repositories.Tool) *toolSlots {
	return tool.Params().Derived(toolSlotsKey{}, func() any {
		name := text.Identifier(tool.Name)
		a := &toolSlots{lesson: lessonOf(tool), name: text.Subjects(name), own: map[string]bool{}, verbs: map[string]bool{}}
		a.verb, a.language = text.Of(name).Norm(0), text.LanguageOf(strings.Join(tool.Spoken(), ". "))
		for _, w := range text.Split(name + " " + tool.Description) {
			a.own[w.Stem] = true
		}
		if a.lesson != nil {
			maps.Copy(a.own, a.lesson.stems)
		}
		for _, example := range tool.Spoken() { // its first meaningful word, unless it is the only one
			words := text.Split(example)
			if i := slices.IndexFunc(words, text.Word.IsSubject); i >= 0 && len(words) > 1 {
				a.verbs[words[i].Stem] = true
			}
		}
		for _, parameter := range matcher.Shown(tool.Params()) {
			s := newSlot(parameter, a)
			a.all = append(a.all, s)
			a.kinds.All = append(a.kinds.All, s.Name)
			if s.free {
				a.kinds.Free = append(a.kinds.Free, s.Name)
				if !s.sentence() {
					a.kinds.Named = append(a.kinds.Named, s.Name)
				}
			}
			if s.listed {
				a.kinds.Free, a.kinds.Lists = append(a.kinds.Free, s.Name), append(a.kinds.Lists, s.Name)
			}
			if s.free || s.pattern != nil {
				a.texts++
			}
			if s.Format != "" {
				a.kinds.Formatted = append(a.kinds.Formatted, s.Name)
			}
			if s.Type != "string" || len(s.Allowed) > 0 {
				a.kinds.Chosen = append(a.kinds.Chosen, s.Name)
			}
			a.kinds.addTimes(s)
			a.counts = a.counts || s.isMoment() || s.Format != "" || s.counts()
		}
		return a
	}).(*toolSlots)
}

func isCalendar(w string) bool { return text.CalendarWords.Has(w) && w != "next" && w != "this" }

// slot is a parameter with the form of its values.
type slot struct {
	parameters.Parameter
	name    []text.Word     // words of its name
	about   map[string]bool // stems of its name and description
	topic   map[string]bool // of a boolean: subjects other than the tool's
	choices []choice        // allowed values with their words
	longest []choice        // the same, longest first
	item    *slot           // of an array: its items
	taught  *taught         // nil without marked values
	date    bool            // a string that holds a date
	clock   bool            // a string that holds a time of day
	amount  bool            // a string that holds a number
	pattern *regexp.Regexp  // format of its values, or nil
	code    bool            // a string that holds a code
	shapes  map[string]bool // shapes of the codes in its description and the examples
	free    bool            // takes any words: a string without a format
	listed  bool            // an array of such strings
}

// choice is an allowed value with its words. written is empty for an alias, and words for a sign.
type choice struct {
	value   any
	words   []text.Word
	written string
	sign    string // an alias without words, such as $
}

func newSlot(parameter parameters.Parameter, owner *toolSlots) *slot {
	s := &slot{Parameter: parameter, name: text.Split(text.Identifier(parameter.Name)), about: map[string]bool{}, topic: map[string]bool{}}
	if owner.lesson != nil {
		s.taught = owner.lesson.of[parameter.Name]
	}
	for _, w := range append(text.Split(parameter.Description), s.name...) {
		s.about[w.Stem] = true
	}
	for _, w := range s.name {
		if !w.Is(text.BooleanWords, text.StopWords) && !owner.name[w.Stem] {
			s.topic[w.Stem] = true
		}
	}
	s.setChoices()
	if parameter.Items != nil {
		s.item = &slot{Parameter: *parameter.Items, name: s.name, about: s.about}
		s.item.setChoices()
		if isText(s.item) && len(s.item.Allowed) == 0 {
			s.pattern = s.addresses()
			s.listed = s.pattern == nil && s.item.Format == ""
		}
	}
	switch {
	case len(s.Allowed) > 0:
	case s.Format != "":
		s.date = s.Format == parameters.Date || s.Format == parameters.DateTime
		s.clock = s.Format == parameters.Time || s.Format == parameters.DateTime
	case isText(s):
		isDate := s.isNamed(text.DateNames)
		s.clock = s.isNamed(text.ClockNames)
		if !isDate || s.clock || s.layout() != "15:04" {
			s.date = isDate || strings.Contains(s.layout(), "2006") || !s.clock && s.isNamed(text.EdgeNames) && datePhrase.MatchString(s.Description)
		}
		s.amount = s.isNamed(text.GroupNames) && s.stemmed("size") || s.namedFor(text.AmountNames) || s.isNamed(text.RatingNames) ||
			countsSome(text.Identifier(s.Name)) || countsSome(s.Description)
		s.pattern = s.addresses()
		s.setShapes()
		formless := !s.isMoment() && !s.amount && s.pattern == nil
		s.code = formless && (s.holdsCode() || len(s.shapes) > 0)
		s.free = formless && !s.code
	}
	return s
}

func (s *slot) setChoices() {
	for _, value := range slices.Concat(s.Allowed, s.Spelled) {
		if literal, ok := value.(string); ok {
			s.choices = append(s.choices, choice{value: value, words: text.Split(literal), written: literal})
		}
	}
	for _, alias := range s.Aliases {
		one := choice{value: alias.Value, words: text.Split(alias.Words)}
		if len(one.words) == 0 {
			one.sign = strings.TrimSpace(alias.Words)
		}
		s.choices = append(s.choices, one)
	}
	s.longest = slices.Clone(s.choices)
	slices.SortStableFunc(s.longest, func(a, b choice) int { return len(b.words) - len(a.words) })
}

var (
	writtenLayout = regexp.MustCompile(`(?i)\b(?:(?:yyyy|mm|dd)[-/.](?:yyyy|mm|dd)[-/.](?:yyyy|mm|dd)(?:[ t]hh:mm(?::ss)?)?|hh:mm(?::ss)?)`)
	sampleDate    = regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}\b`)
	isoPhrase     = regexp.MustCompile(`(?i)\biso(?:[ -]?8601)?\b`)
	layoutParts   = strings.NewReplacer("hh:mm", "15:04", "yyyy", "2006", "mm", "01", "dd", "02", "ss", "05", "t", "T")
	datePhrase    = regexp.MustCompile(`(?i)\b(date|day)\b`)
)

// layout returns the slot's date or time format in the notation of package time; empty if the text's words are the
// value.
func (s *slot) layout() string {
	switch s.Format {
	case parameters.Date:
		return time.DateOnly
	case parameters.Time:
		return "15:04"
	case parameters.DateTime:
		return time.RFC3339
	}
	if written := writtenLayout.FindString(s.Description); written != "" {
		return layoutParts.Replace(strings.ToLower(written))
	}
	if sampleDate.MatchString(s.Description) || isoPhrase.MatchString(s.Description) {
		return time.DateOnly
	}
	return ""
}

// countPhrase matches the beginning of a name or a description of a count.
var countPhrase = regexp.MustCompile(`(?i)^(?:the )?(?:number of|how many|count of|amount of) (\pL+)`)

// countsSome reports whether a name or a description is of a count. "The number of the appointment" is not.
func countsSome(phrase string) bool {
	match := countPhrase.FindStringSubmatch(phrase)
	return match != nil && !text.Determiners.Has(strings.ToLower(match[1]))
}

// form is a pattern for the values of parameters with certain names or descriptions.
type form struct {
	names     text.List
	described *regexp.Regexp
	pattern   *regexp.Regexp
}

var forms = []form{
	{text.EmailNames, regexp.MustCompile(`(?i)\be-?mail[ -]?address|\be-?mail-?adresse|\badresse (?:e-?)?mail|\bindirizzo e-?mail|\bcorreo electr[óo]nico`), regexp.MustCompile(`[\pL\pN._%+-]+@[\pL\pN-]+(?:\.[\pL\pN-]+)+`)},
	{text.LinkNames, regexp.MustCompile(`\bURL\b`), regexp.MustCompile(`https?://[^\s<>"']+|\bwww\.[^\s<>"']+`)},
	{text.PhoneNames, regexp.MustCompile(`(?i)\b(?:tele)?phone number|\btelefonnummer|\bnum[ée]ro de t[ée]l[ée]phone|\bnumero di telefono|\bn[úu]mero de tel[ée]fono`), regexp.MustCompile(`\+?\(?\d[\d ()/.-]{5,}\d`)},
}

// addresses returns the pattern of addresses, by the name, the description or the values that examples mark; nil for other
// values.
func (s *slot) addresses() *regexp.Regexp {
	index := slices.IndexFunc(forms, func(candidate form) bool {
		return s.namedFor(candidate.names) || candidate.described.MatchString(s.Description) || s.taught != nil && slices.ContainsFunc(s.taught.surfaces, func(surface string) bool { return candidate.pattern.FindString(surface) == surface })
	})
	if index < 0 {
		return nil
	}
	return forms[index].pattern
}

// samplePhrase matches a sample of a code in a description.
var samplePhrase = regexp.MustCompile(`(?i)\b(?:such as|like|as in|e\.\s?g\.,?|for example|example:|z\.\s?B\.|zum Beispiel|wie|par ex(?:\.|emple)|p\.\s?e[xjs]\.|comme|por ejemplo|como|(?:per|ad) es(?:\.|empio)|come)\s+["'“]?([\pL\d]+(?:[-_/.][\pL\d]+)*)`)

// shortestCode is the minimum length of a code of digits: shorter ones are counts.
const shortestCode = 3

func (s *slot) setShapes() {
	s.shapes = map[string]bool{}
	var samples []string
	if sample := samplePhrase.FindStringSubmatch(s.Description); sample != nil {
		samples = append(samples, sample[1])
	}
	if s.taught != nil {
		samples = append(samples, s.taught.surfaces...)
	}
	for _, sample := range samples {
		if strings.ContainsFunc(sample, unicode.IsDigit) && !strings.Contains(sample, " ") && len(sample) >= shortestCode {
			s.shapes[shapeOf(sample)] = true
		}
	}
}

// shapeOf replaces a run of letters by A and one of digits by 9.
func shapeOf(code string) string {
	var shape []rune
	for _, c := range code {
		switch {
		case unicode.IsDigit(c):
			c = '9'
		case unicode.IsLetter(c):
			c = 'A'
		}
		if last := len(shape) - 1; last < 0 || shape[last] != c || c != 'A' && c != '9' {
			shape = append(shape, c)
		}
	}
	return string(shape)
}

// SameShape reports whether two texts are codes of the same letters and digits: T-12 and T-55.
func SameShape(a, b string) bool {
	return strings.ContainsFunc(a, unicode.IsDigit) && !strings.Contains(a, " ") && len(a) >= shortestCode && shapeOf(a) == shapeOf(b)
}

func (s *slot) isNamed(list text.List) bool { return text.AnyIs(s.name, list) }

func (s *slot) namedFor(list text.List) bool {
	return slices.ContainsFunc(s.name, func(w text.Word) bool { return w.StemIs(list) })
}

func (s *slot) stemmed(words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool {
		stem := text.Stem(word)
		return slices.ContainsFunc(s.name, func(w text.Word) bool { return w.Stem == stem })
	})
}

// holdsCode reports whether the slot's name has a word for a code, in one or many. The French "plat" has the stem of "plate".
func (s *slot) holdsCode() bool {
	return slices.ContainsFunc(s.name, func(w text.Word) bool { return text.CodeNames.Has(w.Norm) || text.CodeNames.Has(text.Singular(w.Norm)) })
}

// describedFor reports whether the list has a stem of the slot's name or description.
func (s *slot) describedFor(list text.List) bool {
	for stem := range s.about {
		if list.HasStem(stem) {
			return true
		}
	}
	return false
}

func (s *slot) nameHas(w text.Word) bool {
	return !w.Is(text.StopWords, text.DateNames, text.ClockNames) && slices.ContainsFunc(s.name, func(n text.Word) bool { return n.Stem == w.Stem })
}

// ends reports whether the word is the last meaningful one of the slot's name: desk in deskName, but id in id.
func (s *slot) ends(w text.Word) bool {
	for _, n := range slices.Backward(s.name) {
		if !n.Is(text.PlaceholderWords) {
			return n.Stem == w.Stem
		}
	}
	return len(s.name) > 0 && s.name[len(s.name)-1].Stem == w.Stem
}

func (s *slot) isMoment() bool { return s.date || s.clock }

func (s *slot) counts() bool { return s.Numeric() || s.amount }

func isText(s *slot) bool { return s.Type == "string" || s.Type == "" }

func freeText(s *slot) bool { return s.free }

// sentence reports whether the slot takes a whole sentence or a search.
func (s *slot) sentence() bool {
	return s.isNoted() || s.namedFor(text.ContentNames) && !s.stemmed("item")
}

// isNoted reports whether the slot's value is what to note, by its name or its examples.
func (s *slot) isNoted() bool { return s.tellsActs() || s.namedFor(text.NotedNames) }

// tellsActs reports whether examples mark an act as the slot's value: "remind me to [call mum](what)".
func (s *slot) tellsActs() bool { return s.taught != nil && s.taught.acts }

// slotFiller is the state of reading one text's values. Each reader marks its words as taken, and later readers
// skip them.
type slotFiller struct {
	*datetime.Text
	*toolSlots
	taken     []bool       // by word
	open      []*slot      // slots without a value
	listedAt  map[int]bool // words at which a taken allowed value begins
	values    map[string]any
	reasons   map[string]string // by name: why a number is not the parameter's value
	questions map[string]string // by name: the question for an ambiguous value
	spans     map[string][2]int // by name: the words of a free text that begins with a number
	unusable  map[string]string // by name: why words that certainly speak of the parameter give no value
	addresses []Mention         // of all forms; nil before the first look
}

func newFiller(utterance *datetime.Text, tool *repositories.Tool) *slotFiller {
	f := &slotFiller{Text: utterance, toolSlots: toolSlotsOf(tool), values: map[string]any{}, listedAt: map[int]bool{}, reasons: map[string]string{}, questions: map[string]string{}, unusable: map[string]string{}}
	f.taken, f.open = make([]bool, len(utterance.Words)), f.all
	return f
}

// fill gives the slot its value from the words from first to before end. The words before a person's name are none of it.
func (f *slotFiller) fill(s *slot, value any, first, end int) {
	if s.free {
		if from, to := ofAddress(f, first, end); to-from > end-first {
			value, first, end = f.Surface(from, to), from, to
		}
	}
	if name := text.AfterKin(f.Text.Text, first); s.free && name > first && name < end && s.namedFor(text.PersonNames) {
		value = f.Surface(name, end)
	}
	if f.values[s.Name] = value; s.free && (text.StartsWithDigit(f.Norm(first)) || f.At(first).Is(text.NumberWords, text.Numbers)) {
		if f.spans == nil {
			f.spans = map[string][2]int{}
		}
		f.spans[s.Name] = [2]int{first, end}
	}
	f.take(first, end)
	f.open = f.slots(func(other *slot) bool { return other != s })
}

// ofAddress returns the words of the address that has those from first to before end; these if they are of none.
func ofAddress(f *slotFiller, first, end int) (from, to int) {
	if f.addresses == nil {
		f.addresses = []Mention{}
		for _, candidate := range forms {
			if strings.ContainsAny(f.Said, "@/") {
				f.addresses = append(f.addresses, addressesIn(f, candidate.pattern)...)
			}
		}
	}
	for _, m := range f.addresses {
		if m.First <= first && end <= m.End {
			return m.First, m.End
		}
	}
	return first, end
}

// take reserves the words from first to before end.
func (f *slotFiller) take(first, end int) {
	for i := first; i < end; i++ {
		f.taken[i] = true
	}
}

// free reports whether no value has taken the words from first to before end.
func (f *slotFiller) free(first, end int) bool {
	return !slices.Contains(f.taken[first:max(first, end)], true)
}

func (f *slotFiller) slots(want func(*slot) bool) []*slot {
	var found []*slot
	for _, s := range f.open {
		if want(s) {
			found = append(found, s)
		}
	}
	return found
}

// lone returns the one open slot that satisfies the condition, or the one required among several; else nil.
func (f *slotFiller) lone(want func(*slot) bool) *slot {
	return sole(f.slots(want))
}

func sole(slots []*slot) *slot {
	if len(slots) > 1 {
		slots = slices.DeleteFunc(slots, func(s *slot) bool { return !s.Required })
	}
	if len(slots) != 1 {
		return nil
	}
	return slots[0]
}

func (f *slotFiller) sentence() sentence { return sentence{f.Text.Text, f.taken} }

// joiners are the signs inside a name or code.
var joiners = map[string]bool{"-": true, "_": true, "/": true, ".": true}

// tied returns the end of the word at i and all words tied to it: Chi-town, ef9-893.
func (f *slotFiller) tied(i int) int {
	for i+1 < len(f.Words) && joiners[f.Gap(i)] {
		i++
	}
	return i + 1
}

// means reports whether a verb is related to the tool's name, as remind to reminder, or begins an example.
func (f *slotFiller) means(verb text.Word) bool {
	if f.verbs[verb.Stem] || f.name[verb.Stem] {
		return true
	}
	for stem := range f.name {
		if len(verb.Stem) >= typoLength && strings.HasPrefix(stem, verb.Stem) {
			return true
		}
	}
	return false
}

// acts reports whether a word is a plain verb of the tool, and so begins no name.
func acts(f *slotFiller, w text.Word) bool {
	return w.Norm != "" && f.means(w) && text.ActingOf([]text.Word{w}).Plain
}

// currencyBefore returns the sign of a currency right before a place of the text.
func (f *slotFiller) currencyBefore(at int) string { return currency.FindString(f.Said[:at]) }

var currency = regexp.MustCompile(`[$€£¥]$`)
