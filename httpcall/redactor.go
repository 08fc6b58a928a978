package httpcall

import (
	"encoding/base64"
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
)

// redactor masks the credentials of a call in its outcome: an endpoint may echo them. It finds them plain, in
// base64, and percent-encoded, JSON-escaped or HTML-escaped in whatever way: servers differ in the characters that
// they escape, so the text is decoded where it is compared. It is safe for concurrent use.
type redactor struct {
	mu    sync.Mutex
	forms []form
	// begins are the bytes with which a form may begin in a text, as it is or escaped.
	begins [256]bool
}

// form is what is searched for: a credential, or base64 of it without padding.
type form struct {
	text   string
	base64 bool
}

// Redacting returns a function that masks a credential in texts.
func Redacting(credential secret.Secret) func(text string) string {
	r := &redactor{}
	r.add(credential.Reveal())
	return r.redact
}

// add masks a credential.
func (r *redactor) add(credential string) {
	if len(credential) < minRedacted {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.ContainsFunc(r.forms, func(have form) bool { return have.text == credential }) {
		return
	}
	r.addForm(form{text: credential})
	r.addEncoded(credential)
}

// addLogin masks a password, and what basic authentication makes of it.
func (r *redactor) addLogin(username, password string) {
	r.add(password)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.addEncoded(username + ":" + password)
}

// addEncoded masks base64 of a text. The caller holds the lock.
func (r *redactor) addEncoded(text string) {
	r.addForm(form{base64.RawStdEncoding.EncodeToString([]byte(text)), true})
	r.addForm(form{base64.RawURLEncoding.EncodeToString([]byte(text)), true})
}

func (r *redactor) addForm(next form) {
	if len(next.text) < minRedacted || slices.Contains(r.forms, next) {
		return
	}
	r.forms = append(r.forms, next)
	for _, begin := range []byte{next.text[0], '%', '\\', '&'} {
		r.begins[begin] = true
	}
	if next.text[0] == ' ' {
		r.begins['+'] = true
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
	if done == 0 {
		return text
	}
	masked.WriteString(text[done:])
	return masked.String()
}

// endOf returns where the longest credential that begins at a place of the text ends; the place itself if there is
// none.
func (r *redactor) endOf(text string, at int, cut bool) int {
	end := at
	first := text[at]
	if !r.begins[first] {
		return end
	}
	decoded := first
	if plain, size := unescape(text[at:]); size > 0 {
		decoded = plain[0]
	}
	for _, have := range r.forms {
		if have.text[0] != first && have.text[0] != decoded {
			continue
		}
		end = max(end, at+have.at(text[at:], cut, false))
		if strings.ContainsAny(have.text, `\%&`) { // it can be read in two ways
			end = max(end, at+have.at(text[at:], cut, true))
		}
	}
	return end
}

// at returns the length of the form at the beginning of a text; 0 if there is none.
func (f form) at(text string, cut, decodes bool) int {
	length, whole := compare(text, f.text, decodes)
	switch {
	case whole && f.base64:
		return length + padding(text[length:])
	case whole || cut:
		return length
	}
	return 0
}

// compare returns the length of what is sought at the beginning of a text. Whole is false if the text ends in it,
// after at least minPrefix of its bytes. An escape that is also equal as it stands is decoded only if decodes is true.
func compare(text, sought string, decodes bool) (length int, whole bool) {
	left, at := sought, 0
	for left != "" && at < len(text) {
		same := text[at] == left[0]
		if !same || decodes {
			if plain, size := unescape(text[at:]); size > 0 && strings.HasPrefix(left, plain) {
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
		if len(sought)-len(left) < minPrefix {
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
