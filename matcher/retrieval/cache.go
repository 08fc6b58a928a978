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
type Cache struct {
	whole   sessions
	offered *conversations
}

// app is what is kept with the tools that an app shares.
type app struct {
	tools   *index
	added   sessions
	offered *conversations
}

// sessions keep indexes by the revisions of the repositories that they were made of; a
// write gives a new revision and so a new index.
type sessions struct{ compiled *lru.Cache[uint64, *index] }

// NewCache returns an empty cache.
func NewCache() *Cache { return &Cache{newSessions(), newConversations()} }

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
		scope := newScope(request, request.Candidates, c.offered)
		scope.parts = []part{{c.whole.of(scope, request.Candidates, nil), wholeScope}}
		return scope
	}
	kept := matcher.Kept(request.Shared, newApp)
	scope := newScope(request, request.Own, kept.offered)
	scope.parts = []part{{kept.tools, sharedPart}}
	if len(request.Own) > 0 {
		scope.parts = append(scope.parts, part{kept.added.of(scope, request.Own, kept.tools), ownPart})
	}
	return scope
}

func newApp(tools []matcher.Candidate) app {
	return app{compile(tools, nil), newSessions(), newConversations()}
}

// newScope returns a scope without its parts, of which the candidates are known by their
// revisions. Repositories without a revision, which no store has written, are compiled each
// time, and nothing is remembered of them.
func newScope(request matcher.Request, candidates []matcher.Candidate, offered *conversations) Scope {
	scope, known := Scope{request: request}, false
	if scope.identity, known = identity(candidates); known {
		scope.offered = offered
	}
	return scope
}

// of returns the index of the scope's candidates beside the base.
func (s sessions) of(scope Scope, candidates []matcher.Candidate, base *index) *index {
	if scope.offered == nil {
		return compile(candidates, base)
	}
	if known, ok := s.compiled.Get(scope.identity); ok {
		return known
	}
	made := compile(candidates, base)
	s.compiled.Add(scope.identity, made)
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
