package offline

import (
	"reflect"
	"slices"
	"strings"

	"earshot/matcher/text"
)

// maxParts bounds the work for one message: what has more parts is told, not ordered.
const maxParts = 6

// wishes finds the calls of a text that may have several wishes: "turn off the tv and the
// light". It is taken apart where every part of it is a call of its own, or where several parts call for
// different tools and the others only tell: "I need a taxi, it rains, and a table". It is one call else.
func (h *hearing) wishes(said string) ([]wish, string) {
	parts := partsOf(said)
	if len(parts) > 1 && len(parts) <= maxParts && allOrder(parts) {
		if calls := distinct(h.apart(parts, nil)); len(calls) > 1 && !ofOneCall(calls) {
			return calls, ""
		}
	}
	calls, why := h.one(said)
	if len(parts) > 1 && len(parts) <= maxParts {
		if several := h.amongTold(parts, calls); len(several) > 1 {
			return several, ""
		}
		if len(calls) == 1 {
			h.tellLeft(parts, calls[0])
		}
	}
	return calls, why
}

// amongTold finds the calls of the parts that call for different tools, among others that only tell;
// nil where a part is neither, or where the text as a whole calls for another tool than they.
func (h *hearing) amongTold(parts []string, whole []wish) []wish {
	var found []wish
	for _, part := range parts {
		part = withoutJoint(part)
		words := text.Split(part)
		mood := (text.Text{Said: part, Words: words}).Mood()
		calls, _ := h.one(part)
		switch {
		case mood == text.Question || len(calls) == 0 && (mood != text.Statement || !hasVerb(words)):
			return nil
		case mood != text.Statement:
			found = append(found, calls...)
		}
	}
	if found = distinct(found); ofOneTool(found) { // its other parts are values of the first
		return nil
	}
	for _, one := range whole {
		if !slices.ContainsFunc(found, func(other wish) bool { return other.Tool == one.Tool }) {
			return nil
		}
	}
	return found
}

// allOrder reports whether the parts of a text can each be a wish: none of them tells, and either
// all of them ask or none does. "My bill is due and I need a loan" has one.
func allOrder(parts []string) bool {
	asked := 0
	for _, part := range parts {
		part = withoutJoint(part)
		words := text.Split(part)
		switch mood := (text.Text{Said: part, Words: words}).Mood(); {
		case mood == text.Statement && hasVerb(words):
			return false
		case mood == text.Question:
			asked++
		}
	}
	return asked == 0 || asked == len(parts)
}

// ofOneTool reports whether calls are of one tool.
func ofOneTool(calls []wish) bool {
	return !slices.ContainsFunc(calls, func(one wish) bool { return one.Tool != calls[0].Tool })
}

// hasVerb reports whether a person, or a word such as "is", makes a sentence of what could be
// the name of a thing.
func hasVerb(words []text.Word) bool {
	return slices.ContainsFunc(words, func(w text.Word) bool {
		return w.Is(text.QuestionWords, text.Persons) && !w.Is(text.Articles, text.Pronouns)
	})
}

// ofOneCall reports whether calls that follow each other are of one tool and have values of
// different parameters: "refund order A-17, amount 30" is one refund.
func ofOneCall(calls []wish) bool {
	for i, one := range calls[1:] {
		before := calls[i]
		shared := len(one.values) == 0 || len(before.values) == 0
		for name := range one.values {
			_, both := before.values[name]
			shared = shared || both
		}
		if one.Tool == before.Tool && !shared {
			return true
		}
	}
	return false
}

// distinct are the calls without those that are there already.
func distinct(calls []wish) []wish {
	var found []wish
	for _, one := range calls {
		if !slices.ContainsFunc(found, func(other wish) bool { return other.Tool == one.Tool && reflect.DeepEqual(other.values, one.values) }) {
			found = append(found, one)
		}
	}
	return found
}

// apart finds a call for each of the parts, or for several of them together where they have none
// alone; nil where any is left. before is the call of the part before.
func (h *hearing) apart(parts []string, before *wish) []wish {
	if len(parts) == 0 {
		return []wish{}
	}
	for n := 1; n <= len(parts); n++ {
		said := strings.TrimSpace(strings.Join(parts[:n], ""))
		if before != nil {
			said = withoutJoint(said)
		}
		calls := h.part(said, before)
		if len(calls) == 0 {
			continue
		}
		if rest := h.apart(parts[n:], &calls[len(calls)-1]); rest != nil {
			return append(calls, rest...)
		}
	}
	return nil
}

// part finds the calls of one part of a text: what it asks for by itself, or what it leaves out
// since the part before has said it.
func (h *hearing) part(said string, before *wish) []wish {
	if before == nil {
		calls, _ := h.one(said)
		return calls
	}
	if one, ok := h.changes(*before, text.Correction{After: said, Marked: true}); ok && repeats(*before, one) {
		return []wish{one}
	}
	if one, ok := h.turns(*before, said); ok {
		return []wish{one}
	}
	if one, ok := h.others(*before, said); ok {
		return []wish{one}
	}
	calls, _ := h.one(said)
	if len(calls) > 0 {
		calls[0] = inherits(*before, calls[0])
	}
	return calls
}

// repeats reports whether a call is the one before with another one of the values that a
// parameter allows, or another day. Numbers alone are more likely those of one call.
func repeats(before, one wish) bool {
	worded := false
	for _, parameter := range one.Tool.Params().List() {
		value, old := one.values[parameter.Name], before.values[parameter.Name]
		if value == nil && old == nil || reflect.DeepEqual(value, old) {
			continue
		}
		if old == nil || value == nil || parameter.Type == "array" {
			return false
		}
		worded = worded || parameter.Type == "string"
	}
	return worded
}

// partsOf cuts a text where one wish may end and another begin. Nothing is lost: the parts
// together are the text.
func partsOf(said string) []string {
	words := text.Split(said)
	var parts []string
	from := 0
	for i := 1; i < len(words); i++ {
		if !(text.Text{Said: said, Words: words}).Pause(i) && (text.JoiningPhrases.PhraseAt(words, i) == 0 || joinsNumbers(words, i)) {
			continue
		}
		if text.JoiningPhrases.PhraseBefore(words, i) > 0 {
			continue // "and then"
		}
		parts = append(parts, said[from:words[i].Start])
		from = words[i].Start
	}
	return append(parts, said[from:])
}

// joinsNumbers reports whether the word stands between two numbers, as in a range.
func joinsNumbers(words []text.Word, i int) bool {
	return i+1 < len(words) && isNumber(words[i-1]) && isNumber(words[i+1])
}

// withoutJoint is a part without the "and then" that it begins with.
func withoutJoint(said string) string {
	words := text.Split(said)
	if length := text.JoiningPhrases.PhraseAt(words, 0); length > 0 && length < len(words) {
		return said[words[length].Start:]
	}
	return said
}

// tellLeft notes the parts of a text that look like a wish and that the call does not answer.
func (h *hearing) tellLeft(parts []string, call wish) {
	for _, part := range parts {
		part = strings.Trim(withoutJoint(part), " .,;!?")
		words := text.Split(part)
		if !slices.ContainsFunc(words, isThing) || len(h.read(part, call.Candidate).Values) > 0 {
			continue
		}
		if calls, _ := h.one(part); len(calls) == 0 || calls[0].Tool != call.Tool {
			h.trace.Note("No tool was found for a part of the message: " + part + ".")
		}
	}
}
