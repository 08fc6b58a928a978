package api

import (
	"net/http"
	"strings"
)

// prefers reports whether the request asks for a preference (RFC 7240). A value or
// parameters of the preference are not looked at: respond-async has none.
func prefers(header http.Header, preference string) bool {
	for _, line := range header.Values("Prefer") {
		for item := range strings.SplitSeq(line, ",") {
			name, _, _ := strings.Cut(item, ";")
			if strings.EqualFold(strings.TrimSpace(name), preference) {
				return true
			}
		}
	}
	return false
}
