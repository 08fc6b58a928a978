package repositories

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"time"

	"earshot/repositories/secret"
)

// Permission is what an app key may be good for: one of its scopes.
type Permission string

// The permissions of section 9 of the contract.
const (
	PermitTools    Permission = "tools"    // repositories
	PermitMessages Permission = "messages" // messages, sessions, session tokens and events
	PermitTriggers Permission = "triggers" // direct triggers, records, retries and events
	PermitApp      Permission = "app"      // the app and its keys
)

// AppKey is a key of an app as it is listed. The key itself is shown once, when it is
// made, and stored as a hash.
type AppKey struct {
	ID     string       `json:"keyId"`
	Name   string       `json:"name,omitempty"`
	Scopes []Permission `json:"scopes"`
	// MadeBy is the key that asked for this one, and with which it ends; empty where it
	// was the admin.
	MadeBy  string    `json:"madeBy,omitempty"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expiresAt,omitzero"`
	// LastUsed is exact to a minute, so that a use costs no write.
	LastUsed time.Time `json:"lastUsed,omitzero"`

	root string
}

// Root is the id of the key that its line begins with, which the admin has made.
func (k AppKey) Root() string {
	if k.root == "" {
		return k.ID
	}
	return k.root
}

// Expired reports whether the key's time is up.
func (k AppKey) Expired(now time.Time) bool { return !k.Expires.IsZero() && !now.Before(k.Expires) }

// AppKeyPrefix begins every app key, so that scanners for leaked credentials find it.
const AppKeyPrefix = "ek_"

// keySecret is the number of random bytes in a key: nobody guesses 256 bits, hence a
// plain hash keeps them, without the cost of one made for passwords.
const keySecret = 32

// newKeyText makes a key for an app. App and id are readable in it, to find its record
// by: ek_APP.ID.SECRET, all of the alphabet of a bearer token (RFC 6750).
func newKeyText(appID, keyID string) secret.Secret {
	random := make([]byte, keySecret)
	rand.Read(random) // never fails (crypto/rand)
	return secret.New(AppKeyPrefix + appID + "." + keyID + "." + base64.RawURLEncoding.EncodeToString(random))
}

// splitKey reads app and id out of what claims to be a key.
func splitKey(key secret.Secret) (appID, keyID string, ok bool) {
	text, ours := strings.CutPrefix(key.Reveal(), AppKeyPrefix)
	parts := strings.Split(text, ".")
	if !ours || len(parts) != 3 || !idPattern.MatchString(parts[0]) || !idPattern.MatchString(parts[1]) {
		return "", "", false
	}
	return parts[0], parts[1], true
}

// hashKey covers the whole text: a secret under another app or id is another key.
func hashKey(key secret.Secret) string {
	sum := sha256.Sum256([]byte(key.Reveal()))
	return hex.EncodeToString(sum[:])
}

func sameHash(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
