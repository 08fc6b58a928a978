package evidence

import (
	"slices"
	"strings"
	"time"

	"earshot/matcher/datetime"
	"earshot/matcher/text"
	"earshot/repositories/exactjson"
	"earshot/repositories/quantity"
)

// message is one message of a conversation with its cached readings.
type message struct {
	id, actor, said string

	words []word
	line  string // words with a space around each
	texts []reader
	meant map[string]span // meanings with their first places

	amounts map[*quantity.Unit]map[string]span // numbers of amounts by unit, with their first places
}

// span is a range of a message's text, in bytes.
type span struct{ from, to int }

// has finds the first matching form in the message.
func (m *message) has(want *forms, now time.Time) (span, bool) {
	if at := strings.Index(m.said, want.sign); want.sign != "" && at >= 0 {
		return span{at, at + len(want.sign)}, true
	}
	for _, one := range want.words {
		if at, ok := m.find(one); ok {
			return at, true
		}
	}
	for _, one := range want.means() {
		if at, ok := m.means(now)[one]; ok {
			return at, true
		}
	}
	for _, one := range want.means() {
		if at, ok := m.counts(want.unit)[one]; ok {
			return at, true
		}
	}
	return span{}, false
}

// counts returns the numbers of the message's amounts in a unit; none without a unit.
func (m *message) counts(unit *quantity.Unit) map[string]span {
	if unit == nil || m.amounts[unit] != nil {
		return m.amounts[unit]
	}
	found := map[string]span{}
	for _, said := range unit.Amounts(m.said) {
		for _, number := range unit.Numbers(said) {
			decimal, _ := exactjson.ParseDecimal(number.String()) // its own plain decimals
			if _, known := found[decimal.String()]; !known {
				found[decimal.String()] = span{said.From, said.To}
			}
		}
	}
	if m.amounts == nil {
		m.amounts = map[*quantity.Unit]map[string]span{}
	}
	m.amounts[unit] = found
	return found
}

// find returns the first place of a form at word boundaries.
func (m *message) find(want form) (span, bool) {
	if m.line == "" {
		m.words = wordsOf(m.said)
		m.line = inLine(m.words)
	}
	fits := func(first, last int) bool { return want.fits == nil || want.fits(m, first, last) }
	if want.tight { // spaces may differ: "wifi" for "Wi-Fi"
		for first := range m.words {
			rest, end, same := want.words, first, true
			for ; same && rest != "" && end < len(m.words); end++ {
				rest, same = strings.CutPrefix(rest, m.words[end].bare)
			}
			if rest == "" && fits(first, end-1) {
				return span{m.words[first].from, m.words[end-1].to}, true
			}
		}
		return span{}, false
	}
	length := strings.Count(want.words, " ") - 1
	for first, from := 0, 0; ; first++ {
		at := strings.Index(m.line[from:], want.words)
		if at < 0 {
			return span{}, false
		}
		first += strings.Count(m.line[from:from+at], " ")
		if last := first + length - 1; fits(first, last) {
			return span{m.words[first].from, m.words[last].to}, true
		}
		from += at + 1
	}
}

// means returns the numbers, days and times of day in the message. Ambiguous words have several.
func (m *message) means(now time.Time) map[string]span {
	if m.meant != nil {
		return m.meant
	}
	m.meant = map[string]span{}
	for _, r := range m.readers(now) {
		for _, read := range slices.Concat(r.AllNumbers(), r.Dates(), r.Clocks()) {
			for _, one := range read.Values {
				if _, known := m.meant[one]; !known {
					m.meant[one] = span{r.offset + read.From, r.offset + read.To}
				}
			}
		}
	}
	return m.meant
}

// reader reads the meanings of a part of a message from an offset on.
type reader struct {
	*datetime.Text
	offset int
}

// readers splits the message into parts that are read whole. They overlap by more words than any number, date or
// time has.
func (m *message) readers(now time.Time) []reader {
	const overlap = 16
	for at := 0; m.texts == nil || at > 0; {
		r := reader{datetime.NewText(m.said[at:], now), at}
		m.texts = append(m.texts, r)
		if len(r.Words) < text.MaxWords {
			break
		}
		at += r.Words[len(r.Words)-overlap].Start
	}
	return m.texts
}
