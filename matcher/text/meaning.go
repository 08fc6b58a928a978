package text

import (
	"hash/fnv"
	"slices"
	"strings"
	"sync"
)

// Topics returns the topics of a word as numbers, which are the same in all languages. Most words have none.
func Topics(w Word) []uint64 {
	of := topics()
	if found, ok := of[w.Stem]; ok {
		return found
	}
	return of[Root(w.Stem)]
}

// HeldIn returns the stem of what a thing holds: card for wallet; empty for none.
func HeldIn(w Word) string {
	held, _ := holding.Value(w.Norm)
	return Stem(held)
}

// topics maps stems to topics, from the tables of all languages.
var topics = sync.OnceValue(func() map[string][]uint64 {
	found := map[string][]uint64{}
	for _, table := range languages {
		each(table.words[related], func(name, word string) {
			number := fnv.New64a()
			number.Write([]byte(name))
			found[Stem(word)] = append(found[Stem(word)], number.Sum64())
		})
	}
	return found
})

// Attended reports whether people come to what a word names: an appointment, a booking, a meeting.
func Attended(w Word) bool {
	return slices.ContainsFunc([]string{"appointment", "reservation", "meeting"}, func(seed string) bool {
		return slices.ContainsFunc(topics()[Stem(seed)], func(topic uint64) bool { return slices.Contains(Topics(w), topic) })
	})
}

// Acting is a text's acts and their objects.
type Acting struct {
	Acts   [][]string // has the possible acts of each verb
	Things []Word     // the words other than verbs that name a subject
	// Plain means that plain verbs name the acts, not words that may also be things.
	Plain bool
}

// phrasal is a verb of several words: the words after the first, and its act.
type phrasal struct {
	rest []string
	act  string
}

// actTable holds the verbs and nouns of acts of all languages, by stems.
type actTable struct {
	verbs, nouns map[string][]string
	phrasals     map[string][]phrasal // by first words
}

var actsKnown = sync.OnceValue(func() actTable {
	t := actTable{map[string][]string{}, map[string][]string{}, map[string][]phrasal{}}
	for _, table := range languages {
		each(table.words[acts], func(act, word string) {
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
		each(table.words[actNouns], func(act, word string) { t.nouns[Stem(word)] = append(t.nouns[Stem(word)], act) })
	}
	return t
})

// namesAct reports whether a stem is of a plain verb of an act.
func namesAct(stem string) bool { return len(actsKnown().verbs[stem]) > 0 }

// lightActs are acts whose verbs mean little beside the noun of another act: "make a payment".
var lightActs = []string{"create", "submit", "send", "start", "grant"}

// ActingOf reads the acts of a text. Plain verbs name them, else nouns of acts, else ambiguous words: in "create an
// order" the order is a thing, in "order a pizza" it is an act.
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
			made = made && slices.ContainsFunc(r.acts, func(act string) bool { return slices.Contains(lightActs, act) })
		case r.part || words[i].Is(StopWords):
		case r.clarity != 0 || !words[i].Is(WishWords) && (!words[i].Is(RequestWords) || words[i].Is(requestThings)):
			found.Things = append(found.Things, words[i]) // except common words of requests
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

// methods are plain verbs for HTTP methods, which precede a path in names, and for "returns", which begins
// descriptions of GET.
var methods = map[string]string{"post": "create", "put": "modify", "patch": "modify", "delete": "delete", "get": "retrieve", "returns": "retrieve"}

// ActingIn reads the acts of a name or a description, such as post_v1_refunds.
func ActingIn(text string) Acting {
	words := Split(Identifier(text))
	if len(words) < 2 || slices.ContainsFunc(actsKnown().phrasals[words[0].Stem], func(verb phrasal) bool { return verb.in(words, 0) != nil }) {
		return ActingOf(words) // "getRidOf" is not GET
	}
	if does, ok := methods[words[0].Norm]; ok {
		words[0] = words[0].As(does, Stem(does))
	}
	return ActingOf(words)
}

// ActsOfMethod returns the acts of an HTTP method; nil for other texts.
func ActsOfMethod(method string) []string {
	return actsKnown().verbs[Stem(methods[strings.ToLower(method)])]
}

// Clarities of a word as a verb, the plainest first.
const (
	plainVerb = 1 + iota
	plainNoun
	eitherOne
)

// role is a word's function in a text.
type role struct {
	acts    []string
	clarity int
	part    bool // of a verb that began earlier
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

// maxApart is the maximum number of words between two of a phrasal verb: "turn the kitchen light off".
const maxApart = 3

// in returns the places of the words after the first, which is at i; nil if they do not follow.
func (p phrasal) in(words []Word, i int) []int {
	places := make([]int, 0, len(p.rest))
	for _, stem := range p.rest {
		next := words[i+1 : min(len(words), i+2+maxApart)]
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

// sides are acts that bring a thing into one of two states.
var sides = []string{"on", "off", "open", "close", "lock", "unlock", "mute", "unmute"}

// SideOf returns the act of a word that is a verb of bringing a thing into one of two states, in any of its forms, and has no other
// use; empty for none. English has a particle for that.
func SideOf(w Word) string {
	t := actsKnown()
	does := t.verbs[w.Stem]
	if len(does) != 1 || len(t.nouns[w.Stem]) > 0 || english.has(ActionVerbs, w.Norm) || !slices.Contains(sides, does[0]) {
		return ""
	}
	return does[0]
}

// WithoutReversal returns a verb without the prefix that makes it the opposite: bloquez for debloquez.
func WithoutReversal(verb string) (string, bool) {
	const least = 4
	for _, prefix := range []string{"un", "des", "de", "dis", "ent", "s"} {
		if rest, ok := strings.CutPrefix(verb, prefix); ok && len(rest) >= least {
			return rest, true
		}
	}
	return verb, false
}

// OppositesOf returns the acts that undo an act.
func OppositesOf(act string) []string { return opposed[act] }

var oppositeWords = sync.OnceValue(func() map[string][]string {
	var pairs []string
	for _, table := range languages {
		pairs = append(pairs, entries(table.words[Opposites])...)
	}
	return mutual(pairs)
})

// OppositeWords returns the words of opposite meaning: "off" for "on".
func OppositeWords(word string) []string { return oppositeWords()[word] }

// mutual maps the words of pairs to each other.
func mutual(pairs []string) map[string][]string {
	found := map[string][]string{}
	for _, pair := range pairs {
		one, other, _ := strings.Cut(pair, " ")
		found[one], found[other] = append(found[one], other), append(found[other], one)
	}
	return found
}

// romanceForms are endings of an order and of its infinitive, which tell a verb although little is before them: "abre" and
// "abrir".
var romanceForms = map[string]bool{"e ir": true, "a ir": true, "a ar": true, "e ar": true, "e er": true, "a er": true, "i ire": true, "a ire": true, "i ere": true, "a are": true, "i are": true}

// SameVerb reports whether two words are forms of one verb by their beginning: "sperr" and "sperren", "cancela" and
// "cancelar".
func SameVerb(a, b string) bool {
	const least, ending = 4, 4
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	if n == least-1 && !StopWords.Has(a) && !StopWords.Has(b) && (romanceForms[a[n:]+" "+b[n:]] || romanceForms[b[n:]+" "+a[n:]]) {
		return true
	}
	return n >= least && len(a)-n <= ending && len(b)-n <= ending
}
