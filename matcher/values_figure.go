package matcher

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// figures finds the numbers that no value has taken.
func (r *valueReader) figures() []figure {
	var found []figure
	for i := 0; i < len(r.words); {
		number, end := r.figure(i)
		if end > i && r.free(i, end) {
			found = append(found, figure{number, i, end})
		}
		i = max(end, i+1)
	}
	return found
}

// figure reads the number that begins at i, in digits or words; end is i for none.
func (r *momentText) figure(i int) (json.Number, int) {
	if digits, ok := plainDigits(r.words[i].norm); ok {
		if r.negative(i) {
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

// negative reports whether a minus sign stands right before the word, and no word
// right before that: 3-5 is a range.
func (r *momentText) negative(i int) bool {
	before := r.text[:r.words[i].start]
	if !strings.HasSuffix(before, "-") && !strings.HasSuffix(before, "−") {
		return false
	}
	before = strings.TrimRight(before, "-−")
	return before == "" || strings.HasSuffix(before, " ")
}
