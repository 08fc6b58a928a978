package httpcall_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// issuer is a token endpoint that hands out tok-1, tok-2 and so on.
type issuer struct {
	*endpoint
	life    int // seconds; 0: it does not say
	refresh bool
	answer  http.HandlerFunc // instead of a token
}

func newIssuer(t *testing.T) *issuer {
	i := &issuer{life: 3600}
	i.endpoint = newEndpoint(t, func(w http.ResponseWriter, r *http.Request) {
		if i.answer != nil {
			i.answer(w, r)
			return
		}
		i.issue(w)
	})
	return i
}

func (i *issuer) issue(w http.ResponseWriter) {
	n := len(i.requests())
	token := map[string]any{"access_token": fmt.Sprintf("tok-%d", n), "token_type": "bearer"}
	if i.life != 0 {
		token["expires_in"] = i.life
	}
	if i.refresh {
		token["refresh_token"] = fmt.Sprintf("refresh-%d", n)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(token)
}

// form returns what the n-th token request said, counted from 0.
func (i *issuer) form(n int) url.Values {
	form, err := url.ParseQuery(i.requests()[n].body)
	if err != nil {
		panic(err)
	}
	return form
}

// accepts answers 401 to all but these tokens.
func accepts(tokens ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for _, token := range tokens {
			if strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") == token {
				return
			}
		}
		w.WriteHeader(http.StatusUnauthorized)
	}
}
