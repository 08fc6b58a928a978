// Package identity verifies ID tokens of users by OpenID Connect, from Google and any issuer with a discovery
// document.
//
// The user's identity comes from here, never from a model. Tokens are not stored or logged, and no error
// contains one.
package identity

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"

	"earshot/repositories"
	"earshot/repositories/parameters"
)

const (
	leeway    = time.Minute // the tolerated clock difference to an issuer
	mostToken = 16 << 10    // the longest accepted token, in bytes: room for some hundred groups of a user
	// timeout bounds all requests to an issuer for one verification. A message waits.
	timeout = 5 * time.Second
	// google is the issuer of Google's ID tokens.
	google = "https://accounts.google.com"
)

// algorithms are the accepted signature algorithms. Both are asymmetric: with a symmetric one, an issuer's
// public key could be used as a shared secret (RFC 8725, section 2.1).
var (
	algorithms = []string{oidc.RS256, oidc.ES256}
	signatures = []jose.SignatureAlgorithm{jose.RS256, jose.ES256}
)

// Refused means that a token was not accepted. Fault and Reason are for its sender.
type Refused struct {
	// Fault is for programs: malformed, signature (or issuer), audience, expired, or unavailable if the issuer
	// could not be asked.
	Fault  string
	Reason string // the same in words
}

// Error returns the reason.
func (r *Refused) Error() string { return "the ID token was not accepted: " + r.Reason }

// Options configures a Verifier.
type Options struct {
	// Transport sends requests to issuers; default http.DefaultTransport. Tenants name issuers, so it should
	// refuse forbidden addresses.
	Transport http.RoundTripper
	Now       func() time.Time // time.Now
	Logger    *slog.Logger     // slog.Default(); at debug level, why tokens are refused
}

// Verifier verifies ID tokens. It is safe for concurrent use.
type Verifier struct {
	issuers *issuers
	now     func() time.Time
	log     *slog.Logger
}

// New returns a Verifier. It contacts an issuer only for its first token.
func New(o Options) *Verifier {
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	known, _ := lru.New[string, issuer](maxIssuers) // fails for a size of 0 only
	limits, _ := lru.New[string, *rate.Limiter](maxIssuers)
	return &Verifier{issuers: &issuers{transport: o.Transport, now: o.Now, known: known, limits: limits}, now: o.Now, log: o.Logger}
}

// Verify checks signature, issuer, audience and expiry of a service's ID token. It returns its claims, with
// numbers as json.Number. The audience of an access token (RFC 9068) may be a resource instead (RFC 8707); such a
// token may have any authorized party. The error is a *Refused.
func (v *Verifier) Verify(ctx context.Context, service repositories.AuthService, token, resource string) (map[string]any, error) {
	claims, err := v.verify(ctx, service, token, resource)
	if err != nil {
		v.log.DebugContext(ctx, "identity.refused", "service", service.Name, "error", err.Error())
		return nil, refusal(err, token)
	}
	return claims, nil
}

var (
	errLong        = errors.New("it is longer than 16 KiB")
	errAudience    = errors.New("its audience (aud) is not this service")
	errParty       = errors.New("it has several audiences or an authorized party (azp), and that party is not the configured one")
	errEarly       = errors.New("its issue time (iat) is in the future")
	errUnreachable = errors.New("its issuer cannot be asked now")
)

func (v *Verifier) verify(ctx context.Context, service repositories.AuthService, token, resource string) (map[string]any, error) {
	if len(token) > mostToken {
		return nil, errLong
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	from, audience := service.Issuer, service.Audience
	if service.Type == "google" {
		from, audience = google, service.ClientID
	}
	keys, err := v.issuers.keys(ctx, from)
	if err != nil {
		return nil, errors.Join(errUnreachable, err)
	}
	asked := &remembering{KeySet: keys}
	checked, err := oidc.NewVerifier(from, asked, &oidc.Config{
		SkipClientIDCheck: true, SupportedSigningAlgs: algorithms, Now: func() time.Time { return v.now().Add(-leeway) },
	}).Verify(ctx, token)
	if err != nil {
		return nil, errors.Join(err, asked.err)
	}
	forResource := resource != "" && slices.Contains(checked.Audience, resource)
	if !forResource && (audience == "" || !slices.Contains(checked.Audience, audience)) {
		return nil, errAudience
	}
	// OpenID Connect Core 1.0, section 3.1.3.7, rules 4, 5 and 10: the authorized party must be our client, if
	// the token names one or has several audiences.
	var given struct {
		Party *string `json:"azp"`
	}
	if !forResource && (checked.Claims(&given) != nil || given.Party == nil && len(checked.Audience) > 1 || given.Party != nil && *given.Party != audience) {
		return nil, errParty
	}
	if checked.IssuedAt.After(v.now().Add(leeway)) {
		return nil, errEarly
	}
	var claims json.RawMessage
	if err := checked.Claims(&claims); err != nil {
		return nil, err
	}
	return parameters.DecodeValues(claims)
}

// refusal returns an error that the client can act on. For a token without the issuer's signature it gives no
// details, which would help a forger.
func refusal(err error, token string) *Refused {
	expired := &oidc.TokenExpiredError{}
	switch {
	case errors.As(err, &expired):
		return &Refused{"expired", "it has expired"}
	case errors.Is(err, errUnreachable), errors.Is(err, errRateLimited), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &Refused{"unavailable", errUnreachable.Error()}
	case errors.Is(err, errAudience):
		return &Refused{"audience", errAudience.Error()}
	case errors.Is(err, errParty):
		return &Refused{"audience", errParty.Error()}
	case errors.Is(err, errLong):
		return &Refused{"malformed", errLong.Error()}
	case !isToken(token):
		return &Refused{"malformed", "it is not a JSON Web Token"}
	default:
		return &Refused{"signature", "its signature or issuer is not the right one, or it is not valid yet"}
	}
}

// isToken reports whether a text has the form of a token: three parts, of which the first two contain JSON.
func isToken(text string) bool {
	parts := strings.Split(text, ".")
	for _, part := range parts[:min(2, len(parts))] {
		held, err := base64.RawURLEncoding.DecodeString(part)
		if err != nil || !json.Valid(held) {
			return false
		}
	}
	return len(parts) == 3
}

const (
	// maxIssuers bounds the cached issuers.
	maxIssuers = 1024
	// discoveryTTL is how long a discovery document is cached. Keys are fetched again for each token with an
	// unknown key, which covers key rotation.
	discoveryTTL = 12 * time.Hour
	failureTTL   = 10 * time.Second // how long a failed issuer is not asked again
	// An issuer gets askBurst requests at once, then one per askEvery, so that forged tokens do not become a
	// flood of requests.
	askEvery  = 3 * time.Second
	askBurst  = 10
	maxAnswer = 1 << 20 // the longest answer of an issuer, in bytes
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

// remembering keeps the error of its keys: go-oidc returns only its text, which does not tell keys that could not be
// read from a wrong signature.
type remembering struct {
	oidc.KeySet
	err error
}

// VerifySignature returns the payload of a token signed by one of the keys.
func (r *remembering) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	payload, err := r.KeySet.VerifySignature(ctx, token)
	r.err = err
	return payload, err
}

var errSignature = errors.New("its signature is not by a key of the issuer")

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
		return nil, fmt.Errorf("fetch the issuer's keys: %w", errors.Join(errUnreachable, err))
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("fetch the issuer's keys: %s: %w", response.Status, errors.Join(errUnreachable, err))
	}
	var set struct{ Keys []json.RawMessage }
	if err := json.Unmarshal(body, &set); err != nil {
		return nil, fmt.Errorf("the issuer's keys are not a JSON Web Key Set: %w", errors.Join(errUnreachable, err))
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
