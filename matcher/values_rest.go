package matcher

import (
	"encoding/json"
	"strings"
)

// readRest fills the one free string that is left, or the one for contents, with the rest of the text after
// a clear cue: a colon, "called", or the verb that the tool is named for ("search for
// cheap flights", "remind me to buy milk").
func (r *valueReader) readRest() {
	slots := r.slots(freeText)
	if len(slots) > 1 {
		slots = r.slots(func(s *slot) bool { return freeText(s) && s.called(contents) })
	}
	if len(slots) != 1 {
		return
	}
	first, end := r.cue(slots[0])
	end = r.trimmed(first, end)
	if first < 0 || first >= end || !r.free(first, end) || !r.fresh(first, end) {
		return
	}
	r.fill(slots[0], strings.TrimSpace(r.surface(first, end)), first, end)
}

// cue finds what a cue announces: all that follows a colon, or the rest of the
// sentence after the tool's verb. Without a cue first is -1.
func (r *valueReader) cue(s *slot) (first, end int) {
	for i := range r.words[:max(0, len(r.words)-1)] {
		if announcing[r.words[i].norm] || strings.HasPrefix(r.gap(i), ":") {
			return i + 1, len(r.words)
		}
	}
	if !s.called(contents) {
		return -1, 0
	}
	for i, w := range r.words {
		if w.norm == r.verb && subject(w) && !articles[r.at(i-1)] {
			first = r.object(i + 1)
			return first, r.sentence(first)
		}
	}
	return -1, 0
}

// sentence ends where a mark ends the sentence.
func (r *valueReader) sentence(first int) int {
	for end := first; end < len(r.words); end++ {
		if strings.ContainsAny(r.gap(end), ".?!\n") {
			return end + 1
		}
	}
	return len(r.words)
}

// object skips what stands between a verb and its object.
func (r *valueReader) object(i int) int {
	for i < len(r.words) && (between[r.words[i].norm] || r.named(i) || articles[r.at(i)] && r.named(i+1)) {
		i++
	}
	return i
}

// named reports whether the word at i is one of the tool's name.
func (r *valueReader) named(i int) bool {
	return i < len(r.words) && r.name[r.words[i].stem]
}

// trimmed is the end of the text without politeness.
func (r *valueReader) trimmed(first, end int) int {
	for end > 0 && end > first && polite[r.words[end-1].norm] {
		end--
	}
	return end
}

// fresh reports whether the words say more than the tool's own name does.
func (r *valueReader) fresh(first, end int) bool {
	for _, w := range r.words[first:end] {
		if !functionWords[w.norm] && !r.name[w.stem] {
			return true
		}
	}
	return false
}

var (
	announcing = set(`called named titled saying says namens appele intitule chiamato llamado`)
	contents   = stems(`query text message content term search keyword question phrase topic task note item expression
		body comment todo reminder sentence word title subject input`)
	between = set(`me us for to that about up of mir uns nach dass`)
	polite  = set(`please thanks thank you now bitte danke merci svp gracias grazie`)
)

// readLists fills arrays: all allowed values that are said, all numbers, or all that
// is quoted.
func (r *valueReader) readLists() {
	lists := r.slots(func(s *slot) bool { return s.Type == "array" && s.Items != nil })
	for _, s := range lists {
		item := &slot{shownParameter: *s.Items, name: s.name, about: s.about}
		switch {
		case len(lists) > 1: // nothing tells whose the values are
		case len(item.Allowed) > 0 && !isNumeric(item):
			r.list(s, r.mentions(item, item.Allowed))
		case isNumeric(item) && len(r.slots(numberSlot)) == 0:
			r.list(s, asMentions(r.figures()))
		case isText(item) && len(r.slots(freeText)) == 0:
			r.list(s, r.quotations())
		}
	}
}

func (r *valueReader) list(s *slot, found []mention) {
	if len(found) == 0 {
		return
	}
	values := make([]any, len(found))
	for i, m := range found {
		values[i] = m.value
	}
	r.fill(s, values, found[0].first, found[0].first)
	for _, m := range found {
		for i := m.first; i < m.end; i++ {
			r.taken[i] = true
		}
	}
}

func asMentions(figures []figure) []mention {
	found := make([]mention, len(figures))
	for i, f := range figures {
		found[i] = mention{json.Number(f.number), f.first, f.end}
	}
	return found
}
