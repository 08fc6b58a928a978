package evidence

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"earshot/matcher/datetime"
	"earshot/matcher/text"
	"earshot/repositories/exactjson"
	"earshot/repositories/parameters"
	"earshot/repositories/quantity"
)

// forms are the alternative forms of a scalar.
type forms struct {
	sign  string // a value without letters and digits, searched as is
	words []form
	meant []string // plain decimals, days and times of day
	unit  *quantity.Unit
	truth *bool
	topic string // name of the parameter

	unread      string // a string whose meaning has not been read yet
	now         time.Time
	days, hours []string // of a day with a time, possibly named apart
}

// form is a run of words, with a space around each or, if tight, without any.
type form struct {
	words string
	tight bool
	fits  func(m *message, first, last int) bool // an additional condition for ambiguous words, or nil
}

// longest is the maximum length of values that are read as a meaning or compared without spaces. Longer texts are
// prose.
const longest = 64

var seconds = quantity.Of("second")

// spokenLayouts maps formats to the layout in which users name their values, in their time zone.
var spokenLayouts = map[parameters.Format]string{parameters.Time: "15:04", parameters.DateTime: "2006-01-02 15:04"}

func formsOf(of parameters.Parameter, value any, now time.Time) *forms {
	f := &forms{unit: of.Unit, topic: of.Name, now: now}
	switch value := value.(type) {
	case bool:
		f.truth = &value
	case string:
		layout := spokenLayouts[of.Format]
		zone := now.Location()
		if of.Format != parameters.DateTime {
			zone = time.UTC // a day whose midnight the clocks skip would be the one before
		}
		switch at, is := of.Format.At(value, zone); {
		case of.Format == parameters.Duration: // an amount of time
			if length, is := parameters.Seconds(value); is {
				f.unit, f.meant = &seconds, []string{length}
			}
		case layout == "":
			f.text(value)
		case is && of.Format == parameters.DateTime:
			f.text(at.In(now.Location()).Format(layout))
		case is:
			f.text(at.Format(layout))
		}
	default:
		if decimal, ok := exactjson.ParseDecimal(written(value)); ok {
			f.meant = []string{decimal.String()}
		}
	}
	for _, alias := range of.Aliases {
		if alias.Value == value {
			f.say(wordsOf(alias.Words))
		}
	}
	return f
}

// text adds the forms of a string: its words and, for a truth value, number, date or time, its meaning.
func (f *forms) text(value string) {
	words := wordsOf(value)
	switch {
	case len(words) == 0:
		f.sign = strings.TrimSpace(value)
	case len(words) == 1 && (words[0].norm == "a" || words[0].norm == "i"):
		f.letter(value, words[0].norm)
	default:
		f.name(value, words)
	}
	if len(words) == 1 && (words[0].norm == "true" || words[0].norm == "false") {
		truth := words[0].norm == "true"
		f.truth = &truth
	}
	if len(value) <= longest {
		f.unread = value
	}
}

// means returns the value's meanings, computed only if its words are not found.
func (f *forms) means() []string {
	if f.unread != "" {
		f.meant, f.days, f.hours = datetime.NewText(f.unread, f.now).Alone()
		f.unread = ""
	}
	return f.meant
}

// letter adds a lone a or i, mostly an ordinary word: it must follow the parameter's name, be the whole message, or
// be a capital A inside a sentence.
func (f *forms) letter(value, norm string) {
	topic := wordsOf(text.Identifier(f.topic))
	f.words = []form{{" " + norm + " ", false, func(m *message, i, _ int) bool {
		if len(m.words) == 1 || i == 0 {
			return len(m.words) == 1
		}
		before, at := m.words[i-1], m.words[i]
		named := slices.ContainsFunc(topic, func(w word) bool { return w.norm == before.norm })
		begins := strings.ContainsAny(m.said[before.to:at.from], ".?!:\n\"'“„")
		return named || m.said[at.from:at.to] == "A" && strings.Contains(value, "A") && !begins
	}}}
}

func (f *forms) say(words []word) {
	if len(words) == 0 {
		return
	}
	said := inLine(words)
	if !slices.ContainsFunc(f.words, func(known form) bool { return known.words == said }) {
		f.words = append(f.words, form{words: said})
	}
}

var possessive = regexp.MustCompile(`(?i)['’]s\b`)

// name adds the words and the variations of names: identifiers in words, without the possessive s, without the
// article, in the other number, in initials, and with other spaces.
func (f *forms) name(value string, words []word) {
	const usual = 3 // as said, in the other number, and without spaces
	f.words = make([]form, 0, usual)
	f.say(words)
	if !strings.Contains(value, " ") {
		if parted := text.Identifier(value); parted != value {
			f.say(wordsOf(parted))
		}
	}
	if strings.ContainsAny(value, "'’") {
		f.say(wordsOf(possessive.ReplaceAllString(value, "")))
	}
	if len(words) > 1 && text.DefiniteArticles.Has(words[0].norm) && !text.StopWords.Has(words[1].norm) {
		f.say(words[1:])
	}
	last := words[len(words)-1].norm
	if len(last) > 2 && unicode.IsLetter(rune(last[len(last)-1])) { // "two apples" contains an apple
		other := text.Singular(last)
		if other == last {
			other += "s"
		}
		f.say(slices.Concat(words[:len(words)-1], []word{{norm: other}}))
	}
	f.initials(words)
	f.tight(words)
}

// initials adds those of a name of two to five words, in capitals: LA and L.A. for Los Angeles, but not la.
func (f *forms) initials(words []word) {
	if len(words) < 2 || len(words) > 5 {
		return
	}
	var letters strings.Builder
	for _, w := range words {
		first, _ := utf8.DecodeRuneInString(w.norm)
		if !unicode.IsLetter(first) {
			return
		}
		letters.WriteRune(first)
	}
	w := letters.String()
	if text.CalendarWords.Has(w) || text.AffirmingWords.Has(w) {
		return
	}
	f.words = append(f.words, form{w, true, func(m *message, first, last int) bool { // not among other capitals
		const near = 3
		said := m.said[m.words[first].from:m.words[last].to]
		around := m.said[m.words[max(0, first-near)].from:m.words[min(len(m.words)-1, last+near)].to]
		return said == strings.ToUpper(said) && (around != strings.ToUpper(around) || around == said)
	}})
}

// tight adds the words without spaces, for short values such as names, codes and telephone numbers. A few digits
// are excluded, because those of "1 2" may be adjacent by chance.
func (f *forms) tight(words []word) {
	joined, least := "", 7
	for i := 0; i < len(words) && len(joined) <= longest; i++ {
		joined += words[i].bare
	}
	if strings.ContainsFunc(joined, unicode.IsLetter) {
		least = 3
	}
	if len(joined) <= longest && utf8.RuneCountInString(joined) >= least {
		f.words = append(f.words, form{words: joined, tight: true})
	}
}

// word is a folded word with its place in the text; bare is without the points and commas of a number.
type word struct {
	norm, bare string
	from, to   int
}

// wordsOf splits a text like text.Split, but all of it and without expanding contractions, because names are
// compared word by word without grammar.
func wordsOf(said string) []word {
	const usual, most = 5, 64 // bytes of a word with its space, words of a message
	found, lower := make([]word, 0, min(len(said)/usual+1, most)), text.LowerASCII(said)
	for at := 0; at < len(said); {
		r, size := utf8.DecodeRuneInString(said[at:])
		norm := ""
		switch {
		case r == '&':
			norm = "and"
		case text.InWord(r):
			size = text.WordLength(said[at:], ".,")                          // so that 5 is not found in 2.5
			norm = strings.ReplaceAll(text.Fold(lower[at:at+size]), " ", "") // ﷺ is four words in one letter
		}
		if norm != "" {
			found = append(found, word{norm, datetime.WithoutMarks(norm), at, at + size})
		}
		at += size
	}
	return found
}

func inLine(words []word) string {
	var b strings.Builder
	length := 1
	for _, w := range words {
		length += len(w.norm) + 1
	}
	b.Grow(length)
	b.WriteByte(' ')
	for _, w := range words {
		b.WriteString(w.norm)
		b.WriteByte(' ')
	}
	return b.String()
}
