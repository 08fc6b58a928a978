package offline

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"earshot/matcher"
	"earshot/matcher/text"
	"earshot/matcher/values"
)

// interpret finds the calls that the message asks for, or the reason why there are none. It first tries to continue
// an unfinished or finished call: such a message is short, and a comparison could match an unrelated tool.
func (p *interpreter) interpret() ([]intent, string) {
	if one, ok := p.byExample(p.request.Text); ok {
		return []intent{one}, ""
	}
	open, dropped := p.stillOpen()
	if dropped {
		return nil, "the message drops the call that was begun"
	}
	p.request.Unfinished = open
	meant, forbidden := text.WithoutForbidden(text.WithoutOmitted(p.request.Text))
	if meant == "" && p.request.Text != "" {
		return nil, "the message names what is not to be done, or not yet"
	}
	if forbidden != "" {
		p.trace.Note("The message forbids a part of what it names: " + forbidden + ".")
	}
	said := p.dated(text.Corrected(meant))
	if one, ok := p.answers(said); ok {
		return []intent{one}, ""
	}
	last, done := p.last()
	if done {
		said = p.otherwise(last, said)
		if one, ok := p.changes(last, said); ok {
			return []intent{one}, ""
		}
		if one, ok := p.turns(last, said.After); ok {
			return []intent{one}, ""
		}
	}
	calls, why := p.calls(said)
	says := func(w text.Word) bool { return isThing(w) || w.Is(text.ActionVerbs) }
	if said.Marked && said.Before == "" && !slices.ContainsFunc(p.text(said.After).Words, says) {
		calls, why = nil, "the message corrects what was said before, and it is not clear what"
	}
	if len(calls) > 0 && p.valueOnly(calls) {
		calls, why = nil, "the message has a value and nothing else, while another call lacks values"
	}
	if len(calls) > 0 {
		if done {
			inherits(last, calls[0])
		}
		return p.withRefused(meant, said, calls), ""
	}
	if done && isAddition(said.After) {
		if one, ok := p.others(last, said.After); ok {
			return []intent{one}, ""
		}
	}
	if one, ok := p.continues(said); ok {
		return []intent{one}, ""
	}
	switch yes, no := text.Consents(p.request.Text); {
	case yes:
		why = "the message is a plain yes, and calls for no tool by itself"
	case no:
		why = "the message is a plain no, and calls for no tool by itself"
	}
	return nil, why
}

// withRefused adds to the one call of a text what a clause denies that replaces nothing: "…, without breakfast".
func (p *interpreter) withRefused(meant string, said text.Correction, calls []intent) []intent {
	if len(calls) > 1 || !said.Marked {
		return calls
	}
	one := calls[0]
	whole := p.read(meant, one.Candidate).Values
	for _, parameter := range one.Tool.Params().List() {
		if denied, is := whole[parameter.Name].(bool); is && !denied && one.values[parameter.Name] == nil {
			one.values[parameter.Name] = false
		}
	}
	return calls
}

// stillOpen returns the begun calls that the message leaves open. dropped reports whether it refuses them: "cancel that" cancels
// nothing else. A message that abandons them may ask for another call.
func (p *interpreter) stillOpen() (open []matcher.Unfinished, dropped bool) {
	if len(p.request.Unfinished) == 0 {
		return nil, false
	}
	if _, no := text.Consents(p.request.Text); no {
		return nil, true
	}
	if text.Abandons(p.request.Text) {
		return nil, false
	}
	return p.request.Unfinished, false
}

// valueOnly reports whether a call lacks values, and the text has a value for other tools and nothing else: "actually Paris"
// asks for no weather while a flight is booked.
func (p *interpreter) valueOnly(calls []intent) bool {
	return len(p.request.Unfinished) > 0 && !slices.ContainsFunc(calls, func(one intent) bool {
		begun := slices.ContainsFunc(p.request.Unfinished, func(u matcher.Unfinished) bool { return u.Tool == one.Tool })
		return begun || len(one.values) == 0 || !p.read(one.said, one.Candidate).onlyValues()
	})
}

// calls finds the calls of a message by itself. If it corrects itself, the call is the first part's with the second
// part's values, or the second part's.
func (p *interpreter) calls(said text.Correction) ([]intent, string) {
	if said.Before == "" {
		return p.intents(said.After)
	}
	first, why := p.one(said.Before)
	if len(first) == 1 {
		if said.After == "" {
			return nil, "the message takes back what it says"
		}
		if r := p.read(said.After, first[0].Candidate); r.whole() && len(r.Values) > 0 {
			maps.Copy(first[0].values, r.Values)
			return first, ""
		}
	}
	after := said.After
	if words := text.Split(after); len(words) > 1 && words[0].Is(text.Articles) { // like an order: "the light" tells nothing of it
		after = after[words[1].Start:]
	}
	if then, _ := p.intents(after); len(then) > 0 {
		return then, ""
	}
	if len(first) > 0 {
		why = "the message corrects itself, and what holds is not clear"
	}
	return nil, why
}

// intents finds the calls of a text with possibly several intents: "turn off the tv and the light". It splits the
// text if every part is a call, or if several parts call for different tools and the others only tell: "I need a
// taxi, it rains, and a table". Else it is one call.
func (p *interpreter) intents(said string) ([]intent, string) {
	raw := partsOf(said)
	parts := several(raw)
	if len(parts) > 0 && allOrder(parts) {
		if calls := distinct(p.apart(raw, nil)); len(calls) > 1 && !ofOneCall(calls) {
			return calls, ""
		}
	}
	calls, why := p.one(said)
	if len(parts) > 0 {
		if among := p.amongStatements(parts, calls); len(among) > 1 {
			return among, ""
		}
	}
	if len(calls) != 1 {
		return calls, why
	}
	for _, part := range parts { // parts that look like an intent and that the call does not cover
		said := strings.Trim(part.Said, " .,;!?")
		if !slices.ContainsFunc(p.text(said).Words, isThing) || len(p.read(said, calls[0].Candidate).Values) > 0 {
			continue
		}
		if other, _ := p.one(said); len(other) == 0 || other[0].Tool != calls[0].Tool {
			p.trace.Note("No tool was found for a part of the message: " + said + ".")
		}
	}
	return calls, why
}

// allOrder reports whether each part of a text can be an intent: none tells, and all or none ask. "My bill is due
// and I need a loan" has one.
func allOrder(parts []text.Text) bool {
	asked := 0
	for _, part := range parts {
		switch part.Mood() {
		case text.Statement:
			if hasVerb(part.Words) {
				return false
			}
		case text.Question:
			asked++
		}
	}
	return asked == 0 || asked == len(parts)
}

// hasVerb reports whether a person, or a word such as "is", makes a sentence of a possible name of a thing.
func hasVerb(words []text.Word) bool {
	return slices.ContainsFunc(words, func(w text.Word) bool {
		return w.Is(text.QuestionWords, text.Persons) && !w.Is(text.Articles, text.Pronouns)
	})
}

// ofOneCall reports whether consecutive calls are of one tool with values of different parameters: "refund order
// A-17, amount 30" is one refund.
func ofOneCall(calls []intent) bool {
	for i, one := range calls[1:] {
		before := calls[i]
		listed := slices.ContainsFunc(values.KindsOf(one.Tool).Lists, func(name string) bool { return one.values[name] == nil || before.values[name] == nil })
		shared := !listed && (len(one.values) == 0 || len(before.values) == 0)
		for name := range one.values {
			old, both := before.values[name]
			_, list := old.([]any) // which takes both
			shared = shared || both && !list
		}
		if one.Tool == before.Tool && !shared {
			return true
		}
	}
	return false
}

// apart finds a call for each of the parts, or for several adjacent ones together; nil if any is left. before is
// the call of the previous part.
func (p *interpreter) apart(parts []string, before *intent) []intent {
	if len(parts) == 0 {
		return []intent{}
	}
	for n := 1; n <= len(parts); n++ {
		said := strings.TrimSpace(strings.Join(parts[:n], ""))
		if before != nil {
			said = withoutJoint(said)
		}
		calls := p.part(said, before)
		if len(calls) == 0 {
			continue
		}
		if rest := p.apart(parts[n:], &calls[len(calls)-1]); rest != nil {
			return append(calls, rest...)
		}
	}
	return nil
}

// part finds the calls of one part of a text, by itself or completed from the previous part.
func (p *interpreter) part(said string, before *intent) []intent {
	words := p.text(said).Words
	returns := text.AnyIs(words[:min(2, len(words))], text.ReturnWords)
	if before != nil && !returns {
		if one, ok := p.changes(*before, text.Correction{After: said, Marked: true}); ok && repeats(*before, one) {
			return []intent{one}
		}
		if one, ok := p.turns(*before, said); ok {
			return []intent{one}
		}
		if one, ok := p.others(*before, said); ok {
			return []intent{one}
		}
	}
	calls, _ := p.one(said)
	if before != nil && len(calls) > 0 {
		inherits(*before, calls[0])
	}
	return calls
}

// repeats reports whether a call differs from the previous one in an enumerated value or a day. A different number
// is more likely of the same call.
func repeats(before, one intent) bool {
	worded := false
	for _, parameter := range one.Tool.Params().List() {
		value, old := one.values[parameter.Name], before.values[parameter.Name]
		if reflect.DeepEqual(value, old) {
			continue
		}
		if old == nil || value == nil || parameter.Type == "array" || slices.Contains(values.KindsOf(one.Tool).Named, parameter.Name) {
			return false // "to Anna and Ben" may be one payment, or two
		}
		worded = worded || parameter.Type == "string"
	}
	return worded
}

// amongStatements finds the calls of the parts that call for different tools, among parts that only tell. It is nil if
// another kind of part exists, or the whole text calls for another tool.
func (p *interpreter) amongStatements(parts []text.Text, whole []intent) []intent {
	var found []intent
	for _, part := range parts {
		mood := part.Mood()
		calls, _ := p.one(part.Said)
		switch {
		case mood == text.Question || len(calls) == 0 && (mood != text.Statement || !hasVerb(part.Words)):
			return nil
		case mood != text.Statement:
			found = append(found, calls...)
		}
	}
	found = distinct(found)
	if !slices.ContainsFunc(found, func(one intent) bool { return one.Tool != found[0].Tool }) {
		return nil // the other parts are values of the first
	}
	for _, one := range whole {
		if !slices.ContainsFunc(found, func(other intent) bool { return other.Tool == one.Tool }) {
			return nil
		}
	}
	return found
}
