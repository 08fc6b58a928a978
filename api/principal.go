package api

import (
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"earshot/repositories"
)

// principal is who makes a request: the admin, the holder of an app's key, or the
// front-end of one session.
type principal struct {
	admin     bool
	appID     string
	sessionID string // of a session token
	scopes    []repositories.Permission
	keyID     string                  // by which it can be revoked
	rootKey   string                  // with which it shares what is counted by key
	expires   time.Time               // zero for never
	life      repositories.Generation // of a session token
}

// principalKey is where authenticated leaves the principal.
const principalKey = "earshot.principal"

// principalOf returns who makes the request; nobody on routes that are open.
func principalOf(c echo.Context) principal {
	who, _ := c.Get(principalKey).(principal)
	return who
}

// frontEnd reports whether it is a session token, held by a browser.
func (p principal) frontEnd() bool { return p.sessionID != "" }

// owner reports whether the principal may change the app of the route, for which it was
// let in.
func (p principal) owner() bool { return p.admin || slices.Contains(p.scopes, repositories.PermitApp) }

// may reports whether the principal may use a route with these ids in its path.
func (p principal) may(a access, appID, sessionID string) bool {
	switch {
	case p.admin:
		return true
	case p.appID == "" || p.appID != appID:
		return false
	case p.frontEnd():
		return a.frontEnd && p.sessionID == sessionID
	default:
		return slices.ContainsFunc(a.scopes, func(s repositories.Permission) bool { return slices.Contains(p.scopes, s) })
	}
}
