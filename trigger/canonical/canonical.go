// Package canonical tells whether values of a tool are the same ones: numbers by value,
// texts by Unicode normal form C, objects whatever the order of their members.
package canonical

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"golang.org/x/text/unicode/norm"

	"earshot/repositories/exactjson"
)

// Digest returns the SHA-256, in hexadecimal, of the named values, or of all where none is
// named. Two digests are equal where the values are: 5, 5.0 and 50e-1 are one number, texts
// that look alike but are composed otherwise are one text, and case and spaces count. Null
// is as good as no value at all; inside of a value it is one of its own. Values are as JSON
// reads them, numbers as json.Number; others count as the JSON that they are written as.
func Digest(values map[string]any, names ...string) string {
	given := make(map[string]any, len(values))
	if len(names) == 0 {
		names = slices.Collect(maps.Keys(values))
	}
	for _, name := range names {
		if value := values[name]; value != nil {
			given[name] = value
		}
	}
	sum := sha256.Sum256(appendValue(nil, given))
	return hex.EncodeToString(sum[:])
}

// appendValue writes a value so that no other one is written alike: a sign of its type, and
// what has no end of its own with its length before it.
func appendValue(to []byte, value any) []byte {
	switch value := value.(type) {
	case nil:
		return append(to, 'n')
	case bool:
		return strconv.AppendBool(append(to, 'b'), value)
	case json.Number:
		return appendNumber(to, value)
	case string:
		return appendText(append(to, 's'), norm.NFC.String(value))
	case []any:
		to = appendLength(append(to, 'l'), len(value))
		for _, member := range value {
			to = appendValue(to, member)
		}
		return to
	case map[string]any:
		return appendObject(to, value)
	default:
		return appendOther(to, value)
	}
}

// appendNumber writes a number by its value. One that is out of range is its digits.
func appendNumber(to []byte, number json.Number) []byte {
	if decimal, ok := exactjson.ParseDecimal(number.String()); ok {
		return appendText(append(to, 'd'), decimal.Normal())
	}
	return appendText(append(to, 'D'), number.String())
}

// appendObject writes the members sorted as they are written. Two names may be one in
// their normal form, and then their values have an order as well.
func appendObject(to []byte, object map[string]any) []byte {
	members := make([][]byte, 0, len(object))
	for name, value := range object {
		members = append(members, appendValue(appendText(nil, norm.NFC.String(name)), value))
	}
	slices.SortFunc(members, bytes.Compare)
	to = appendLength(append(to, 'o'), len(members))
	return append(to, bytes.Join(members, nil)...)
}

// appendOther writes what JSON was not read into by way of its JSON.
func appendOther(to []byte, value any) []byte {
	raw, err := exactjson.Encode(value)
	if err == nil {
		var read any
		if read, err = exactjson.Decode(raw); err == nil {
			return appendValue(to, read)
		}
	}
	return appendText(append(to, '?'), fmt.Sprintf("%T %v", value, value))
}

func appendText(to []byte, text string) []byte {
	return append(appendLength(to, len(text)), text...)
}

func appendLength(to []byte, length int) []byte {
	return append(strconv.AppendInt(to, int64(length), 10), ':')
}
