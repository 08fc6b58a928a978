package repositories

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"earshot/repositories/secret"
)

// KeySize is the size in bytes of the key that EARSHOT_SECRET_KEY holds, in base64.
const KeySize = 32

// Sealer encrypts credentials at rest with AES-256-GCM, and signs session tokens. A
// sealed credential is bound to its app, its field and its destination: moved to another,
// it does not open.
type Sealer struct {
	current string // id of the key that seals
	keys    map[string]cipher.AEAD
	signers [][]byte // keys of session tokens; the first one signs
}

// NewSealer returns a Sealer that seals with the first key and opens with all: the
// others are keys of before a rotation.
func NewSealer(key []byte, old ...[]byte) (*Sealer, error) {
	s := &Sealer{keys: map[string]cipher.AEAD{}}
	for _, k := range append([][]byte{key}, old...) {
		id, aead, err := deriveKey(k)
		if err != nil {
			return nil, err
		}
		signer, err := hkdf.Key(sha256.New, k, nil, "earshot session tokens", KeySize)
		if err != nil {
			return nil, err
		}
		s.keys[id], s.signers = aead, append(s.signers, signer)
		if s.current == "" {
			s.current = id
		}
	}
	return s, nil
}

// deriveKey makes the AES key and a public id for it from the operator's key, by
// HKDF (RFC 5869), so that neither tells anything of the other.
func deriveKey(key []byte) (id string, aead cipher.AEAD, err error) {
	if len(key) != KeySize {
		return "", nil, fmt.Errorf("the secret key has %d bytes; it needs %d", len(key), KeySize)
	}
	name, err := hkdf.Key(sha256.New, key, nil, "earshot key id", 4)
	if err != nil {
		return "", nil, err
	}
	derived, err := hkdf.Key(sha256.New, key, nil, "earshot credentials", KeySize)
	if err != nil {
		return "", nil, err
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return "", nil, err
	}
	aead, err = cipher.NewGCM(block)
	return hex.EncodeToString(name), aead, err
}

// seal encrypts a credential for an app's field.
func (s *Sealer) seal(appID, field string, secret secret.Secret) string {
	aead := s.keys[s.current]
	nonce := make([]byte, aead.NonceSize())
	rand.Read(nonce) // never fails (crypto/rand)
	sealed := aead.Seal(nonce, nonce, []byte(secret.Reveal()), boundTo(appID, field, secret.Towards()))
	return s.current + ":" + base64.RawStdEncoding.EncodeToString(sealed)
}

// seals reports whether what is sealed was sealed with the key that seals now.
func (s *Sealer) seals(sealed string) bool {
	id, _, _ := strings.Cut(sealed, ":")
	return id == s.current
}

var errSealed = errors.New("a stored credential does not open")

// open decrypts what seal made, for the same app, field and destination.
func (s *Sealer) open(appID, field, towards, sealed string) (secret.Secret, error) {
	id, text, _ := strings.Cut(sealed, ":")
	aead, known := s.keys[id]
	if !known {
		return secret.Secret{}, fmt.Errorf("%w: app %s, %s was sealed with key %s, which is neither the secret key nor an old one", errSealed, appID, field, id)
	}
	raw, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil || len(raw) < aead.NonceSize() {
		return secret.Secret{}, fmt.Errorf("%w: app %s, %s is damaged", errSealed, appID, field)
	}
	plain, err := aead.Open(nil, raw[:aead.NonceSize()], raw[aead.NonceSize():], boundTo(appID, field, towards))
	if err != nil {
		return secret.Secret{}, fmt.Errorf("%w: app %s, %s is damaged or another's", errSealed, appID, field)
	}
	return secret.New(string(plain)).For(towards), nil
}

// boundTo is what a sealed credential is authenticated with. What goes nowhere, and what
// was sealed before destinations were known, has none.
func boundTo(appID, field, towards string) []byte {
	bound := "earshot\x00" + appID + "\x00" + field
	if towards != "" {
		bound += "\x00" + towards
	}
	return []byte(bound)
}
