package httpcall

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/net/http/httpguts"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
	"golang.org/x/sync/singleflight"

	"earshot/httpcall/guard"
	"earshot/repositories"
	"earshot/repositories/retryafter"
	"earshot/trigger/effect"
)

// tokenCache keeps access tokens in memory, each replica its own. However many calls wait
// for one token, it is requested once.
type tokenCache struct {
	mu     sync.Mutex // held for a look at kept, never over a request
	kept   *lru.Cache[string, accessToken]
	flight singleflight.Group
	client *http.Client
	limit  time.Duration
	now    func() time.Time
	log    *slog.Logger
}

func newTokenCache(client *http.Client, o Options) *tokenCache {
	kept, _ := lru.New[string, accessToken](max(1, o.Tokens)) // fails for less than 1 only
	return &tokenCache{kept: kept, client: client, limit: o.TokenTimeout, now: o.Now, log: o.Logger}
}

// get returns an access token of the grant. One that is near its end is still used,
// while another is asked for: nobody waits for a renewal. A call that has to wait does
// so no longer than ctx; the request goes on for others and for the next call.
func (t *tokenCache) get(ctx context.Context, g *grant) (string, error) {
	key, now := g.key(), t.now()
	have, _ := t.kept.Get(key)
	if have.text != "" && now.Before(have.renew) {
		return have.text, nil
	}
	answer := t.flight.DoChan(key, func() (any, error) { return t.renew(context.WithoutCancel(ctx), key, g) })
	if have.text != "" && now.Before(have.end) {
		return have.text, nil
	}
	select {
	case result := <-answer:
		if result.Err != nil {
			return "", result.Err
		}
		return result.Val.(string), nil
	case <-ctx.Done():
		where, _ := hostOf(g.tokenURL)
		return "", effect.Transient(effect.ReasonAuth, "no token from %s within the time of the call", where)
	}
}

// drop removes a token that an endpoint has refused, unless another call has replaced it
// already.
func (t *tokenCache) drop(g *grant, refused string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := g.key()
	if have, ok := t.kept.Get(key); ok && have.text == refused {
		t.kept.Add(key, accessToken{style: have.style})
	}
}

func (t *tokenCache) keep(key string, made accessToken) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept.Add(key, made)
}

// renew replaces the cached token, if it still has to be replaced.
func (t *tokenCache) renew(ctx context.Context, key string, g *grant) (string, error) {
	have, _ := t.kept.Get(key)
	if have.text != "" && t.now().Before(have.renew) {
		return have.text, nil // by the flight before this one
	}
	ctx, cancel := context.WithTimeout(ctx, t.limit)
	defer cancel()
	made, err := t.ask(ctx, g, have)
	if err != nil {
		if where, _ := hostOf(g.tokenURL); logText(err) != "" {
			t.log.InfoContext(ctx, "token.unanswered", "app", g.app, "host", where, "error", logText(err))
		}
		return "", tokenFailure(err, g.tokenURL, t.now())
	}
	t.keep(key, made)
	return made.text, nil
}

// ask requests a token with the refresh token, where there is one with an endpoint for it,
// and otherwise, or when that fails, with the grant itself. A refresh takes at most half of the time, so that
// an endpoint that hangs leaves the grant its turn.
func (t *tokenCache) ask(ctx context.Context, g *grant, have accessToken) (accessToken, error) {
	if have.refresh != "" && g.refreshURL != "" {
		half, cancel := context.WithTimeout(ctx, t.limit/2)
		defer cancel()
		if made, err := t.request(half, g, g.refreshURL, refreshFields(have.refresh), have.style); err == nil {
			return made, nil
		}
	}
	return t.request(ctx, g, g.tokenURL, g.fields(), have.style)
}

func (t *tokenCache) request(ctx context.Context, g *grant, endpoint string, fields url.Values, style oauth2.AuthStyle) (accessToken, error) {
	given, style, err := askToken(ctx, t.client, endpoint, g, fields, or(style, oauth2.AuthStyleInParams))
	if err != nil {
		return accessToken{}, err
	}
	return tokenFrom(given, style, t.now()), nil
}

const (
	// defaultLifetime is how long a token is used whose endpoint does not say (RFC 6749
	// 5.1 only recommends that it does). One that expires sooner is discovered by a 401.
	defaultLifetime = 5 * time.Minute
	// maxRenewalMargin is how long before its end a token is renewed: longer than a call
	// takes. A short-lived one is renewed after four fifths of its life.
	maxRenewalMargin = 30 * time.Second
)

// accessToken is an OAuth 2.0 access token, with the refresh token that came with it.
type accessToken struct {
	text, refresh string
	renew         time.Time // when it is to be renewed
	end           time.Time // when it is of no use any more
	// style is how its endpoint wants the client's credentials.
	style oauth2.AuthStyle
}

// errUnusable means that a token endpoint answered 2xx with something else.
var errUnusable = errors.New("the answer holds no usable access_token")

// askToken requests a token from an endpoint. The client's credentials are in the form, as
// most endpoints take them; one that answers invalid_client or 401 is asked again
// with basic authentication, which RFC 6749 2.3.1 prefers and a few insist on.
func askToken(ctx context.Context, client *http.Client, endpoint string, g *grant, fields url.Values, style oauth2.AuthStyle) (*oauth2.Token, oauth2.AuthStyle, error) {
	config := &clientcredentials.Config{
		ClientID: g.clientID, ClientSecret: g.secret.Reveal(), TokenURL: endpoint,
		Scopes: g.scopes, EndpointParams: fields, AuthStyle: style,
	}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, client)
	given, err := config.Token(ctx)
	if style == oauth2.AuthStyleInParams && !g.secret.Empty() && clientRefused(err) {
		config.AuthStyle = oauth2.AuthStyleInHeader
		given, err = config.Token(ctx)
	}
	if err != nil {
		return nil, style, err
	}
	if !httpguts.ValidHeaderFieldValue(given.AccessToken) {
		return nil, style, errUnusable
	}
	return given, config.AuthStyle, nil
}

func clientRefused(err error) bool {
	var refused *oauth2.RetrieveError
	return errors.As(err, &refused) && (refused.ErrorCode == "invalid_client" || refused.Response.StatusCode == http.StatusUnauthorized)
}

// tokenFrom computes the times of a token that was given just now. What is left of its
// life is measured on the machine's clock, which oauth2 uses, and put on ours.
func tokenFrom(given *oauth2.Token, style oauth2.AuthStyle, now time.Time) accessToken {
	life := defaultLifetime
	if !given.Expiry.IsZero() {
		life = max(0, time.Until(given.Expiry))
	}
	return accessToken{
		text: given.AccessToken, refresh: given.RefreshToken, style: style,
		renew: now.Add(life - min(maxRenewalMargin, life/5)),
		end:   now.Add(life),
	}
}

// tokenFailure is the failure of a token request. Of the endpoint's answer it tells the
// status and a known error code only: the rest may hold what it was sent.
func tokenFailure(err error, endpoint string, now time.Time) error {
	var closed *guard.Blocked
	var answered *oauth2.RetrieveError
	switch where, host := hostOf(endpoint); {
	case errors.As(err, &closed):
		return blocked("the token request to "+where, closed, host)
	case errors.As(err, &answered):
		return refusedToken(answered, where, now)
	case errors.As(err, new(*url.Error)):
		return effect.Transient(effect.ReasonAuth, "no token from %s: %s", where, publicText(err))
	case timedOut(err):
		return effect.Transient(effect.ReasonAuth, "no token from %s: its answer did not end in time", where)
	default:
		return effect.Transient(effect.ReasonAuth, "no token from %s: %s", where, errUnusable)
	}
}

// refusedToken judges an answer like that to a call, for the reason auth. An error in
// an answer of 200, which some endpoints give, is a refusal.
func refusedToken(answered *oauth2.RetrieveError, where string, now time.Time) error {
	status := answered.Response.StatusCode
	text := fmt.Sprintf("no token from %s: it answered %d %s", where, status, http.StatusText(status))
	if code := knownCode(answered.ErrorCode); code != "" {
		text += " (" + code + ")"
	}
	verdict, _ := verdictOf(status)
	if verdict != effect.Retry {
		return effect.Permanent(effect.ReasonAuth, "%s%s", text, explainStatus(status))
	}
	outcome := effect.OutcomeOf(effect.Transient(effect.ReasonAuth, "%s", text))
	outcome.After = retryafter.Pause(answered.Response.Header, now, repositories.MostRetryFor)
	return &effect.Failure{Outcome: outcome}
}

// knownCode returns an error code of RFC 6749 5.2, RFC 6749 4.1.2.1 or RFC 8707 2,
// and nothing for other texts.
func knownCode(code string) string {
	switch code {
	case "invalid_request", "invalid_client", "invalid_grant", "unauthorized_client",
		"unsupported_grant_type", "invalid_scope", "access_denied", "server_error",
		"temporarily_unavailable", "invalid_target":
		return code
	default:
		return ""
	}
}

// hostOf names an endpoint without what its path and query may hold, and its host alone.
func hostOf(endpoint string) (where, host string) {
	parsed, err := url.Parse(endpoint)
	if err != nil {
		return "the token endpoint", ""
	}
	return parsed.Scheme + "://" + parsed.Host, parsed.Hostname()
}
