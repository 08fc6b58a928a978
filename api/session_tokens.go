package api

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"earshot/repositories"
)

// defaultTokenLife is how long a session token is good where nothing is said.
const defaultTokenLife = time.Hour

// appReader reads an app.
type appReader interface {
	App(ctx context.Context, appID string) (*repositories.App, error)
}

// sessionTokens serves the tokens that a back-end hands to the browser of a session.
type sessionTokens struct {
	lives  Lives
	tokens Tokens
	bodies *repositories.Bodies
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
	life, err := h.read(c)
	if err != nil {
		return err
	}
	alive, err := h.lives.Generation(c.Request().Context(), c.Param("appId"), c.Param("sessionId"))
	if err != nil {
		return err
	}
	who := principalOf(c)
	token := repositories.SessionToken{
		AppID: c.Param("appId"), SessionID: c.Param("sessionId"), KeyID: who.keyID, Expires: h.now().Add(life).UTC().Truncate(time.Second), Life: alive,
	}
	if !who.expires.IsZero() && who.expires.Before(token.Expires) {
		token.Expires = who.expires
	}
	signed, err := h.tokens.SignToken(token)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusCreated, madeToken{signed.Reveal(), token.Expires})
}

// read returns how long the token is to be good. The body may be left out.
func (h sessionTokens) read(c echo.Context) (time.Duration, error) {
	body, err := readOptional(c)
	if err != nil || len(body) == 0 {
		return defaultTokenLife, err
	}
	return decodeTokenLife(h.bodies, body)
}
