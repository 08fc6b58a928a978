package exactjson

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

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
			return fmt.Sprintf("has %s, half of a pair that is no character alone; send both halves, or the character itself", raw[i:i+escapedUnit])
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
