package api

import (
	"net/http"
	"strings"

	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/repositories/store"
)

// Paths of what belongs to an app, to one of its sessions, and to a user of these.
const (
	ofApp     = "/v1/apps/:appId"
	ofSession = ofApp + "/sessions/:sessionId"
	ofUser    = ofApp + "/users/:user"
)

// Paths of the endpoint for chats, of an app or of a session.
const (
	pathCompletions = answer.OpenAIPath + "chat/completions"
	pathResponses   = answer.OpenAIPath + "responses"
	pathModels      = answer.OpenAIPath + "models"
	pathModel       = pathModels + "/:modelId"
)

// accessGroups say who may do what (section 9 of the contract): operations, by the scopes of
// which a key needs one.
var accessGroups = []struct {
	auth.Access
	operations []string
}{
	{auth.Access{Anyone: true}, []string{"GET /v1/whoami"}},
	{auth.Access{Scopes: []store.Permission{store.PermitApp}}, []string{
		"GET " + ofApp, "PUT " + ofApp, "PATCH " + ofApp,
		"POST " + ofApp + "/keys", "GET " + ofApp + "/keys", "DELETE " + ofApp + "/keys/:keyId",
		"GET " + ofApp + "/sources", "GET " + ofApp + "/audit", "GET " + ofApp + "/usage", "GET " + ofApp + "/usage/hosts",
		"GET " + ofApp + "/webhooks", "GET " + ofApp + "/webhooks/:webhookName/deliveries", "POST " + ofApp + "/webhooks/:webhookName/resend",
	}},
	{auth.Access{Scopes: []store.Permission{store.PermitTools}}, []string{
		"GET " + ofApp + "/repositories", "POST " + ofApp + "/repositories",
		"PUT " + ofApp + "/repositories/:repositoryId", "PATCH " + ofApp + "/repositories/:repositoryId",
		"GET " + ofApp + "/repositories/:repositoryId", "DELETE " + ofApp + "/repositories/:repositoryId",
		"DELETE " + ofApp + "/repositories/:repositoryId/tools/:toolName", "DELETE " + ofSession + "/repositories/:repositoryId/tools/:toolName",
		"GET " + ofApp + "/repositories/:repositoryId/versions", "GET " + ofApp + "/repositories/:repositoryId/versions/:version",
		"POST " + ofApp + "/repositories/:repositoryId/versions/:version/restore",
		"GET " + ofApp + "/tests", "GET " + ofApp + "/tests/:testName", "PUT " + ofApp + "/tests/:testName", "DELETE " + ofApp + "/tests/:testName",
		"GET " + ofSession + "/repositories", "POST " + ofSession + "/repositories",
		"PUT " + ofSession + "/repositories/:repositoryId", "PATCH " + ofSession + "/repositories/:repositoryId",
		"GET " + ofSession + "/repositories/:repositoryId", "DELETE " + ofSession + "/repositories/:repositoryId",
	}},
	{auth.Access{Scopes: []store.Permission{store.PermitTools, store.PermitTriggers}}, []string{
		"GET " + ofApp + "/tools", "GET " + ofSession + "/tools", "GET " + ofApp + "/tools/usage",
		"POST " + ofApp + "/tools/search", "POST " + ofSession + "/tools/search",
	}},
	{auth.Access{Scopes: []store.Permission{store.PermitMessages}}, []string{
		"GET " + ofApp + "/sessions", "PUT " + ofSession, "DELETE " + ofSession, "POST " + ofSession + "/token",
		"POST " + ofApp + "/rehearsals",
		"GET " + ofUser + "/export", "DELETE " + ofUser,
		"GET " + ofSession + "/export", "GET " + ofSession + "/messages/:messageId/explain",
	}},
	{auth.Access{Scopes: []store.Permission{store.PermitMessages}, FrontEnd: true}, []string{
		"GET " + ofSession,
		"POST " + ofSession + "/messages", "GET " + ofSession + "/messages",
		"GET " + ofSession + "/messages/:messageId", "DELETE " + ofSession + "/messages/:messageId",
		"POST " + ofSession + "/messages/:messageId/commit",
	}},
	{auth.Access{Scopes: []store.Permission{store.PermitMessages}, FrontEnd: true, OwnSession: true}, []string{
		"POST " + ofApp + pathCompletions, "POST " + ofSession + pathCompletions,
		"POST " + ofApp + pathResponses, "POST " + ofSession + pathResponses,
		"GET " + ofApp + pathModels, "GET " + ofSession + pathModels,
		"GET " + ofApp + pathModel, "GET " + ofSession + pathModel,
	}},
	{auth.Access{Scopes: []store.Permission{store.PermitTriggers}}, []string{
		"POST " + ofApp + "/mcp", "POST " + ofApp + "/mcp/:repositoryId",
		"POST " + ofApp + "/triggers", "GET " + ofApp + "/triggers", "DELETE " + ofApp + "/triggers",
		"GET " + ofApp + "/triggers/:triggerId", "DELETE " + ofApp + "/triggers/:triggerId", "POST " + ofApp + "/triggers/:triggerId/retry",
		"POST " + ofApp + "/triggers/retry", "GET " + ofApp + "/backlog",
	}},
	{auth.Access{Scopes: []store.Permission{store.PermitTriggers}, FrontEnd: true}, []string{
		"POST " + ofSession + "/triggers", // of a token with source ui only
		"POST " + ofSession + "/mcp", "POST " + ofSession + "/mcp/:repositoryId",
	}},
	{auth.Access{Scopes: []store.Permission{store.PermitTriggers}, FrontEnd: true, ByTrigger: true}, []string{
		"POST " + ofApp + "/triggers/:triggerId/answer", "POST " + ofApp + "/triggers/:triggerId/confirm",
		"POST " + ofApp + "/triggers/:triggerId/deny", "POST " + ofApp + "/triggers/:triggerId/cancel",
	}},
	{auth.Access{Scopes: []store.Permission{store.PermitMessages, store.PermitTriggers}}, []string{
		"GET " + ofApp + "/events", "GET " + ofSession + "/triggers",
	}},
	{auth.Access{Scopes: []store.Permission{store.PermitMessages, store.PermitTriggers}, FrontEnd: true}, []string{
		"GET " + ofSession + "/events", "GET " + pathSocket,
	}},
}

// accessTable is who may do what, by operation. A route that is not in it is the admin's
// alone: listing, creating and deleting apps, and whatever somebody forgets here.
func accessTable() map[string]auth.Access {
	table := map[string]auth.Access{}
	for _, group := range accessGroups {
		for _, operation := range group.operations {
			table[operation] = group.Access
			if changesNothing(operation) {
				table[operation] = group.Reading()
			}
		}
	}
	return table
}

// changesNothing reports whether an operation changes nothing of an app. Agents speak MCP by POST alone, which is not for reading:
// what they would list is there by GET.
func changesNothing(operation string) bool {
	return strings.HasPrefix(operation, http.MethodGet+" ") || strings.HasSuffix(operation, "/tools/search")
}
