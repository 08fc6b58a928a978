package store

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"earshot/repositories/secret"
)

// SessionToken is the content of a bearer token for a front-end: it is valid for one
// session and for a limited time. It is not stored; the service recognises its own tokens
// by their signature.
type SessionToken struct {
	AppID     string    `json:"app"`
	SessionID string    `json:"session"`
	Expires   time.Time `json:"exp"`
	// KeyID is the app key that asked for it, and with which it ends; empty where it
	// was the admin.
	KeyID string `json:"key,omitempty"`
	// ModuleID and Grant are those of the access token that asked for it, and with which it ends.
	ModuleID string `json:"module,omitempty"`
	Grant    string `json:"grant,omitempty"`
	// Life is that of the app and the session that it was made in, and with which it ends.
	Life Generation `json:"life"`
}

// SessionTokenPrefix begins every session token.
const SessionTokenPrefix = "es_"

// ErrToken means that a session token was not issued by this service.
var ErrToken = errors.New("the session token is not valid")

// SignToken writes a token and its signature: HMAC-SHA256 under a key that is derived
// from the secret key for this alone.
func (s *Sealer) SignToken(token SessionToken) (secret.Secret, error) {
	claims, err := json.Marshal(token)
	if err != nil {
		return secret.Secret{}, err
	}
	text := SessionTokenPrefix + base64.RawURLEncoding.EncodeToString(claims)
	return secret.New(text + "." + signature(s.signers[useSession][0], text)), nil
}

// OpenToken reads a token whose signature is right, by the secret key or an old one. The
// caller checks whether it has expired.
func (s *Sealer) OpenToken(given secret.Secret) (SessionToken, error) {
	text, signed, found := strings.Cut(given.Reveal(), ".")
	if !found || !s.signed(useSession, text, signed) {
		return SessionToken{}, ErrToken
	}
	claims, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(text, SessionTokenPrefix))
	if err != nil {
		return SessionToken{}, ErrToken
	}
	var token SessionToken
	if json.Unmarshal(claims, &token) != nil {
		return SessionToken{}, ErrToken
	}
	return token, nil
}

// signed reports whether a signature is that of a text for a use.
func (s *Sealer) signed(use, text, signed string) bool {
	right := false
	for _, key := range s.signers[use] {
		right = hmac.Equal([]byte(signature(key, text)), []byte(signed)) || right
	}
	return right
}

func signature(key []byte, text string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text)) // a hash.Hash never fails
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
