package httpcall

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"

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
