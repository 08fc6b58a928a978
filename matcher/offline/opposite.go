package offline

import (
	"slices"
	"strings"

	"earshot/matcher/retrieval"
	"earshot/matcher/text"
)

// A tool that gives something is near to every message about that thing, also to those that ask to
// be rid of it: "call off my appointment". So the act that a message asks for is looked at as well.

// opposition is what in a message asks that something be undone or altered.
type opposition struct {
	undoes, alters []phrase
	denied         []text.Word // the words of clauses that deny something
	declines       bool        // one of them denies that one wants, or can use, what one has
}

// phrase is a word, or two, of a message.
type phrase struct{ first, second text.Word }

// reach is how many words may stand between the two of a pair: "put my appointment on Monday off".
const reach = 6

func oppositionOf(said string, words []text.Word) (o opposition) {
	for i, w := range words {
		switch {
		case w.Is(text.UndoingWords), w.Is(text.DroppingWords) && i+1 < len(words) && isDefinite(words[i+1]):
			o.undoes = append(o.undoes, phrase{w, w})
		case w.Is(text.AlteringWords):
			o.alters = append(o.alters, phrase{w, w})
		case w.Is(text.Negations) && !w.Is(text.Articles) && !idle(words, i):
			denied := clause(said, words, i)
			o.denied = append(o.denied, denied...)
			o.declines = o.declines || slices.ContainsFunc(denied, isDefinite) && text.AnyIs(denied, text.AttendingVerbs, text.WantingWords)
		}
		for at, second := range words[i+1 : min(len(words), i+2+reach)] {
			if w.Norm == "get" && slices.ContainsFunc(words[i+1:i+1+at], text.PastForm) {
				continue // "get it checked out"
			}
			pair := w.Norm + " " + second.Norm
			if text.UndoingPairs.Has(pair) {
				o.undoes = append(o.undoes, phrase{w, second})
			}
			if text.AlteringPairs.Has(pair) {
				o.alters = append(o.alters, phrase{w, second})
			}
		}
	}
	return o
}

// finds reports whether a word is a verb of knowing, which has an "out" of its own.
func finds(w text.Word) bool { return w.Is(text.KnowingWords) && !w.Is(text.Auxiliaries) }

// idle reports whether the negation at i denies no verb: "why not", "can't I have", "not only", "for
// not more than 20".
func idle(words []text.Word, i int) bool {
	if i+1 < len(words) && (words[i+1].Is(text.UnlessWords, text.PolitePersons)) || i > 0 && words[i-1].Is(text.UnlessWords) {
		return true
	}
	if i > 0 && words[i-1].Is(text.PastWords) {
		return true // "I did not like it"
	}
	return !words[i].IsForeign(text.Negations) && i > 0 && !words[i-1].Is(text.Auxiliaries, text.PoliteWords)
}

// clause is what stands around the word at i, up to the next pauses.
func clause(said string, words []text.Word, i int) []text.Word {
	first, end := i, i+1
	for first > 0 && !(text.Text{Said: said, Words: words}).Pause(first) {
		first--
	}
	for end < len(words) && !(text.Text{Said: said, Words: words}).Pause(end) {
		end++
	}
	return words[first:end]
}

// denies reports whether what is denied is what the tool gives, or nothing that is named: "I cannot
// come". "A trip, we do not need breakfast" denies something else.
func (o opposition) denies(p *retrieval.Document) bool {
	named := false
	for _, w := range o.denied {
		if p.Name[w.Stem] {
			return true
		}
		named = named || isThing(w)
	}
	return len(o.denied) > 0 && !named
}

// against says by which words the message asks to be rid of what the tool gives, or to have it
// otherwise; empty for a tool that gives nothing.
func (o opposition) against(p *retrieval.Document, words []text.Word) string {
	if !p.Gives {
		return ""
	}
	unknown := func(said phrase) bool { return !p.Known[said.first.Stem] || !p.Known[said.second.Stem] }
	for _, said := range slices.Concat(o.undoes, o.alters) {
		if unknown(said) {
			return said.String()
		}
	}
	if o.denies(p) {
		return "not"
	}
	return otherAct(p, words)
}

func (s phrase) String() string {
	if s.first == s.second {
		return s.first.Norm
	}
	return s.first.Norm + " … " + s.second.Norm
}

// unasked reports whether the tool undoes or drops what it is about, and the text says nothing of
// that. To get something is the plain meaning of naming it, to lose it is not.
func (o opposition) unasked(p *retrieval.Document, words []text.Word) bool {
	if p.Undoes == "" || len(o.undoes) > 0 || o.declines {
		return false
	}
	return !slices.ContainsFunc(words, func(w text.Word) bool {
		return w.Stem == p.Undoes || w.Is(text.DroppingWords) || undoing[w.Stem] || w.Is(text.Negations) && w.Is(text.Articles) ||
			p.Known[w.Stem] && isContent(w) && !isThing(w) && !w.Is(text.StopWords, text.CalendarWords, text.GettingVerbs)
	})
}

// otherAct is the verb by which a message asks for something else with a thing that there is already, and
// that is called as the tool is: "scrap my appointment", "I want to talk about the appointment", "den
// Termin verlegen". It is empty where the verb is one of getting, or one that the tool knows.
func otherAct(p *retrieval.Document, words []text.Word) string {
	gets := func(w text.Word) bool {
		return w.Is(text.GettingVerbs, text.GivingVerbs, text.PoliteWords, text.Fillers) ||
			w.Is(text.WishWords) || p.Known[w.Stem] || p.Relates(w) || strings.HasSuffix(w.Norm, "ly")
	}
	named := func(w text.Word) bool { return p.Name[w.Stem] }
	for at, w := range words {
		if !isDefinite(w) || at > 0 && receives(words[at-1]) || !slices.ContainsFunc(words[at+1:min(at+1+nameReach, len(words))], named) {
			continue
		}
		if slices.ContainsFunc(words[:at], func(w text.Word) bool { return isVerb(w) && p.Known[w.Stem] }) {
			return "" // "remove bread from my list", for a tool that removes
		}
		if verb, found := lastOf(words[:at]); found && !gets(verb) {
			return verb.Norm
		}
		if last := words[len(words)-1]; strings.HasSuffix(last.Norm, "en") && !gets(last) && isContent(last) && slices.ContainsFunc(words, modal) {
			return last.Norm
		}
	}
	return ""
}

// isVerb reports whether a word is a verb that says by itself what is to be done.
func isVerb(w text.Word) bool {
	return w.Is(text.ActionVerbs) && !w.Is(text.LightVerbs, text.StopWords, text.RequestWords, text.GettingVerbs)
}

// nameReach is how many words after "my" or "the" the thing is named.
const nameReach = 3

// receives reports whether a thing that follows is where something else is put: "milk on my list".
func receives(w text.Word) bool {
	return w.Is(text.TargetCues) && !w.Is(text.OfWords, text.OriginCues) && !text.UndoingPairs.Has("take "+w.Norm)
}

// lastOf is the last word that is more than grammar, a time or a number.
func lastOf(words []text.Word) (text.Word, bool) {
	for _, w := range slices.Backward(words) {
		if !w.Is(text.StopWords, text.CalendarWords) && !isNumber(w) {
			return w, true
		}
	}
	return text.Word{}, false
}

// modal reports whether a word is one after which German has its verb at the end.
func modal(w text.Word) bool {
	return w.IsForeign(text.WishWords) || w.IsForeign(text.PoliteVerbs) || w.IsForeign(text.RequestWords)
}

// isDefinite reports whether a thing follows that there is already.
func isDefinite(w text.Word) bool { return w.Is(text.Definites) }

// unopposedBy leaves out the tools that give what a message wants to be rid of, where another tool
// that is near does what it asks for.
func (o opposition) unopposedBy(nearest []retrieval.Near, words []text.Word) []retrieval.Near {
	answers := func(p *retrieval.Document) bool {
		has := func(said phrase) bool { return p.Known[said.first.Stem] && p.Known[said.second.Stem] }
		return p.Undoes != "" && (len(o.undoes) > 0 || o.declines && o.denies(p)) || slices.ContainsFunc(o.undoes, has) || slices.ContainsFunc(o.alters, has)
	}
	nearest = untaught(nearest, words)
	if !slices.ContainsFunc(nearest, func(near retrieval.Near) bool { return answers(near.Document()) }) {
		return nearest
	}
	return slices.DeleteFunc(slices.Clone(nearest), func(near retrieval.Near) bool {
		return o.against(near.Document(), words) != "" && !answers(near.Document())
	})
}

// giving leaves out the tools for a thing that there is already, where a message wants a new one and another
// tool gives it: "could I have an appointment" neither lists nor moves one.
func giving(nearest []retrieval.Near, words []text.Word) []retrieval.Near {
	var givers []*retrieval.Document
	for _, near := range nearest {
		if p := near.Document(); p.Gives && wanted(p, words) {
			givers = append(givers, p)
		}
	}
	if len(givers) == 0 {
		return nearest
	}
	return slices.DeleteFunc(slices.Clone(nearest), func(near retrieval.Near) bool {
		q := near.Document()
		return !q.Gives && slices.ContainsFunc(givers, func(p *retrieval.Document) bool {
			return shares(p.Name, q.Name) > 0 && !slices.ContainsFunc(words, func(w text.Word) bool { return q.Name[w.Stem] && !p.Name[w.Stem] })
		})
	})
}

// wanted reports whether a text names what a tool gives as something new: "an appointment".
func wanted(p *retrieval.Document, words []text.Word) bool {
	for i, w := range words {
		if finds(w) || w.IsSubject() && !p.Known[w.Stem] {
			return false // "check that I have an appointment"
		}
		if w.Is(text.IndefiniteWords) && slices.ContainsFunc(words[i+1:min(i+1+nameReach, len(words))], func(w text.Word) bool { return p.Name[w.Stem] && isThing(w) }) {
			return true
		}
	}
	return false
}

// untaught leaves out the tools that give a thing, where a message has a word before it by which the
// examples of another tool teach that the thing is undone: "bail on a class", for a tool that cancels
// one and has "I must bail" as an example.
func untaught(nearest []retrieval.Near, words []text.Word) []retrieval.Near {
	return slices.DeleteFunc(slices.Clone(nearest), func(near retrieval.Near) bool {
		p := near.Document()
		thing := slices.IndexFunc(words, func(w text.Word) bool { return p.Name[w.Stem] && isThing(w) })
		return p.Gives && thing > 0 && slices.ContainsFunc(nearest, func(other retrieval.Near) bool {
			q := other.Document()
			return q.Undoes != "" && shares(p.Name, q.Name) > 0 && slices.ContainsFunc(words[:thing], func(w text.Word) bool {
				return w.IsSubject() && q.Known[w.Stem] && !p.Known[w.Stem]
			})
		})
	})
}

// inWordsOf says the message with the word by which the nearest tool undoes the thing that both are
// about, in the place of another one: "scrap my appointment" is "cancel my appointment".
func (o opposition) inWordsOf(nearest []retrieval.Near, words []text.Word) ([]text.Word, bool) {
	if len(nearest) == 0 || len(o.undoes) == 0 {
		return words, false
	}
	p, said := nearest[0].Document(), o.undoes[0]
	about := func(w text.Word) bool { return p.Name[w.Stem] && isThing(w) }
	if p.Undoes == "" || p.Known[said.first.Stem] && p.Known[said.second.Stem] || !slices.ContainsFunc(words, about) {
		return words, false
	}
	var other []text.Word
	for _, w := range words {
		switch w {
		case said.first:
			w = w.As(p.Undoes, p.Undoes)
		case said.second:
			continue
		}
		other = append(other, w)
	}
	return other, true
}
