// Package retrieval compares texts with the tools in scope by their words alone, and
// chooses the tools that a model is offered.
package retrieval

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"earshot/matcher"
	"earshot/matcher/text"
)

// index is what the words of a set of candidates say, compiled for comparing many
// texts with them. It is never changed once it is made.
type index struct {
	candidates []matcher.Candidate
	documents  []atomic.Pointer[Document] // made when they are first asked for
	pinned     []int32                    // tools that come before all others
	base       *index                     // whose weights hold here as well; nil for none
	numbers    map[uint64]int32           // feature → its number
	rarity     []float32                  // by number: in how few tools the feature occurs
	unseen     float32                    // rarity of a feature that no tool has
	samples    postings                   // by number: the samples that have it
	centres    postings                   // by number: the tools that have it
	ends       []int32                    // tool → the sample after its last
	stems      map[string][]int32         // stem → the tools that know it
	spelling   func() map[string][]string // begin or end of a stem → the stems that have it
	acting     func() acting              // what the tools do, made when they are first searched
}

// posting is the share of a feature in a sample or a tool.
type posting struct {
	of     int32
	weight float32
}

// postings are lists by number, one behind the other.
type postings struct {
	ends []int32
	all  []posting
}

func (p postings) of(number int32) []posting {
	begin := int32(0)
	if number > 0 {
		begin = p.ends[number-1]
	}
	return p.all[begin:p.ends[number]]
}

// size is how many tools there are, those of the base included.
func (l *index) size() int {
	if l.base == nil {
		return len(l.candidates)
	}
	return len(l.base.candidates) + len(l.candidates)
}

// elsewhere is the rarity of a feature that no tool here has.
func (l *index) elsewhere(id uint64) float32 {
	if l.base != nil {
		if number, ok := l.base.numbers[id]; ok {
			return l.base.rarity[number]
		}
	}
	return l.unseen
}

// vector is the bag as a direction of length one. Features that no tool has are not
// in it and yet make it longer: a text about something else is far from every tool.
func (l *index) vector(bag []feature) []posting {
	shares := make([]posting, 0, len(bag))
	var square float64
	for _, f := range bag {
		weight := f.weight
		number, ok := l.numbers[f.id]
		if !ok {
			weight *= l.elsewhere(f.id)
			square += float64(weight) * float64(weight)
			continue
		}
		weight *= l.rarity[number]
		square += float64(weight) * float64(weight)
		shares = append(shares, posting{number, weight})
	}
	length := float32(math.Sqrt(square))
	for i := range shares {
		shares[i].weight /= length
	}
	return shares
}

// nearestWeight is the say of a tool's nearest sample beside that of its centre. The
// centre alone forgets the odd example, the nearest alone trusts it too much.
const nearestWeight = 0.3

// Among many tools a feature that one in commonShare has says next to nothing, and to
// go through all that have it would be most of the work.
const (
	commonFrom  = 256
	commonShare = 8
)

// similar adds to the scores how like every tool the text is, times by: 0 for nothing in
// common, 1 for the same.
func (l *index) similar(words []text.Word, by float32, scores []float32) {
	if len(words) == 0 || len(l.candidates) == 0 {
		return
	}
	l.compare(l.vector(featuresOf(words)), by, scores)
}

// compare adds to the scores how like every tool the direction is, times by.
func (l *index) compare(direction []posting, by float32, scores []float32) {
	centres, samples := borrow(len(l.candidates)), borrow(int(l.ends[len(l.ends)-1]))
	defer centres.giveBack()
	defer samples.giveBack()
	for _, share := range direction {
		list := l.centres.of(share.of)
		if len(l.candidates) >= commonFrom && len(list) > len(l.candidates)/commonShare {
			continue
		}
		accumulate(list, share.weight, centres.of)
		accumulate(l.samples.of(share.of), share.weight, samples.of)
	}
	sample := int32(0)
	for tool, end := range l.ends {
		nearest := float32(0)
		for ; sample < end; sample++ {
			nearest = max(nearest, samples.of[sample])
		}
		scores[tool] += by * (centres.of[tool] + nearestWeight*nearest) / (1 + nearestWeight)
	}
}

func accumulate(list []posting, weight float32, into []float32) {
	for _, p := range list {
		into[p.of] += p.weight * weight
	}
}

// covers adds to the scores which share of the text's subjects the words of every tool
// know, times by. A subject counts by how few tools know it.
func (l *index) covers(words []text.Word, by float32, scores []float32) {
	var all float32
	for _, w := range words {
		if w.IsSubject() {
			all += l.known(w.Stem)
		}
	}
	for _, w := range words {
		if !w.IsSubject() {
			continue
		}
		share := by * l.known(w.Stem) / all
		for _, tool := range l.stems[w.Stem] {
			scores[tool] += share
		}
	}
}

// known is the rarity of a stem.
func (l *index) known(stem string) float32 {
	tools := len(l.stems[stem])
	if l.base != nil {
		tools += len(l.base.stems[stem])
	}
	if tools == 0 {
		return l.unseen
	}
	return float32(math.Log1p(float64(l.size()) / float64(tools)))
}

// find returns the tool of that name.
func (l *index) find(name string) (int, bool) {
	return slices.BinarySearchFunc(l.candidates, name, func(c matcher.Candidate, name string) int { return cmp.Compare(c.Tool.Name, name) })
}

// document returns what the tool's own words are.
func (l *index) document(tool int) *Document {
	if made := l.documents[tool].Load(); made != nil {
		return made
	}
	made := newDocument(l.candidates[tool].Tool)
	l.documents[tool].Store(&made)
	return &made
}

// scratch is memory for scores, lent from message to message.
type scratch struct{ of []float32 }

var scratches = sync.Pool{New: func() any { return &scratch{} }}

// borrow returns n zeros.
func borrow(n int) *scratch {
	s := scratches.Get().(*scratch)
	s.of = slices.Grow(s.of[:0], n)[:n]
	clear(s.of)
	return s
}

func (s *scratch) giveBack() { scratches.Put(s) }
