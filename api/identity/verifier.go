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
	// leeway is how far the clocks of an issuer and of this machine may be apart.
	leeway = time.Minute
	// mostToken is the longest token that is looked at, in bytes: room for some
	// hundred groups of a user.
	mostToken = 16 << 10
	// timeout bounds all that one verification asks of an issuer. A message waits.
	timeout = 5 * time.Second
	// google is the issuer of Google's ID tokens.
	google = "https://accounts.google.com"
)

// algorithms are those that tokens may be signed with. Both are asymmetric: with a
// symmetric one among them, an issuer's public key could be taken for a shared secret
// (RFC 8725, section 2.1). The token's own word chooses among these alone.
var (
	algorithms = []string{oidc.RS256, oidc.ES256}
	signatures = []jose.SignatureAlgorithm{jose.RS256, jose.ES256}
)

// Refused means that a token was not accepted. Fault and Reason are for the one who sent it.
type Refused struct {
	// Fault is a word for programs: malformed, signature (or issuer), audience, expired, or
	// unavailable where the issuer could not be asked.
	Fault  string
	Reason string // the same in words
}

// Error tells the reason.
func (r *Refused) Error() string { return "the ID token was not accepted: " + r.Reason }

// Options of a Verifier.
type Options struct {
	// Transport makes the requests to issuers; http.DefaultTransport where it is nil.
	// Issuers are named by those who may change an app, so it should be one that
	// reaches no address it must not.
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

// New returns a Verifier. It asks an issuer for nothing before the first of its tokens.
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

// Verify checks signature, issuer, audience and expiry of a service's ID token and
// returns its claims, numbers as json.Number. The error is a *Refused.
func (v *Verifier) Verify(ctx context.Context, service repositories.AuthService, token string) (map[string]any, error) {
	return v.VerifyAccess(ctx, service, token, "")
}

// VerifyAccess is Verify for an access token (RFC 9068), which may be for a resource in place of the service's own
// audience (RFC 8707). The party of such a token is whoever was given it.
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
	// To whom and when it was issued (OpenID Connect Core 1.0, section 3.1.3.7, rules 4, 5 and 10): the authorized
	// party is our client, if the token names one or has other audiences too.
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

// refusal tells a client what it can do something about. Of a token that its issuer has not
// signed it says no more than that: what exactly does not fit would help who forges.
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

// isToken reports whether a text has the form of a token: three parts, of which the first two
// hold JSON.
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
