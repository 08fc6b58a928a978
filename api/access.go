package api

import (
	"net/http"
	"strings"

	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/repositories/store"
)

// Paths of an app, of one of its sessions and of one of its users.
const (
	ofApp     = "/v1/apps/:appId"
	ofSession = ofApp + "/sessions/:sessionId"
	ofUser    = ofApp + "/users/:user"
)

// Paths of the OpenAI-compatible endpoint, below an app or a session.
const (
	pathCompletions = answer.OpenAIPath + "chat/completions"
	pathResponses   = answer.OpenAIPath + "responses"
	pathModels      = answer.OpenAIPath + "models"
	pathModel       = pathModels + "/:modelId"
)

// accessGroups lists who may call which operations (section 9 of the contract). A key needs one of a
// group's scopes.
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
		"POST " + ofSession + "/triggers", // only with source ui when called with a session token
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

// accessTable returns the access of each operation. A route without an entry is reserved for the admin:
// listing, creating and deleting apps, and any forgotten route.
func accessTable() map[string]auth.Access {
	table := map[string]auth.Access{}
	for _, group := range accessGroups {
		for _, operation := range group.operations {
			table[operation] = group.Access
			// Operations that leave the app unchanged. MCP is left out, as it uses POST for everything; read-only
			// keys list tools and triggers by GET.
			if strings.HasPrefix(operation, http.MethodGet+" ") || strings.HasSuffix(operation, "/tools/search") {
				table[operation] = group.Reading()
			}
		}
	}
	return table
}
