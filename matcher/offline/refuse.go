package offline

import (
	"slices"

	"earshot/matcher/retrieval"
	"earshot/matcher/text"
)

// A message can have the words of a tool and forbid what it does, keep its thing as it is, or only speak of it. What
// tells that is read from the sentence. A tool is exempt only if its own words say the same: "stop the music".

// refuses reports whether the text does not want what the tool does, or wants it undone. A tool whose own words mean
// that ("cancel booking", "card not working") is not refused by such a text, unless the text denies just that.
func (u *utterance) refuses(p *retrieval.Document) bool {
	own := func(i int) bool {
		w := u.Words[i]
		does := func() bool { // "absagen", for cancel_booking
			return p.Undoes != "" && slices.ContainsFunc(slices.Concat(text.ActingOf(u.Words[i:i+1]).Acts...), p.Does)
		}
		return (w.Is(text.UndoingWords) || w.Stem == p.Undoes) && (p.Known[w.Stem] || p.OrdersBy(w) || does()) || p.Drops && w.Is(text.DroppingWords) && !u.Reminds(i)
	}
	if u.mood == text.Wish && text.GivesUp(u.heard) || u.deniesFact(p) || text.Nearly(u.heard) {
		return true
	}
	if u.forbids(p) || u.keeps(p) || u.turnsOff(p) {
		return true
	}
	for i := range u.Words {
		if own(i) {
			return false
		}
	}
	begun := false // a word with a subject is before
	for i, w := range u.Words {
		known := p.Known[w.Stem]
		switch {
		case u.Reminds(i):
			continue
		case u.isSide(i) && contradicts(p, w),
			known && w.Is(text.TroubleWords) && slices.ContainsFunc([]int{max(0, i-2), max(0, i-1)}, u.Negates), // "not been stolen"
			!known && w.Is(text.UndoingWords),
			!known && !begun && w.Is(text.DroppingWords),
			!known && w.Is(text.Negations) && u.negates(p, i),
			w.Norm == "plus" && u.Negates(i) && (u.At(u.Opening()).Is(text.NegatingParticles) || u.At(i+1).Is(text.WishWords)): // "ne vire plus", "n'ai plus besoin"
			return true
		}
		begun = begun || w.IsSubject()
	}
	return false
}

// deniesFact reports whether a statement denies what the tool's examples state, with its number: "I don't weigh 70 kg".
func (u *utterance) deniesFact(p *retrieval.Document) bool {
	if u.mood != text.Statement || p.Moods[text.Question] {
		return false
	}
	for i, w := range u.Words {
		next := u.At(i + 1)
		if w.Is(text.Negations) && !p.Known[w.Stem] && next.IsSubject() && p.Known[next.Stem] && slices.ContainsFunc(u.Words[i+1:], isNumber) {
			return true
		}
	}
	return false
}

// forbids reports whether the text denies the act of a tool that undoes, orders to leave any act undone, undoes any
// act, or only imagines one.
func (u *utterance) forbids(p *retrieval.Document) bool {
	act := func(i int) bool { return u.undoesAt(p, i) || u.isAct(p, i) }
	if !p.Denies && u.DeniesAct(act) {
		return true
	}
	spoken := func(first, end int, ok bool) bool { // and the tool does not speak so
		return ok && slices.ContainsFunc(u.heard.Words[first:end], func(w text.Word) bool { return !p.Known[w.Stem] })
	}
	if spoken(u.heard.Refrains()) || spoken(u.heard.Feigns()) {
		return true
	}
	if at := u.Excluded(); at >= 0 && !isNumber(u.Words[at]) {
		return slices.ContainsFunc(u.Words[at:min(len(u.Words), at+nameReach)], func(w text.Word) bool { return w.IsSubject() && p.Known[w.Stem] })
	}
	return u.opposes(p) || slices.ContainsFunc(u.Words, func(w text.Word) bool { return w.Is(text.ReversingWords) && !p.Known[w.Stem] })
}

// asksLeave reports whether the text asks whether the speaker may do what the tool does: "can I cancel it free of charge?".
// "Can I have" and "can we move it" wish. The last clause may ask so, too, also whether the speaker must or did: "order 4711 is
// late, should I cancel it?".
func (u *utterance) asksLeave(p *retrieval.Document) bool {
	if p.Moods[text.Question] || !text.Asked(u.Said) || len(u.heard.Words) == 0 {
		return false
	}
	last, _ := text.Clause(u.heard, len(u.heard.Words)-1)
	asked := text.Of(u.heard.Said[u.heard.Words[last].Start:])
	first := asked.Opening()
	mood := asked.Mood()
	if first < 0 || (p.Gives || !text.AsksLeave(asked, first)) && (last == 0 || mood != text.Question || p.Called(asked, mood)) {
		return false
	}
	if slices.ContainsFunc(asked.Words, func(w text.Word) bool { return w.Is(text.PoliteWords) && w.Is(text.Fillers) }) {
		return false // "can I return the shoes, please?"
	}
	if asked.At(first+2).Is(text.ReceivingVerbs) && !asked.At(first+3).Is(text.InfinitiveWords) {
		return false // "can I have my money back?"
	}
	return slices.ContainsFunc(asked.Words, func(w text.Word) bool {
		return (p.Orders([]text.Word{w}) || w.Is(text.UndoingWords)) && (last > 0 || !w.StemIs(text.GettingVerbs)) && !w.Is(text.AlteringWords)
	})
}

// framed reports whether each of the tool's acts in the text is another's, reported, a purpose or only thought of.
func (u *utterance) framed(p *retrieval.Document) bool {
	if p.Moods[text.Question] || (u.mood == text.Question || u.mood == text.Statement) && p.Called(u.Text, u.mood) {
		return false // it informs, or its examples ask or tell so
	}
	knows := func(w text.Word) bool {
		return p.Known[w.Stem] && (w.IsSubject() || w.Is(text.QuestionWords) && !w.Is(text.Auxiliaries))
	}
	acts := 0
	for i, w := range u.heard.Words {
		if !p.Orders(u.heard.Words[i:i+1]) && !w.Is(text.UndoingWords) {
			continue
		}
		if acts++; !text.Framed(u.heard, i, knows) {
			return false
		}
	}
	return acts > 0
}

// ofAnother reports whether the text tells of somebody else, and no example of the tool does.
func (u *utterance) ofAnother(p *retrieval.Document) bool {
	knows := func(w text.Word) bool { return p.Known[w.Stem] }
	return !p.Others && !p.Moods[text.Question] && u.mood != text.Question && text.OfAnother(u.heard, knows, p.OrdersBy)
}

// opposes reports whether the text orders the opposite of the tool's act by a word that the tool does not have: "reopen",
// "unblock", "débloquez".
func (u *utterance) opposes(p *retrieval.Document) bool {
	for i, w := range u.heard.Words {
		if p.Known[w.Stem] {
			continue
		}
		if rest, ok := text.WithoutReversal(w.Norm); ok && p.Orders(text.Split(rest)) {
			return true
		}
		if w.Norm == "un" && i+1 < len(u.heard.Words) && u.heard.Gap(i) == "-" && p.Orders(u.heard.Words[i+1:i+2]) {
			return true
		}
		for _, act := range slices.Concat(text.ActingOf(u.heard.Words[i : i+1]).Acts...) {
			if (i == u.heard.Opening() || u.heard.Words[i-1].Is(text.PoliteWords)) && slices.ContainsFunc(text.OppositesOf(act), p.Does) {
				return true
			}
		}
	}
	return false
}

// isAct reports whether the word at i is a verb that orders what the tool does. A verb with other uses is one after "to" or
// a negation: "not turn it on", "not … to send it". A negation of a noun denies no act.
func (u *utterance) isAct(p *retrieval.Document, i int) bool {
	w, before := u.Words[i], u.At(i-1)
	if p.Moods[text.Question] || !p.Orders(u.Words[i:i+1]) || w.Is(text.FailingVerbs) || u.Reminds(i) {
		return false
	}
	// "no me apuntes"
	pronoun := before.IsForeign(text.StopWords) && !before.Is(text.IndefiniteWords) && u.At(i-2).Is(text.Negations, text.Denials)
	denied := pronoun || before.Is(text.Negations) && (!before.Is(text.NounNegations) || text.ForeignTo(u.Said, text.NounNegations, before.Norm)) && !u.At(i-2).Is(text.PersonCues) // but "for not ibuprofen"
	return denied || before.Is(text.InfinitiveWords) || text.ActingOf(u.Words[i:i+1]).Acts != nil && !w.StemIs(text.GettingVerbs)
}

// undoesAt reports whether the word at i is of the act of a tool that undoes: its own verb, or another for the same.
func (u *utterance) undoesAt(p *retrieval.Document, i int) bool {
	w := u.Words[i]
	if p.Undoes == "" && !p.Drops {
		return w.Is(text.UndoingWords) && p.Known[w.Stem]
	}
	if w.Stem == p.Undoes || text.Stem(text.WithoutZu(w.Norm)) == p.Undoes || w.Is(text.UndoingWords) || w.Is(text.DroppingWords) && !w.Is(text.KeepingWords) {
		return !u.Reminds(i)
	}
	return slices.ContainsFunc(u.undoes, func(said phrase) bool {
		return said.first != said.second && said.first == w && !said.second.Is(text.Negations)
	})
}

// keeps reports whether the text orders to leave a thing as it is: "leave the shoes in the cart". "Leave out" removes.
func (u *utterance) keeps(p *retrieval.Document) bool {
	for i, w := range u.Words {
		switch {
		case w.Is(text.KeepingWords) && (!p.Known[w.Stem] || w.Is(text.DroppingWords)):
			if !w.Is(text.DroppingWords) {
				return true
			}
			return text.AnyIs(u.Words[i+1:], text.PlaceCues) && !p.Title[w.Stem]
		case w.IsSubject():
			return false
		}
	}
	return false
}

// turnsOff reports whether the text ends a thing by the particle of a light verb, and the tool never speaks of that:
// "stell den Wecker um 7 Uhr aus".
func (u *utterance) turnsOff(p *retrieval.Document) bool {
	if !u.At(u.Opening()).Is(text.LightVerbs) {
		return false
	}
	for i, w := range u.Words {
		ends := u.Pause(i+1) || u.At(i+1).Is(text.PoliteWords)
		if ends && i > 0 && w.Is(text.OffWords) && !p.Known[w.Stem] {
			return true
		}
	}
	return false
}

// cites reports whether all that calls for the tool is in quotation marks: 'translate "cancel it" into German'. A
// title that is wished for is meant: 'I want "Soup of the day"'.
func (u *utterance) cites(p *retrieval.Document) bool {
	outside, quoted := u.Unquoted()
	if u.Cites() {
		return true
	}
	if !quoted {
		return false
	}
	speaks := slices.ContainsFunc(outside, func(w text.Word) bool { return !isGrammar(w) || w.Is(text.KnowingWords) })
	return speaks && !slices.ContainsFunc(outside, func(w text.Word) bool { return w.IsSubject() && p.Known[w.Stem] })
}

// namesAct reports whether a noun or another form of the verb with a stem is in the text: the removal, for remove.
func (u *utterance) namesAct(verb string) bool {
	return verb != "" && slices.ContainsFunc(u.Words, func(w text.Word) bool { return text.Root(w.Stem) == text.Root(verb) })
}
