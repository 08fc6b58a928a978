package matcher

import "strings"

// stem takes the commonest English endings away, so that book, books, booked and
// booking are one word. It is light on purpose: a wrong join of two words costs more
// than a missed one, since pieces of words are compared as well.
func stem(w string) string {
	w = singular(w)
	switch {
	case len(w) > 5 && strings.HasSuffix(w, "ing") && hasVowel(w[:len(w)-3]):
		w = undouble(w[:len(w)-3])
	case len(w) > 4 && strings.HasSuffix(w, "ed") && hasVowel(w[:len(w)-2]):
		w = undouble(w[:len(w)-2])
	}
	if len(w) > 3 && strings.HasSuffix(w, "e") {
		return w[:len(w)-1]
	}
	return w
}

func singular(w string) string {
	switch {
	case len(w) < 4 || !strings.HasSuffix(w, "s"):
		return w
	case len(w) > 4 && strings.HasSuffix(w, "ies"):
		return w[:len(w)-3] + "y"
	case len(w) > 4 && strings.HasSuffix(w, "sses"):
		return w[:len(w)-2]
	case strings.HasSuffix(w, "ss"), strings.HasSuffix(w, "us"), strings.HasSuffix(w, "is"):
		return w
	}
	return w[:len(w)-1]
}

func hasVowel(w string) bool { return strings.ContainsAny(w, "aeiouy") }

// undouble turns the stopp of stopping into stop, and leaves call, pass and buzz.
func undouble(w string) string {
	n := len(w)
	if n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("lsz", rune(w[n-1])) {
		return w[:n-1]
	}
	return w
}

// stems is a list of words as their stems.
func stems(words string) map[string]bool {
	found := map[string]bool{}
	for _, w := range strings.Fields(words) {
		found[stem(w)] = true
	}
	return found
}
