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
	return []route{{method: http.MethodGet, path: pathApp + "/audit", handler: h.list, query: slices.Concat(pageQuery, []string{"action", "by"})}}
}

func (h acts) list(c echo.Context) error {
	a := &searchQuery{c: c}
	page := a.page(pageByID)
	search := audit.Query{AppID: c.Param("appId"), Action: a.oneOf("action", audit.Actions), By: a.text("by"), After: page.After, Limit: page.Limit}
	if err := a.problem(); err != nil {
		return err
	}
	if search.After != "" && !audit.IsID(search.After) {
		return answer.BadCursor()
	}
	items, next, err := h.audit.List(c.Request().Context(), search)
	return listPage(c, items, next, err)
}

// Context keys: the id that the middleware of a route generated, and the handler's mark that it changed
// nothing.
const (
	createdIDKey = "earshot.made"
	unchangedKey = "earshot.undone"
)

// createdID returns the id for the new object. The audit log records it before the object exists.
func createdID(c echo.Context) string {
	id, _ := c.Get(createdIDKey).(string)
	return id
}

// auditing returns the middleware that records an operation in the audit log before it runs.
func (h acts) auditing(r route) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			dryRun, err := isSet(c, "dryRun")
			erase, eraseErr := isSet(c, "erase")
			if dryRun || err != nil || eraseErr != nil || slices.Contains(r.query, "erase") && !erase {
				return next(c) // which reports the fault
			}
			entry := entryOf(c, r.auditAction)
			for _, name := range c.ParamNames() {
				about(&entry, name, c.Param(name))
			}
			if r.createsID != "" {
				c.Set(createdIDKey, h.newID())
				about(&entry, r.createsID, createdID(c))
			}
			c.SetRequest(c.Request().WithContext(audit.WithAuthor(c.Request().Context(), audit.Author{By: entry.By, KeyName: entry.KeyName, Via: entry.Via})))
			return h.audit.During(c.Request().Context(), c.Param("appId"), func() (bool, error) {
				err := next(c)
				return c.Get(unchangedKey) == nil && mayBeDone(err), err
			}, entry)
		}
	}
}

// auditMCP records in the audit log that an agent changes the state of a trigger.
func (h acts) auditMCP(ctx context.Context, c echo.Context, action audit.Action, triggerID string, do func() (query.Record, error)) error {
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
	caller := auth.PrincipalOf(c)
	return audit.Entry{
		Action: action, By: caller.Author(), KeyName: caller.KeyName, Via: audit.ViaOf(c.Request().Context()), Request: c.Response().Header().Get(server.RequestIDHeader),
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
