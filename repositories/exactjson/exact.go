// Package exactjson reads and writes JSON with exact numbers: 9007199254740993 is not rounded to a float, and 1.0
// equals 1.
package exactjson

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"earshot/repositories/fault"
)

// maxKept is the maximum size in bytes of a text whose memory is reused.
const maxKept = 64 << 10

type writer struct {
	text    bytes.Buffer
	encoder *json.Encoder
}

var writers = sync.Pool{New: func() any {
	w := &writer{}
	w.encoder = encoderTo(&w.text)
	return w
}}

func encoderTo(text *bytes.Buffer) *json.Encoder {
	encoder := json.NewEncoder(text)
	encoder.SetEscapeHTML(false)
	return encoder
}

func (w *writer) release() {
	if w.text.Cap() <= maxKept {
		w.text.Reset()
		writers.Put(w)
	}
}

// Encode returns a value as JSON for events, records and answers. Unlike json.Marshal it does not escape & < >: no
// text goes into an HTML page, and escapes would be six times as long.
func Encode(value any) (text []byte, err error) {
	err = Use(value, func(written []byte) { text = bytes.Clone(written) })
	return text, err
}

// Text is Encode to a string.
func Text(value any) (text string, err error) {
	err = Use(value, func(written []byte) { text = string(written) })
	return text, err
}

// Use is Encode without a copy: the text is valid until take returns.
func Use(value any, take func(text []byte)) error {
	w := writers.Get().(*writer)
	defer w.release()
	err := w.encoder.Encode(value)
	if err == nil {
		take(w.text.Bytes()[:w.text.Len()-1]) // without the newline
	}
	return err
}

// EncodeOrNull returns a value from JSON as JSON; null for another value that JSON cannot represent.
func EncodeOrNull(value any) []byte {
	text, err := Encode(value)
	if err != nil {
		return []byte("null")
	}
	return text
}

type reader struct {
	source  bytes.Reader
	decoder *json.Decoder
}

var readers = sync.Pool{New: func() any {
	r := &reader{}
	r.decoder = json.NewDecoder(&r.source)
	r.decoder.UseNumber()
	return r
}}

// decode reads the first value of a text, and returns its length.
func decode(raw []byte, into any) (length int, err error) {
	raw = bytes.TrimRight(raw, " \t\r\n") // a decoder that has read all of it can be used again
	r := readers.Get().(*reader)
	r.source.Reset(raw)
	began := r.decoder.InputOffset()
	err = r.decoder.Decode(into)
	length = int(r.decoder.InputOffset() - began)
	// A decoder with an error or remaining input would affect the next text.
	if err == nil && length == len(raw) && length <= maxKept {
		r.source.Reset(nil)
		readers.Put(r)
	}
	return length, err
}

// Unmarshal is json.Unmarshal that keeps numbers as written, and ignores text after the value.
func Unmarshal(raw []byte, into any) error {
	_, err := decode(raw, into)
	return err
}

// ErrMore is the error of a text with more after its value.
var ErrMore = errors.New("not JSON: text follows the value")

// Decode reads one JSON value and keeps its numbers as written.
func Decode(raw []byte) (any, error) {
	var value any
	length, err := decode(raw, &value)
	if err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if len(bytes.Trim(raw[length:], " \t\r\n")) > 0 {
		return nil, ErrMore
	}
	return value, nil
}

// maxNesting is how deep JSON may be that becomes a part of other JSON. Readers take a limited depth of the whole: that
// of Go 10,000 levels, those of other languages some 500 or 1,000.
const maxNesting = 500

// Embeddable reports whether a text is JSON that can be a part of other JSON without making that unreadable.
func Embeddable(text []byte) bool {
	depth, inString := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '[' || c == '{':
			if depth++; depth > maxNesting {
				return false
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return json.Valid(text)
}

// Object builds a JSON object with its fields in the added order; a Go map would sort them. It must not be copied.
type Object struct {
	text    bytes.Buffer // without the closing brace
	encoder *json.Encoder
}

// Add appends a field.
func (o *Object) Add(name string, value any) error {
	if o.encoder == nil {
		o.encoder = encoderTo(&o.text)
	}
	before, sign := o.text.Len(), byte(',')
	if before == 0 {
		sign = '{'
	}
	err := o.write(sign, name)
	if err == nil {
		err = o.write(':', value)
	}
	if err != nil {
		o.text.Truncate(before)
	}
	return err
}

func (o *Object) write(sign byte, value any) error {
	o.text.WriteByte(sign)
	if err := o.encoder.Encode(value); err != nil {
		return err
	}
	o.text.Truncate(o.text.Len() - 1) // the newline
	return nil
}

// JSON returns the object.
func (o *Object) JSON() json.RawMessage {
	if o.text.Len() == 0 {
		return json.RawMessage("{}")
	}
	text := make([]byte, o.text.Len()+1)
	text[copy(text, o.text.Bytes())] = '}'
	return text
}

// Keys returns the keys of a JSON object in order.
func Keys(raw []byte) ([]string, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if _, err := decoder.Token(); err != nil {
		return nil, err
	}
	var keys []string
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		name, _ := key.(string)
		keys = append(keys, name)
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// escapedUnit is the length of an escape such as \u00e9.
const escapedUnit = 6

// TextFlaw returns why a decoder would replace characters of a JSON text, so that two different texts became one; empty
// if it would not.
func TextFlaw(raw []byte) string {
	if !utf8.Valid(raw) {
		at := 0
		for {
			read, size := utf8.DecodeRune(raw[at:])
			if read == utf8.RuneError && size == 1 {
				return fmt.Sprintf("is not UTF-8: byte %d is 0x%02x; send it in UTF-8", at+1, raw[at])
			}
			at += size
		}
	}
	if !bytes.Contains(raw, []byte(`\ud`)) && !bytes.Contains(raw, []byte(`\uD`)) {
		return ""
	}
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		unit := unitAt(raw[i:])
		if !utf16.IsSurrogate(unit) {
			i++ // the escaped character may be another backslash
			continue
		}
		if utf16.DecodeRune(unit, unitAt(raw[i+escapedUnit:])) == utf8.RuneError {
			return fmt.Sprintf("has %s, half of a surrogate pair; send both halves, or the character itself", raw[i:i+escapedUnit])
		}
		i += 2*escapedUnit - 1
	}
	return ""
}

// unitAt returns the UTF-16 code unit that a text begins with as an escape, or -1.
func unitAt(raw []byte) rune {
	if len(raw) < escapedUnit || raw[0] != '\\' || raw[1] != 'u' {
		return -1
	}
	unit, err := strconv.ParseUint(string(raw[2:escapedUnit]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(unit)
}

// Members are an object's members, encoded like a map at a third of the cost: every event, record and answer has
// them.
type Members map[string]any

// MarshalJSON implements json.Marshaler.
func (m Members) MarshalJSON() ([]byte, error) { return marshal(m, appendValue) }

// Map is like Members for values of one type.
type Map[V any] map[string]V

// MarshalJSON implements json.Marshaler.
func (m Map[V]) MarshalJSON() ([]byte, error) {
	return marshal(m, func(text []byte, value V) (_ []byte, err error) {
		err = Use(value, func(written []byte) { text = append(text, written...) })
		return text, err
	})
}

func marshal[V any](m map[string]V, appendTo func(text []byte, value V) ([]byte, error)) ([]byte, error) {
	if m == nil {
		return []byte("null"), nil
	}
	const usual = 8 // members whose names are sorted without an allocation
	names := make([]string, 0, usual)
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	text := append(make([]byte, 0, 128), '{')
	for i, name := range names {
		if i > 0 {
			text = append(text, ',')
		}
		var err error
		if text, err = appendText(text, name); err == nil {
			text, err = appendTo(append(text, ':'), m[name])
		}
		if err != nil {
			return nil, err
		}
	}
	return append(text, '}'), nil
}

func appendValue(text []byte, value any) (_ []byte, err error) {
	switch value := value.(type) {
	case string:
		return appendText(text, value)
	case json.Number:
		if len(value) > 0 && !strings.ContainsFunc(string(value), func(r rune) bool { return r < '0' || r > '9' }) {
			return append(text, value...), nil
		}
	case map[string]any:
		written, err := Members(value).MarshalJSON()
		return append(text, written...), err
	case bool:
		return strconv.AppendBool(text, value), nil
	}
	err = Use(value, func(written []byte) { text = append(text, written...) })
	return text, err
}

func appendText(text []byte, value string) (_ []byte, err error) {
	if !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		return append(append(append(text, '"'), value...), '"'), nil
	}
	err = Use(value, func(written []byte) { text = append(text, written...) })
	return text, err
}

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
	digits := parts[2] + parts[3]
	kept := strings.TrimLeft(digits, "0")
	point := len(parts[2]) + exponent - (len(digits) - len(kept))
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
	}
	return 1
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
