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
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"earshot/repositories"
	"earshot/repositories/parameters"
)

const (
	// leeway is the tolerated clock difference to an issuer.
	leeway = time.Minute
	// mostToken is the longest accepted token, in bytes: room for some hundred groups of a user.
	mostToken = 16 << 10
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
// numbers as json.Number. The error is a *Refused.
func (v *Verifier) Verify(ctx context.Context, service repositories.AuthService, token string) (map[string]any, error) {
	return v.VerifyAccess(ctx, service, token, "")
}

// VerifyAccess is Verify for an access token (RFC 9068), whose audience may be a resource instead (RFC 8707).
// Such a token may have any authorized party.
func (v *Verifier) VerifyAccess(ctx context.Context, service repositories.AuthService, token, resource string) (map[string]any, error) {
	claims, err := v.verify(ctx, service, token, resource)
	if err != nil {
		v.log.DebugContext(ctx, "identity.refused", "service", service.Name, "error", err.Error())
		return nil, refusal(err, token)
	}
	return claims, nil
}

var (
	errLong        = errors.New("it is longer than 16 KiB")
	errAudience    = errors.New("its audience is not the right one")
	errParty       = errors.New("it is for several audiences or names an authorized party (azp), and that is not the right one")
	errEarly       = errors.New("it was issued later than now")
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
	checked, err := oidc.NewVerifier(from, keys, &oidc.Config{
		SkipClientIDCheck: true, SupportedSigningAlgs: algorithms, Now: func() time.Time { return v.now().Add(-leeway) },
	}).Verify(ctx, token)
	if err != nil {
		return nil, err
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
		return &Refused{"malformed", "it is no JSON Web Token"}
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
