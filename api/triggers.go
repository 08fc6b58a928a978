package api

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"earshot/api/admission"
	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/api/ratelimit"
	"earshot/repositories"
	"earshot/repositories/audit"
	"earshot/repositories/bodies"
	"earshot/repositories/tracing"
	"earshot/trigger"
	"earshot/trigger/effect"
	"earshot/trigger/query"
)

// triggers serves direct triggers and the records of all triggers.
type triggers struct {
	engine Engine
	users  users
	bodies *bodies.Definitions
}

// Parameters of trigger searches, in lists and bulk operations.
var (
	triggerQuery = []string{"state", "name", "since", "until", "value", "reason", "source", "messageId"}
	listedQuery  = slices.Concat(pageQuery, triggerQuery, []string{"order"})
	appQuery     = slices.Concat(listedQuery, []string{"session"})
	bulkQuery    = slices.Concat(triggerQuery, []string{"session", "dryRun"})
)

func (h triggers) routes() []route {
	const (
		app     = pathApp + "/triggers"
		session = pathSession + "/triggers"
		one     = app + "/:triggerId"
	)
	noBody := func(echo.Context) ([]byte, error) { return nil, nil }
	cancel := func(e Engine, ctx context.Context, appID, triggerID, _, by string) (query.Record, error) {
		return e.Cancel(ctx, appID, triggerID, by)
	}
	retry := func(c echo.Context) error {
		by := auth.PrincipalOf(c).Name()
		return answer.Done(c, http.StatusAccepted, h.engine.Retry(c.Request().Context(), c.Param("appId"), c.Param("triggerId"), by))
	}
	retryAll := func(c echo.Context) error {
		return h.changeFailed(c, http.StatusAccepted, func(ctx context.Context, q query.Triggers) (int, error) {
			return h.engine.RetryAll(ctx, q, auth.PrincipalOf(c).Name())
		})
	}
	return []route{
		{method: http.MethodPost, path: app, access: triggerKeys, handler: withBody(h.fire), natsName: "trigger", readsBody: true, share: admission.Turn, counts: ratelimit.Triggers},
		{method: http.MethodPost, path: session, access: triggerCallers, handler: withBody(h.fire), natsName: "trigger", readsBody: true, share: admission.Turn, counts: ratelimit.Triggers},
		{method: http.MethodGet, path: app, access: triggerKeys, handler: h.list, natsName: "triggers", query: appQuery},
		{method: http.MethodGet, path: session, access: eventKeys, handler: h.list, natsName: "triggers", query: listedQuery},
		{method: http.MethodGet, path: pathApp + "/backlog", access: triggerKeys, handler: h.backlog},
		{method: http.MethodGet, path: one, access: triggerKeys, handler: finds(h.engine, Engine.Trigger, "triggerId"), natsName: "get-trigger"},
		{method: http.MethodDelete, path: one, access: triggerKeys, handler: removes(h.engine, Engine.Remove, "triggerId"), auditAction: audit.Remove},
		{method: http.MethodPost, path: one + "/retry", access: triggerKeys, handler: retry, natsName: "retry", auditAction: audit.Retry},
		{method: http.MethodPost, path: one + "/answer", access: triggerOwners, handler: withBody(h.answer), natsName: "answer", readsBody: true},
		{method: http.MethodPost, path: one + "/confirm", access: triggerOwners, handler: h.transition(readBody, "Confirmation", Engine.Confirm), natsName: "confirm", readsBody: true, share: admission.Turn, auditAction: audit.Confirm},
		{method: http.MethodPost, path: one + "/deny", access: triggerOwners, handler: h.transition(readOptional, "Denial", Engine.Deny), natsName: "deny", readsBody: true, auditAction: audit.Deny},
		{method: http.MethodPost, path: one + "/cancel", access: triggerOwners, handler: h.transition(noBody, "", cancel), natsName: "cancel", auditAction: audit.Cancel},
		{method: http.MethodPost, path: app + "/retry", access: triggerKeys, handler: retryAll, query: bulkQuery, auditAction: audit.RetryAll},
		{method: http.MethodDelete, path: app, access: triggerKeys, handler: h.purge, query: bulkQuery, auditAction: audit.Purge},
	}
}

func (h triggers) fire(c echo.Context, body []byte) error {
	var fields struct {
		Name         string         `json:"name"`
		RepositoryID string         `json:"repositoryId"`
		Values       map[string]any `json:"values"` // json.Number keeps the digits as sent
		Source       string         `json:"source"`
		TriggerID    string         `json:"triggerId"`

		Metadata repositories.Metadata `json:"metadata"`
	}
	parsed, err := h.bodies.Read("Direct", body)
	if err != nil {
		return err
	}
	parsed.Into(&fields)
	checkMetadata(parsed, fields.Metadata)
	if err := parsed.Err(); err != nil {
		return err
	}
	if fields.TriggerID, err = idempotent(c, "triggerId", fields.TriggerID, func(id string) error { return repositories.CheckID("the id", id) }); err != nil {
		return err
	}
	principal := auth.PrincipalOf(c)
	if principal.FrontEnd() && fields.Source != query.SourceUI {
		return auth.Forbidden() // browsers may not act as a task or an agent
	}
	caller, err := h.users.verify(c)
	if err != nil {
		return err
	}
	match, err := h.engine.Fire(c.Request().Context(), trigger.Direct{
		AppID: c.Param("appId"), SessionID: c.Param("sessionId"), Claims: caller.claims, FrontEnd: principal.FrontEnd(), Life: principal.Life(), TraceParent: tracing.Of(c.Request().Context()),
		Name: fields.Name, RepositoryID: fields.RepositoryID, Values: fields.Values,
		Source: fields.Source, TriggerID: fields.TriggerID, Metadata: fields.Metadata,
	})
	if err != nil {
		return caller.explain(err)
	}
	var fired struct {
		TriggerID string `json:"triggerId"`
	}
	if json.Unmarshal(match, &fired) == nil && fired.TriggerID != "" {
		c.Response().Header().Set(echo.HeaderLocation, "/v1/apps/"+c.Param("appId")+"/triggers/"+fired.TriggerID)
	}
	return answer.Stored(c, http.StatusCreated, match)
}

func (h triggers) list(c echo.Context) error {
	a := &searchQuery{c: c}
	search := a.triggers()
	search.Page, search.Oldest = a.page(pageOf), a.oneOf("order", orders) == "asc"
	if err := a.problem(); err != nil {
		return err
	}
	items, next, err := h.engine.Triggers(c.Request().Context(), search)
	var until *time.Time
	if reached := query.SearchedUntil(next); len(items) < search.Page.Limit && !reached.IsZero() {
		until = &reached
	}
	return answer.Result(c, http.StatusOK, struct {
		Items []query.Record `json:"items"`
		Next  string         `json:"next,omitempty"`
		// SearchedUntil is how far the search got if the page is not full.
		SearchedUntil *time.Time `json:"searchedUntil,omitempty"`
	}{append([]query.Record{}, items...), encodeCursor(c, next), until}, err)
}

// Accepted values of the search parameters.
var (
	triggerStates = []string{
		query.StatePending, query.StateDelivered, query.StateFailed, query.StateConfirming, query.StateCancelled, query.StateDuplicate,
	}
	triggerSources = []string{query.SourceMessage, query.SourceUI, query.SourceTask, query.SourceAgent}
	failureReasons = []string{
		string(effect.ReasonAuth), string(effect.ReasonRequest), string(effect.ReasonTimeout), string(effect.ReasonBlocked), string(effect.ReasonUnknown),
	}
)

func (a *searchQuery) triggers() query.Triggers {
	q := query.Triggers{
		AppID: a.c.Param("appId"), SessionID: a.c.Param("sessionId"),
		State: a.oneOf("state", triggerStates), Source: a.oneOf("source", triggerSources), Reason: effect.Reason(a.oneOf("reason", failureReasons)),
		Name: a.valid("name", repositories.CheckToolName), MessageID: a.text("messageId"), Value: a.text("value"),
		Since: a.time("since"), Until: a.time("until"),
	}
	if !q.Since.IsZero() && !q.Until.IsZero() && q.Until.Before(q.Since) {
		a.fault("until is before since")
	}
	if q.SessionID == "" {
		q.SessionID = a.valid("session", func(id string) error { return repositories.CheckID("session", id) })
		q.AllLives = q.SessionID != ""
	}
	return q
}

func (h triggers) backlog(c echo.Context) error {
	found, err := h.engine.Backlog(c.Request().Context(), c.Param("appId"))
	return answer.Result(c, http.StatusOK, found, err)
}

func (h triggers) answer(c echo.Context, body []byte) error {
	if err := h.checkOwner(c); err != nil {
		return err
	}
	reply, err := effect.ReadAnswer(body)
	if err != nil {
		return err
	}
	record, err := h.engine.Answer(c.Request().Context(), c.Param("appId"), c.Param("triggerId"), reply)
	return writeRecord(c, http.StatusOK, record, err)
}

// transition returns the handler that changes the state of a trigger. read reads the body, which may be empty,
// and schema describes it. change makes the first attempts at the effects before it returns, as Fire does.
func (h triggers) transition(
	read func(c echo.Context) ([]byte, error), schema string,
	change func(e Engine, ctx context.Context, appID, triggerID, digest, by string) (query.Record, error),
) echo.HandlerFunc {
	return func(c echo.Context) error {
		body, err := read(c)
		if err != nil {
			return err
		}
		if err := h.checkOwner(c); err != nil {
			return err
		}
		var fields struct {
			Digest string `json:"digest"`
		}
		if len(body) > 0 {
			if err := h.bodies.Decode(schema, body, &fields); err != nil {
				return err
			}
		}
		record, err := change(h.engine, c.Request().Context(), c.Param("appId"), c.Param("triggerId"), fields.Digest, auth.PrincipalOf(c).Author())
		status := http.StatusAccepted
		if record.Repeated { // the client lost the first answer
			status = http.StatusOK
			c.Set(unchangedKey, true)
		}
		return writeRecord(c, status, record, err)
	}
}

// writeRecord answers with a record or err. A front-end sees the outcome of the trigger, not the requests
// that were sent.
func writeRecord(c echo.Context, status int, record query.Record, err error) error {
	if err != nil {
		return err
	}
	if auth.PrincipalOf(c).FrontEnd() {
		record.Attempts, record.Retries = []query.Attempt{}, nil
	}
	return answer.JSON(c, status, record)
}

// checkOwner refuses a front-end the triggers of other sessions, and of an earlier session of its session's id, with
// the same error whether they exist or not. Every route of auth.Access.ByTrigger calls it first.
func (h triggers) checkOwner(c echo.Context) error {
	caller := auth.PrincipalOf(c)
	if !caller.FrontEnd() {
		return nil
	}
	fired, err := h.engine.FiredInSession(c.Request().Context(), c.Param("appId"), caller.SessionID, c.Param("triggerId"))
	if err == nil && !fired {
		return auth.Forbidden()
	}
	return err
}

// purge removes failed triggers. The state is required, so that a forgotten query does not cost an app its
// records.
func (h triggers) purge(c echo.Context) error {
	if state := c.QueryParam("state"); state != query.StateFailed {
		return answer.NewProblem(answer.InvalidQuery, "only failed triggers can be purged: add ?state=failed")
	}
	return h.changeFailed(c, http.StatusOK, h.engine.Purge)
}

// changeFailed changes all failed triggers of the query, and answers with their number. A dry run only counts
// them.
func (h triggers) changeFailed(c echo.Context, status int, change func(context.Context, query.Triggers) (int, error)) error {
	a := &searchQuery{c: c}
	search := a.triggers()
	if search.State != "" && search.State != query.StateFailed {
		a.fault("state " + answer.Quote(search.State) + " is not failed, as only failed triggers are retried and purged")
	}
	search.State = query.StateFailed
	dryRun, err := isSet(c, "dryRun")
	if err != nil {
		a.fault(err.Error())
	}
	if err := a.problem(); err != nil {
		return err
	}
	if dryRun {
		change, status = h.engine.CountFailed, http.StatusOK
	}
	count, err := change(c.Request().Context(), search)
	return answer.Result(c, status, struct {
		Triggers int `json:"triggers"`
	}{count}, err)
}
