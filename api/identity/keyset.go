package identity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/go-jose/go-jose/v4"
	"golang.org/x/sync/singleflight"
)

// keySet holds the keys of one issuer. A token with an unknown key triggers a fetch, whose result replaces the
// keys.
//
// go-oidc's key set lets waiting calls continue before it stores a fetch, and shares that fetch a moment
// longer. A token with a newly published key could be refused, and one with a withdrawn key accepted.
type keySet struct {
	url    string
	client *http.Client
	asking singleflight.Group

	mu   sync.RWMutex
	keys []jose.JSONWebKey
}

var errSignature = errors.New("the signature is of none of the issuer's keys")

// VerifySignature returns the payload of a token signed by one of the issuer's keys.
func (s *keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	signed, err := jose.ParseSignedCompact(token, signatures)
	if err != nil {
		return nil, err
	}
	s.mu.RLock()
	known := s.keys
	s.mu.RUnlock()
	if payload, ok := verified(signed, known); ok {
		return payload, nil
	}
	for range 2 { // a shared fetch may be older than the key
		keys, shared, err := s.fetched(ctx)
		if err != nil {
			return nil, err
		}
		if payload, ok := verified(signed, keys); ok {
			return payload, nil
		}
		if !shared {
			break
		}
	}
	return nil, errSignature
}

func verified(signed *jose.JSONWebSignature, keys []jose.JSONWebKey) ([]byte, bool) {
	if len(signed.Signatures) != 1 {
		return nil, false
	}
	id := signed.Signatures[0].Header.KeyID
	for i := range keys {
		if id != "" && keys[i].KeyID != id {
			continue
		}
		if payload, err := signed.Verify(&keys[i]); err == nil {
			return payload, true
		}
	}
	return nil, false
}

// fetched fetches the keys, shared with concurrent calls, and stores them before these continue. It reports
// whether the fetch was shared. The fetch is not bound to the first request.
func (s *keySet) fetched(ctx context.Context) (keys []jose.JSONWebKey, shared bool, err error) {
	result := s.asking.DoChan("", func() (any, error) {
		keys, err := s.fetch()
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.keys = keys
		return keys, nil
	})
	select {
	case got := <-result:
		keys, _ = got.Val.([]jose.JSONWebKey)
		return keys, got.Shared, got.Err
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
}

// fetch reads the issuer's keys, without those of unknown types.
func (s *keySet) fetch() ([]jose.JSONWebKey, error) {
	response, err := s.client.Get(s.url)
	if err != nil {
		return nil, fmt.Errorf("fetch the issuer's keys: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("fetch the issuer's keys: %s: %w", response.Status, errors.Join(errUnreachable, err))
	}
	var set struct{ Keys []json.RawMessage }
	if err := json.Unmarshal(body, &set); err != nil {
		return nil, fmt.Errorf("the issuer's keys are no JSON Web Key Set: %w", err)
	}
	var keys []jose.JSONWebKey
	for _, raw := range set.Keys {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(raw) == nil {
			keys = append(keys, key)
		}
	}
	return keys, nil
}
