package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/api/server"
	"earshot/repositories"
	"earshot/repositories/audit"
	"earshot/repositories/bodies"
	"earshot/repositories/keyspace"
	"earshot/trigger/query"
	"earshot/trigger/usage"
	"earshot/trigger/webhooks"
)

// Usage returns what apps have used. usage.Counter implements it.
type Usage interface {
	Read(ctx context.Context, appID string, by usage.Step, from, to time.Time) (list []usage.Use, total usage.Use, err error)
	Hosts(ctx context.Context, appID string, by usage.Step, from, to time.Time) ([]usage.Host, error)
}

type usages struct {
	usage Usage
	now   func() time.Time
}

func (h usages) routes() []route {
	return []route{
		{method: http.MethodGet, path: pathApp + "/usage", access: appKeys, handler: h.list, query: append([]string{"from", "to", "step", "since", "until"}, pageQuery...)},
		{method: http.MethodGet, path: pathApp + "/usage/hosts", access: appKeys, handler: h.hosts, query: append([]string{"since", "until"}, pageQuery...)},
	}
}

var usageSteps = []string{usage.Minute.Name, usage.Hour.Name, usage.Day.Name}

// Default lengths of the list.
const (
	usageDays    = 30
	usageHours   = 24
	usageMinutes = 60
)

func (h usages) list(c echo.Context) error {
	a := &searchQuery{c: c}
	step, count := usage.Day, usageDays
	switch a.oneOf("step", usageSteps) {
	case usage.Minute.Name:
		step, count = usage.Minute, usageMinutes
	case usage.Hour.Name:
		step, count = usage.Hour, usageHours
	}
	from, to := a.usedTime(step, h.now(), count)
	if err := a.problem(); err != nil {
		return err
	}
	steps, total, err := h.usage.Read(c.Request().Context(), c.Param("appId"), step, from, to)
	if err != nil {
		return err
	}
	items, next, err := pageNamed(c, steps, func(used usage.Use) string { return used.Begins.Format(time.RFC3339) })
	return answer.Result(c, http.StatusOK, struct {
		Items []usage.Use `json:"items"`
		Next  string      `json:"next,omitempty"`
		Total usage.Use   `json:"total"`
	}{append([]usage.Use{}, items...), encodeCursor(c, next), total}, err)
}

// hosts lists hosts by minutes if these are kept for the whole time, otherwise by hours.
func (h usages) hosts(c echo.Context) error {
	a := &searchQuery{c: c}
	step, count := usage.Minute, usageMinutes
	if since := a.time("since"); !since.IsZero() && h.now().Sub(since) >= time.Duration(step.Number-1)*step.Length {
		step, count = usage.Hour, usageHours
	}
	from, to := a.usedTime(step, h.now(), count)
	if err := a.problem(); err != nil {
		return err
	}
	items, err := h.usage.Hosts(c.Request().Context(), c.Param("appId"), step, from, to)
	if err != nil {
		return err
	}
	return listNamed(c, items, func(host usage.Host) string { return host.Name })
}

// usedTime reads the requested time range: since and until, or the days from and to. Its length is limited
// by how long its steps are kept.
func (a *searchQuery) usedTime(step usage.Step, now time.Time, count int) (from, to time.Time) {
	since, until, first, last := a.time("since"), a.time("until"), a.day("from"), a.day("to")
	days := !first.IsZero() || !last.IsZero()
	if days && (step != usage.Day || !since.IsZero() || !until.IsZero()) {
		a.fault("from and to name days, where step is day: name times by since and until")
	}
	if to = last; !days && !until.IsZero() {
		to = until.Add(-1) // until is exclusive
	}
	if to.IsZero() {
		to = now.UTC()
	}
	if from = first; !days {
		from = since
	}
	if from.IsZero() {
		from = to.Add(-time.Duration(count-1) * step.Length)
	}
	names := [2]string{"since", "until"}
	if days {
		names = [2]string{"from", "to"}
	}
	if count := int(to.Truncate(step.Length).Sub(from.Truncate(step.Length))/step.Length) + 1; to.Before(from) {
		a.fault(names[1] + " is before " + names[0])
	} else if count > step.Number {
		a.fault(names[0] + " and " + names[1] + " are " + strconv.Itoa(count) + " " + step.Name + "s; ask for " + strconv.Itoa(step.Number) + " at most, as long as they are kept")
	}
	return from, to
}

// unused implements Usage without any counts.
type unused struct{}

func (unused) Read(context.Context, string, usage.Step, time.Time, time.Time) ([]usage.Use, usage.Use, error) {
	return nil, usage.Use{}, nil
}

func (unused) Hosts(context.Context, string, usage.Step, time.Time, time.Time) ([]usage.Host, error) {
	return nil, nil
}

// Webhooks returns the state of webhooks. It fails with repositories.ErrNotFound without the app or
// webhook, keyspace.ErrUnavailable, or the stream's error.
type Webhooks interface {
	List(ctx context.Context, appID string) ([]webhooks.Webhook, error)
	Deliveries(ctx context.Context, appID, name, state string, page query.Page) (items []webhooks.Delivery, next string, err error)
	// Resend sends a webhook the events since a moment again, or without one those that failed to arrive.
	Resend(ctx context.Context, appID, name string, since *time.Time) error
}

type hooks struct {
	webhooks Webhooks
	bodies   *bodies.Definitions
}

func (h hooks) routes() []route {
	const all, one = pathApp + "/webhooks", pathApp + "/webhooks/:webhookName"
	list := func(c echo.Context) error {
		items, err := h.webhooks.List(c.Request().Context(), c.Param("appId"))
		if err != nil {
			return err
		}
		return listNamed(c, items, func(one webhooks.Webhook) string { return one.Name })
	}
	served := func(handle echo.HandlerFunc) echo.HandlerFunc {
		if h.webhooks == nil {
			return func(echo.Context) error { return eventsDisabled() }
		}
		return handle
	}
	return []route{
		{method: http.MethodGet, path: all, access: appKeys, handler: served(list), query: pageQuery},
		{method: http.MethodGet, path: one + "/deliveries", access: appKeys, handler: served(h.deliveries), query: append([]string{"state"}, pageQuery...)},
		{method: http.MethodPost, path: one + "/resend", access: appKeys, handler: served(h.resend), readsBody: true, auditAction: audit.ResendWebhook},
	}
}

var deliveryStates = []string{webhooks.DeliveryWaiting, webhooks.DeliveryFailed}

func (h hooks) deliveries(c echo.Context) error {
	a := &searchQuery{c: c}
	state, page := a.oneOf("state", deliveryStates), a.page(pageByID)
	if err := a.problem(); err != nil {
		return err
	}
	items, next, err := h.webhooks.Deliveries(c.Request().Context(), c.Param("appId"), c.Param("webhookName"), state, page)
	return listPage(c, items, next, streamAway(err))
}

func (h hooks) resend(c echo.Context) error {
	var given struct {
		Since *time.Time `json:"since"`
	}
	if err := decodeOptional(c, h.bodies, "Resend", &given); err != nil {
		return err
	}
	return answer.Done(c, http.StatusAccepted, streamAway(h.webhooks.Resend(c.Request().Context(), c.Param("appId"), c.Param("webhookName"), given.Since)))
}

// streamAway returns the problem for an event stream that cannot be read.
func streamAway(err error) error {
	if err == nil || errors.Is(err, repositories.ErrNotFound) || errors.Is(err, keyspace.ErrUnavailable) || errors.Is(err, query.ErrCursor) {
		return err
	}
	return answer.NewProblem(answer.EventsUnavailable, "the stream of events cannot be read now; send the request again").With("Retry-After", answer.Soon).Because(err)
}

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
	return []route{{method: http.MethodGet, path: pathApp + "/audit", access: appKeys, handler: h.list, query: slices.Concat(pageQuery, []string{"action", "by"})}}
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
