package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/repositories"
	"earshot/repositories/bodies"
	"earshot/repositories/secret"
	"earshot/repositories/store"
)

// KeyStore looks up and manages the keys of apps.
type KeyStore interface {
	auth.Keys
	KeyKeeper
}

// KeyKeeper makes, lists and revokes the keys of apps.
type KeyKeeper interface {
	// CreateKey fails with a *store.ScopeError where a key asks for more than it has.
	CreateKey(ctx context.Context, appID string, asked store.NewKey) (store.AppKey, secret.Secret, error)
	AppKeys(ctx context.Context, appID, after string, limit int) (items []store.AppKey, next string, err error)
	// RevokeKey returns when no replica takes the key any more.
	RevokeKey(ctx context.Context, appID, keyID string) error
}

// appKeys serves /v1/apps/{appId}/keys.
type appKeys struct {
	store  KeyKeeper
	bodies *bodies.Definitions
}

func (h appKeys) routes() []route {
	const all = "/v1/apps/:appId/keys"
	return []route{
		{method: http.MethodPost, path: all, handle: withBody(h.post), reads: true},
		{method: http.MethodGet, path: all, handle: h.list, query: pageQuery},
		{method: http.MethodDelete, path: all + "/:keyId", handle: h.revoke},
	}
}

// madeKey is a new key with its secret, which no other answer has.
type madeKey struct {
	store.AppKey
	Key string `json:"key"`
}

func (h appKeys) post(c echo.Context, body []byte) error {
	var asked struct {
		Name      string             `json:"name"`
		Scopes    []store.Permission `json:"scopes"`
		ExpiresIn string             `json:"expiresIn"`
	}
	if err := h.bodies.Decode("KeyRequest", body, &asked); err != nil {
		return err
	}
	lifetime, _ := time.ParseDuration(asked.ExpiresIn) // was checked; empty is none
	key, text, err := h.store.CreateKey(c.Request().Context(), c.Param("appId"), store.NewKey{
		Name: asked.Name, Scopes: asked.Scopes, Lifetime: lifetime, By: auth.PrincipalOf(c).KeyID,
	})
	if errors.Is(err, store.ErrKey) || errors.Is(err, store.ErrKeyExpired) {
		return auth.Unauthorized(err) // the key that asks has ended meanwhile
	}
	return answer.Result(c, http.StatusCreated, madeKey{key, text.Reveal()}, err)
}

func (h appKeys) list(c echo.Context) error {
	return listByID(c, func(ctx context.Context, after string, limit int) ([]store.AppKey, string, error) {
		return h.store.AppKeys(ctx, c.Param("appId"), after, limit)
	})
}

func (h appKeys) revoke(c echo.Context) error {
	return answer.Done(c, http.StatusNoContent, h.store.RevokeKey(c.Request().Context(), c.Param("appId"), c.Param("keyId")))
}

// defaultTokenTTL is how long a session token is good by default.
const defaultTokenTTL = "1h"

// appReader reads an app.
type appReader interface {
	App(ctx context.Context, appID string) (*repositories.App, error)
}

// sessionTokens serves the tokens that a back-end hands to the browser of a session.
type sessionTokens struct {
	lives  auth.Lives
	tokens auth.Tokens
	bodies *bodies.Definitions
	now    func() time.Time
}

func (h sessionTokens) routes() []route {
	return []route{{method: http.MethodPost, path: "/v1/apps/:appId/sessions/:sessionId/token", handle: h.post, reads: true}}
}

type madeToken struct {
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expiresAt"`
}

func (h sessionTokens) post(c echo.Context) error {
	var asked struct {
		ExpiresIn string `json:"expiresIn"`
	}
	body, err := readOptional(c)
	if err == nil && len(body) > 0 {
		err = h.bodies.Decode("TokenRequest", body, &asked)
	}
	if err != nil {
		return err
	}
	life, _ := time.ParseDuration(cmp.Or(asked.ExpiresIn, defaultTokenTTL)) // was checked
	alive, err := h.lives.Generation(c.Request().Context(), c.Param("appId"), c.Param("sessionId"))
	if err != nil {
		return err
	}
	who := auth.PrincipalOf(c)
	token := store.SessionToken{
		AppID: c.Param("appId"), SessionID: c.Param("sessionId"), KeyID: who.KeyID, Expires: h.now().Add(life).UTC().Truncate(time.Second), Life: alive,
		ModuleID: who.Grant().ModuleID, Grant: who.Grant().Word,
	}
	if !who.Expires.IsZero() && who.Expires.Before(token.Expires) {
		token.Expires = who.Expires
	}
	signed, err := h.tokens.SignToken(token)
	return answer.Result(c, http.StatusCreated, madeToken{signed.Reveal(), token.Expires}, err)
}

// whoami names the caller's key, so that a client with a key needs to know no app.
type whoami struct{ natsURL string }

func (h whoami) routes() []route {
	return []route{{method: http.MethodGet, path: "/v1/whoami", handle: h.get}}
}

type introduction struct {
	Admin     bool               `json:"admin"`
	AppID     string             `json:"appId,omitempty"`
	SessionID string             `json:"sessionId,omitempty"`
	KeyID     string             `json:"keyId,omitempty"`
	Scopes    []store.Permission `json:"scopes,omitempty"`
	ExpiresAt *time.Time         `json:"expiresAt,omitempty"`
	NATSURL   string             `json:"natsUrl,omitempty"`
}

func (h whoami) get(c echo.Context) error {
	who := auth.PrincipalOf(c)
	told := introduction{Admin: who.Admin, AppID: who.AppID(), SessionID: who.SessionID, KeyID: who.KeyID, Scopes: who.Scopes(), NATSURL: h.natsURL}
	if who.FrontEnd() {
		told.KeyID = "" // a browser has no business with it
	}
	if !who.Expires.IsZero() {
		told.ExpiresAt = &who.Expires
	}
	return answer.JSON(c, http.StatusOK, told)
}
