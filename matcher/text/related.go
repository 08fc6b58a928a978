package text

import (
	"hash/fnv"
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
		for _, topic := range entries(table[Related]) {
			name, words, _ := strings.Cut(topic, ":")
			number := fnv.New64a()
			number.Write([]byte(name))
			for _, word := range strings.Fields(words) {
				stem := Stem(word)
				found[stem] = append(found[stem], number.Sum64())
			}
		}
	}
	return found
})

// derived are the endings of English nouns that are made of verbs: reminder, payment.
var derived = []string{"ation", "ment", "ion", "er", "or", "al", "y"}

// Root removes from a stem the ending by which a noun is made of a verb, where enough is
// left to tell it from others: remind and reminder have one root, pay and payment as well.
func Root(stem string) string {
	for _, ending := range derived {
		if root, is := strings.CutSuffix(stem, ending); is && len(root) >= 4-len(ending)/4 && hasVowel(root) {
			return undouble(root)
		}
	}
	return stem
}
