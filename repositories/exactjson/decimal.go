package exactjson

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"earshot/repositories/fault"
)

// Limits of a number. Within them numbers are compared digit by digit; beyond them they are refused, because
// 1e999999999 is ten bytes to send and a gigabyte to expand.
const (
	maxExponent = 400
	maxDigits   = 800
)

// NumberPattern is a number by RFC 8259, section 6, in parts: sign, whole part, fraction, exponent.
var NumberPattern = regexp.MustCompile(`^(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$`)

// Decimal is an exact number: 0.digits times ten to the point. The digits have no zeros at either end, and zero has
// no digits.
type Decimal struct {
	negative bool
	digits   string
	point    int
}

// ParseDecimal reads a JSON number. It refuses numbers beyond the limits above, or beyond float64, which most
// readers of JSON use.
func ParseDecimal(text string) (Decimal, bool) {
	if len(text) > maxDigits {
		return Decimal{}, false
	}
	parts := NumberPattern.FindStringSubmatch(text)
	if parts == nil {
		return Decimal{}, false
	}
	exponent := 0
	if parts[4] != "" {
		var err error
		if exponent, err = strconv.Atoi(parts[4]); err != nil || exponent > maxExponent || exponent < -maxExponent {
			return Decimal{}, false
		}
	}
	const maxPoint = 309 // math.MaxFloat64 has 309 digits before the point
	whole, fraction := parts[2], parts[3]
	digits := whole + fraction
	kept := strings.TrimLeft(digits, "0")
	point := len(whole) + exponent - (len(digits) - len(kept))
	if kept = strings.TrimRight(kept, "0"); kept == "" {
		return Decimal{}, true
	}
	return Decimal{parts[1] == "-", kept, point}, point <= maxPoint && point >= -maxExponent
}

// Compare returns -1, 0 or 1 if d is less than, equal to or greater than e.
func (d Decimal) Compare(e Decimal) int {
	if d.sign() != e.sign() {
		return cmp.Compare(d.sign(), e.sign())
	}
	size := cmp.Compare(d.point, e.point)
	if size == 0 {
		size = strings.Compare(d.digits, e.digits)
	}
	return size * d.sign()
}

func (d Decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	default:
		return 1
	}
}

// Whole reports whether there is no fraction.
func (d Decimal) Whole() bool { return d.point >= len(d.digits) }

// String returns the number without exponent and unneeded zeros: one text for 5, 5.0 and 50e-1.
func (d Decimal) String() string {
	text := d.digits
	switch {
	case text == "":
		return "0"
	case d.Whole():
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

// Normal returns the number as 0.5e1: one text for 5, 5.0 and 50e-1, as short as its digits with any exponent.
func (d Decimal) Normal() string {
	if d.digits == "" {
		return "0"
	}
	sign := ""
	if d.negative {
		sign = "-"
	}
	return sign + "0." + d.digits + "e" + strconv.Itoa(d.point)
}

// IntegerFlaw returns why a number is not an integer; empty for an integer. 5.0 and 1e2 are not written as
// integers. An integer fits into 64 bits, as readers expect.
func IntegerFlaw(number json.Number) string {
	text := number.String()
	if strings.ContainsAny(text, ".eE") {
		return text + " is not an integer: write it without fraction and exponent"
	}
	if _, err := strconv.ParseInt(text, 10, 64); err != nil {
		return fault.Show(number) + " is out of the range of a 64-bit integer"
	}
	return ""
}

// NumberFlaw returns why a number is not usable; empty if it is.
func NumberFlaw(number json.Number) string {
	if _, ok := ParseDecimal(number.String()); ok {
		return ""
	}
	if !NumberPattern.MatchString(number.String()) {
		return fmt.Sprintf("%q is not a number", fault.Clip(number.String()))
	}
	return fault.Show(number) + " is out of the range of a number"
}
