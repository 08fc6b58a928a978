package api

import (
	"net/http"

	"earshot/repositories/store"

	"github.com/labstack/echo/v4"
)

// access is who may use a route beside the admin.
type access struct {
	scopes   []store.Permission // of the app's keys: any one of them
	frontEnd bool               // the session's tokens as well
}

// accessTable says who may do what (section 9 of the contract). A route that is not in
// it is the admin's alone: listing, creating and deleting apps, and whatever somebody
// forgets here.
func accessTable() map[string]access {
	const (
		app     = "/v1/apps/:appId"
		session = app + "/sessions/:sessionId"
	)
	type permissions = []store.Permission
	owner := access{scopes: permissions{store.PermitApp}}
	tools := access{scopes: permissions{store.PermitTools}}
	ofMessages := access{scopes: permissions{store.PermitMessages}}
	ofTriggers := access{scopes: permissions{store.PermitTriggers}}
	either := permissions{store.PermitMessages, store.PermitTriggers}
	table := map[string]access{
		"GET " + app:                     owner,
		"PUT " + app:                     owner,
		"POST " + app + "/keys":          owner,
		"GET " + app + "/keys":           owner,
		"DELETE " + app + "/keys/:keyId": owner,

		"POST " + session + "/messages": {scopes: ofMessages.scopes, frontEnd: true},
		"GET " + session + "/messages":  {scopes: ofMessages.scopes, frontEnd: true},
		"DELETE " + session:             ofMessages,
		"POST " + session + "/token":    ofMessages,

		"POST " + session + "/triggers":              {scopes: ofTriggers.scopes, frontEnd: true}, // source ui only
		"GET " + session + "/triggers":               ofTriggers,
		"POST " + app + "/triggers":                  ofTriggers,
		"GET " + app + "/triggers":                   ofTriggers,
		"GET " + app + "/triggers/:triggerId":        ofTriggers,
		"POST " + app + "/triggers/:triggerId/retry": ofTriggers,
		"POST " + app + "/triggers/retry":            ofTriggers,
		"DELETE " + app + "/triggers":                ofTriggers,

		"GET " + session + "/events": {scopes: either, frontEnd: true},
		"GET " + app + "/events":     {scopes: either},
	}
	for _, in := range []string{app, session} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			table[method+" "+in+"/repositories"] = tools
		}
		for _, method := range []string{http.MethodPut, http.MethodPatch, http.MethodGet, http.MethodDelete} {
			table[method+" "+in+"/repositories/:repositoryId"] = tools
		}
	}
	return table
}

// authorized lets those through who may use the route. It stands before everything
// that could tell what there is: to others an app that exists and one that does not
// are the same.
func authorized(a access) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if !principalOf(c).may(a, c.Param("appId"), c.Param("sessionId")) {
				return forbidden()
			}
			return next(c)
		}
	}
}

// forbidden is the one answer to those who may not, whatever the reason.
func forbidden() *problem {
	return newProblem(http.StatusForbidden, "this key or token is not good for this").
		with("WWW-Authenticate", challenge+`, error="insufficient_scope"`)
}
