package httpcall

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"unicode/utf8"
)

// mostResult is the longest result that is kept of an answer, in bytes.
const mostResult = 64 << 10

// maskMargin is read beyond the longest result, so that a credential at the cut is
// seen whole and masked.
const maskMargin = 8 << 10

// byteOrderMark begins the answers of some servers; RFC 8259 8.1 lets readers skip it.
const byteOrderMark = "\ufeff"

// readResult reads an answer: JSON as it is, whatever its content type says, and else a
// JSON string of the text. Nil means that there was none. What is longer than a result
// may be, or broke off, is a string of its beginning, and cut is true.
func readResult(body io.Reader, mask mask) (result json.RawMessage, cut bool) {
	read, err := io.ReadAll(io.LimitReader(body, mostResult+maskMargin))
	cut = err != nil || len(read) > mostResult
	text := mask.over(string(bytes.ToValidUTF8(read, []byte(string(utf8.RuneError)))))
	if len(text) > mostResult {
		text, cut = cutRunes(text, mostResult), true
	}
	trimmed := bytes.TrimSpace([]byte(strings.TrimPrefix(text, byteOrderMark)))
	if len(trimmed) == 0 {
		return nil, cut
	}
	if !cut && json.Valid(trimmed) {
		var kept bytes.Buffer
		if json.Compact(&kept, trimmed) == nil {
			return mask.overJSON(kept.Bytes()), false
		}
	}
	return compact(text), cut
}

// cutRunes cuts valid UTF-8 to at most so many bytes, between characters.
func cutRunes(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
