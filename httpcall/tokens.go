package httpcall

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
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

	"earshot/repositories"
	"earshot/repositories/secret"
	"earshot/trigger/effect"
)

// tokens keeps access tokens in memory, each replica its own. However many calls wait
// for one token, it is asked for once.
type tokens struct {
	mu     sync.Mutex // held for a look at kept, never over a request
	kept   *lru.Cache[string, token]
	flight singleflight.Group
	client *http.Client
	limit  time.Duration
	now    func() time.Time
	log    *slog.Logger
}

func newTokens(client *http.Client, o Options) *tokens {
	kept, _ := lru.New[string, token](max(1, o.Tokens)) // fails for less than 1 only
	return &tokens{kept: kept, client: client, limit: o.TokenTimeout, now: o.Now, log: o.Logger}
}

// get returns an access token of the grant. One that is near its end is still used,
// while another is asked for: nobody waits for a renewal. A call that has to wait does
// so no longer than ctx; the request goes on for others and for the next call.
func (t *tokens) get(ctx context.Context, g *grant) (string, error) {
	key, now := g.key(), t.now()
	have, _ := t.kept.Get(key)
	if have.access != "" && now.Before(have.renew) {
		return have.access, nil
	}
	answer := t.flight.DoChan(key, func() (any, error) { return t.renew(context.WithoutCancel(ctx), key, g) })
	if have.access != "" && now.Before(have.end) {
		return have.access, nil
	}
	select {
	case result := <-answer:
		if result.Err != nil {
			return "", result.Err
		}
		return result.Val.(string), nil
	case <-ctx.Done():
		where, _ := hostOf(g.tokenURL)
		return "", retry(effect.ReasonAuth, "no token from %s within the time of the call", where)
	}
}

// drop forgets a token that an endpoint has refused, unless another call has had it
// replaced already.
func (t *tokens) drop(g *grant, refused string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := g.key()
	if have, ok := t.kept.Get(key); ok && have.access == refused {
		t.kept.Add(key, token{style: have.style})
	}
}

func (t *tokens) keep(key string, made token) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept.Add(key, made)
}

// renew replaces the token that is kept, if it still has to be.
func (t *tokens) renew(ctx context.Context, key string, g *grant) (string, error) {
	have, _ := t.kept.Get(key)
	if have.access != "" && t.now().Before(have.renew) {
		return have.access, nil // by the flight before this one
	}
	ctx, cancel := context.WithTimeout(ctx, t.limit)
	defer cancel()
	made, err := t.ask(ctx, g, have)
	if err != nil {
		if where, _ := hostOf(g.tokenURL); detail(err) != "" {
			t.log.InfoContext(ctx, "token.unanswered", "app", g.app, "host", where, "error", detail(err))
		}
		return "", tokenFailure(err, g.tokenURL, t.now())
	}
	t.keep(key, made)
	return made.access, nil
}

// ask uses the refresh token where there is one with an endpoint for it, and else, or
// when that fails, the grant itself. A refresh takes at most half of the time, so that
// an endpoint that hangs leaves the grant its turn.
func (t *tokens) ask(ctx context.Context, g *grant, have token) (token, error) {
	if have.refresh != "" && g.refreshURL != "" {
		half, cancel := context.WithTimeout(ctx, t.limit/2)
		defer cancel()
		if made, err := t.request(half, g, g.refreshURL, refreshFields(have.refresh), have.style); err == nil {
			return made, nil
		}
	}
	return t.request(ctx, g, g.tokenURL, g.fields(), have.style)
}

func (t *tokens) request(ctx context.Context, g *grant, endpoint string, fields url.Values, style oauth2.AuthStyle) (token, error) {
	given, style, err := askToken(ctx, t.client, endpoint, g, fields, or(style, oauth2.AuthStyleInParams))
	if err != nil {
		return token{}, err
	}
	return tokenFrom(given, style, t.now()), nil
}

const (
	// unknownLife is how long a token is used whose endpoint does not say (RFC 6749
	// 5.1 only recommends that it does). One that ends sooner is found out by a 401.
	unknownLife = 5 * time.Minute
	// mostMargin is how long before its end a token is renewed: longer than a call
	// takes. A short-lived one is renewed after four fifths of its life.
	mostMargin = 30 * time.Second
)

// token is an access token with its times.
type token struct {
	access, refresh string
	renew           time.Time // when it is to be renewed
	end             time.Time // when it is of no use any more
	// style is how its endpoint wants the client's credentials.
	style oauth2.AuthStyle
}

// errUnusable means that a token endpoint answered 2xx with something else.
var errUnusable = errors.New("the answer holds no usable access_token")

// askToken asks an endpoint for a token. The client's credentials stand in the form,
// as most endpoints take them; one that answers invalid_client or 401 is asked again
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

// tokenFrom reckons the times of a token that was given just now. What is left of its
// life is measured on the machine's clock, which oauth2 uses, and put on ours.
func tokenFrom(given *oauth2.Token, style oauth2.AuthStyle, now time.Time) token {
	life := unknownLife
	if !given.Expiry.IsZero() {
		life = max(0, time.Until(given.Expiry))
	}
	return token{
		access: given.AccessToken, refresh: given.RefreshToken, style: style,
		renew: now.Add(life - min(mostMargin, life/5)),
		end:   now.Add(life),
	}
}

// grant is what a token is asked for with (RFC 6749 1.3).
type grant struct {
	app        string
	kind       string // client_credentials or password
	clientID   string
	secret     secret.Secret
	username   string
	password   secret.Secret
	tokenURL   string
	refreshURL string
	audience   string
	scopes     []string
}

// check refuses a grant that no endpoint could answer.
func (g *grant) check() error {
	if g.kind != repositories.GrantClientCredentials && g.kind != repositories.GrantPassword {
		return dead(effect.ReasonAuth, "bearer.clientType %q is none of %s, %s",
			clip(g.kind), repositories.GrantClientCredentials, repositories.GrantPassword)
	}
	if !callable(g.tokenURL) || g.refreshURL != "" && !callable(g.refreshURL) {
		return dead(effect.ReasonAuth, "tokenUrl and refreshUrl must be as in https://host/path")
	}
	return nil
}

func callable(text string) bool {
	parsed, err := url.Parse(text)
	return err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https") && parsed.Hostname() != ""
}

// key is equal for grants that get the same token: all that was given is in it, the
// app first, so that no two apps or credentials ever share one. It is a hash, as the
// credentials are in it too.
func (g *grant) key() string {
	parts, _ := json.Marshal([]any{ // strings never fail
		g.app, g.kind, g.clientID, g.secret.Reveal(), g.username, g.password.Reveal(),
		g.tokenURL, g.refreshURL, g.audience, g.scopes,
	})
	sum := sha256.Sum256(parts)
	return hex.EncodeToString(sum[:])
}

// fields are the form fields of a token request beside the client's and the scope.
func (g *grant) fields() url.Values {
	fields := url.Values{"grant_type": {g.kind}}
	if g.kind == repositories.GrantPassword {
		fields.Set("username", g.username)
		fields.Set("password", g.password.Reveal())
	}
	if g.audience != "" {
		fields.Set("audience", g.audience)
	}
	return fields
}

// refreshFields are those of a refresh request (RFC 6749 6).
func refreshFields(refreshToken string) url.Values {
	return url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refreshToken}}
}
