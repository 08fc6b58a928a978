package retrieval

import (
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"earshot/matcher"
	"earshot/matcher/text"
	"earshot/repositories"
)

// builder makes an index.
type builder struct {
	*index
	owners           []int32 // sample → tool
	samples, centres [][]posting
}

// compile reads the candidates' names, descriptions, examples and parameters. With a
// base they are a few beside those of the base, and weighed by it.
func compile(candidates []matcher.Candidate, base *index) *index {
	b := builder{index: &index{
		candidates: candidates, base: base, documents: make([]atomic.Pointer[Document], len(candidates)),
		numbers: map[uint64]int32{}, stems: map[string][]int32{},
	}}
	var bags [][]feature
	for tool, candidate := range candidates {
		for _, sample := range samplesOf(candidate.Tool) {
			words := text.Split(sample)
			bags = append(bags, featuresOf(words))
			b.owners = append(b.owners, int32(tool))
			b.know(int32(tool), words)
		}
		for _, said := range parameterTexts(candidate.Tool) {
			b.know(int32(tool), text.Split(said))
		}
		b.ends = append(b.ends, int32(len(bags)))
		if candidate.Repository.SessionID != "" || candidate.Repository.Options.Exclusive {
			b.pinned = append(b.pinned, int32(tool))
		}
	}
	b.weigh(bags)
	b.place(bags)
	b.index.samples, b.index.centres = joined(b.samples), joined(b.centres)
	b.spelling = b.spellings()
	b.acting = sync.OnceValue(func() acting { return newActing(candidates) })
	return b.index
}

// maxCompared bounds what one tool can make others pay for: more examples than this
// are compared with as exact texts alone.
const maxCompared = 100

// samplesOf lists the texts that stand for a tool: its name, its description and its
// examples, each as if a user had said it.
func samplesOf(tool *repositories.Tool) []string {
	examples := tool.Spoken()
	examples = examples[:min(len(examples), maxCompared)]
	samples := make([]string, 0, len(examples)+2)
	samples = append(samples, text.Identifier(tool.Name))
	if tool.Description != "" {
		samples = append(samples, tool.Description)
	}
	return append(samples, examples...)
}

// parameterTexts lists what the tool's parameters say.
func parameterTexts(tool *repositories.Tool) []string {
	var texts []string
	for _, parameter := range matcher.Shown(tool.Params()) {
		texts = append(texts, text.Identifier(parameter.Name)+" "+parameter.Description)
		for _, allowed := range parameter.Allowed {
			if one, ok := allowed.(string); ok {
				texts = append(texts, one)
			}
		}
	}
	return texts
}

// know notes the stems of the tool's words.
func (b *builder) know(tool int32, words []text.Word) {
	for _, w := range words {
		tools := b.stems[w.Stem]
		if n := len(tools); n == 0 || tools[n-1] != tool {
			b.stems[w.Stem] = append(tools, tool)
		}
	}
}

// weigh numbers the features and finds out how rare each is among the tools (IDF).
// With one tool in scope all are equally rare.
func (b *builder) weigh(bags [][]feature) {
	last := []int32{}  // by number: the last tool that had the feature
	tools := []int32{} // by number: how many tools have it
	ids := []uint64{}
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
			b.rarity[number] = min(b.rarity[number], b.elsewhere(ids[number]))
		}
	}
}

// place builds the postings of all samples, and of each tool's centre: the mean
// direction of its samples.
func (b *builder) place(bags [][]feature) {
	b.samples = make([][]posting, len(b.rarity))
	b.centres = make([][]posting, len(b.rarity))
	centre := map[int32]float32{}
	directions := make([][]posting, len(bags))
	for sample, bag := range bags {
		directions[sample] = b.vector(bag)
		for _, share := range directions[sample] {
			b.samples[share.of] = append(b.samples[share.of], posting{int32(sample), share.weight})
			centre[share.of] += share.weight
		}
		if sample+1 == len(bags) || b.owners[sample+1] != b.owners[sample] {
			b.addCentre(b.owners[sample], centre)
			clear(centre)
		}
	}
	b.sharpen(directions)
}

func (b *builder) addCentre(tool int32, centre map[int32]float32) {
	var square float64
	for _, number := range slices.Sorted(maps.Keys(centre)) {
		square += float64(centre[number]) * float64(centre[number])
	}
	length := float32(math.Sqrt(square))
	for number, weight := range centre { // each goes to a list of its own: the order is no matter
		b.centres[number] = append(b.centres[number], posting{tool, weight / length})
	}
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
