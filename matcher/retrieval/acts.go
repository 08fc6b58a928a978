package retrieval

import (
	"slices"
	"strings"

	"earshot/matcher/text"
	"earshot/repositories"
)

// setActs finds the words that order what the tool does. Verbs are first in names, descriptions and orders; German has
// infinitives last, after their objects.
func (p *Document) setActs(tool *repositories.Tool, named []text.Word) {
	p.acts = map[string]bool{}
	p.does = slices.Concat(text.ActingIn(tool.Name).Acts...)
	described := text.Of(tool.Description)
	first, last := 0, len(named)-1
	if verb := infinitiveLast(described); verb != "" {
		p.acts[verb] = true
		first = last
	}
	if verb := described.Norm(0); verb != "" && first == 0 && !described.Words[0].Is(text.Articles) {
		p.acts[described.Words[0].Stem] = true
		if last > 0 && text.SameVerb(verb, named[last].Norm) && !text.SameVerb(verb, named[0].Norm) {
			first = last // "karteSperren: Sperrt eine Karte"
		}
	}
	if len(named) > 0 {
		p.acts[named[first].Stem] = true
	}
	orders, tells := false, true // as far as examples go
	for _, plain := range tool.Spoken()[:min(len(tool.Spoken()), maxCompared)] {
		said := text.Of(plain)
		orders, tells = p.learnAct(said) || orders, tells && said.Mood() == text.Statement
	}
	p.Plain = p.Plain || !orders && !tells
}

// infinitiveLast returns the stem of the verb at the end of a German description, empty without one.
func infinitiveLast(t text.Text) string {
	n := len(t.Words)
	if language := text.LanguageOf(t.Said); n < 2 || language != "de" && language != "" || t.Capital(n-1) || !strings.HasSuffix(t.Norm(n-1), "n") {
		return ""
	}
	return t.Words[n-1].Stem
}

// learnAct learns the verbs of an example, and reports whether the example orders.
func (p *Document) learnAct(said text.Text) (orders bool) {
	words := said.Words
	for len(words) > 0 && words[0].Is(text.Fillers, text.PoliteWords) {
		words = words[1:]
	}
	if len(words) == 0 {
		return false
	}
	for i, w := range words {
		asked := i > 1 && words[i-1].Is(text.PolitePersons) && words[i-2].Is(text.PoliteVerbs) || i > 0 && words[i-1].Norm == "to" && text.AnyIs(words[:i-1], text.WishWords)
		if w.IsSubject() && asked || Acts(w) && !p.Name[w.Stem] {
			p.acts[w.Stem], orders = true, true
		}
	}
	first, mood := words[0], said.Mood()
	thing := first.Is(text.StopWords, text.Articles) || text.StartsWithDigit(first.Norm) || p.Name[first.Stem]
	switch {
	case p.acts[first.Stem]:
		return true
	case orders || mood == text.Question || mood == text.Statement:
	case thing:
		p.Plain = true
	case first.Is(text.RequestWords, text.WishWords):
		return true
	default:
		p.acts[first.Stem] = true
		return true
	}
	return orders && mood != text.Question && mood != text.Statement
}

// Acts reports whether a word orders by itself.
func Acts(w text.Word) bool {
	return w.Is(text.ActionVerbs, text.LightVerbs, text.UndoingWords, text.DroppingWords) && !w.Is(text.StopWords, text.Articles)
}

// Orders reports whether one of the words is of the tool's act: its verb in any form, or a noun for it.
func (p *Document) Orders(words []text.Word) bool {
	return slices.ContainsFunc(words, p.OrdersBy)
}

// OrdersBy is Orders of one word.
func (p *Document) OrdersBy(w text.Word) bool {
	if p.acts[w.Stem] {
		return true
	}
	for act := range p.acts {
		if text.SameVerb(act, w.Norm) {
			return true
		}
	}
	return false
}

// Does reports whether an act is of the tool's name.
func (p *Document) Does(act string) bool { return slices.Contains(p.does, act) }
