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
	"earshot/repositories/parameters"
	"earshot/repositories/secret"
	"earshot/repositories/tracing"
)

func (o Options) authenticator() auth.Authenticator {
	a := auth.Authenticator{Admin: o.AdminKey, Keys: o.Keys, Tokens: o.Tokens, Now: o.Now, QueryPaths: []string{pathSessionEvents, pathSocket}, SignIns: o.SignIns}
	if o.Identities != nil {
		a.Issued = &auth.Issued{App: o.Store.App, Session: o.Store.Session, Verify: o.Identities.VerifyAccess}
	}
	return a
}

// ingress serves the protocols besides REST: MCP, chat completions and MQTT.
type ingress struct {
	Options
	by    auth.Authenticator
	users users
}

func (o ingress) routes() (all []route) {
	agents := mcp.New(mcp.Options{
		Engine: o.Engine, PendingCalls: o.PendingCalls, Events: o.Events, EnterStream: o.streams.Enter, StillValid: o.by.StillValid, Closing: o.Closing,
		Users: func(c echo.Context) (mcp.User, error) {
			caller, err := o.users.verify(c)
			return mcp.User{Claims: caller.claims, Explain: caller.explain}, err
		},
		Admission: o.Walls.Gates.Admitted(admission.Turn),
		WithAudit: acts{o.Audit, o.NewID}.auditMCP, Tracer: o.Tracer, TaskAfter: o.TaskAfter, Retention: o.Retention, NewID: o.NewID,
	})
	for _, prefix := range []string{pathApp + "/mcp", pathSession + "/mcp"} {
		for _, path := range []string{prefix, prefix + "/:repositoryId"} {
			// A subscription stays open, so the MCP server admits other calls by itself.
			all = append(all, route{method: http.MethodPost, path: path, handler: agents.Serve, readsBody: true, query: []string{"tools"}, share: admission.Stream, surface: ratelimit.MCP, counts: ratelimit.Triggers})
		}
	}

	all = append(all, route{method: http.MethodGet, path: auth.MetadataPath + "/*", open: true, handler: o.metadata})

	chats := gateway.New(gateway.Options{
		Engine: o.Engine, Settings: o.Store, Generations: o.Keys, Model: o.Model,
		Users: func(ctx context.Context, appID string, header http.Header) (parameters.Claims, map[string]string, error) {
			verified, err := o.users.verifyHeaders(ctx, appID, header)
			return verified.claims, verified.faults, err
		},
		Trace: tracing.Of, Now: o.Now, Logger: o.Logger, Metrics: o.Metrics,
	})
	for _, owner := range []string{pathApp, pathSession} {
		post := route{method: http.MethodPost, readsBody: true, bodyLimit: gateway.MaxBody, share: admission.Relay, surface: ratelimit.Chats, counts: ratelimit.Models}
		get := route{method: http.MethodGet, surface: ratelimit.Chats, counts: ratelimit.Models}
		for _, endpoint := range []struct {
			path    string
			route   route
			handler echo.HandlerFunc
		}{
			{pathCompletions, post, chats.Completions}, {pathResponses, post, chats.Responses}, {pathModels, get, chats.Models}, {pathModel, get, chats.Models},
		} {
			endpoint.route.path, endpoint.route.handler = owner+endpoint.path, endpoint.handler
			all = append(all, endpoint.route)
		}
	}

	broker := mqtt.New(mqtt.Options{
		Principal: func(ctx context.Context, token secret.Secret) (auth.Principal, error) {
			return o.by.SignIn(ctx, signin.ClientIn(ctx), token)
		},
		Engine: o.Engine, Events: o.Events, Origins: o.Origins, StillValid: o.by.StillValid,
		Lineages: o.Lineages, Enter: o.streams.Enter, Filters: o.Filters, Closing: o.Closing, Now: o.Now, Logger: o.Logger,
	})
	handle := broker.Serve
	if !o.SERMAS {
		handle = func(c echo.Context) error {
			return answer.NewProblem(answer.UnknownPath, c.Path()+" is for clients of SERMAS, which this service does not serve: start it with EARSHOT_SERMAS=on")
		}
	}
	return append(all, route{method: http.MethodGet, path: "/mqtt", handler: handle, open: true, readsBody: true})
}

// trimSlash removes the final slash that some clients add to MCP URLs.
func trimSlash(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		at := c.Request().URL
		trimmed, hasSlash := strings.CutSuffix(at.Path, "/")
		if !hasSlash {
			return next(c)
		}
		rest, inApp := strings.CutPrefix(trimmed, "/v1/apps/")
		parts := strings.Split(rest, "/")[min(1, strings.Count(rest, "/")):]
		if len(parts) > 2 && parts[0] == "sessions" {
			parts = parts[2:]
		}
		if inApp && len(parts) <= 2 && parts[0] == "mcp" {
			at.Path, at.RawPath = trimmed, ""
		}
		return next(c)
	}
}

// metadata serves which issuers' access tokens are valid at an MCP URL.
func (o ingress) metadata(c echo.Context) error {
	path := strings.TrimSuffix(strings.TrimPrefix(c.Request().URL.Path, auth.MetadataPath), "/")
	found, err := o.by.Issued.Metadata(c.Request().Context(), c.Request().Host, path)
	if err != nil {
		return err
	}
	if found == nil {
		return answer.NewProblem(answer.UnknownPath, "there is no metadata of a protected resource at this path")
	}
	return answer.JSON(c, http.StatusOK, found)
}
