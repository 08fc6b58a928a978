// Package retrieval compares texts with the tools in scope by their words alone, and
// chooses the tools that a model is offered.
package retrieval

import (
	"maps"
	"math"
	"slices"

	"earshot/matcher"
	"earshot/matcher/text"
	"earshot/repositories"
)

// Index is a search index over the words of a set of candidates, compiled so that many
// texts can be compared with them. It is immutable.
type Index struct {
	Documents []Document
	numbers   map[uint64]int32 // feature → its number
	rarity    []float32        // by number: in how few tools the feature occurs
	unseen    float32          // rarity of a feature that no tool has
	samples   [][]posting      // by number: the samples that have it
	centres   [][]posting      // by number: the tools that have it
	owners    []int32          // sample → tool
}

// posting is the share of a feature in a sample or a tool.
type posting struct {
	of     int32
	weight float32
}

// compile reads the candidates' names, descriptions and examples.
func compile(candidates []matcher.Candidate) *Index {
	l := &Index{numbers: map[uint64]int32{}}
	var bags [][]feature
	for i, candidate := range candidates {
		l.Documents = append(l.Documents, newDocument(candidate.Tool))
		for _, sample := range samplesOf(candidate.Tool) {
			bags = append(bags, featuresOf(text.Split(sample)))
			l.owners = append(l.owners, int32(i))
		}
	}
	l.weigh(bags)
	l.index(bags)
	return l
}

// maxCompared bounds what one tool can make others pay for: more examples than this are
// only compared as exact texts.
const maxCompared = 100

// samplesOf lists the texts that stand for a tool: its name, its description and its
// examples, each as if a user had said it.
func samplesOf(tool *repositories.Tool) []string {
	examples := tool.Examples[:min(len(tool.Examples), maxCompared)]
	samples := make([]string, 0, len(examples)+2)
	samples = append(samples, text.Identifier(tool.Name))
	if tool.Description != "" {
		samples = append(samples, tool.Description)
	}
	return append(samples, examples...)
}

// weigh numbers the features and finds out how rare each is among the tools (IDF).
// With one tool in scope all are equally rare.
func (l *Index) weigh(bags [][]feature) {
	last := []int32{}  // by number: the last tool that had the feature
	tools := []int32{} // by number: how many tools have it
	for sample, bag := range bags {
		for _, f := range bag {
			number, ok := l.numbers[f.id]
			if !ok {
				number = int32(len(last))
				l.numbers[f.id] = number
				last, tools = append(last, -1), append(tools, 0)
			}
			if last[number] != l.owners[sample] {
				last[number] = l.owners[sample]
				tools[number]++
			}
		}
	}
	all := float64(len(l.Documents))
	l.unseen = float32(math.Log1p(all))
	for _, n := range tools {
		l.rarity = append(l.rarity, float32(math.Log1p(all/float64(n))))
	}
}

// index builds the postings of all samples, and of each tool's centre: the mean
// direction of its samples.
func (l *Index) index(bags [][]feature) {
	l.samples = make([][]posting, len(l.rarity))
	l.centres = make([][]posting, len(l.rarity))
	centre := map[int32]float32{}
	directions := make([][]posting, len(bags))
	for sample, bag := range bags {
		directions[sample] = l.vector(bag)
		for _, share := range directions[sample] {
			l.samples[share.of] = append(l.samples[share.of], posting{int32(sample), share.weight})
			centre[share.of] += share.weight
		}
		if sample+1 == len(bags) || l.owners[sample+1] != l.owners[sample] {
			l.addCentre(l.owners[sample], centre)
			clear(centre)
		}
	}
	l.sharpen(directions)
}

func (l *Index) addCentre(tool int32, centre map[int32]float32) {
	var square float64
	for _, number := range slices.Sorted(maps.Keys(centre)) {
		square += float64(centre[number]) * float64(centre[number])
	}
	length := float32(math.Sqrt(square))
	for number, weight := range centre { // each goes to a list of its own: the order is no matter
		l.centres[number] = append(l.centres[number], posting{tool, weight / length})
	}
}

// vector is the bag as a direction of length one. Features that no tool has are not
// in it and yet make it longer: a text about something else is far from every tool.
func (l *Index) vector(bag []feature) []posting {
	shares := make([]posting, 0, len(bag))
	var square float64
	for _, f := range bag {
		weight := f.weight
		number, ok := l.numbers[f.id]
		if !ok {
			square += float64(weight*l.unseen) * float64(weight*l.unseen)
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

// nearestWeight is the weight of a tool's nearest sample relative to that of its centre.
// The centre alone forgets the odd example, the nearest alone trusts it too much.
const nearestWeight = 0.3

// Similar compares a text with every tool: 0 for nothing in common, 1 for the same.
func (l *Index) Similar(words []text.Word) []float32 {
	centre := make([]float32, len(l.Documents))
	nearest := make([]float32, len(l.Documents))
	sample := make([]float32, len(l.owners))
	direction := l.vector(featuresOf(words))
	l.centre(direction, centre)
	for _, share := range direction {
		for _, p := range l.samples[share.of] {
			sample[p.of] += p.weight * share.weight
		}
	}
	for i, similarity := range sample {
		nearest[l.owners[i]] = max(nearest[l.owners[i]], similarity)
	}
	for i := range centre {
		centre[i] = (centre[i] + nearestWeight*nearest[i]) / (1 + nearestWeight)
	}
	return centre
}
