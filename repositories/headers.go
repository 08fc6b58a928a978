package repositories

import (
	"regexp"

	"earshot/repositories/secret"
)

// Headers are a call's own headers. Their values are kept like credentials, since
// many are: sealed at rest, in no event and no log.
type Headers map[string]secret.Secret

// credentialHeader finds the headers whose value is shown to nobody. Others, such as
// X-Desk, are read back as they were given.
var credentialHeader = regexp.MustCompile(`(?i)auth|cookie|key|token|secret|password|passwd|credential|signature|session`)

// MarshalJSON shows the values of headers that carry no credential, by their name.
func (h Headers) MarshalJSON() ([]byte, error) {
	shown := make(map[string]string, len(h))
	for name, value := range h {
		shown[name] = value.String()
		if !credentialHeader.MatchString(name) {
			shown[name] = value.Reveal()
		}
	}
	return Encode(shown)
}

// Credentials returns the values that are shown to nobody, in no order, so that
// whoever sends them can keep them out of what comes back.
func (h Headers) Credentials() []secret.Secret {
	var list []secret.Secret
	for name, value := range h {
		if credentialHeader.MatchString(name) {
			list = append(list, value)
		}
	}
	return list
}
