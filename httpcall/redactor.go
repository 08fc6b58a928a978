package httpcall

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/secret"
)

// minRedacted is the length from which a credential is redacted in answers. A shorter
// one would be found in ordinary text, and spoil it.
const minRedacted = 6

// redactor masks the credentials that a call sends in its outcome: an endpoint may send
// back what it was sent, and results travel. It is safe for concurrent use.
type redactor struct {
	mu          sync.Mutex
	credentials []string
}

// addRequest adds the credentials in a request and its URL.
func (r *redactor) addRequest(request *repositories.Request, target *url.URL) {
	addBasic := func(username, password string) {
		r.add(base64.StdEncoding.EncodeToString([]byte(username + ":" + password)))
		r.add(password)
	}
	if basic := request.Basic; basic != nil {
		addBasic(basic.Username, basic.Password.Reveal())
	}
	if password, has := target.User.Password(); has {
		addBasic(target.User.Username(), password)
	}
	for _, value := range request.Headers.Credentials() {
		r.add(value.Reveal())
		if _, token, two := strings.Cut(value.Reveal(), " "); two { // as in "ApiKey …"
			r.add(token)
		}
	}
}

// add masks a credential as it is and as JSON strings inside of text mostly hold it.
func (r *redactor) add(credential string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(credential) < minRedacted || slices.Contains(r.credentials, credential) {
		return
	}
	r.credentials = append(r.credentials, credential)
	quoted := string(exactjson.EncodeOrNull(credential))
	if quoted = quoted[1 : len(quoted)-1]; quoted != credential {
		r.credentials = append(r.credentials, quoted)
	}
	// The longest is masked first: of a longer one nothing is left that a shorter one lacks.
	slices.SortStableFunc(r.credentials, func(a, b string) int { return len(b) - len(a) })
}

// redact returns text with the credentials masked.
func (r *redactor) redact(text string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, credential := range r.credentials {
		text = strings.ReplaceAll(text, credential, secret.Masked)
	}
	return text
}

// jsonString finds the string literals of a text that is known to be JSON.
var jsonString = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// redactJSON masks inside the strings of a JSON text, in whatever way they are escaped.
// All else stays as it is, byte for byte.
func (r *redactor) redactJSON(text []byte) []byte {
	r.mu.Lock()
	nothing := len(r.credentials) == 0
	r.mu.Unlock()
	if nothing {
		return text
	}
	return jsonString.ReplaceAllFunc(text, func(literal []byte) []byte {
		var plain string
		if json.Unmarshal(literal, &plain) != nil {
			return literal
		}
		if masked := r.redact(plain); masked != plain {
			return exactjson.EncodeOrNull(masked)
		}
		return literal
	})
}
