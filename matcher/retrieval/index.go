// Package retrieval compares texts with the tools in scope by their words, and chooses the tools that a model is
// offered.
package retrieval

import (
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"earshot/matcher"
	"earshot/matcher/text"
)

// index is a set of candidates, compiled for comparing many texts with their words. It is immutable.
type index struct {
	candidates []matcher.Candidate
	documents  []atomic.Pointer[Document] // made on first use
	pinned     []int32                    // tools before all others
	base       *index                     // whose weights also apply; nil for none
	numbers    map[uint64]int32           // feature → its number
	rarity     []float32                  // by number: in how few tools the feature occurs
	unseen     float32                    // rarity of a feature that no tool has
	samples    postings                   // by number: samples with it
	centres    postings                   // by number: tools with it
	ends       []int32                    // tool → the sample after its last
	stems      map[string][]int32         // stem → the tools that know it
	spelling   func() map[string][]string // beginning or end of a stem → stems
	acting     func() acting              // acts of the tools, made on the first search
}

type posting struct {
	of     int32
	weight float32
}

// postings are lists by number, stored consecutively.
type postings struct {
	ends []int32
	all  []posting
}

func joined(lists [][]posting) postings {
	total := 0
	for _, list := range lists {
		total += len(list)
	}
	p := postings{ends: make([]int32, len(lists)), all: make([]posting, 0, total)}
	for number, list := range lists {
		p.all = append(p.all, list...)
		p.ends[number] = int32(len(p.all))
	}
	return p
}

func (p postings) of(number int32) []posting {
	begin := int32(0)
	if number > 0 {
		begin = p.ends[number-1]
	}
	return p.all[begin:p.ends[number]]
}

type builder struct {
	*index
	owners           []int32 // sample → tool
	samples, centres [][]posting
}

// compile reads the candidates' names, descriptions, examples and parameters. With a base, the candidates are a few
// more beside the base's, and have its weights.
func compile(candidates []matcher.Candidate, base *index) *index {
	b := builder{index: &index{
		candidates: candidates, base: base, documents: make([]atomic.Pointer[Document], len(candidates)),
		numbers: map[uint64]int32{}, stems: map[string][]int32{},
	}}
	var bags [][]feature
	for tool, candidate := range candidates {
		know := func(words []text.Word) {
			for _, w := range words {
				tools := b.stems[w.Stem]
				if n := len(tools); n == 0 || tools[n-1] != int32(tool) {
					b.stems[w.Stem] = append(tools, int32(tool))
				}
			}
		}
		for _, sample := range matcher.Samples(candidate.Tool, maxCompared) {
			words := text.Split(sample)
			bags = append(bags, featuresOf(words))
			b.owners = append(b.owners, int32(tool))
			know(words)
		}
		for _, said := range parameterTexts(candidate.Tool) {
			know(text.Split(said))
		}
		b.ends = append(b.ends, int32(len(bags)))
		if candidate.Repository.SessionID != "" || candidate.Repository.Options.Exclusive {
			b.pinned = append(b.pinned, int32(tool))
		}
	}
	b.weigh(bags)
	b.place(bags)
	b.index.samples, b.index.centres = joined(b.samples), joined(b.centres)
	b.spelling = sync.OnceValue(b.index.spellings)
	b.acting = sync.OnceValue(func() acting { return newActing(candidates) })
	return b.index
}

// weigh numbers the features and computes their rarity among the tools (IDF). With one tool in scope all are
// equally rare.
func (b *builder) weigh(bags [][]feature) {
	var last, tools []int32 // by number: the last tool with the feature, and the number of tools with it
	var ids []uint64
	for sample, bag := range bags {
		for _, f := range bag {
			number, ok := b.numbers[f.id]
			if !ok {
				number = int32(len(last))
				b.numbers[f.id] = number
				last, tools, ids = append(last, -1), append(tools, 0), append(ids, f.id)
			}
			if last[number] != b.owners[sample] {
				last[number] = b.owners[sample]
				tools[number]++
			}
		}
	}
	all := float64(b.size())
	b.unseen = float32(math.Log1p(all))
	b.rarity = make([]float32, len(tools))
	for number, n := range tools {
		b.rarity[number] = float32(math.Log1p(all / float64(n)))
		if b.base != nil {
			b.rarity[number] = min(b.rarity[number], b.unknownRarity(ids[number]))
		}
	}
}

// place builds the postings of all samples, and of each tool's centre: the mean direction of its samples.
func (b *builder) place(bags [][]feature) {
	b.samples, b.centres = make([][]posting, len(b.rarity)), make([][]posting, len(b.rarity))
	centre := map[int32]float32{}
	directions := make([][]posting, len(bags))
	for sample, bag := range bags {
		directions[sample] = b.vector(bag)
		for _, share := range directions[sample] {
			b.samples[share.of] = append(b.samples[share.of], posting{int32(sample), share.weight})
			centre[share.of] += share.weight
		}
		tool := b.owners[sample]
		if sample+1 < len(bags) && b.owners[sample+1] == tool {
			continue
		}
		var square float64
		for _, number := range slices.Sorted(maps.Keys(centre)) {
			square += float64(centre[number]) * float64(centre[number])
		}
		length := float32(math.Sqrt(square))
		for number, weight := range centre { // each goes to its own list: the order is irrelevant
			b.centres[number] = append(b.centres[number], posting{tool, weight / length})
		}
		clear(centre)
	}
	if tools := len(b.candidates); tools > 1 && tools*len(directions) <= maxComparisons {
		b.sharpen(directions)
	}
}

// Sharpening moves the centres of similar tools apart. A sample that is not nearer to its own tool than to the next
// by clearance pulls the one towards itself and pushes the other away (a perceptron with a margin). Five passes
// suffice: later ones change little, and each costs about as much as comparing every sample once.
const (
	clearance   = 0.3
	step        = 0.05
	sharpenings = 5
	// maxComparisons bounds the comparisons of samples with tools in a pass. Beyond it, at about a thousand tools,
	// a scope is not sharpened. 150 tools of ten examples need 270,000.
	maxComparisons = 5_000_000
)

func (b *builder) sharpen(directions [][]posting) {
	scores := make([]float32, len(b.candidates))
	for range sharpenings {
		for sample, direction := range directions {
			clear(scores)
			for _, share := range direction {
				accumulate(b.centres[share.of], share.weight, scores)
			}
			own, rival := b.owners[sample], int32(-1)
			for i, score := range scores {
				if int32(i) != own && (rival < 0 || score > scores[rival]) {
					rival = int32(i)
				}
			}
			if scores[own]-scores[rival] < clearance {
				b.move(own, direction, step)
				b.move(rival, direction, -step)
			}
		}
	}
}

func (b *builder) move(tool int32, direction []posting, by float32) {
	for _, share := range direction {
		list := b.centres[share.of]
		at := slices.IndexFunc(list, func(p posting) bool { return p.of == tool })
		if at < 0 {
			b.centres[share.of] = append(list, posting{tool, by * share.weight})
			continue
		}
		list[at].weight += by * share.weight
	}
}

// size returns the number of tools, including the base's.
func (l *index) size() int {
	if l.base == nil {
		return len(l.candidates)
	}
	return len(l.base.candidates) + len(l.candidates)
}

// unknownRarity returns the rarity of a feature that no tool here has.
func (l *index) unknownRarity(id uint64) float32 {
	if l.base != nil {
		if number, ok := l.base.numbers[id]; ok {
			return l.base.rarity[number]
		}
	}
	return l.unseen
}

// vector returns the bag as a direction of length one. Features that no tool has are left out but add to the
// length, so that a text about something else is far from every tool.
func (l *index) vector(bag []feature) []posting {
	shares := make([]posting, 0, len(bag))
	var square float64
	for _, f := range bag {
		weight := f.weight
		if number, ok := l.numbers[f.id]; ok {
			weight *= l.rarity[number]
			shares = append(shares, posting{number, weight})
		} else {
			weight *= l.unknownRarity(f.id)
		}
		square += float64(weight) * float64(weight)
	}
	length := float32(math.Sqrt(square))
	for i := range shares {
		shares[i].weight /= length
	}
	return shares
}

// similar adds each tool's similarity to the text to the scores, times by: from 0 to 1 for the same.
func (l *index) similar(words []text.Word, by float32, scores []float32) {
	if len(words) > 0 && len(l.candidates) > 0 {
		l.compare(l.vector(featuresOf(words)), by, scores)
	}
}

// nearestWeight is the weight of a tool's nearest sample beside its centre. The centre alone ignores an unusual
// example, the nearest sample alone overrates it.
const nearestWeight = 0.3

// compare adds each tool's similarity to the direction to the scores, times by.
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

// covers adds to the scores the share of the text's subjects that each tool knows, times by. A subject's weight is
// its rarity.
func (l *index) covers(words []text.Word, by float32, scores []float32) {
	weight := func(stem string) float32 {
		tools := len(l.stems[stem])
		if l.base != nil {
			tools += len(l.base.stems[stem])
		}
		if tools == 0 {
			return l.unseen
		}
		return float32(math.Log1p(float64(l.size()) / float64(tools)))
	}
	var all float32
	for _, w := range words {
		if w.IsSubject() {
			all += weight(w.Stem)
		}
	}
	for _, w := range words {
		if !w.IsSubject() {
			continue
		}
		share := by * weight(w.Stem) / all
		for _, tool := range l.stems[w.Stem] {
			scores[tool] += share
		}
	}
}

func (l *index) document(tool int) *Document {
	if made := l.documents[tool].Load(); made != nil {
		return made
	}
	made := newDocument(l.candidates[tool].Tool)
	l.documents[tool].Store(made)
	return made
}

// edge is the length in bytes of the beginning and the end of a word that index spellings: one error leaves one of
// them intact.
const edge = 2

func edges(stem string) (begin, end string) { return "^" + stem[:edge], stem[len(stem)-edge:] }

// spellings lists the stems of the index by their edges, in a deterministic order.
func (l *index) spellings() map[string][]string {
	found := map[string][]string{}
	for _, stem := range slices.Sorted(maps.Keys(l.stems)) {
		if len(stem) >= typoLength && !text.StartsWithDigit(stem) {
			begin, end := edges(stem)
			found[begin], found[end] = append(found[begin], stem), append(found[end], stem)
		}
	}
	return found
}

// scratch is pooled memory for scores.
type scratch struct{ of []float32 }

var scratches = sync.Pool{New: func() any { return &scratch{} }}

func borrow(n int) *scratch {
	s := scratches.Get().(*scratch)
	s.of = slices.Grow(s.of[:0], n)[:n]
	clear(s.of)
	return s
}

func (s *scratch) giveBack() { scratches.Put(s) }
