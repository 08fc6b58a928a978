package matcher

import (
	"crypto/sha256"

	lru "github.com/hashicorp/golang-lru/v2"
)

// mostLexicons bounds the memory for compiled lexicons: one of 150 tools with ten
// examples each takes 2 to 3 MB, a usual one a hundredth of that.
const mostLexicons = 64

// lexicons keeps compiled lexicons by the revisions of the repositories that they
// were made of; a write gives a new revision and so a new lexicon.
type lexicons struct {
	compiled *lru.Cache[[sha256.Size]byte, *lexicon]
}

func newLexicons() *lexicons {
	compiled, err := lru.New[[sha256.Size]byte, *lexicon](mostLexicons)
	if err != nil {
		panic(err) // only a size below one is refused
	}
	return &lexicons{compiled: compiled}
}

// of returns the lexicon of the candidates. Repositories without a revision, which no
// store has written, are compiled each time.
func (l *lexicons) of(candidates []Candidate) *lexicon {
	key, ok := identity(candidates)
	if !ok {
		return compile(candidates)
	}
	if known, ok := l.compiled.Get(key); ok {
		return known
	}
	made := compile(candidates)
	l.compiled.Add(key, made)
	return made
}

// identity tells sets of candidates apart by the revision and name of each.
func identity(candidates []Candidate) ([sha256.Size]byte, bool) {
	text := make([]byte, 0, 64*len(candidates))
	for _, candidate := range candidates {
		if candidate.Repository.Revision == "" {
			return [sha256.Size]byte{}, false
		}
		text = append(text, candidate.Repository.Revision...)
		text = append(text, 0)
		text = append(text, candidate.Tool.Name...)
		text = append(text, 0)
	}
	return sha256.Sum256(text), true
}
