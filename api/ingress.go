package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"earshot/api/admission"
	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/api/gateway"
	"earshot/api/mcp"
	"earshot/api/mqtt"
	"earshot/api/ratelimit"
	"earshot/api/signin"
	"earshot/repositories/secret"
	"earshot/repositories/tracing"
)

// agents are the routes of the MCP servers.
func (o Options) agents(people users, gates *admission.Control) []route {
	served := mcp.New(mcp.Options{
		Engine: o.Engine, Asked: o.Asked, Events: o.Events, Enter: admission.NewStreamLimit(o.Streams).Enter, StillGood: o.authenticator().StillGood, Closing: o.Closing,
		Users: func(c echo.Context) (mcp.User, error) {
			who, err := people.of(c)
			return mcp.User{Claims: who.claims, Explained: who.explained}, err
		},
		Admitted: gates.Admitted(admission.Turn),
		Tracer:   o.Tracer, TaskAfter: o.TaskAfter, Kept: o.Kept, NewID: o.NewID,
	})
	var all []route
	for _, at := range []string{ofApp + "/mcp", ofSession + "/mcp"} {
		for _, path := range []string{at, at + "/:repositoryId"} {
			// A subscription stays open, so that the server admits what is none by itself.
			all = append(all, route{method: http.MethodPost, path: path, handle: served.Serve, reads: true, query: []string{"tools"}, kind: admission.Stream, surface: ratelimit.MCP, counts: ratelimit.Triggers})
		}
	}
	return all
}

// chats are the routes of the endpoint that chat clients take for their model.
func (o Options) chats(people users) []route {
	handler := gateway.New(gateway.Options{
		Engine: o.Engine, Settings: o.Store, Lives: o.Keys, Model: o.Model, Users: people.after, Trace: tracing.Of, Now: o.Now, Logger: o.Logger, Metrics: o.Metrics,
	})
	var all []route
	for _, owner := range []string{ofApp, ofSession} {
		all = append(all,
			route{method: http.MethodPost, path: owner + pathCompletions, handle: handler.Chat, reads: true, most: gateway.MaxBody, kind: admission.Relay, surface: ratelimit.Chats, counts: ratelimit.Models},
			route{method: http.MethodGet, path: owner + pathModels, handle: handler.Models, surface: ratelimit.Chats, counts: ratelimit.Models})
	}
	return all
}

// brokers are the routes of clients that speak MQTT, as those of SERMAS do.
func (o Options) brokers(by auth.Authenticator) []route {
	served := mqtt.New(mqtt.Options{
		Principal: func(ctx context.Context, token secret.Secret) (auth.Principal, error) {
			return by.SignIn(ctx, signin.ClientIn(ctx), token)
		},
		Engine: o.Engine, Events: o.Events, StillGood: by.StillGood,
		Lineages: o.Lineages, Enter: admission.NewStreamLimit(o.Streams).Enter, Filters: o.Filters, Closing: o.Closing, Now: o.Now, Logger: o.Logger,
	})
	handle := served.Serve
	if !o.SERMAS {
		handle = func(c echo.Context) error {
			return answer.NewProblem(http.StatusNotFound, c.Path()+" is for clients of SERMAS, which this service does not serve: start it with EARSHOT_SERMAS=on")
		}
	}
	return []route{{method: http.MethodGet, path: "/mqtt", handle: handle, open: true, reads: true}}
}

// unslashed takes a final slash off the URLs of MCP servers, which some clients put there.
func unslashed(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		at := c.Request().URL
		if short, has := strings.CutSuffix(at.Path, "/"); has && servesAgents(short) {
			at.Path, at.RawPath = short, ""
		}
		return next(c)
	}
}

// servesAgents reports whether a path is that of an MCP server.
func servesAgents(path string) bool {
	rest, is := strings.CutPrefix(path, "/v1/apps/")
	parts := strings.Split(rest, "/")[min(1, strings.Count(rest, "/")):]
	if len(parts) > 2 && parts[0] == "sessions" {
		parts = parts[2:]
	}
	return is && len(parts) > 0 && parts[0] == "mcp" && len(parts) <= 2
}
