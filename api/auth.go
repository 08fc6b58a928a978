package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"earshot/repositories"
)

// challenge says how to authenticate (RFC 6750, section 3).
const challenge = `Bearer realm="earshot"`

// authenticated lets a request through that carries the admin key. Routes that are
// open, unknown paths outside /v1 and OPTIONS, which tells no more than the open
// /openapi.json, need none. With an empty key nothing does.
func authenticated(key repositories.Secret, open map[string]bool) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		if key.Empty() {
			return next
		}
		want := sha256.Sum256([]byte(key.Reveal()))
		return func(c echo.Context) error {
			if needsNoKey(c, open) {
				return next(c)
			}
			if err := checkKey(c.Request().Header.Get("Authorization"), want); err != nil {
				return err
			}
			return next(c)
		}
	}
}

func needsNoKey(c echo.Context, open map[string]bool) bool {
	unknown := c.Path() == "" && !strings.HasPrefix(c.Request().URL.Path, "/v1")
	return unknown || open[c.Path()] || c.Request().Method == http.MethodOptions
}

// checkKey compares hashes, which are of one length, in constant time: neither the
// length of the key nor how much of it was right shows in the time of the answer.
func checkKey(authorization string, want [sha256.Size]byte) error {
	scheme, token, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return newProblem(http.StatusUnauthorized, "a key is needed: send it as the header Authorization: Bearer KEY").
			with("WWW-Authenticate", challenge)
	}
	got := sha256.Sum256([]byte(strings.TrimSpace(token)))
	if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
		return newProblem(http.StatusUnauthorized, "the key is not valid").
			with("WWW-Authenticate", challenge+`, error="invalid_token"`)
	}
	return nil
}
