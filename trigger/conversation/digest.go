package conversation

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"golang.org/x/text/unicode/norm"

	"earshot/repositories/exactjson"
)

// Digest returns the SHA-256, in hexadecimal, of the named values, or of all if none is named.
// Equal values have equal digests: 5, 5.0 and 50e-1 are one number, texts count in Unicode normal
// form C, and the order of an object's members does not count. Case and spaces do. Null counts as
// no value, unless it stands inside a value. Values are as JSON reads them, numbers as
// json.Number; others count as the JSON that they are written as.
func Digest(values map[string]any, names ...string) string {
	named := make(map[string]any, len(values))
	for name, value := range values {
		if value != nil && (len(names) == 0 || slices.Contains(names, name)) {
			named[name] = value
		}
	}
	sum := sha256.Sum256(appendValue(nil, named))
	return hex.EncodeToString(sum[:])
}

// appendValue encodes a value unambiguously: a letter for its type, and a length before open-ended content.
func appendValue(buffer []byte, value any) []byte {
	switch value := value.(type) {
	case nil:
		return append(buffer, 'n')
	case bool:
		return strconv.AppendBool(append(buffer, 'b'), value)
	case json.Number:
		if decimal, ok := exactjson.ParseDecimal(value.String()); ok {
			return appendText(append(buffer, 'd'), decimal.Normal())
		}
		return appendText(append(buffer, 'D'), value.String()) // out of range
	case string:
		return appendText(append(buffer, 's'), norm.NFC.String(value))
	case []any:
		buffer = appendLength(append(buffer, 'l'), len(value))
		for _, member := range value {
			buffer = appendValue(buffer, member)
		}
		return buffer
	case map[string]any:
		// Sorted in encoded form: two names may be equal in normal form, and then their values are ordered.
		members := make([][]byte, 0, len(value))
		for name, member := range value {
			members = append(members, appendValue(appendText(nil, norm.NFC.String(name)), member))
		}
		slices.SortFunc(members, bytes.Compare)
		return append(appendLength(append(buffer, 'o'), len(members)), bytes.Join(members, nil)...)
	}
	if raw, err := exactjson.Encode(value); err == nil {
		if read, err := exactjson.Decode(raw); err == nil {
			return appendValue(buffer, read)
		}
	}
	return appendText(append(buffer, '?'), fmt.Sprintf("%T %v", value, value))
}

func appendText(buffer []byte, text string) []byte {
	return append(appendLength(buffer, len(text)), text...)
}

func appendLength(buffer []byte, length int) []byte {
	return append(strconv.AppendInt(buffer, int64(length), 10), ':')
}
