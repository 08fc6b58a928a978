package retrieval

import (
	"hash/maphash"

	lru "github.com/hashicorp/golang-lru/v2"

	"earshot/matcher"
)

const (
	// maxIndexes bounds the memory for what is compiled of the tools of sessions, beside
	// those of one app, and of tools that are not shared: 150 tools with ten examples each
	// take 2 to 3 MB, those of a usual session a hundredth of that.
	maxIndexes = 64
	// wholeUpTo is how many tools of an app are compiled anew with those of a session,
	// so that the rarity of words is that of the whole scope. More are left as they are,
	// and what the session adds is weighed by them.
	wholeUpTo = 16
)

// Cache keeps compiled indexes: that of an app's tools, with those of its sessions, as
// long as the app's tools are shared.
type Cache struct{ whole sessions }

// app is what is kept with the tools that an app shares.
type app struct {
	tools *index
	added sessions
}

// sessions keep indexes by the revisions of the repositories that they were made of; a
// write gives a new revision and so a new index.
type sessions struct{ compiled *lru.Cache[uint64, *index] }

// NewCache returns an empty cache.
func NewCache() *Cache { return &Cache{whole: newSessions()} }

func newSessions() sessions {
	compiled, err := lru.New[uint64, *index](maxIndexes)
	if err != nil {
		panic(err) // only a size below one is refused
	}
	return sessions{compiled: compiled}
}

// Of returns the tools that the request has in scope, ready to be compared with texts.
// It looks at none of those that are shared.
func (c *Cache) Of(request matcher.Request) Scope {
	if request.Shared == nil || len(request.Own) > 0 && len(request.Shared.Tools) <= wholeUpTo {
		return Scope{request: request, parts: []part{{c.whole.of(request.Candidates, nil), wholeScope}}}
	}
	kept := matcher.Kept(request.Shared, newApp)
	scope := Scope{request: request, parts: []part{{kept.tools, sharedPart}}}
	if len(request.Own) > 0 {
		scope.parts = append(scope.parts, part{kept.added.of(request.Own, kept.tools), ownPart})
	}
	return scope
}

func newApp(tools []matcher.Candidate) app {
	return app{tools: compile(tools, nil), added: newSessions()}
}

// of returns the index of the candidates beside the base. Repositories without a
// revision, which no store has written, are compiled each time.
func (s sessions) of(candidates []matcher.Candidate, base *index) *index {
	key, ok := identity(candidates)
	if !ok {
		return compile(candidates, base)
	}
	if known, ok := s.compiled.Get(key); ok {
		return known
	}
	made := compile(candidates, base)
	s.compiled.Add(key, made)
	return made
}

var seed = maphash.MakeSeed()

// identity tells sets of candidates apart by the revision and name of each.
func identity(candidates []matcher.Candidate) (uint64, bool) {
	var text maphash.Hash
	text.SetSeed(seed)
	for _, candidate := range candidates {
		if candidate.Repository.Revision == "" {
			return 0, false
		}
		maphash.WriteComparable(&text, candidate.Repository.Revision)
		maphash.WriteComparable(&text, candidate.Tool.Name)
	}
	return text.Sum64(), true
}
