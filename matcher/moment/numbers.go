package moment

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"earshot/matcher/text"
)

// Figure reads the number that begins at i, in digits or words; end is i for none.
func (r *Text) Figure(i int) (json.Number, int) {
	if digits, ok := plainDigits(r.Words[i].Norm); ok {
		if r.Negative(i) {
			digits = "-" + digits
		}
		return json.Number(digits), i + 1
	}
	value, end := r.spelled(i)
	return json.Number(strconv.Itoa(value)), end
}

var (
	grouped = regexp.MustCompile(`^\d{1,3}(,\d{3})+(\.\d+)?$`)
	plain   = regexp.MustCompile(`^(0|[1-9]\d*)(\.\d+)?$`)
	comma   = regexp.MustCompile(`^(0|[1-9]\d*),\d{1,2}$`)
	unit    = regexp.MustCompile(`^(\d+(?:\.\d+)?)(?:kg|g|km|m|cm|mm|mi|lb|lbs|oz|l|ml|mb|gb|min|mins|h|hrs?|s|x|k?wh|c|f|eur|usd)$`)
)

// plainDigits writes 1,000 and 3,50 and 5kg as JSON does.
func plainDigits(w string) (string, bool) {
	if parts := unit.FindStringSubmatch(w); parts != nil {
		w = parts[1]
	}
	switch {
	case plain.MatchString(w):
		return w, true
	case grouped.MatchString(w):
		return strings.ReplaceAll(w, ",", ""), true
	case comma.MatchString(w):
		return strings.Replace(w, ",", ".", 1), true
	}
	return "", false
}

// Negative reports whether a minus sign stands right before the word, and no word
// right before that: 3-5 is a range.
func (r *Text) Negative(i int) bool {
	before := r.Source[:r.Words[i].Start]
	if !strings.HasSuffix(before, "-") && !strings.HasSuffix(before, "−") {
		return false
	}
	before = strings.TrimRight(before, "-−")
	return before == "" || strings.HasSuffix(before, " ")
}

// spelled reads the number in English words that begins at i, up to the thousands:
// "twenty five", "three hundred and twelve". A lone "one" is mostly no number ("that
// one") and is read only before a word that can be counted.
func (r *Text) spelled(i int) (value, end int) {
	total, current, end := 0, 0, i
	for end < len(r.Words) {
		w := r.Words[end].Norm
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
func (r *Text) goesOn(i int) bool { return i < len(r.Words) && small[r.Words[i].Norm] > 0 }

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
func (r *Text) unless(value, first, end int) (int, int) {
	if end-first != 1 || r.Words[first].Norm != "one" {
		return value, end
	}
	counts := end < len(r.Words) && !text.StopWords[r.Words[end].Norm] && strings.TrimSpace(r.Gap(first)) == "" && r.Words[end].Norm != "way"
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
