package matcher

import "strings"

// spelled reads the number in English words that begins at i, up to the thousands:
// "twenty five", "three hundred and twelve". A lone "one" is mostly no number ("that
// one") and is read only before a word that can be counted.
func (r *momentText) spelled(i int) (value, end int) {
	total, current, end := 0, 0, i
	for end < len(r.words) {
		w := r.words[end].norm
		switch {
		case small[w] > 0 || w == "zero":
			if !fits(current, small[w]) {
				return total + current, end
			}
			current += small[w]
		case w == "hundred" && current > 0 && current < 100:
			current *= 100
		case w == "thousand" && current > 0:
			total, current = total+current*1000, 0
		case w == "and" && end > i && current%100 == 0 && r.goesOn(end+1):
		default:
			return r.unless(total+current, i, end)
		}
		end++
	}
	return r.unless(total+current, i, end)
}

// goesOn reports whether a number word stands at i.
func (r *momentText) goesOn(i int) bool { return i < len(r.words) && small[r.words[i].norm] > 0 }

// fits reports whether next can follow current in one number: five after twenty, and
// anything under a hundred after hundreds.
func fits(current, next int) bool {
	switch {
	case current%100 == 0:
		return true
	case current%100 >= 20 && current%10 == 0:
		return next < 10
	}
	return false
}

// unless drops a lone "one" that counts nothing.
func (r *momentText) unless(value, first, end int) (int, int) {
	if end-first != 1 || r.words[first].norm != "one" {
		return value, end
	}
	counts := end < len(r.words) && !functionWords[r.words[end].norm] && strings.TrimSpace(r.gap(first)) == "" && r.words[end].norm != "way"
	if !counts {
		return 0, first
	}
	return value, end
}

var small = numberWords(`zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
	fifteen sixteen seventeen eighteen nineteen`, `twenty thirty forty fifty sixty seventy eighty ninety`)

func numberWords(units, tens string) map[string]int {
	found := map[string]int{}
	for i, w := range strings.Fields(units) {
		found[w] = i
	}
	for i, w := range strings.Fields(tens) {
		found[w] = 10 * (i + 2)
	}
	return found
}
