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
		Engine: o.Engine, Asked: o.Asked, Events: o.Events, Enter: o.streams.Enter, StillGood: o.by.StillGood, Closing: o.Closing,
		Users: func(c echo.Context) (mcp.User, error) {
			who, err := o.users.of(c)
			return mcp.User{Claims: who.claims, Explained: who.explained}, err
		},
		Admitted: o.Walls.Gates.Admitted(admission.Turn),
		Moved:    acts{o.Audit, o.NewID}.moved, Tracer: o.Tracer, TaskAfter: o.TaskAfter, Kept: o.Kept, NewID: o.NewID,
	})
	for _, at := range []string{ofApp + "/mcp", ofSession + "/mcp"} {
		for _, path := range []string{at, at + "/:repositoryId"} {
			// A subscription stays open, so the MCP server admits other calls by itself.
			all = append(all, route{method: http.MethodPost, path: path, handle: agents.Serve, reads: true, query: []string{"tools"}, kind: admission.Stream, surface: ratelimit.MCP, counts: ratelimit.Triggers})
		}
	}

	all = append(all, route{method: http.MethodGet, path: auth.MetadataPath + "/*", open: true, handle: o.metadata})

	chats := gateway.New(gateway.Options{
		Engine: o.Engine, Settings: o.Store, Lives: o.Keys, Model: o.Model,
		Users: func(ctx context.Context, appID string, header http.Header) (parameters.Claims, map[string]string, error) {
			found, err := o.users.in(ctx, appID, header)
			return found.claims, found.faults, err
		},
		Trace: tracing.Of, Now: o.Now, Logger: o.Logger, Metrics: o.Metrics,
	})
	for _, owner := range []string{ofApp, ofSession} {
		asks := route{method: http.MethodPost, reads: true, most: gateway.MaxBody, kind: admission.Relay, surface: ratelimit.Chats, counts: ratelimit.Models}
		looks := route{method: http.MethodGet, surface: ratelimit.Chats, counts: ratelimit.Models}
		for _, one := range []struct {
			path   string
			as     route
			handle echo.HandlerFunc
		}{
			{pathCompletions, asks, chats.Completions}, {pathResponses, asks, chats.Responses}, {pathModels, looks, chats.Models}, {pathModel, looks, chats.Models},
		} {
			one.as.path, one.as.handle = owner+one.path, one.handle
			all = append(all, one.as)
		}
	}

	broker := mqtt.New(mqtt.Options{
		Principal: func(ctx context.Context, token secret.Secret) (auth.Principal, error) {
			return o.by.SignIn(ctx, signin.ClientIn(ctx), token)
		},
		Engine: o.Engine, Events: o.Events, Origins: o.Origins, StillGood: o.by.StillGood,
		Lineages: o.Lineages, Enter: o.streams.Enter, Filters: o.Filters, Closing: o.Closing, Now: o.Now, Logger: o.Logger,
	})
	handle := broker.Serve
	if !o.SERMAS {
		handle = func(c echo.Context) error {
			return answer.NewProblem(answer.UnknownPath, c.Path()+" is for clients of SERMAS, which this service does not serve: start it with EARSHOT_SERMAS=on")
		}
	}
	return append(all, route{method: http.MethodGet, path: "/mqtt", handle: handle, open: true, reads: true})
}

// unslashed removes the final slash that some clients add to MCP URLs.
func unslashed(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		at := c.Request().URL
		short, slashed := strings.CutSuffix(at.Path, "/")
		if !slashed {
			return next(c)
		}
		rest, inApp := strings.CutPrefix(short, "/v1/apps/")
		parts := strings.Split(rest, "/")[min(1, strings.Count(rest, "/")):]
		if len(parts) > 2 && parts[0] == "sessions" {
			parts = parts[2:]
		}
		if inApp && len(parts) <= 2 && parts[0] == "mcp" {
			at.Path, at.RawPath = short, ""
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
