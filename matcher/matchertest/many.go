package matchertest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"earshot/matcher"
)

// vocabulary makes words of syllables; those with low numbers are the most frequent, as in a language.
type vocabulary struct {
	words []string
	zipf  *rand.Zipf
}

func newVocabulary(random *rand.Rand, size int) vocabulary {
	syllables := strings.Fields("ba con der e fi gra hol in jo ka lun me nor o pla quo re sti tur u ven wi xa yo zen")
	v := vocabulary{words: make([]string, size), zipf: rand.NewZipf(random, 1.1, 8, uint64(size-1))}
	for i := range v.words {
		for n := range 2 + i%3 {
			v.words[i] += syllables[(i*7+n*n*11+i/(n+2))%len(syllables)]
		}
	}
	return v
}

func (v vocabulary) text(words int) string {
	said := make([]string, words)
	for i := range said {
		said[i] = v.words[v.zipf.Uint64()]
	}
	return strings.Join(said, " ")
}

// Many returns n tools of many words, a third of them with examples, and messages about them.
func Many(t testing.TB, n int) (candidates []matcher.Candidate, messages []string) {
	random := rand.New(rand.NewPCG(1, 2))
	v := newVocabulary(random, 20_000)
	tools := make([]string, n)
	for i := range tools {
		examples := ""
		if i%3 == 0 {
			examples = fmt.Sprintf(`,"examples":["please %s","the %s of my %s","%s"]`, v.text(5), v.text(3), v.text(2), v.text(4))
		}
		tools[i] = fmt.Sprintf(`{"name":"tool_%05d","description":"Get the %s for the %s"%s,"parameters":[
			{"name":"%s","type":"string","description":"The %s"},{"name":"%s_id","type":"integer","description":"Number of the %s"}]}`,
			i, v.text(6), v.text(4), examples, v.text(1), v.text(6), v.text(1), v.text(5))
	}
	for range 64 {
		messages = append(messages, "can you get the "+v.text(3)+" for my "+v.text(3))
	}
	for i := 0; i < n; i += 500 {
		candidates = append(candidates, InScope(t, Scope, fmt.Sprintf("many-%d", i), tools[i:min(i+500, n)]...)...)
	}
	return candidates, messages
}
