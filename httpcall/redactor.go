package httpcall

import (
	"slices"
	"strings"
	"sync"

	"earshot/repositories/exactjson"
	"earshot/repositories/secret"
)

// minRedacted is the shortest masked credential: shorter ones occur in ordinary text.
const minRedacted = 6

// redactor masks the credentials of a call in its outcome: an endpoint may echo them. It is safe for concurrent
// use.
type redactor struct {
	mu          sync.Mutex
	credentials []string
}

// add masks a credential, also in the usual JSON escaping.
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
	// Longer credentials are masked first, as they may contain shorter ones.
	slices.SortStableFunc(r.credentials, func(a, b string) int { return len(b) - len(a) })
}

func (r *redactor) redact(text string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, credential := range r.credentials {
		text = strings.ReplaceAll(text, credential, secret.Masked)
	}
	return text
}
