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

// Bounds of a number. Within them a number is compared digit by digit; beyond them
// it is refused, since 1e999999999 is ten bytes to send and a gigabyte to expand.
const (
	maxExponent = 400
	maxDigits   = 800
)

// NumberPattern is the number of RFC 8259, section 6, in parts: sign, whole part,
// fraction, exponent.
var NumberPattern = regexp.MustCompile(`^(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$`)

// Decimal is a number without rounding: 0.digits times ten to the point. The digits
// have no zeros at either end, and zero has no digits.
type Decimal struct {
	negative bool
	digits   string
	point    int
}

// ParseDecimal reads a JSON number. It refuses what is no number, and numbers
// outside the bounds above, or of float64, which is what most readers of JSON take.
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

// Compare returns -1, 0 or 1 as d is under, equal to or over e.
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

// String writes the number out, without exponent and needless zeros: one text for
// 5, 5.0 and 50e-1.
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

// Normal writes the number as 0.5e1: one text for 5, 5.0 and 50e-1 as well, and no longer
// than its digits, whatever the exponent.
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

// IntegerFlaw says why a number is no integer; it is empty for an integer. An integer is written as
// one: 5.0 and 1e2 are not. It fits into 64 bits, as its readers expect.
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

// NumberFlaw says why a number cannot be used; it is empty if it can.
func NumberFlaw(number json.Number) string {
	if _, ok := ParseDecimal(number.String()); ok {
		return ""
	}
	if !NumberPattern.MatchString(number.String()) {
		return fmt.Sprintf("%q is not a number", fault.Clip(number.String()))
	}
	return fault.Show(number) + " is out of the range of a number"
}
