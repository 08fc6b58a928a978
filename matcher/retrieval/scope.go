package retrieval

import (
	"cmp"
	"hash/maphash"
	"math"
	"slices"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"

	"earshot/matcher"
	"earshot/matcher/text"
	"earshot/repositories"
)

const (
	// maxIndexes bounds the indexes of sessions' tools, beside the one of an app, and of tools that are not shared:
	// 150 tools with ten examples each take 2 to 3 MB, a usual session's a hundredth of that.
	maxIndexes = 64
	// maxConversations bounds the remembered offers: a list takes half a kilobyte. A forgotten one is computed from
	// the history.
	maxConversations = 8192
	// wholeUpTo is up to how many of an app's tools are compiled again with a session's, so that rarity is of the
	// whole scope. More tools are kept, and weigh the session's.
	wholeUpTo = 16
)

// Cache keeps compiled indexes by the revisions of their repositories, which each write changes, and the last offers of
// conversations.
type Cache struct {
	compiled *lru.Cache[uint64, *index]
	offered  *lru.Cache[uint64, []ref]
}

// app is the compiled data of an app's tools while they are shared.
type app struct {
	tools *index
	added *Cache // of its sessions' tools
}

// NewCache returns an empty cache.
func NewCache() *Cache {
	compiled, err := lru.New[uint64, *index](maxIndexes)
	if err != nil {
		panic(err) // only a size below one is refused
	}
	offered, err := lru.New[uint64, []ref](maxConversations)
	if err != nil {
		panic(err)
	}
	return &Cache{compiled, offered}
}

func newApp(tools []matcher.Candidate) app { return app{compile(tools, nil), NewCache()} }

// Of returns the request's tools, ready for comparisons. It does not visit the shared ones.
func (c *Cache) Of(request matcher.Request) Scope {
	if request.Shared == nil || len(request.Own) > 0 && len(request.Shared.Tools) <= wholeUpTo {
		scope := c.scope(request, request.Candidates)
		scope.parts = []part{{c.index(scope, request.Candidates, nil), wholeScope}}
		return scope
	}
	kept := matcher.Kept(request.Shared, newApp)
	scope := kept.added.scope(request, request.Own)
	scope.parts = []part{{kept.tools, sharedPart}}
	if len(request.Own) > 0 {
		scope.parts = append(scope.parts, part{kept.added.index(scope, request.Own, kept.tools), ownPart})
	}
	return scope
}

var seed = maphash.MakeSeed()

// scope returns a scope without its parts, identified by the revision and name of each candidate. Repositories
// without a revision were not stored: they are compiled each time and not cached.
func (c *Cache) scope(request matcher.Request, candidates []matcher.Candidate) Scope {
	var key maphash.Hash
	key.SetSeed(seed)
	for _, candidate := range candidates {
		if candidate.Repository.Revision == "" {
			return Scope{request: request}
		}
		maphash.WriteComparable(&key, candidate.Repository.Revision)
		maphash.WriteComparable(&key, candidate.Tool.Name)
	}
	return Scope{request: request, identity: key.Sum64(), offered: c.offered}
}

// index returns the index of the scope's candidates beside the base, with a cache.
func (c *Cache) index(scope Scope, candidates []matcher.Candidate, base *index) *index {
	if scope.offered == nil {
		return compile(candidates, base)
	}
	if known, ok := c.compiled.Get(scope.identity); ok {
		return known
	}
	made := compile(candidates, base)
	c.compiled.Add(scope.identity, made)
	return made
}

// Scope is the tools in a request's scope, ready for comparisons.
type Scope struct {
	request matcher.Request
	parts   []part
	// identity identifies the set of tools. offered is nil if offers cannot be remembered.
	identity uint64
	offered  *lru.Cache[uint64, []ref]
}

// part is an index of some of the candidates.
type part struct {
	*index
	kind kind
}

type kind int

const (
	wholeScope kind = iota // all candidates, in order
	sharedPart             // the app's tools, possibly some out of scope
	ownPart                // the request's own
)

// ref is a tool of a part of the scope.
type ref struct{ part, tool int32 }

func (s Scope) place(p part, tool int) (int, bool) {
	switch {
	case p.kind == wholeScope, len(s.request.Candidates) == len(p.candidates) && s.request.Candidates[tool] == p.candidates[tool]:
		return tool, true
	case p.kind == sharedPart:
		return s.request.InScope(p.candidates[tool])
	}
	return s.request.Place(p.candidates[tool].Tool.Name)
}

// named returns the tool with a name in the scope, and its place among the candidates.
func (s Scope) named(name string) (at ref, place int, in bool) {
	for i, p := range slices.Backward(s.parts) {
		tool, found := matcher.PlaceOf(name, p.candidates)
		if !found {
			continue
		}
		if place, in := s.place(p, tool); in {
			return ref{int32(i), int32(tool)}, place, true
		}
	}
	return ref{}, 0, false
}

func (s Scope) tool(r ref) *repositories.Tool { return s.parts[r.part].candidates[r.tool].Tool }

func (s Scope) ref(n Near) ref {
	at := slices.IndexFunc(s.parts, func(p part) bool { return p.index == n.index })
	return ref{int32(at), int32(n.tool)}
}

// Near is a candidate with its similarity to a text.
type Near struct {
	Place int // among the candidates
	Score float32
	index *index
	tool  int
}

// Document returns the tool's own words.
func (n Near) Document() *Document { return n.index.document(n.tool) }

// Scores returns candidates with their scores.
func (s Scope) Scores(near []Near) []matcher.Score {
	scores := make([]matcher.Score, len(near))
	for i, one := range near {
		scores[i] = matcher.Score{Candidate: s.request.Candidates[one.Place], Score: one.Score}
	}
	return scores
}

// Nearest returns the n candidates most similar to the words, in order: from 0 to 1 for the same. Words that no
// tool in scope knows, such as the title of a song, do not lower the similarity.
func (s Scope) Nearest(words []text.Word, n int) []Near {
	directions := make([][]posting, len(s.parts)) // in each part, of length one over all words that the parts know
	var square float64
	for _, f := range featuresOf(words) {
		heaviest := float32(0)
		for i, p := range s.parts {
			if number, ok := p.numbers[f.id]; ok {
				weight := f.weight * p.rarity[number]
				directions[i] = append(directions[i], posting{number, weight})
				heaviest = max(heaviest, weight)
			}
		}
		square += float64(heaviest) * float64(heaviest)
	}
	length := float32(math.Sqrt(square))
	best := top{most: n}
	for i, p := range s.parts {
		if len(directions[i]) == 0 || len(p.candidates) == 0 {
			continue
		}
		for j := range directions[i] {
			directions[i][j].weight /= length
		}
		scores := borrow(len(p.candidates))
		p.compare(directions[i], 1, scores.of)
		s.choose(&best, p, scores.of)
		scores.giveBack()
	}
	return best.list
}

// Knowing returns the candidates that have one of the words in any of their texts, also as a value of a parameter. Their
// similarity is not computed. It returns none if more than most have one.
func (s Scope) Knowing(words []text.Word, most int) (found []Near) {
	for _, p := range s.parts {
		for _, w := range words {
			if !w.IsSubject() {
				continue
			}
			if len(p.stems[w.Stem]) > most {
				return nil
			}
			for _, tool := range p.stems[w.Stem] {
				place, in := s.place(p, int(tool))
				if in && !slices.ContainsFunc(found, func(one Near) bool { return one.Place == place }) {
					found = append(found, Near{Place: place, index: p.index, tool: int(tool)})
				}
			}
		}
	}
	return found
}

// Rarity tells how much a word identifies a tool: more if fewer know it. known is whether any does.
func (s Scope) Rarity(stem string) (rarity float32, known bool) {
	tools, all := 0, 0
	for _, p := range s.parts {
		tools += len(p.stems[stem])
		all += len(p.candidates)
	}
	return rarityOf(all, tools), tools > 0
}

// Spelled corrects words that no tool in scope knows and that differ by one typing error from a tool's: an extra,
// missing or different letter, or two swapped ones.
func (s Scope) Spelled(words []text.Word) []text.Word {
	spelled, changed := words, false
	for i, w := range words {
		if len(w.Stem) < typoLength || !w.IsSubject() || len(text.Topics(w)) > 0 {
			continue
		}
		if right := s.spelled(w.Stem); right != "" {
			if !changed {
				spelled, changed = slices.Clone(words), true
			}
			spelled[i].Stem = right
			if form := w.Common() || strings.HasPrefix(w.Norm, right); !form { // "cambiar", where a tool has "cambia", is no imperative
				spelled[i] = w.As(right, right)
			}
		}
	}
	return spelled
}

// spelled returns the stem known to most tools that differs by one error from an unknown one; empty for none.
func (s Scope) spelled(stem string) (best string) {
	if slices.ContainsFunc(s.parts, func(p part) bool { return len(p.stems[stem]) > 0 }) {
		return ""
	}
	most := 0
	begin, end := edges(stem)
	for _, p := range s.parts {
		spelling := p.spelling()
		for _, near := range [][]string{spelling[begin], spelling[end]} {
			for _, known := range near {
				if tools := len(p.stems[known]); tools > most {
					if ok, _ := text.Typo(known, stem); ok {
						best, most = known, tools
					}
				}
			}
		}
	}
	return best
}

func (s Scope) choose(best *top, p part, scores []float32) {
	for tool, score := range scores {
		if n := len(best.list); n >= best.most && (n == 0 || score < best.list[n-1].Score) {
			continue
		}
		if place, in := s.place(p, tool); in {
			best.add(Near{Place: place, Score: score, index: p.index, tool: tool})
		}
	}
}

// top is a list of the best candidates in order; of equal ones the earlier stay first.
type top struct {
	most int
	list []Near
}

func (t *top) add(n Near) {
	at, _ := slices.BinarySearchFunc(t.list, n, func(a, b Near) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Place, b.Place))
	})
	if at < t.most {
		t.list = slices.Insert(t.list[:min(len(t.list), t.most-1)], at, n)
	}
}
