package httpcall

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"

	"earshot/repositories"
	"earshot/repositories/secret"
	"earshot/trigger/effect"
)

// grant is what a token is asked for with (RFC 6749 1.3).
type grant struct {
	app        string
	kind       string // client_credentials or password
	clientID   string
	secret     secret.Secret
	username   string
	password   secret.Secret
	tokenURL   string
	refreshURL string
	audience   string
	scopes     []string
}

// check refuses a grant that no endpoint could answer.
func (g *grant) check() error {
	if g.kind != repositories.GrantClientCredentials && g.kind != repositories.GrantPassword {
		return dead(effect.ReasonAuth, "bearer.clientType %q is none of %s, %s",
			clip(g.kind), repositories.GrantClientCredentials, repositories.GrantPassword)
	}
	if !callable(g.tokenURL) || g.refreshURL != "" && !callable(g.refreshURL) {
		return dead(effect.ReasonAuth, "tokenUrl and refreshUrl must be as in https://host/path")
	}
	return nil
}

func callable(text string) bool {
	parsed, err := url.Parse(text)
	return err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https") && parsed.Hostname() != ""
}

// key is equal for grants that get the same token: all that was given is in it, the
// app first, so that no two apps or credentials ever share one. It is a hash, as the
// credentials are in it too.
func (g *grant) key() string {
	parts, _ := json.Marshal([]any{ // strings never fail
		g.app, g.kind, g.clientID, g.secret.Reveal(), g.username, g.password.Reveal(),
		g.tokenURL, g.refreshURL, g.audience, g.scopes,
	})
	sum := sha256.Sum256(parts)
	return hex.EncodeToString(sum[:])
}

// fields are the form fields of a token request beside the client's and the scope.
func (g *grant) fields() url.Values {
	fields := url.Values{"grant_type": {g.kind}}
	if g.kind == repositories.GrantPassword {
		fields.Set("username", g.username)
		fields.Set("password", g.password.Reveal())
	}
	if g.audience != "" {
		fields.Set("audience", g.audience)
	}
	return fields
}

// refreshFields are those of a refresh request (RFC 6749 6).
func refreshFields(refreshToken string) url.Values {
	return url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refreshToken}}
}
