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
	"earshot/repositories/audit"
	"earshot/repositories/bodies"
	"earshot/repositories/secret"
	"earshot/repositories/store"
	"earshot/trigger/query"
)

// KeyStore looks up and manages the keys of apps.
type KeyStore interface {
	auth.Keys
	KeyKeeper
}

// KeyKeeper creates, lists and revokes the keys of apps.
type KeyKeeper interface {
	// CreateKey fails with a *store.ScopeError if the new key would have scopes that the asking key lacks.
	CreateKey(ctx context.Context, appID string, asked store.NewKey) (store.AppKey, secret.Secret, error)
	AppKeys(ctx context.Context, appID, after string, limit int) (items []store.AppKey, next string, err error)
	// RevokeKey returns when no replica accepts the key any more.
	RevokeKey(ctx context.Context, appID, keyID string) error
}

// credentials serves the keys of apps, the session tokens that a back-end requests for a browser, and the
// description of the caller's own key.
type credentials struct {
	keys    KeyStore
	tokens  auth.Tokens
	bodies  *bodies.Definitions
	natsURL string
	now     func() time.Time
}

func (h credentials) routes() []route {
	const keysPath = pathApp + "/keys"
	list := handleByID(repositories.IsID, func(ctx context.Context, scope repositories.Scope, page query.Page) ([]store.AppKey, string, error) {
		return h.keys.AppKeys(ctx, scope.AppID, page.After, page.Limit)
	})
	return []route{
		{method: http.MethodPost, path: keysPath, access: appKeys, handler: withBody(h.createKey), readsBody: true, auditAction: audit.CreateKey, createsID: "keyId"},
		{method: http.MethodGet, path: keysPath, access: appKeys, handler: list, query: pageQuery},
		{method: http.MethodDelete, path: keysPath + "/:keyId", access: appKeys, handler: removes(h.keys, KeyStore.RevokeKey, "keyId"), auditAction: audit.RevokeKey},
		{method: http.MethodPost, path: pathSession + "/token", access: messageKeys, handler: h.createToken, natsName: "token", readsBody: true},
		{method: http.MethodGet, path: "/v1/whoami", access: anyCaller, handler: h.whoami},
	}
}

// newKey is a new key with its secret, which is shown only once.
type newKey struct {
	store.AppKey
	Key string `json:"key"`
}

func (h credentials) createKey(c echo.Context, body []byte) error {
	var request struct {
		Name      string             `json:"name"`
		Scopes    []store.Permission `json:"scopes"`
		ExpiresIn string             `json:"expiresIn"`
	}
	if err := h.bodies.Decode("KeyRequest", body, &request); err != nil {
		return err
	}
	lifetime, _ := time.ParseDuration(request.ExpiresIn) // checked by the schema; empty means none
	key, text, err := h.keys.CreateKey(c.Request().Context(), c.Param("appId"), store.NewKey{
		ID: createdID(c), Name: request.Name, Scopes: request.Scopes, Lifetime: lifetime, Parent: auth.PrincipalOf(c).KeyID,
	})
	if errors.Is(err, store.ErrKey) || errors.Is(err, store.ErrKeyExpired) {
		return auth.Unauthorized(err) // the asking key has ended in the meantime
	}
	return answer.Result(c, http.StatusCreated, newKey{key, text.Reveal()}, err)
}

// defaultTokenTTL is the default lifetime of a session token.
const defaultTokenTTL = "1h"

type newToken struct {
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expiresAt"`
}

func (h credentials) createToken(c echo.Context) error {
	var request struct {
		ExpiresIn string `json:"expiresIn"`
	}
	if err := decodeOptional(c, h.bodies, "TokenRequest", &request); err != nil {
		return err
	}
	lifetime, _ := time.ParseDuration(cmp.Or(request.ExpiresIn, defaultTokenTTL)) // checked by the schema
	generation, err := h.keys.Generation(c.Request().Context(), c.Param("appId"), c.Param("sessionId"))
	if err != nil {
		return err
	}
	caller := auth.PrincipalOf(c)
	token := store.SessionToken{
		AppID: c.Param("appId"), SessionID: c.Param("sessionId"), KeyID: caller.KeyID, Expires: h.now().Add(lifetime).UTC().Truncate(time.Second), Generation: generation,
		ModuleID: caller.Grant().ModuleID, Grant: caller.Grant().Word,
	}
	if !caller.Expires.IsZero() && caller.Expires.Before(token.Expires) {
		token.Expires = caller.Expires
	}
	signed, err := h.tokens.SignToken(token)
	return answer.Result(c, http.StatusCreated, newToken{signed.Reveal(), token.Expires}, err)
}

// whoami describes the caller's key, so that a client can find its app.
func (h credentials) whoami(c echo.Context) error {
	caller := auth.PrincipalOf(c)
	keyID := caller.KeyID
	if caller.FrontEnd() {
		keyID = "" // hidden from browsers
	}
	return answer.JSON(c, http.StatusOK, struct {
		Admin     bool               `json:"admin"`
		AppID     string             `json:"appId,omitempty"`
		SessionID string             `json:"sessionId,omitempty"`
		KeyID     string             `json:"keyId,omitempty"`
		Scopes    []store.Permission `json:"scopes,omitempty"`
		ExpiresAt time.Time          `json:"expiresAt,omitzero"`
		NATSURL   string             `json:"natsUrl,omitempty"`
	}{caller.Admin, caller.AppID(), caller.SessionID, keyID, caller.Scopes(), caller.Expires, h.natsURL})
}
