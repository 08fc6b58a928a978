package evidence

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"earshot/matcher/moment"
	"earshot/matcher/text"
	"earshot/repositories/parameters"
	"earshot/repositories/quantity"
)

// query is a search for one scalar in all the forms in which it may be written. Any of them
// will do.
type query struct {
	raw    string   // a text without a letter or digit, which is looked for as it is
	texts  []string // runs of words, each with a space around it
	tight  string   // without any space
	letter string   // a lone a or i, which is mostly a word of its own
	name   string   // of the parameter
	truth  *bool
	unit   *quantity.Unit // of what is looked for, where it has one

	// A string is read as a number, a date or a time when its words are not found.
	unread  bool
	value   string
	now     time.Time
	numbers []string // plain decimals
	dates   []string // as 2006-01-02
	clocks  []string // as 15:04
	days    []string // a date and a time in one value
	hours   []string
}

// newQuery reads the scalar's forms. Its name is the parameter's.
func newQuery(name string, value any, now time.Time) *query {
	want := &query{name: name, now: now}
	switch value := value.(type) {
	case bool:
		want.truth = &value
	case string:
		want.text(value)
	default:
		want.number(value)
	}
	return want
}

// inWordsOf looks for the words by which a parameter's value is known as well, and for
// amounts in other units.
func (w *query) inWordsOf(of parameters.Parameter, value any) {
	w.unit = of.Unit
	for _, alias := range of.Aliases {
		if alias.Value == value {
			w.texts = appendSpaced(w.texts, tokenize(alias.Words))
		}
	}
}

// number looks for a number in any form.
func (w *query) number(value any) {
	number, ok := value.(json.Number)
	if !ok {
		number = json.Number(written(value))
	}
	if decimal, ok := moment.Decimal(number.String()); ok {
		w.numbers = []string{decimal}
	}
}

// text looks for a string: as words and, where it is a truth value, a number, a date
// or a time, as that.
func (w *query) text(value string) {
	w.words(value)
	if key := text.Key(value); key == "true" || key == "false" {
		truth := key == "true"
		w.truth = &truth
	}
	// What is longer is prose: it may hold a date, but is none.
	const longest = 64
	w.value, w.unread = value, len(value) <= longest
}

// read makes numbers, dates and times of a string.
func (w *query) read() {
	if w.unread {
		w.unread = false
		r := moment.NewText(w.value, w.now)
		w.numbers = r.OnlyNumber()
		w.dates, w.clocks, w.days, w.hours = r.OnlyMoment()
	}
}

// topic is the words of the parameter's name.
func (w *query) topic() []text.Word { return text.Split(text.Identifier(w.name)) }

// words takes the string's words as they are, as the name that it may be, and without
// the possessive s.
func (w *query) words(value string) {
	tokens := tokenize(value)
	switch {
	case len(tokens) == 0:
		w.raw = strings.TrimSpace(value)
	case len(tokens) == 1 && (tokens[0].norm == "a" || tokens[0].norm == "i"):
		w.letter = strings.TrimFunc(value, func(r rune) bool { return !text.InWord(r) })
		return
	}
	w.texts = appendSpaced(w.texts, tokens)
	if named := text.Identifier(value); named != value && !strings.Contains(value, " ") {
		w.texts = appendSpaced(w.texts, tokenize(named))
	}
	w.texts = appendSpaced(w.texts, withoutPossessive(value, tokens))
	w.tight = tightForm(tokens)
}

func appendSpaced(texts []string, tokens []token) []string {
	if len(tokens) == 0 {
		return texts
	}
	text, _ := lineUp(tokens)
	for _, known := range texts {
		if known == text {
			return texts
		}
	}
	return append(texts, text)
}

// withoutPossessive drops the s of McDonald's.
func withoutPossessive(value string, tokens []token) []token {
	var kept []token
	for _, t := range tokens {
		before, _ := utf8.DecodeLastRuneInString(value[:t.start])
		if t.norm == "s" && (before == '\'' || before == '’') && len(kept) > 0 {
			continue
		}
		kept = append(kept, t)
	}
	return kept
}

// maxTight bounds the strings that are compared without spaces: names, codes and
// telephone numbers, all of them short.
const maxTight = 64

// tightForm is the string without spaces, or empty where it must not be compared so:
// a few digits may come together by chance, as those of "1 2" do.
func tightForm(tokens []token) string {
	var b strings.Builder
	letters := false
	for _, t := range tokens {
		if b.Len() > maxTight {
			return ""
		}
		b.WriteString(moment.WithoutMarks(t.norm))
		letters = letters || strings.ContainsFunc(t.norm, unicode.IsLetter)
	}
	text := b.String()
	count := utf8.RuneCountInString(text)
	if len(text) > maxTight || letters && count < 3 || !letters && count < 7 {
		return ""
	}
	return text
}

// in finds the scalar in a message and returns the message's words.
func (w *query) in(p *message) (string, bool) {
	if w.raw != "" && strings.Contains(p.text, w.raw) {
		return w.raw, true
	}
	found, ok := w.inWords(p)
	if !ok {
		w.read()
		found, ok = among(w.numbers, p.figures)
	}
	if !ok && w.unit != nil {
		found, ok = w.amount(p)
	}
	if !ok {
		found, ok = among(w.dates, p.dates)
	}
	if !ok {
		found, ok = among(w.clocks, p.clocks)
	}
	if !ok && w.truth != nil {
		found, ok = p.truth(w.topic(), *w.truth)
	}
	return p.text[found.from:found.to], ok
}

// amount finds an amount that is the number in another unit.
func (w *query) amount(p *message) (span, bool) {
	for _, said := range w.unit.Amounts(p.text) {
		for _, number := range w.unit.Numbers(said) {
			if decimal, ok := moment.Decimal(number.String()); ok && slices.Contains(w.numbers, decimal) {
				return span{said.From, said.To}, true
			}
		}
	}
	return span{}, false
}

func (w *query) inWords(p *message) (span, bool) {
	for _, text := range w.texts {
		if found, ok := p.run(text); ok {
			return found, true
		}
	}
	if w.letter != "" {
		return p.lone(w.letter, w.topic())
	}
	if w.tight != "" {
		return p.joined(w.tight)
	}
	return span{}, false
}

// among looks the forms up in what a message has; it is read only where it is needed.
func among(forms []string, read func() spans) (span, bool) {
	for _, form := range forms {
		if found, ok := read()[form]; ok {
			return found, true
		}
	}
	return span{}, false
}
