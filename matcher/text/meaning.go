package text

import (
	"hash/fnv"
	"slices"
	"strings"
	"sync"
)

// Topics returns what a word is about, beside itself, as numbers: words of one topic have a
// number in common, in whatever languages they are. Most words have none.
func Topics(w Word) []uint64 {
	of := topics()
	if found, ok := of[w.Stem]; ok {
		return found
	}
	return of[Root(w.Stem)]
}

// topics are the numbers of the topics of stems, from the tables of all languages.
var topics = sync.OnceValue(func() map[string][]uint64 {
	found := map[string][]uint64{}
	for _, table := range languages {
		each(table[related], func(name, word string) {
			number := fnv.New64a()
			number.Write([]byte(name))
			found[Stem(word)] = append(found[Stem(word)], number.Sum64())
		})
	}
	return found
})

// Acting is what a text does: the acts that it names, and the words beside them, of which it says
// to what they are done.
type Acting struct {
	// Acts has of each verb the acts that it may stand for.
	Acts [][]string
	// Things are the words that are no verb and say what it is about.
	Things []Word
	// Plain says that plain verbs name the acts, and no words that may be things as well.
	Plain bool
}

// phrasal is a verb of several words: those behind its first, and what it stands for.
type phrasal struct {
	rest []string
	act  string
}

// actTable is what the tables of all languages say of acts, by stems.
type actTable struct {
	verbs, nouns map[string][]string
	phrasals     map[string][]phrasal // by their first words
}

var actsKnown = sync.OnceValue(func() actTable {
	t := actTable{map[string][]string{}, map[string][]string{}, map[string][]phrasal{}}
	for _, table := range languages {
		each(table[acts], func(act, word string) {
			parts := strings.Split(word, "_")
			for i, part := range parts {
				parts[i] = Stem(part)
			}
			if len(parts) > 1 {
				t.phrasals[parts[0]] = append(t.phrasals[parts[0]], phrasal{parts[1:], act})
				return
			}
			t.verbs[parts[0]] = append(t.verbs[parts[0]], act)
		})
		each(table[actNouns], func(act, word string) { t.nouns[Stem(word)] = append(t.nouns[Stem(word)], act) })
	}
	return t
})

// making are acts whose verbs say little beside the noun of another act: "make a payment".
var making = []string{"create", "submit", "send", "start", "grant"}

// ActingOf reads what a text does. Plain verbs tell it, then nouns of acts, and then what may be
// either: in "create an order" the order is a thing, in "order a pizza" it is what is done.
func ActingOf(words []Word) Acting {
	t := actsKnown()
	roles := make([]role, len(words))
	least := 0
	for i := range words {
		t.tag(words, roles, i)
	}
	for _, r := range roles {
		if r.clarity != 0 && (least == 0 || r.clarity < least) {
			least = r.clarity
		}
	}
	if least == eitherOne && words[0].Is(QuestionWords) {
		least = 0 // "which orders are there"
	}
	found, made := Acting{Plain: least == plainVerb}, true
	for i, r := range roles {
		switch {
		case r.clarity != 0 && r.clarity == least && (least == plainVerb || len(found.Acts) == 0):
			found.Acts = append(found.Acts, r.acts)
			made = made && slices.ContainsFunc(r.acts, func(act string) bool { return slices.Contains(making, act) })
		case r.part || words[i].Is(StopWords):
		case r.clarity != 0 || !words[i].Is(WishWords) && (!words[i].Is(RequestWords) || words[i].Is(requestThings)):
			found.Things = append(found.Things, words[i]) // and no word that people say around what they want
		}
	}
	if least == plainVerb && made {
		for _, r := range roles {
			if r.clarity > plainVerb {
				found.Acts = append(found.Acts, r.acts)
			}
		}
	}
	return found
}

// methods are plain verbs for the methods of HTTP, which stand before a path in names, and for
// "returns", with which descriptions of GET begin.
var methods = map[string]string{"post": "create", "put": "modify", "patch": "modify", "delete": "delete", "get": "retrieve", "returns": "retrieve"}

// ActingIn reads what a name or a description says that is done, such as post_v1_refunds.
func ActingIn(text string) Acting {
	words := Split(Identifier(text))
	if len(words) < 2 || slices.ContainsFunc(actsKnown().phrasals[words[0].Stem], func(verb phrasal) bool { return verb.in(words, 0) != nil }) {
		return ActingOf(words) // "getRidOf" is no GET
	}
	if does, is := methods[words[0].Norm]; is {
		words[0] = words[0].As(does, Stem(does))
	}
	return ActingOf(words)
}

// ActsOfMethod are what a method of HTTP does; nil where it is none.
func ActsOfMethod(method string) []string {
	return actsKnown().verbs[Stem(methods[strings.ToLower(method)])]
}

// Clarities of a word as a verb, the plainest first.
const (
	plainVerb = 1 + iota
	plainNoun
	eitherOne
)

// role is what a word does in a text.
type role struct {
	acts    []string
	clarity int
	part    bool // of a verb that begins before it
}

func (t actTable) tag(words []Word, roles []role, i int) {
	if roles[i].part {
		return
	}
	var longest []int
	for _, verb := range t.phrasals[words[i].Stem] {
		places := verb.in(words, i)
		if len(places) == 0 || len(places) < len(longest) {
			continue
		}
		if len(places) > len(longest) {
			longest, roles[i] = places, role{clarity: plainVerb}
		}
		roles[i].acts = append(roles[i].acts, verb.act)
	}
	for _, place := range longest {
		roles[place] = role{part: true}
	}
	verbs, nouns := t.verbs[words[i].Stem], t.nouns[words[i].Stem]
	switch {
	case len(longest) > 0:
	case len(verbs) > 0 && len(nouns) > 0:
		roles[i] = role{acts: slices.Concat(nouns, verbs), clarity: eitherOne}
		if i+1 < len(words) && words[i+1].Is(Articles) && (i == 0 || !words[i-1].Is(Articles)) {
			roles[i].clarity = plainVerb // "refund a payment"
		}
	case len(verbs) > 0:
		roles[i] = role{acts: verbs, clarity: plainVerb}
	case len(nouns) > 0:
		roles[i] = role{acts: nouns, clarity: plainNoun}
	}
}

// apart is how many words may stand between two of a phrasal verb: "turn the kitchen light off".
const apart = 3

// in returns the places of the words behind the first, which stands at i; nil where they do not
// follow.
func (p phrasal) in(words []Word, i int) []int {
	places := make([]int, 0, len(p.rest))
	for _, stem := range p.rest {
		next := words[i+1 : min(len(words), i+2+apart)]
		at := slices.IndexFunc(next, func(w Word) bool { return w.Stem == stem })
		if at < 0 {
			return nil
		}
		i += 1 + at
		places = append(places, i)
	}
	return places
}

// opposed are acts that undo each other.
var opposed = mutual(strings.Split("create delete, create cancel, start stop, on off, open close, lock unlock, mute unmute, login logout, "+
	"subscribe unsubscribe, grant revoke, approve reject, hire dismiss, pause resume, stop resume, upload download, import export, pay refund, "+
	"charge refund, buy return, buy cancel, reserve cancel, delete restore, subscribe cancel, close reopen, link unlink", ", "))

// OppositesOf are the acts that undo an act.
func OppositesOf(act string) []string { return opposed[act] }

var oppositeWords = sync.OnceValue(func() map[string][]string {
	var pairs []string
	for _, table := range languages {
		pairs = append(pairs, entries(table[Opposites])...)
	}
	return mutual(pairs)
})

// OppositeWords are the words of opposite meaning: "off" of "on".
func OppositeWords(word string) []string { return oppositeWords()[word] }

// mutual looks up the words of pairs by each other.
func mutual(pairs []string) map[string][]string {
	found := map[string][]string{}
	for _, pair := range pairs {
		one, other, _ := strings.Cut(pair, " ")
		found[one], found[other] = append(found[one], other), append(found[other], one)
	}
	return found
}
