package httpcall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/net/http/httpguts"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
	"golang.org/x/sync/singleflight"

	"earshot/httpcall/guard"
	"earshot/repositories"
	"earshot/repositories/neterr"
	"earshot/trigger/effect"
)

// tokenCache keeps access tokens in memory, each replica its own. However many calls wait
// for one token, it is requested once.
type tokenCache struct {
	mu     sync.Mutex // held to change cached, never during a request
	cached *lru.Cache[string, accessToken]
	flight singleflight.Group
	client *http.Client
	limit  time.Duration // of one request
	now    func() time.Time
	log    *slog.Logger
}

// accessToken is an OAuth 2.0 access token, with the refresh token that came with it.
type accessToken struct {
	text, refresh string
	renew         time.Time // when it is to be renewed
	end           time.Time // when it is of no use any more
	// style is how its endpoint wants the client's credentials.
	style oauth2.AuthStyle
}

func newTokenCache(client *http.Client, o Options) *tokenCache {
	cached, _ := lru.New[string, accessToken](max(1, o.Tokens)) // fails for less than 1 only
	return &tokenCache{cached: cached, client: client, limit: o.TokenTimeout, now: o.Now, log: o.Logger}
}

// get returns an access token of the grant. One that is near its end is still used,
// while another is asked for: nobody waits for a renewal. A call that has to wait does
// so no longer than ctx; the request goes on for others and for the next call.
func (t *tokenCache) get(ctx context.Context, g *grant) (string, error) {
	now := t.now()
	have, _ := t.cached.Get(g.key)
	if have.text != "" && now.Before(have.renew) {
		return have.text, nil
	}
	answer := t.flight.DoChan(g.key, func() (any, error) { return t.renew(ctx, g) })
	if have.text != "" && now.Before(have.end) {
		return have.text, nil
	}
	select {
	case result := <-answer:
		token, _ := result.Val.(string)
		return token, result.Err
	case <-ctx.Done():
		return "", effect.Transient(effect.ReasonAuth, "no token from %s within the time of the call", g.server)
	}
}

// drop removes a token that an endpoint has refused, unless another call has replaced it
// already.
func (t *tokenCache) drop(g *grant, refused string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if have, ok := t.cached.Get(g.key); ok && have.text == refused {
		t.cached.Add(g.key, accessToken{style: have.style})
	}
}

// renew replaces the cached token, if it still has to be replaced: with the refresh token, if
// there is one with an endpoint for it, and otherwise, or if that fails, with the grant
// itself. A refresh takes at most half of the time, so that an endpoint that hangs leaves the
// grant its turn. The request goes on when ctx ends, and is none of the call's own.
func (t *tokenCache) renew(ctx context.Context, g *grant) (token string, err error) {
	have, _ := t.cached.Get(g.key)
	if have.text != "" && t.now().Before(have.renew) {
		return have.text, nil // by the flight before this one
	}
	limited, cancel := context.WithTimeout(context.Background(), t.limit)
	defer cancel()
	made, err := accessToken{}, errUnusable
	if have.refresh != "" && g.refreshURL != "" {
		half, cancel := context.WithTimeout(limited, t.limit/2)
		made, err = t.request(half, g, g.refreshURL, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {have.refresh}}, have.style)
		cancel()
	}
	if err != nil {
		fields := url.Values{"grant_type": {g.kind}}
		if g.kind == repositories.GrantPassword {
			fields.Set("username", g.username)
			fields.Set("password", g.password.Reveal())
		}
		if g.audience != "" {
			fields.Set("audience", g.audience)
		}
		made, err = t.request(limited, g, g.tokenURL, fields, have.style)
	}
	if err != nil {
		if text := logText(err); text != "" {
			t.log.InfoContext(ctx, "token.unanswered", "app", g.app, "host", g.server, "error", text)
		}
		return "", tokenFailure(err, g, t.now())
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cached.Add(g.key, made)
	return made.text, nil
}

// errUnusable means that a token endpoint answered 2xx with something else.
var errUnusable = errors.New("the answer holds no usable access_token")

// request requests a token from an endpoint. The client's credentials are in the form, as
// most endpoints take them; one that answers invalid_client or 401 is asked again
// with basic authentication, which RFC 6749 2.3.1 prefers and a few insist on.
func (t *tokenCache) request(ctx context.Context, g *grant, endpoint string, fields url.Values, style oauth2.AuthStyle) (accessToken, error) {
	config := &clientcredentials.Config{
		ClientID: g.clientID, ClientSecret: g.secret.Reveal(), TokenURL: endpoint,
		Scopes: g.scopes, EndpointParams: fields, AuthStyle: cmp.Or(style, oauth2.AuthStyleInParams),
	}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, t.client)
	given, err := config.Token(ctx)
	var refused *oauth2.RetrieveError
	if config.AuthStyle == oauth2.AuthStyleInParams && !g.secret.Empty() && errors.As(err, &refused) &&
		(refused.ErrorCode == "invalid_client" || refused.Response.StatusCode == http.StatusUnauthorized) {
		config.AuthStyle = oauth2.AuthStyleInHeader
		given, err = config.Token(ctx)
	}
	if err != nil {
		return accessToken{}, err
	}
	if !httpguts.ValidHeaderFieldValue(given.AccessToken) {
		return accessToken{}, errUnusable
	}
	return tokenFrom(given, config.AuthStyle, t.now()), nil
}

const (
	// defaultLifetime is how long a token is used whose endpoint does not say (RFC 6749
	// 5.1 only recommends that it does). One that expires sooner is discovered by a 401.
	defaultLifetime = 5 * time.Minute
	// maxRenewalMargin is how long before its end a token is renewed: longer than a call
	// takes. A short-lived one is renewed after four fifths of its life.
	maxRenewalMargin = 30 * time.Second
)

// tokenFrom computes the times of a token that was given just now. The rest of its life is
// measured on the machine's clock, which oauth2 uses, and put on ours.
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

// knownCodes are the error codes of RFC 6749 5.2 and 4.1.2.1 and of RFC 8707 2.
var knownCodes = []string{
	"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type",
	"invalid_scope", "access_denied", "server_error", "temporarily_unavailable", "invalid_target",
}

// tokenFailure is the failure of a token request. An answer is judged like that to a call;
// an error in an answer of 200, which some endpoints give, is a refusal. Of the answer it
// tells the status and a known error code only: the rest may hold what was sent.
func tokenFailure(err error, g *grant, now time.Time) error {
	var closed *guard.Blocked
	var answered *oauth2.RetrieveError
	switch {
	case errors.As(err, &closed):
		return effect.Permanent(effect.ReasonBlocked, "the token request to %s: %s", g.server, closed.Toward(g.host))
	case errors.As(err, &answered): // below
	case errors.As(err, new(*url.Error)):
		return effect.Transient(effect.ReasonAuth, "no token from %s: %s", g.server, publicText(err))
	case timedOut(err):
		return effect.Transient(effect.ReasonAuth, "no token from %s: its answer did not end in time", g.server)
	default:
		return effect.Transient(effect.ReasonAuth, "no token from %s: %s", g.server, errUnusable)
	}
	status := answered.Response.StatusCode
	text := fmt.Sprintf("no token from %s: it answered %d %s", g.server, status, http.StatusText(status))
	if slices.Contains(knownCodes, answered.ErrorCode) {
		text += " (" + answered.ErrorCode + ")"
	}
	if verdict, _ := verdictOf(status); verdict != effect.Retry {
		return effect.Permanent(effect.ReasonAuth, "%s%s", text, explainStatus(status))
	}
	outcome := effect.OutcomeOf(effect.Transient(effect.ReasonAuth, "%s", text))
	outcome.After = neterr.RetryAfter(answered.Response.Header, now, repositories.MostRetryFor)
	return &effect.Failure{Outcome: outcome}
}
