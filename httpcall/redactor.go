package httpcall

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"sync"

	"earshot/repositories/secret"
)

const (
	// minRedacted is the shortest masked credential: shorter ones occur in ordinary text.
	minRedacted = 6
	// minPrefix is the shortest beginning of a credential that is masked at the end of a text that was cut.
	minPrefix = 8
	// minPiece is the shortest piece of a credential that is masked, and the length from which capitals do not matter.
	minPiece = 12
)

// redactor masks the credentials of a call in its outcome: an endpoint may echo them. It finds them plain, in
// base64, in hexadecimal, and percent-encoded, JSON-escaped or HTML-escaped in whatever way: servers differ in the
// characters that they escape, so the text is decoded where it is compared. It is safe for concurrent use.
type redactor struct {
	mu          sync.Mutex
	credentials []string
	forms       []form
	// places tell of each byte whether a form has it first or second, in whatever capitals, and whether it begins escapes.
	places [256]byte
}

const (
	isFirst byte = 1 << iota
	isSecond
	isEscape
)

// form is what is searched for: a credential, its digits, or base64 of it without padding, perhaps within that of more.
type form struct {
	text      string
	base64    bool
	ambiguous bool // it has what may also be an escape
}

// Redacting returns a function that masks a credential in texts.
func Redacting(credential secret.Secret) func(text string) string {
	r := &redactor{}
	r.add(credential.Reveal())
	return r.redact
}

func (r *redactor) add(credential string) {
	if len(credential) < minRedacted {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.credentials, credential) {
		return
	}
	r.credentials = append(r.credentials, credential)
	r.addForm(form{text: credential, ambiguous: strings.ContainsAny(credential, `\%&`)})
	r.addForm(form{text: hex.EncodeToString([]byte(credential))})
	r.addEncoded(credential)
}

// addLogin masks a password, and what basic authentication makes of it.
func (r *redactor) addLogin(username, password string) {
	r.add(password)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.addEncoded(username + ":" + password)
}

// addEncoded masks base64 of a text, alone or with others around it: three bytes are four characters, so these depend on
// the place of the first byte. Those that a neighbour has a part in are left. The caller holds the lock.
func (r *redactor) addEncoded(text string) {
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		r.addForm(form{text: encoding.EncodeToString([]byte(text)), base64: true})
		for before := range 3 {
			encoded := encoding.EncodeToString([]byte("\x00\x00"[:before] + text))
			first, end := (before*8+5)/6, (before+len(text))*8/6
			r.addForm(form{text: encoded[min(first, end):end], base64: true})
		}
	}
}

func (r *redactor) addForm(next form) {
	if len(next.text) < minRedacted || slices.Contains(r.forms, next) {
		return
	}
	r.forms = append(r.forms, next)
	for i, place := range []byte{isFirst, isSecond} {
		r.places[next.text[i]] |= place
		r.places[otherCase(next.text[i])] |= place
	}
	for _, begin := range []byte(`%\&+`) {
		r.places[begin] |= isEscape
	}
}

// redact masks the credentials in a complete text.
func (r *redactor) redact(text string) string { return r.mask(text, false) }

// redactCut masks the credentials in a text that was cut, perhaps inside of one.
func (r *redactor) redactCut(text string) string { return r.mask(text, true) }

func (r *redactor) mask(text string, cut bool) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.forms) == 0 {
		return text
	}
	var masked strings.Builder
	done := 0
	for i := 0; i < len(text); i++ {
		end := r.endOf(text, i, cut)
		if end == i {
			continue
		}
		for j := i + 1; j < end; j++ { // another one may begin in this one, and end later
			end = max(end, r.endOf(text, j, cut))
		}
		masked.WriteString(text[done:i])
		masked.WriteString(secret.Masked)
		done, i = end, end-1
	}
	if done > 0 {
		masked.WriteString(text[done:])
		text = masked.String()
	}
	for _, credential := range r.credentials {
		text = maskPieces(text, credential)
	}
	return text
}

// maskPieces masks each piece of a credential that has at least minPiece bytes and half of them. Whatever piece it
// is, it contains one of the parts that are sought: two of them are never longer.
func maskPieces(text, credential string) string {
	shortest := max(minPiece, (len(credential)+1)/2)
	size := (shortest + 1) / 2
	for at := 0; at+size <= len(credential) && len(text) >= shortest; at += size {
		before, part, after := credential[:at], credential[at:at+size], credential[at+size:]
		var masked strings.Builder
		rest, from := text, 0 // what is not masked yet, and where the next part may begin
		for {
			found := strings.Index(rest[from:], part)
			if found < 0 {
				break
			}
			start, end := from+found, from+found+size
			from = start + 1
			for i := len(before); i > 0 && start > 0 && rest[start-1] == before[i-1]; i-- {
				start--
			}
			for i := 0; i < len(after) && end < len(rest) && rest[end] == after[i]; i++ {
				end++
			}
			if end-start >= shortest {
				masked.WriteString(rest[:start] + secret.Masked)
				rest, from = rest[end:], 0
			}
		}
		text = masked.String() + rest
	}
	return text
}

// otherCase returns the other case of an ASCII letter, and any other byte as it is.
func otherCase(b byte) byte {
	if 'A' <= b&^0x20 && b&^0x20 <= 'Z' {
		return b ^ 0x20
	}
	return b
}

// endOf returns where the longest credential that begins at a place of the text ends; the place itself if there is
// none.
func (r *redactor) endOf(text string, at int, cut bool) int {
	end := at
	first := r.places[text[at]]
	switch {
	case first&isEscape != 0:
		if plain, size := unescape(text[at:]); size > 0 {
			first |= r.places[plain[0]]
		}
	case at+1 == len(text), r.places[text[at+1]]&(isSecond|isEscape) == 0:
		return end
	}
	if first&isFirst == 0 {
		return end
	}
	for _, have := range r.forms {
		end = max(end, at+have.at(text[at:], cut, false))
		if have.ambiguous {
			end = max(end, at+have.at(text[at:], cut, true))
		}
	}
	return end
}

// at returns the length of the form at the beginning of a text; 0 if there is none.
func (f form) at(text string, cut, decodes bool) int {
	length, whole := f.compare(text, decodes)
	switch {
	case whole && f.base64:
		return length + padding(text[length:])
	case whole || cut:
		return length
	}
	return 0
}

// compare returns the length of the form at the beginning of a text. Whole is false if the text ends in it, after at
// least minPrefix of its bytes. An escape that is also equal as it stands is decoded only if decodes is true. The
// capitals of a long form do not matter.
func (f form) compare(text string, decodes bool) (length int, whole bool) {
	left, at, folds := f.text, 0, len(f.text) >= minPiece
	for left != "" && at < len(text) {
		same := text[at] == left[0] || folds && otherCase(text[at]) == left[0]
		if !same || decodes {
			plain, size := unescape(text[at:])
			if size > 0 && (strings.HasPrefix(left, plain) || folds && len(plain) == 1 && otherCase(plain[0]) == left[0]) {
				left, at = left[len(plain):], at+size
				continue
			}
		}
		switch {
		case same:
			left, at = left[1:], at+1
		case endsInEscape(text[at:]):
			at = len(text)
		default:
			return 0, false
		}
	}
	if left != "" {
		if len(f.text)-len(left) < minPrefix {
			return 0, false
		}
		return at, false
	}
	return at, true
}

// padding returns the length of base64's padding at the beginning of a text.
func padding(text string) (length int) {
	for range 2 {
		if plain, size := unescape(text[length:]); plain == "=" {
			length += size
		} else if strings.HasPrefix(text[length:], "=") {
			length++
		}
	}
	return length
}
