package api

import (
	"context"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/api/server"
	"earshot/repositories/audit"
	"earshot/trigger/query"
)

// Audit keeps the audit log of each app. audit.Log implements it.
type Audit interface {
	During(ctx context.Context, appID string, do func() (done bool, err error), entries ...audit.Entry) error
	List(ctx context.Context, asked audit.Query) (items []audit.Entry, next string, err error)
}

// acts records in the audit log what requests do, and serves that log.
type acts struct {
	audit Audit
	newID func() string
}

func (h acts) routes() []route {
	return []route{{method: http.MethodGet, path: ofApp + "/audit", handle: h.list, query: slices.Concat(pageQuery, []string{"action", "by"})}}
}

func (h acts) list(c echo.Context) error {
	a := &searchQuery{c: c}
	page := a.page(pageByID)
	asked := audit.Query{AppID: c.Param("appId"), Action: a.oneOf("action", audit.Actions), By: a.text("by"), After: page.After, Limit: page.Limit}
	if err := a.problem(); err != nil {
		return err
	}
	if asked.After != "" && !audit.IsID(asked.After) {
		return answer.BadCursor()
	}
	items, next, err := h.audit.List(c.Request().Context(), asked)
	return listPage(c, items, next, err)
}

// Context keys: the id that the middleware of a route generated, and the handler's mark that it changed
// nothing.
const (
	madeIDKey = "earshot.made"
	undoneKey = "earshot.undone"
)

// madeID returns the id for the new object. The audit log records it before the object exists.
func madeID(c echo.Context) string {
	id, _ := c.Get(madeIDKey).(string)
	return id
}

// recorded returns the middleware that records an operation in the audit log before it runs.
func (h acts) recorded(r route) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			dry, err := isSet(c, "dryRun")
			erases, wrong := isSet(c, "erase")
			if dry || err != nil || wrong != nil || slices.Contains(r.query, "erase") && !erases {
				return next(c) // which reports the fault
			}
			entry := entryOf(c, r.act)
			for _, name := range c.ParamNames() {
				about(&entry, name, c.Param(name))
			}
			if r.makes != "" {
				c.Set(madeIDKey, h.newID())
				about(&entry, r.makes, madeID(c))
			}
			c.SetRequest(c.Request().WithContext(audit.WithAuthor(c.Request().Context(), audit.Author{By: entry.By, KeyName: entry.KeyName, Via: entry.Via})))
			return h.audit.During(c.Request().Context(), c.Param("appId"), func() (bool, error) {
				err := next(c)
				return c.Get(undoneKey) == nil && mayBeDone(err), err
			}, entry)
		}
	}
}

// moved records in the audit log that an agent changes the state of a trigger.
func (h acts) moved(ctx context.Context, c echo.Context, action audit.Action, triggerID string, do func() (query.Record, error)) error {
	entry := entryOf(c, action)
	entry.Via, entry.TriggerID = audit.ViaMCP, triggerID
	return h.audit.During(ctx, c.Param("appId"), func() (bool, error) {
		record, err := do()
		return !record.Repeated && mayBeDone(err), err
	}, entry)
}

// mayBeDone reports whether the operation may have taken effect despite err: a server may fail after the
// change.
func mayBeDone(err error) bool {
	return err == nil || answer.ProblemOf(err).Status >= http.StatusInternalServerError
}

func entryOf(c echo.Context, action audit.Action) audit.Entry {
	who := auth.PrincipalOf(c)
	return audit.Entry{
		Action: action, By: who.Author(), KeyName: who.KeyName, Via: audit.ViaOf(c.Request().Context()), Request: c.Response().Header().Get(server.RequestIDHeader),
	}
}

// unaudited implements Audit without storing anything.
type unaudited struct{}

func (unaudited) During(_ context.Context, _ string, do func() (bool, error), _ ...audit.Entry) error {
	_, err := do()
	return err
}

func (unaudited) List(context.Context, audit.Query) (items []audit.Entry, next string, err error) {
	return nil, "", nil
}

// about sets the field of e for a path parameter. A user's name is never recorded.
func about(e *audit.Entry, name, id string) {
	switch name {
	case "triggerId":
		e.TriggerID = id
	case "sessionId":
		e.SessionID = id
	case "repositoryId":
		e.RepositoryID = id
	case "toolName":
		e.ToolName = id
	case "keyId":
		e.KeyID = id
	case "webhookName":
		e.WebhookName = id
	}
}
