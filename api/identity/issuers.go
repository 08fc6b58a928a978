package identity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"
)

const (
	// maxIssuers bounds the cached issuers.
	maxIssuers = 1024
	// discoveryTTL is how long a discovery document is cached. Keys are fetched again for each token with an
	// unknown key, which covers key rotation.
	discoveryTTL = 12 * time.Hour
	// failureTTL is how long a failed issuer is not asked again.
	failureTTL = 10 * time.Second
	// An issuer gets askBurst requests at once, then one per askEvery, so that forged tokens do not become a
	// flood of requests.
	askEvery = 3 * time.Second
	askBurst = 10
	// maxAnswer is the longest answer of an issuer, in bytes.
	maxAnswer = 1 << 20
)

var errRateLimited = errors.New("the issuer was asked too often")

// issuers caches the discovery documents of issuers.
type issuers struct {
	transport http.RoundTripper
	now       func() time.Time
	known     *lru.Cache[string, issuer]
	asking    singleflight.Group

	mu     sync.Mutex
	limits *lru.Cache[string, *rate.Limiter]
}

// issuer is the discovered metadata of an issuer, or the error.
type issuer struct {
	keys  oidc.KeySet
	err   error
	until time.Time
}

// keys returns the keys of an issuer by its URL. Concurrent calls share one discovery.
func (i *issuers) keys(ctx context.Context, url string) (oidc.KeySet, error) {
	if found, hit := i.known.Get(url); hit && i.now().Before(found.until) {
		return found.keys, found.err
	}
	result := i.asking.DoChan(url, func() (any, error) {
		found := i.discover(url)
		i.known.Add(url, found)
		return found, nil
	})
	select {
	case got := <-result:
		found := got.Val.(issuer)
		return found.keys, found.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// discover reads an issuer's discovery document. It is not bound to the first request: others wait for it as
// well.
func (i *issuers) discover(url string) issuer {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	i.mu.Lock()
	limit, known := i.limits.Get(url) // kept longer than the discovery, so that failures do not reset it
	if !known {
		limit = rate.NewLimiter(rate.Every(askEvery), askBurst)
		i.limits.Add(url, limit)
	}
	i.mu.Unlock()
	client := &http.Client{
		Transport:     bounded{i.transport, limit},
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	var document struct {
		Keys string `json:"jwks_uri"`
	}
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, client), url)
	if err == nil {
		err = provider.Claims(&document)
	}
	if err != nil {
		return issuer{err: err, until: i.now().Add(failureTTL)}
	}
	return issuer{keys: &keySet{url: document.Keys, client: client}, until: i.now().Add(discoveryTTL)}
}

// bounded limits the rate of requests to an issuer and the size of its answers.
type bounded struct {
	next  http.RoundTripper
	limit *rate.Limiter
}

// RoundTrip sends a request and truncates the answer.
func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	if !b.limit.Allow() {
		return nil, errRateLimited
	}
	response, err := b.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(response.Body, maxAnswer), response.Body}
	return response, nil
}

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
