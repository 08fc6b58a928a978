package store

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/keyspace"
	"earshot/repositories/secret"
)

// KeySize is the size in bytes of the key that EARSHOT_SECRET_KEY holds in base64.
const KeySize = 32

// Sealer encrypts credentials at rest with AES-256-GCM and signs tokens. A sealed credential is bound to its app,
// field and destination; it does not open under others.
type Sealer struct {
	current string // id of the key that encrypts
	keys    map[string]cipher.AEAD
	signers map[string][][]byte // by token use; the first one signs
}

// NewSealer returns a Sealer that encrypts with key and decrypts with key and old, the keys from before a rotation.
// Each has KeySize bytes.
func NewSealer(key []byte, old ...[]byte) (*Sealer, error) {
	s := &Sealer{keys: map[string]cipher.AEAD{}, signers: map[string][][]byte{}}
	for _, k := range append([][]byte{key}, old...) {
		id, aead, err := deriveKey(k)
		if err != nil {
			return nil, err
		}
		for _, use := range tokenUses {
			signer, err := hkdf.Key(sha256.New, k, nil, use, KeySize)
			if err != nil {
				return nil, err
			}
			s.signers[use] = append(s.signers[use], signer)
		}
		s.keys[id] = aead
		if s.current == "" {
			s.current = id
		}
	}
	return s, nil
}

// deriveKey derives the AES key and a public id from the operator's key by HKDF (RFC 5869), so that neither reveals
// the other.
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

func (s *Sealer) seal(appID, field string, plain secret.Secret) string {
	aead := s.keys[s.current]
	nonce := make([]byte, aead.NonceSize())
	rand.Read(nonce) // never fails (crypto/rand)
	sealed := aead.Seal(nonce, nonce, []byte(plain.Reveal()), boundTo(appID, field, plain.Towards()))
	return s.current + ":" + base64.RawStdEncoding.EncodeToString(sealed)
}

// seals reports whether a text was sealed with the current key.
func (s *Sealer) seals(sealed string) bool {
	id, _, _ := strings.Cut(sealed, ":")
	return id == s.current
}

var errSealed = errors.New("a stored credential cannot be decrypted")

// open decrypts the output of seal for the same app, field and destination.
func (s *Sealer) open(appID, field, towards, sealed string) (secret.Secret, error) {
	id, text, _ := strings.Cut(sealed, ":")
	aead, known := s.keys[id]
	if !known {
		return secret.Secret{}, fmt.Errorf("%w: app %s, %s was encrypted with key %s, which is neither the secret key nor an old one", errSealed, appID, field, id)
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

// SealSignIn encrypts a person's key for a browser to keep until a time. It opens on every replica, for no other
// use, and not later, even if the browser changes the time.
func (s *Sealer) SealSignIn(key secret.Secret, until time.Time) string {
	end := strconv.FormatInt(until.Unix(), 10)
	return end + "." + s.seal("", signInField+end, secret.New(key.Reveal()))
}

// signInField separates a browser's key from app credentials, whose fields have no spaces.
const signInField = "sign-in until "

// OpenSignIn decrypts the output of SealSignIn unless it has expired.
func (s *Sealer) OpenSignIn(sealed string, now time.Time) (secret.Secret, error) {
	untilText, text, _ := strings.Cut(sealed, ".")
	until, err := strconv.ParseInt(untilText, 10, 64)
	if err != nil || !now.Before(time.Unix(until, 0)) {
		return secret.Secret{}, fmt.Errorf("%w: the sign-in is over", errSealed)
	}
	return s.open("", signInField+untilText, "", text)
}

// boundTo returns the additional data that authenticates a sealed credential. Credentials without a destination,
// and those sealed before destinations were recorded, are bound to none.
func boundTo(appID, field, towards string) []byte {
	bound := "earshot\x00" + appID + "\x00" + field
	if towards != "" {
		bound += "\x00" + towards
	}
	return []byte(bound)
}

// sealedRecord is a definition as stored in Redis: masked, and beside it each credential, sealed under its name for
// its destination.
type sealedRecord struct {
	Record  json.RawMessage   `json:"record"`
	Sealed  map[string]string `json:"sealed,omitempty"`
	Towards map[string]string `json:"towards,omitempty"`
}

func (s *Sealer) sealRecord(appID string, record any, credentials []repositories.Credential) (string, error) {
	plain, err := exactjson.Encode(record)
	if err != nil {
		return "", err
	}
	stored := sealedRecord{Record: plain, Sealed: map[string]string{}, Towards: map[string]string{}}
	for _, c := range credentials {
		secret := c.Get()
		if secret.Empty() {
			continue
		}
		if stored.Sealed[c.Name] = secret.Reveal(); !secret.IsSealed() {
			stored.Sealed[c.Name] = s.seal(appID, c.Name, secret)
		}
		if secret.Towards() != "" {
			stored.Towards[c.Name] = secret.Towards()
		}
	}
	return exactjson.Text(stored)
}

// openInto decodes a sealed definition. It calls credentials once record is decoded. A credential that does not open
// stays sealed, so that the rest of the definition can be used, and replaced.
func (s *Sealer) openInto(appID, text string, record any, credentials func() []repositories.Credential) error {
	var stored sealedRecord
	err := json.Unmarshal([]byte(text), &stored)
	if err == nil {
		err = json.Unmarshal(stored.Record, record)
	}
	if err != nil {
		return fmt.Errorf("a stored definition of app %s cannot be read: %w", appID, err)
	}
	for _, c := range credentials() {
		sealed, ok := stored.Sealed[c.Name]
		if !ok {
			continue
		}
		opened, err := s.open(appID, c.Name, stored.Towards[c.Name], sealed)
		if err != nil {
			opened = secret.Sealed(sealed, stored.Towards[c.Name])
		}
		c.Set(opened)
	}
	return nil
}

// Sealing tells which key encrypted the credentials of a stored definition.
type Sealing int

const (
	Unsealed  Sealing = iota // there is no credential
	ByCurrent                // the current key
	ByOld                    // a key from before a rotation encrypted at least one
	ByNone                   // no key opens at least one
)

// Reseal returns a stored record, repository or tool of an app with all readable credentials encrypted by the
// current key, and how they were encrypted before. Nothing but the encryption changes; the same text is returned if
// nothing is to be done.
func (s *Sealer) Reseal(appID, stored string) (string, Sealing) {
	start := max(strings.IndexByte(stored, '{'), 0)
	var record sealedRecord
	if err := json.Unmarshal([]byte(stored[start:]), &record); err != nil {
		return stored, ByNone
	}
	sealing, changed := Unsealed, false
	for name, sealed := range record.Sealed {
		opened, err := s.open(appID, name, record.Towards[name], sealed)
		switch {
		case err != nil:
			sealing = ByNone
		case s.seals(sealed):
			sealing = max(sealing, ByCurrent)
		default:
			record.Sealed[name], sealing, changed = s.seal(appID, name, opened), max(sealing, ByOld), true
		}
	}
	if !changed {
		return stored, sealing
	}
	text, err := exactjson.Text(record)
	if err != nil {
		return stored, ByNone
	}
	return stored[:start] + text, sealing
}

// A repository is stored as "revision generation record". Scripts decide by the words before the record. They do
// not read the record, because Lua's JSON would round its numbers.

func (s *Sealer) encode(repository *repositories.Repository) (string, error) {
	record, err := s.sealRecord(repository.AppID, repository, repository.Credentials())
	return strings.Join([]string{repository.Revision, repository.Generation, record}, " "), err
}

// decode reads the stored form of a repository and compiles its parameters. Earlier versions wrote one more word
// before the record.
func (s *Sealer) decode(appID, stored string) (*repositories.Repository, error) {
	start := strings.IndexByte(stored, '{')
	words := strings.Fields(stored[:max(start, 0)])
	if len(words) < 2 {
		return nil, fmt.Errorf("a stored repository of app %s is damaged", appID)
	}
	repository := &repositories.Repository{}
	if err := s.openInto(appID, stored[start:], repository, repository.Credentials); err != nil {
		return nil, err
	}
	repository.Revision, repository.Generation = words[0], words[1]
	return repository, repository.Compile()
}

type secretKeys struct {
	*core
	appReads     *appReads
	repositories *repositoryRecords
}

// ErrSecretKey is wrapped by errors about data in Redis that another secret key encrypted.
var ErrSecretKey = errors.New("its credentials were encrypted with another secret key")

// The known text of the marks is sealed under an app id that no app can have.
const (
	markApp, markField, markText = "", "secret key", "earshot"
)

// marks are known texts in Redis, sealed with the current secret key and with its predecessor.
type marks struct{ current, before string }

// opens reports whether one of the keys made a mark.
func (s *Sealer) opens(mark string) bool {
	text, err := s.open(markApp, markField, "", mark)
	return err == nil && text.Reveal() == markText
}

// made reports whether the current key made a mark.
func (s *Sealer) made(mark string) bool { return s.seals(mark) && s.opens(mark) }

// setMark replaces a mark if it is unchanged.
//
//	KEYS 1 marks
//	ARGV present mark ('' for none), new mark, its predecessor
//	=>   ok, or conflict
var setMark = keyspace.NewScript(`
local current = redis.call('HGET', KEYS[1], 'current') or ''
if current == ARGV[2] then return 'ok' end
if current ~= ARGV[1] then return 'conflict' end
redis.call('HSET', KEYS[1], 'current', ARGV[2], 'before', ARGV[3])
return 'ok'
`)

func (k *secretKeys) marks(ctx context.Context) (marks, error) {
	fields, err := k.db.HGetAll(ctx, keyspace.SecretKeyMarks).Result()
	return marks{fields["current"], fields["before"]}, keyspace.Unavailable(err)
}

// replaceMark makes a mark of the current key the newest in place of present, with a predecessor.
func (k *secretKeys) replaceMark(ctx context.Context, present, before string) error {
	mark := k.sealer.seal(markApp, markField, secret.New(markText))
	return asConflict(setMark.Run(ctx, k.db, []string{keyspace.SecretKeyMarks}, present, mark, before))
}

// AdoptSecretKey runs when a process starts. It returns an error that wraps ErrSecretKey if Redis belongs to
// another secret key. Otherwise it marks Redis as belonging to the current key; from then on a process with only
// the old key cannot start. A Redis without a mark is judged by a stored credential. persistent is false for a
// key that ends with the process and leaves no mark.
func (k *secretKeys) AdoptSecretKey(ctx context.Context, persistent bool) error {
	return retry(ctx, func() error {
		stored, err := k.marks(ctx)
		switch {
		case err != nil:
			return err
		case stored.current == "":
			if err := k.tryCredential(ctx); err != nil {
				return err
			}
		case !k.sealer.opens(stored.current):
			return ErrSecretKey
		case k.sealer.seals(stored.current):
			return nil
		}
		if !persistent {
			return nil
		}
		err = k.replaceMark(ctx, stored.current, stored.current)
		if errors.Is(err, keyspace.ErrMemory) {
			return nil // another start sets the mark
		}
		return err
	})
}

// ReplaceLostKey marks Redis as belonging to the current key, whichever it belonged to. Credentials of the lost key stay
// sealed until they are given again.
func (k *secretKeys) ReplaceLostKey(ctx context.Context) error {
	return retry(ctx, func() error {
		stored, err := k.marks(ctx)
		if err != nil || k.sealer.made(stored.current) {
			return err
		}
		return k.replaceMark(ctx, stored.current, "")
	})
}

// CheckSecretKey checks a running process. It returns an error that wraps ErrSecretKey if Redis belongs to neither
// the secret key nor an old one. During a rotation, a replica that only has the predecessor still passes.
func (k *secretKeys) CheckSecretKey(ctx context.Context) error {
	stored, err := k.marks(ctx)
	if err == nil && stored.current != "" && !k.sealer.opens(stored.current) && !k.sealer.opens(stored.before) {
		err = ErrSecretKey
	}
	return err
}

// errNotAdopted means that the replicas do not use the secret key yet.
var errNotAdopted = errors.New("no replica has started with it as EARSHOT_SECRET_KEY yet")

// dropMark drops the predecessor's mark if the newest mark is unchanged.
//
//	KEYS 1 marks
//	ARGV current mark
//	=>   ok, or conflict
var dropMark = keyspace.NewFreeingScript(`
if redis.call('HGET', KEYS[1], 'current') ~= ARGV[1] then return 'conflict' end
redis.call('HDEL', KEYS[1], 'before')
return 'ok'
`)

// Adopted returns an error if Redis is not marked as belonging to the current key: replicas could not open what
// this process encrypts.
func (k *secretKeys) Adopted(ctx context.Context) error {
	stored, err := k.marks(ctx)
	if err == nil && !k.sealer.made(stored.current) {
		err = errNotAdopted
	}
	return err
}

// RetireSecretKey ends a rotation: credentials are now encrypted with the newest key alone, and a process that only
// has its predecessor becomes not ready.
func (k *secretKeys) RetireSecretKey(ctx context.Context) error {
	return retry(ctx, func() error {
		stored, err := k.marks(ctx)
		if err != nil || stored.before == "" || k.sealer.seals(stored.before) {
			return err
		}
		if !k.sealer.seals(stored.current) {
			return errNotAdopted
		}
		return asConflict(dropMark.Run(ctx, k.db, []string{keyspace.SecretKeyMarks}, stored.current))
	})
}

// Bounds of the search for a credential in a Redis without a mark.
const (
	maxAppsTried      = 10_000 // apps
	appsPerRead       = 100
	repositoriesTried = 20 // of each app
)

// tryCredential opens the first credential of an app or its tools that it finds.
func (k *secretKeys) tryCredential(ctx context.Context) error {
	after := ""
	for range maxAppsTried / appsPerRead {
		ids, err := k.appReads.appIDs(ctx, after, appsPerRead)
		if err != nil || len(ids) == 0 {
			return err
		}
		for _, id := range ids {
			if found, err := k.tryApp(ctx, id); err != nil || found {
				return err
			}
		}
		after = ids[len(ids)-1]
	}
	return nil
}

// tryApp reports whether the app holds a credential, and fails if it does not open.
func (k *secretKeys) tryApp(ctx context.Context, appID string) (found bool, err error) {
	app, err := k.appReads.App(ctx, appID)
	var credentials []repositories.Credential
	if err == nil {
		credentials = app.Credentials()
	}
	if err == nil && !anySet(credentials) {
		var repos []*repositories.Repository
		repos, _, err = k.repositories.Repositories(ctx, repositories.Scope{AppID: appID}, "", repositoriesTried)
		for _, repository := range repos {
			credentials = append(credentials, repository.Credentials()...)
		}
	}
	if errors.Is(err, keyspace.ErrUnavailable) {
		return false, err
	}
	// Another error tells nothing of the key: it was deleted meanwhile, or written by another version.
	for _, c := range credentials {
		if c.Get().IsSealed() {
			return false, fmt.Errorf("%w: that of app %s, %s", ErrSecretKey, appID, c.Name)
		}
	}
	return anySet(credentials), nil
}

func anySet(credentials []repositories.Credential) bool {
	return slices.ContainsFunc(credentials, func(c repositories.Credential) bool { return !c.Get().Empty() })
}
