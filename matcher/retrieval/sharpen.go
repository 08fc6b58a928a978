package retrieval

// Sharpening moves the centres of tools apart that are taken for each other. A sample
// that is not nearer to its own tool than to the next by clearance pulls the one
// towards itself and pushes the other away (a perceptron with a margin). Five passes
// are enough: later ones change little, and each costs about as much as comparing
// every sample once.
const (
	clearance   = 0.3
	step        = 0.05
	sharpenings = 5
	// maxComparisons of samples with tools are made in a pass: beyond it, at about a
	// thousand tools, a scope goes without. 150 tools of ten examples need 270,000.
	maxComparisons = 5_000_000
)

// sharpen runs the passes over the samples' directions.
func (b *builder) sharpen(directions [][]posting) {
	if tools := len(b.candidates); tools < 2 || tools*len(directions) > maxComparisons {
		return
	}
	scores := make([]float32, len(b.candidates))
	for range sharpenings {
		for sample, direction := range directions {
			own := b.owners[sample]
			b.centre(direction, scores)
			rival := strongest(scores, own)
			if scores[own]-scores[rival] < clearance {
				b.move(own, direction, step)
				b.move(rival, direction, -step)
			}
		}
	}
}

// centre scores the direction against every tool's centre.
func (b *builder) centre(direction []posting, scores []float32) {
	clear(scores)
	for _, share := range direction {
		for _, p := range b.centres[share.of] {
			scores[p.of] += p.weight * share.weight
		}
	}
}

// strongest is the tool with the best score other than own.
func strongest(scores []float32, own int32) int32 {
	best := int32(-1)
	for i, score := range scores {
		if int32(i) != own && (best < 0 || score > scores[best]) {
			best = int32(i)
		}
	}
	return best
}

// move shifts the tool's centre along the direction.
func (b *builder) move(tool int32, direction []posting, by float32) {
	for _, share := range direction {
		b.shift(share.of, tool, by*share.weight)
	}
}

func (b *builder) shift(number, tool int32, by float32) {
	list := b.centres[number]
	for i := range list {
		if list[i].of == tool {
			list[i].weight += by
			return
		}
	}
	b.centres[number] = append(list, posting{tool, by})
}
