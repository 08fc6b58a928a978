package retrieval

import (
	"crypto/sha256"

	lru "github.com/hashicorp/golang-lru/v2"

	"earshot/matcher"
)

// maxIndexes bounds the memory for compiled indexes: one of 150 tools with ten
// examples each takes 2 to 3 MB, a usual one a hundredth of that.
const maxIndexes = 64

// Cache keeps compiled indexes, keyed by the revisions of the repositories that they were
// built from; a write makes a new revision and therefore a new index.
type Cache struct {
	compiled *lru.Cache[[sha256.Size]byte, *Index]
}

// NewCache returns an empty cache.
func NewCache() *Cache {
	compiled, err := lru.New[[sha256.Size]byte, *Index](maxIndexes)
	if err != nil {
		panic(err) // only a size below one is refused
	}
	return &Cache{compiled: compiled}
}

// Of returns the index of the candidates. Repositories without a revision, which no
// store has written, are compiled each time.
func (c *Cache) Of(candidates []matcher.Candidate) *Index {
	key, ok := identity(candidates)
	if !ok {
		return compile(candidates)
	}
	if known, ok := c.compiled.Get(key); ok {
		return known
	}
	made := compile(candidates)
	c.compiled.Add(key, made)
	return made
}

// identity tells sets of candidates apart by the revision and name of each.
func identity(candidates []matcher.Candidate) ([sha256.Size]byte, bool) {
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
