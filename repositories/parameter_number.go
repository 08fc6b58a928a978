package repositories

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"earshot/repositories/fault"
)

// Bounds of a number. Within them a number is compared digit by digit; beyond them
// it is refused, since 1e999999999 is ten bytes to send and a gigabyte to expand.
const (
	mostExponent = 400
	mostDigits   = 800
)

// numberPattern is the number of RFC 8259, section 6, in parts: sign, whole part,
// fraction, exponent.
var numberPattern = regexp.MustCompile(`^(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$`)

// decimal is a number without rounding: 0.digits times ten to the point. The digits
// have no zeros at either end, and zero has no digits.
type decimal struct {
	negative bool
	digits   string
	point    int
}

// parseDecimal reads a JSON number. It refuses what is no number, and numbers
// outside the bounds above.
func parseDecimal(text string) (decimal, bool) {
	if len(text) > mostDigits {
		return decimal{}, false
	}
	parts := numberPattern.FindStringSubmatch(text)
	if parts == nil {
		return decimal{}, false
	}
	exponent, ok := parseExponent(parts[4])
	if !ok {
		return decimal{}, false
	}
	return newDecimal(parts[1] == "-", parts[2], parts[3], exponent)
}

func parseExponent(text string) (int, bool) {
	if text == "" {
		return 0, true
	}
	exponent, err := strconv.Atoi(text)
	return exponent, err == nil && exponent <= mostExponent && exponent >= -mostExponent
}

// newDecimal brings a number to its one normal form. Its size is bounded by
// float64, which is what most readers of JSON take.
func newDecimal(negative bool, whole, fraction string, exponent int) (decimal, bool) {
	const mostPoint = 309 // math.MaxFloat64 has 309 digits before the point
	digits := whole + fraction
	kept := strings.TrimLeft(digits, "0")
	point := len(whole) + exponent - (len(digits) - len(kept))
	kept = strings.TrimRight(kept, "0")
	if kept == "" {
		return decimal{}, true
	}
	return decimal{negative, kept, point}, point <= mostPoint && point >= -mostExponent
}

// compare returns -1, 0 or 1 as d is under, equal to or over e.
func (d decimal) compare(e decimal) int {
	if d.sign() != e.sign() {
		return compareInts(d.sign(), e.sign())
	}
	size := compareInts(d.point, e.point)
	if size == 0 {
		size = strings.Compare(d.digits, e.digits)
	}
	return size * d.sign()
}

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	default:
		return 1
	}
}

// whole reports whether there is no fraction.
func (d decimal) whole() bool { return d.point >= len(d.digits) }

// String writes the number out, without exponent and needless zeros: one text for
// 5, 5.0 and 50e-1.
func (d decimal) String() string {
	text := d.digits
	switch {
	case text == "":
		return "0"
	case d.whole():
		text += strings.Repeat("0", d.point-len(text))
	case d.point > 0:
		text = text[:d.point] + "." + text[d.point:]
	default:
		text = "0." + strings.Repeat("0", -d.point) + text
	}
	if d.negative {
		return "-" + text
	}
	return text
}

func compareInts(a, b int) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	default:
		return 0
	}
}

// integerFlaw says why a number is no integer, or nothing. An integer is written as
// one: 5.0 and 1e2 are not. It fits into 64 bits, as those who receive it expect.
func integerFlaw(number json.Number) string {
	text := number.String()
	if strings.ContainsAny(text, ".eE") {
		return text + " is not an integer: write it without fraction and exponent"
	}
	if _, err := strconv.ParseInt(text, 10, 64); err != nil {
		return fault.Show(number) + " is out of the range of a 64-bit integer"
	}
	return ""
}

// numberFlaw says why a number cannot be used, or nothing.
func numberFlaw(number json.Number) string {
	if _, ok := parseDecimal(number.String()); ok {
		return ""
	}
	if !numberPattern.MatchString(number.String()) {
		return fmt.Sprintf("%q is not a number", fault.Clip(number.String()))
	}
	return fault.Show(number) + " is out of the range of a number"
}
