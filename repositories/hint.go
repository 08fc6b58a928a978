package repositories

import (
	"fmt"
	"strings"

	"github.com/agext/levenshtein"
)

// nearest returns the known word that a misspelt one most likely stands for, or
// nothing where none is near: within half of its length, which a transposition in a short
// word takes, case aside.
func nearest(word string, known []string) string {
	const most = 64 // the cost of a comparison grows with the square of it
	if len(word) > most {
		return ""
	}
	best, distance := "", len(word)/2+1
	for _, candidate := range known {
		d := levenshtein.Distance(strings.ToLower(word), strings.ToLower(candidate), nil)
		if d < distance || d == distance && best != "" && candidate < best {
			best, distance = candidate, d
		}
	}
	return best
}

// didYouMean returns the hint that an error about word ends with, or nothing.
func didYouMean(word string, known []string) string {
	if best := nearest(word, known); best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return ""
}

// DidYouMean returns the hint that an error about an unknown word ends with, as in
// `; did you mean "tools"?`, or nothing where no known word is near.
func DidYouMean(word string, known []string) string { return didYouMean(word, known) }
