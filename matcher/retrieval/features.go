package retrieval

import (
	"math"

	"earshot/matcher/text"
)

// Relative weights of a text's features. Word pairs distinguish "how much" from "how many"; pieces of words find
// appointments in appointment and tolerate typing errors. Function words count half: "where is" and "what is"
// differ.
const (
	pairWeight     = 0.6
	pieceWeight    = 0.25
	functionWeight = 0.5
	topicWeight    = 0.5
	rootWeight     = 0.4
	pieceLength    = 4 // runes
)

// feature is a hashed feature of a text with its damped weight.
type feature struct {
	id     uint64
	weight float32
}

// featureBag collects features in the order of the text. Sums in another order would differ in the last digit, and
// two replicas must decide the same.
type featureBag struct {
	places   map[uint64]int
	features []feature
}

func (b *featureBag) add(id uint64, weight float32) {
	place, ok := b.places[id]
	if !ok {
		place = len(b.features)
		b.places[id] = place
		b.features = append(b.features, feature{id: id})
	}
	b.features[place].weight += weight
}

func featuresOf(words []text.Word) []feature {
	b := featureBag{places: make(map[uint64]int, 8*len(words)), features: make([]feature, 0, 8*len(words))}
	previous := hash(markPair, "^")
	for _, w := range words {
		current := hash(markWord, w.Stem)
		weight := float32(1)
		if w.Is(text.StopWords, text.RequestWords) {
			weight = functionWeight
		} else {
			b.addPieces(w.Norm)
			b.addTopics(w)
		}
		b.add(current, weight)
		b.add(mix(previous, current), pairWeight)
		previous = mix(markPair, current)
	}
	b.add(mix(previous, hash(markPair, "$")), pairWeight)
	for i, f := range b.features {
		b.features[i].weight = float32(math.Log1p(float64(f.weight)))
	}
	return b.features
}

func (b *featureBag) addPieces(w string) {
	framed := "_" + w + "_"
	starts := make([]int, 0, len(framed)+1)
	for at := range framed {
		starts = append(starts, at)
	}
	starts = append(starts, len(framed))
	for i := 0; i+pieceLength < len(starts); i++ {
		b.add(hash(markPiece, framed[starts[i]:starts[i+pieceLength]]), pieceWeight)
	}
}

func (b *featureBag) addTopics(w text.Word) {
	for _, topic := range text.Topics(w) {
		b.add(mix(markTopic, topic), topicWeight)
	}
	if root := text.Root(w.Stem); root != w.Stem {
		b.add(hash(markWord, root), rootWeight)
	}
}

// Kinds of features have different seeds, so that a word is not also a piece.
const (
	markWord  uint64 = 14695981039346656037 // FNV-1a's offset basis
	markPiece uint64 = markWord + 1
	markPair  uint64 = markWord + 2
	markTopic uint64 = markWord + 3
)

const fnvPrime uint64 = 1099511628211

func hash(mark uint64, text string) uint64 {
	for i := 0; i < len(text); i++ {
		mark = (mark ^ uint64(text[i])) * fnvPrime
	}
	return mark
}

func mix(a, b uint64) uint64 { return (a ^ (b + a<<6 + a>>2)) * fnvPrime }
