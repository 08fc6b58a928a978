package offline

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"earshot/matcher"
	"earshot/matcher/retrieval"
	"earshot/matcher/text"
	"earshot/repositories"
)

// leastLead is the minimum distance between two tools for a choice: below it they share all words of the text.
const leastLead float32 = 0.005

// barOf returns the probability from which a tool of the request's app fires.
func barOf(request matcher.Request) float64 {
	if request.App != nil && request.App.Settings.Offline.Bar == repositories.BarLikely {
		return Likely
	}
	return Certain
}

// judgement is the result of comparing a text with its nearest tool.
type judgement struct {
	nearest []retrieval.Near // the best first
	// why is the reason against the first of them, as the end of "Nothing fired: …"; empty if the text calls for
	// it.
	why string
	// sure is the probability that the text calls for the first of them; 0 if not computed.
	sure float64
	// unsure means that only the probability is against it, and weak that only it or the similarity is.
	unsure, weak bool
}

// decide judges whether the text calls for its nearest candidate; bar is the required probability.
func decide(bar float64, scope retrieval.Scope, said text.Text) judgement {
	heard := said
	said.Words = scope.Spelled(said.Words)
	u := utteranceOf(said)
	u.heard = heard
	near := u.unopposedGiving(scope.Nearest(u.Words, Compared))
	if other := u.inWordsOf(near); other != nil {
		u.Words = other
		u.mood = u.Mood()
		near = u.unopposedGiving(scope.Nearest(u.Words, Compared))
	}
	// "I need an appointment" does not cancel one, if other tools are left. The nearest tool stays if only the mood
	// is against it: no other tool is then meant for its thing (contract 19).
	nearest := u.unopposedSides(near)
	if u.mood != text.Question && u.mood != text.Statement {
		nearest = u.giving(nearest)
	}
	nearest = keep(nearest, func(near retrieval.Near) bool {
		p := near.Document()
		return !(near.Score < nearest[0].Score && u.unspoken(p)) && !u.unasked(p)
	})
	if len(nearest) > 0 {
		switch act := u.against(nearest[0].Document()); act {
		case "":
		case denial:
			return judgement{nearest: nearest, why: "the message does not want what the nearest tool gives"}
		default:
			return judgement{nearest: nearest, why: fmt.Sprintf("the nearest tool gives something, and the message asks for something else by %q", act)}
		}
	}
	return u.judge(bar, scope, nearest)
}

// utterance is a text for comparison with tools, with its phrases that ask to undo or alter something. A tool that
// gives a thing is near to every message about it, even to those that reject it: "call off my appointment". So the
// requested act matters as well.
type utterance struct {
	text.Text
	mood           text.Mood
	heard          text.Text // as it was typed: another spelling can be another form
	undoes, alters []phrase
	denied         []text.Word // words of clauses that deny something
	declines       bool        // one of them denies that one wants, or can use, what one has

	parts func() []text.Text // its parts, if several
}

// phrase is one word of a message, or two.
type phrase struct{ first, second text.Word }

// pairReach is the maximum number of words between the two of a pair: "put my appointment on Monday off".
const pairReach = 6

func utteranceOf(said text.Text) *utterance {
	u := &utterance{Text: said, heard: said, mood: said.Mood(), parts: sync.OnceValue(func() []text.Text { return several(partsOf(said.Said)) })}
	for i, w := range u.Words {
		switch {
		case u.Reminds(i):
		case w.Is(text.UndoingWords), u.drops(i):
			u.undoes = append(u.undoes, phrase{w, w})
		case w.Is(text.AlteringWords):
			u.alters = append(u.alters, phrase{w, w})
		case w.Is(text.Negations) && !w.Is(text.Articles) && !u.idle(i):
			first, end := text.Clause(u.Text, i)
			denied := u.Words[first:end]
			u.denied = append(u.denied, denied...)
			u.declines = u.declines || slices.ContainsFunc(denied, isDefinite) && text.AnyIs(denied, text.AttendingVerbs, text.WantingWords)
		}
		next := u.Words[i+1 : min(len(u.Words), i+2+pairReach)]
		for at, second := range next {
			if w.Is(text.ReceivingVerbs) && slices.ContainsFunc(next[:at], text.PastForm) {
				break // "get it checked out"
			}
			pair := w.Norm + " " + second.Norm
			if text.UndoingPairs.Has(pair) {
				u.undoes = append(u.undoes, phrase{w, second})
			}
			if text.AlteringPairs.Has(pair) {
				u.alters = append(u.alters, phrase{w, second})
			}
		}
	}
	return u
}

// drops reports whether the word at i orders to leave or remove a thing.
func (u *utterance) drops(i int) bool {
	return u.Words[i].Is(text.DroppingWords) && isDefinite(u.At(i+1))
}

// idle reports whether the negation at i denies no verb: "why not", "can't I have", "not only", "for not more than
// 20".
func (u *utterance) idle(i int) bool {
	w, before, after := u.Words[i], u.At(i-1), u.At(i+1)
	if u.Reminds(i) || after.Is(text.UnlessWords, text.PolitePersons) || before.Is(text.UnlessWords, text.PastWords) { // "I did not like it"
		return true
	}
	return !w.IsForeign(text.Negations) && i > 0 && !before.Is(text.Auxiliaries, text.PoliteWords)
}

// denies reports whether the text denies the thing that the tool gives, or names no thing: "I cannot come". "A
// trip, we do not need breakfast" denies something else.
func (u *utterance) denies(p *retrieval.Document) bool {
	named := slices.ContainsFunc(u.denied, func(w text.Word) bool { return p.Name[w.Stem] })
	return named || len(u.denied) > 0 && !slices.ContainsFunc(u.denied, isThing)
}

// denial stands for words that deny a thing.
const denial = "not"

// against returns the words by which the message rejects or alters the thing that the tool gives; empty for a tool
// that gives nothing.
func (u *utterance) against(p *retrieval.Document) string {
	if !p.Gives {
		return ""
	}
	for _, said := range slices.Concat(u.undoes, u.alters) {
		switch {
		case p.Known[said.first.Stem] && p.Known[said.second.Stem]:
		case said.first == said.second:
			return said.first.Norm
		default:
			return said.first.Norm + " … " + said.second.Norm
		}
	}
	if u.denies(p) {
		return denial
	}
	return u.otherAct(p)
}

// nameReach is how many words after "my" or "the" the thing is named.
const nameReach = 3

// otherAct returns the verb by which a message asks for something else with an existing thing of the tool's name:
// "scrap my appointment", "I want to talk about the appointment", "den Termin verlegen". It is empty if the verb is
// one of getting, or the tool knows it.
func (u *utterance) otherAct(p *retrieval.Document) string {
	words := u.Words
	gets := func(w text.Word) bool {
		return w.Is(text.GettingVerbs, text.GivingVerbs, text.PoliteWords, text.Fillers, text.WishWords) ||
			p.Known[w.Stem] || p.Relates(w) || strings.HasSuffix(w.Norm, "ly")
	}
	named := func(w text.Word) bool { return p.Name[w.Stem] }
	acts := func(w text.Word) bool { // a verb that is specific by itself
		return p.Known[w.Stem] && w.Is(text.ActionVerbs) && !w.Is(text.LightVerbs, text.StopWords, text.RequestWords, text.GettingVerbs)
	}
	modal := func(w text.Word) bool { // German puts the verb at the end after one
		return w.IsForeign(text.WishWords) || w.IsForeign(text.PoliteVerbs) || w.IsForeign(text.RequestWords)
	}
	for at, w := range words {
		before := u.At(at - 1) // "milk on my list" is put there
		receives := before.Is(text.TargetCues) && !before.Is(text.OfWords, text.OriginCues) && !text.UndoingPairs.Has("take "+before.Norm)
		if !isDefinite(w) || receives || !slices.ContainsFunc(words[at+1:min(at+1+nameReach, len(words))], named) {
			continue
		}
		if slices.ContainsFunc(words[:at], acts) {
			return "" // "remove bread from my list", for a tool that removes
		}
		for _, verb := range slices.Backward(words[:at]) { // more than grammar, a time or a number
			if verb.Is(text.StopWords, text.CalendarWords) || isNumber(verb) {
				continue
			}
			if !gets(verb) {
				return verb.Norm
			}
			break
		}
		if last := words[len(words)-1]; strings.HasSuffix(last.Norm, "en") && !gets(last) && isContent(last) && slices.ContainsFunc(words, modal) {
			return last.Norm
		}
	}
	return ""
}

// keep returns the candidates for which so is true; all of them if none is.
func keep(nearest []retrieval.Near, so func(retrieval.Near) bool) []retrieval.Near {
	kept := slices.DeleteFunc(slices.Clone(nearest), func(near retrieval.Near) bool { return !so(near) })
	if len(kept) == 0 {
		return nearest
	}
	return kept
}

// anyOf reports whether so is true for one of the candidates.
func anyOf(nearest []retrieval.Near, so func(*retrieval.Document) bool) bool {
	return slices.ContainsFunc(nearest, func(near retrieval.Near) bool { return so(near.Document()) })
}

// unopposedGiving removes tools that give a rejected thing if a nearby tool does what the text asks for, by its
// words or its examples. "Bail on a class" is for a tool that cancels one and has "I must bail" as an example.
func (u *utterance) unopposedGiving(nearest []retrieval.Near) []retrieval.Near {
	nearest = slices.DeleteFunc(slices.Clone(nearest), func(near retrieval.Near) bool {
		p := near.Document()
		thing := slices.IndexFunc(u.Words, func(w text.Word) bool { return p.Name[w.Stem] && isThing(w) })
		return p.Gives && thing > 0 && anyOf(nearest, func(q *retrieval.Document) bool {
			return q.Undoes != "" && shares(p.Name, q.Name) > 0 && slices.ContainsFunc(u.Words[:thing], func(w text.Word) bool {
				return w.IsSubject() && q.Known[w.Stem] && !p.Known[w.Stem]
			})
		})
	})
	answers := func(p *retrieval.Document) bool {
		has := func(said phrase) bool { return p.Known[said.first.Stem] && p.Known[said.second.Stem] }
		return p.Undoes != "" && (len(u.undoes) > 0 || u.declines && u.denies(p)) || slices.ContainsFunc(u.undoes, has) || slices.ContainsFunc(u.alters, has)
	}
	if !anyOf(nearest, answers) {
		return nearest
	}
	return slices.DeleteFunc(slices.Clone(nearest), func(near retrieval.Near) bool {
		return u.against(near.Document()) != "" && !answers(near.Document())
	})
}

// inWordsOf returns the message with its verb replaced by the nearest tool's verb for undoing the same thing:
// "scrap my appointment" becomes "cancel my appointment". It is nil if the message stays as it is.
func (u *utterance) inWordsOf(nearest []retrieval.Near) []text.Word {
	if len(nearest) == 0 || len(u.undoes) == 0 {
		return nil
	}
	p, said := nearest[0].Document(), u.undoes[0]
	if u.keeps(p) || said.first.Is(text.ReversingWords) && (len(u.undoes) > 1 || u.namesAct(p.Undoes)) {
		return nil // "undo the removal" removes nothing
	}
	if u.DeniesAct(func(i int) bool { return u.Words[i].Is(text.UndoingWords) || u.isAct(p, i) }) {
		return nil // what is negated is that it is undone
	}
	about := func(w text.Word) bool { return p.Name[w.Stem] && isThing(w) }
	if p.Undoes == "" || p.Known[said.first.Stem] && p.Known[said.second.Stem] || !slices.ContainsFunc(u.Words, about) {
		return nil
	}
	var other []text.Word
	for _, w := range u.Words {
		switch w {
		case said.first:
			other = append(other, w.As(p.Undoes, p.Undoes))
		case said.second:
		default:
			other = append(other, w)
		}
	}
	return other
}

// unopposedSides removes tools that do the opposite of the text, and those without a side ("an", "aus") if another
// tool for the thing has one. A tool that shows a list does not "add to the list".
func (u *utterance) unopposedSides(nearest []retrieval.Near) []retrieval.Near {
	var sides []text.Word
	for i, w := range u.Words {
		if u.isSide(i) || u.drops(i) {
			sides = append(sides, w)
		}
	}
	if len(sides) == 0 || len(nearest) < 2 {
		return nearest
	}
	onSide := func(p *retrieval.Document, w text.Word) bool { // in a tool's name or description
		return p.Title[w.Stem] || p.Drops && w.Is(text.DroppingWords) || p.Does(text.SideOf(w))
	}
	return keep(nearest, func(near retrieval.Near) bool {
		p := near.Document()
		return !slices.ContainsFunc(sides, func(w text.Word) bool {
			return contradicts(p, w) || !onSide(p, w) && anyOf(nearest, func(q *retrieval.Document) bool {
				better := p.Moods[text.Question] && u.mood != text.Question || sideOf(q, w) > sideOf(p, w)
				return onSide(q, w) && better && !contradicts(q, w) && slices.ContainsFunc(u.Words, func(w text.Word) bool {
					return p.Name[w.Stem] && q.Name[w.Stem] && isThing(w)
				})
			})
		})
	})
}

// isSide reports whether the word at i is a direction: "off", but not the "on" of "on March 1" or "on my list". A verb of
// switching is one, too: "spegnere".
func (u *utterance) isSide(i int) bool {
	w, next, last := u.Words[i], u.At(i+1), i == len(u.Words)-1
	switch {
	case text.SideOf(w) != "":
		return true
	case !w.Is(text.Opposites), w.Is(text.Articles) && !last: // the English "an"
		return false
	case !last && (next.Is(text.CalendarWords) || isNumber(next)):
		return false
	}
	return last || i == 0 || !w.Is(text.StopWords) || !next.Is(text.Articles) || u.Words[i-1].Is(text.LightVerbs)
}

// contradicts reports whether the word is the opposite of one in the tool's title: "off" for a tool that turns on.
func contradicts(p *retrieval.Document, w text.Word) bool {
	if p.Known[w.Stem] {
		return false
	}
	titled := func(word string) bool { return p.Title[text.Stem(word)] }
	for _, opposite := range text.OppositeWords(w.Norm) {
		if titled(opposite) {
			return !slices.ContainsFunc(text.OppositeWords(opposite), titled) // "add or remove" also deletes
		}
	}
	side := text.SideOf(w)
	return !p.Does(side) && slices.ContainsFunc(text.OppositesOf(side), p.Does)
}

// sideOf returns how much a tool's words support a direction: they contain its word, and not its opposite. "An" is
// both a direction and an article.
func sideOf(p *retrieval.Document, w text.Word) int {
	n := 0
	if p.Known[w.Stem] || p.Does(text.SideOf(w)) {
		n++
	}
	for _, opposite := range text.OppositeWords(w.Norm) {
		if p.Known[text.Stem(opposite)] {
			n--
		}
	}
	return n
}

// giving removes tools for an existing thing if a message wants a new one and another tool gives it: "could I have
// an appointment" neither lists nor moves one.
func (u *utterance) giving(nearest []retrieval.Near) []retrieval.Near {
	var givers []*retrieval.Document
	for _, near := range nearest {
		if p := near.Document(); p.Gives && u.wants(p) {
			givers = append(givers, p)
		}
	}
	if len(givers) == 0 {
		return nearest
	}
	return slices.DeleteFunc(slices.Clone(nearest), func(near retrieval.Near) bool {
		q := near.Document()
		return !q.Gives && slices.ContainsFunc(givers, func(p *retrieval.Document) bool {
			return shares(p.Name, q.Name) > 0 && !slices.ContainsFunc(u.Words, func(w text.Word) bool { return q.Name[w.Stem] && !p.Name[w.Stem] })
		})
	})
}

// wants reports whether a text names the thing that a tool gives as a new one: "an appointment".
func (u *utterance) wants(p *retrieval.Document) bool {
	for i, w := range u.Words {
		knows := w.Is(text.KnowingWords) && !w.Is(text.Auxiliaries)
		if knows || w.IsSubject() && !p.Known[w.Stem] {
			return false // "check that I have an appointment"
		}
		near := u.Words[i+1 : min(i+1+nameReach, len(u.Words))]
		if w.Is(text.IndefiniteWords) && slices.ContainsFunc(near, func(w text.Word) bool { return p.Name[w.Stem] && isThing(w) }) {
			return true
		}
	}
	return false
}

// unasked reports whether the tool undoes or drops its thing without a word of that in the text. Naming a thing
// plainly means to get it, not to lose it.
func (u *utterance) unasked(p *retrieval.Document) bool {
	if p.Undoes == "" || len(u.undoes) > 0 || u.declines {
		return false
	}
	return !slices.ContainsFunc(u.Words, func(w text.Word) bool {
		return w.Stem == p.Undoes || w.Is(text.DroppingWords) || undoing[w.Stem] || w.Is(text.Negations) && w.Is(text.Articles) ||
			p.Known[w.Stem] && isContent(w) && !isThing(w) && !w.Is(text.StopWords, text.CalendarWords, text.GettingVerbs)
	})
}

// undoing are the stems of words that ask to undo or remove something.
var undoing = func() map[string]bool {
	found := map[string]bool{}
	for _, word := range slices.Concat(text.UndoingWords.Entries(), text.DroppingWords.Entries()) {
		if text.UndoingWords.Has(word) || text.ActionVerbs.Has(word) {
			found[text.Stem(word)] = true
		}
	}
	return found
}()

// unspoken reports whether the text's mood, as far as known, does not call for the tool. "When is my appointment?"
// and "my appointment was fine" have all words of a booking tool, but do not book. A part of a text may call for
// the tool beside others that only tell: "I'm going to the movies, book a car".
func (u *utterance) unspoken(p *retrieval.Document) bool {
	if p.Called(u.Text, u.mood) || p.Undoes != "" && u.declines && u.denies(p) {
		return false
	}
	return !slices.ContainsFunc(u.parts(), func(part text.Text) bool {
		m := part.Mood()
		named := len(part.Words) > 2 && p.Name[part.Words[0].Stem] && part.Words[1].Is(text.Articles) // "sound the horn"
		if m == text.Statement || m == text.Fragment && !orders(part) && !named || !p.Called(part, m) {
			return false
		}
		return slices.ContainsFunc(part.Words, func(w text.Word) bool { return w.IsSubject() && p.Known[w.Stem] })
	})
}

// judge decides whether a text calls for the nearest candidate.
func (u *utterance) judge(bar float64, scope retrieval.Scope, nearest []retrieval.Near) judgement {
	j := judgement{nearest: nearest}
	if len(nearest) == 0 {
		j.why, j.weak = "no tool has anything in common with the words of the message", true
		return j
	}
	p, lead := nearest[0].Document(), leadOf(nearest)
	parts := slices.ContainsFunc(u.Words, func(w text.Word) bool { return w.Is(text.PartingWords) && !p.Known[w.Stem] }) &&
		!text.ThanksAhead(u.Text) && !u.ordersFirst(p)
	switch {
	case u.refuses(p):
		j.why = "the message does not want what the nearest tool does, or wants it undone"
	case u.ofAnother(p):
		j.why = "the message tells of somebody else"
	case u.asksLeave(p):
		j.why = "the message asks whether it may be done, and does not call for the nearest tool"
	case u.framed(p):
		j.why = "the message speaks of what the nearest tool does as somebody else's act or wish, a report, a purpose or a thought, and does not order it"
	case text.Doubts(u.Text, p.OrdersBy) && !(u.mood == text.Statement && !p.Orders(u.Words)): // but trouble is told so
		j.why = "the message is not sure that it wants what the nearest tool does"
	case u.leavesOpen(nearest):
		j.why = "the message leaves open which of two tools it means"
	case u.cites(p):
		j.why = "the message quotes the words that call for the nearest tool"
	case u.mood != text.Wish && u.mood != text.Question && parts:
		j.why = "the message thanks or says good-bye"
	case u.unasked(p):
		j.why = "the nearest tool undoes what it is about, and the message does not ask for that"
	case u.unspoken(p):
		j.why = "the message asks or tells, and does not call for the nearest tool as its examples do"
	case lead < 0:
		j.why, j.weak = "the nearest tool has next to nothing in common with the message", true
	case lead < leastLead:
		j.why, j.weak = "two tools are as near to the message as each other", true
	}
	if j.why != "" {
		return j
	}
	signs := SignsOf(scope, nearest, u.Text, u.mood)
	j.sure = signs.Probability()
	switch {
	case p.FreeText && signs.strange():
		j.why = "the nearest tool knows nothing of what the message is about"
	case j.sure < bar:
		j.unsure, j.weak = true, true
		j.why = fmt.Sprintf("the words are not sure enough of the nearest tool: %.2f, and it takes %.2f", j.sure, bar)
	}
	return j
}

// ordersFirst reports whether the text begins with an order for what the tool does, so that thanks after it are for that: "lock
// the door, thanks". "Order received, thanks" tells.
func (u *utterance) ordersFirst(p *retrieval.Document) bool {
	words := u.heard.Words
	i := u.heard.Opening()
	for i >= 0 && i < len(words) && words[i].Is(text.PoliteWords) {
		i++
	}
	if i < 0 || i >= len(words) || words[i].Is(text.PartingWords) || !p.Orders(words[i:i+1]) || text.PastForm(words[i]) || text.Gerund(words[i]) || u.heard.Tells() {
		return false
	}
	next := u.heard.At(i + 1)
	if isDirection(next) {
		next = u.heard.At(i + 2)
	}
	return next.Is(text.Articles, text.Definites, text.IndefiniteWords, text.Pronouns, text.Numbers, text.NumberWords) || isNumber(next) || p.Known[next.Stem] && isThing(next)
}

// alternativeReach is the maximum number of words between "or" and the things between which it leaves the choice.
const alternativeReach = 3

// leavesOpen reports whether the text names what another tool is for as an alternative to the nearest tool's: "a taxi
// or a coffee".
func (u *utterance) leavesOpen(near []retrieval.Near) bool {
	p := near[0].Document()
	return slices.ContainsFunc(near[1:], func(other retrieval.Near) bool {
		q := other.Document()
		own := func(w text.Word) bool { return p.Name[w.Stem] && !q.Known[w.Stem] }
		others := func(w text.Word) bool { return q.Name[w.Stem] && !p.Known[w.Stem] }
		for i, w := range u.Words {
			before, after := u.Words[max(0, i-alternativeReach):i], u.Words[min(i+1, len(u.Words)):min(i+1+alternativeReach, len(u.Words))]
			if w.Is(text.OrWords) && (slices.ContainsFunc(before, own) && slices.ContainsFunc(after, others) || slices.ContainsFunc(before, others) && slices.ContainsFunc(after, own)) {
				return true
			}
		}
		return false
	})
}

// negates reports whether the negation at i is of a wish or of the tool's act, or an order: "do not want", "no
// appointment" and "please do not", but not "I can not find" or "I do not know".
func (u *utterance) negates(p *retrieval.Document, i int) bool {
	w, before := u.Words[i], u.At(i-1)
	forbids := before.Norm == "do" && text.Text{Words: u.Words[:i]}.Opening() == i-1
	if i == 0 || w.Is(text.NeverWords) || w.IsForeign(text.Negations) || forbids || u.At(i+1).IsForeign(text.WishWords) {
		return true // "por suerte no necesito"
	}
	if before.Is(text.UnableWords) || before.Is(text.OrWords) {
		return false
	}
	return slices.ContainsFunc(u.Words[i+1:min(i+4, len(u.Words))], func(w text.Word) bool { return w.Is(text.WantingWords) || p.Name[w.Stem] })
}
