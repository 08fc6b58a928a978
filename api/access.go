package api

import (
	"net/http"

	"earshot/api/auth"
	"earshot/repositories/store"
)

// accessTable says who may do what (section 9 of the contract). A route that is not in
// it is the admin's alone: listing, creating and deleting apps, and whatever somebody
// forgets here.
func accessTable() map[string]auth.Access {
	const (
		app     = "/v1/apps/:appId"
		session = app + "/sessions/:sessionId"
	)
	type permissions = []store.Permission
	owner := auth.Access{Scopes: permissions{store.PermitApp}}
	tools := auth.Access{Scopes: permissions{store.PermitTools}}
	ofMessages := auth.Access{Scopes: permissions{store.PermitMessages}}
	ofTriggers := auth.Access{Scopes: permissions{store.PermitTriggers}}
	either := permissions{store.PermitMessages, store.PermitTriggers}
	table := map[string]auth.Access{
		"GET /v1/whoami": {Anyone: true},

		"GET " + app:                     owner,
		"PUT " + app:                     owner,
		"POST " + app + "/keys":          owner,
		"GET " + app + "/keys":           owner,
		"GET " + app + "/sources":        owner,
		"DELETE " + app + "/keys/:keyId": owner,

		"POST " + session + "/messages": {Scopes: ofMessages.Scopes, FrontEnd: true},
		"GET " + session + "/messages":  {Scopes: ofMessages.Scopes, FrontEnd: true},
		"DELETE " + session:             ofMessages,

		"GET " + session + "/messages/:messageId":         {Scopes: ofMessages.Scopes, FrontEnd: true},
		"GET " + session + "/messages/:messageId/explain": ofMessages,
		"POST " + session + "/messages/:messageId/commit": {Scopes: ofMessages.Scopes, FrontEnd: true},
		"DELETE " + session + "/messages/:messageId":      {Scopes: ofMessages.Scopes, FrontEnd: true},

		"POST " + session + "/token": ofMessages,

		"POST " + session + "/triggers":              {Scopes: ofTriggers.Scopes, FrontEnd: true}, // source ui only
		"GET " + session + "/triggers":               ofTriggers,
		"POST " + app + "/triggers":                  ofTriggers,
		"GET " + app + "/triggers":                   ofTriggers,
		"GET " + app + "/triggers/:triggerId":        ofTriggers,
		"POST " + app + "/triggers/:triggerId/retry": ofTriggers,
		"POST " + app + "/triggers/retry":            ofTriggers,
		"DELETE " + app + "/triggers":                ofTriggers,

		"GET " + session + "/events": {Scopes: either, FrontEnd: true},
		"GET " + app + "/events":     {Scopes: either},
	}
	for _, word := range []string{"answer", "confirm", "deny", "cancel"} {
		table["POST "+app+"/triggers/:triggerId/"+word] = auth.Access{Scopes: ofTriggers.Scopes, FrontEnd: true, ByTrigger: true}
	}
	table["GET "+app+"/tools/usage"] = auth.Access{Scopes: permissions{store.PermitTools, store.PermitTriggers}}
	for _, in := range []string{app, session} {
		table["GET "+in+"/tools"] = auth.Access{Scopes: permissions{store.PermitTools, store.PermitTriggers}}
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			table[method+" "+in+"/repositories"] = tools
		}
		for _, method := range []string{http.MethodPut, http.MethodPatch, http.MethodGet, http.MethodDelete} {
			table[method+" "+in+"/repositories/:repositoryId"] = tools
		}
	}
	return table
}
