package repositories

import (
	"encoding/json"
	"fmt"
	"strings"
)

// sealedRecord is a definition as it stands in Redis: masked, its credentials beside
// it, each sealed under its name, for its destination.
type sealedRecord struct {
	Record  json.RawMessage   `json:"record"`
	Sealed  map[string]string `json:"sealed,omitempty"`
	Towards map[string]string `json:"towards,omitempty"`
}

// sealRecord encodes a definition and seals its credentials.
func (s *Sealer) sealRecord(appID string, record any, credentials []credential) (string, error) {
	plain, err := Encode(record)
	if err != nil {
		return "", err
	}
	stored := sealedRecord{Record: plain, Sealed: map[string]string{}, Towards: map[string]string{}}
	for _, c := range credentials {
		secret := c.get()
		if secret.Empty() {
			continue
		}
		stored.Sealed[c.name] = s.seal(appID, c.name, secret)
		if secret.Towards() != "" {
			stored.Towards[c.name] = secret.Towards()
		}
	}
	text, err := Encode(stored)
	return string(text), err
}

// openInto decodes a sealed definition; credentials is called once it is decoded.
func (s *Sealer) openInto(appID, text string, record any, credentials func() []credential) error {
	var stored sealedRecord
	if err := json.Unmarshal([]byte(text), &stored); err != nil {
		return fmt.Errorf("a stored definition of app %s cannot be read: %w", appID, err)
	}
	if err := json.Unmarshal(stored.Record, record); err != nil {
		return fmt.Errorf("a stored definition of app %s cannot be read: %w", appID, err)
	}
	for _, c := range credentials() {
		sealed, has := stored.Sealed[c.name]
		if !has {
			continue
		}
		secret, err := s.open(appID, c.name, stored.Towards[c.name], sealed)
		if err != nil {
			return err
		}
		c.set(secret)
	}
	return nil
}

// A repository is stored as "revision generation flags record". The words before the
// record are what scripts decide by; the record is opaque to them, since Lua's JSON
// would round its numbers.

// flagOnce marks a triggerOnce repository.
const flagOnce = "once"

// encode writes the stored form of a repository.
func (s *Sealer) encode(repository *Repository) (string, error) {
	record, err := s.sealRecord(repository.AppID, repository, repository.credentials())
	flags := "-"
	if repository.Options.TriggerOnce {
		flags = flagOnce
	}
	return strings.Join([]string{repository.Revision, repository.Generation, flags, record}, " "), err
}

// decode reads the stored form of a repository and compiles its parameters.
func (s *Sealer) decode(appID, stored string) (*Repository, error) {
	words := strings.SplitN(stored, " ", 4)
	if len(words) != 4 {
		return nil, fmt.Errorf("a stored repository of app %s is damaged", appID)
	}
	repository := &Repository{}
	if err := s.openInto(appID, words[3], repository, repository.credentials); err != nil {
		return nil, err
	}
	repository.Revision, repository.Generation = words[0], words[1]
	return repository, repository.Compile()
}

// revisionOf returns the revision of a stored repository, empty for none.
func revisionOf(stored string) string {
	revision, _, _ := strings.Cut(stored, " ")
	return revision
}
