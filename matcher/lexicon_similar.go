package matcher

// nearestWeight is the say of a tool's nearest sample beside that of its centre. The
// centre alone forgets the odd example, the nearest alone trusts it too much.
const nearestWeight = 0.3

// similar compares a text with every tool: 0 for nothing in common, 1 for the same.
func (l *lexicon) similar(words []word) []float32 {
	centre := make([]float32, len(l.profiles))
	nearest := make([]float32, len(l.profiles))
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
