package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"earshot/api/admission"
	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/api/ratelimit"
	"earshot/repositories/bodies"
	"earshot/repositories/tracing"
	"earshot/trigger/query"
)

// triggers serves direct triggers and the records of all that has fired.
type triggers struct {
	engine Triggers
	users  users
	bodies *bodies.Definitions
}

func (h triggers) routes() []route {
	const (
		app     = "/v1/apps/:appId/triggers"
		session = "/v1/apps/:appId/sessions/:sessionId/triggers"
		one     = app + "/:triggerId"
	)
	return []route{
		{method: http.MethodPost, path: app, handle: withBody(h.fire), reads: true, kind: admission.Turn, counts: ratelimit.Triggers},
		{method: http.MethodPost, path: session, handle: withBody(h.fire), reads: true, kind: admission.Turn, counts: ratelimit.Triggers},
		{method: http.MethodGet, path: app, handle: h.list, query: appQuery},
		{method: http.MethodGet, path: session, handle: h.list, query: listedQuery},
		{method: http.MethodGet, path: one, handle: h.get},
		{method: http.MethodDelete, path: one, handle: h.remove},
		{method: http.MethodPost, path: one + "/retry", handle: h.retry},
		{method: http.MethodPost, path: one + "/answer", handle: withBody(h.answer), reads: true},
		{method: http.MethodPost, path: one + "/confirm", handle: withBody(h.confirm), reads: true, kind: admission.Turn},
		{method: http.MethodPost, path: one + "/deny", handle: h.deny, reads: true},
		{method: http.MethodPost, path: one + "/cancel", handle: h.cancel},
		{method: http.MethodPost, path: app + "/retry", handle: h.retryAll, query: bulkQuery},
		{method: http.MethodDelete, path: app, handle: h.purge, query: bulkQuery},
	}
}

func (h triggers) fire(c echo.Context, body []byte) error {
	direct, err := decodeDirect(h.bodies, body)
	if err != nil {
		return err
	}
	if auth.PrincipalOf(c).FrontEnd() && direct.Source != query.SourceUI {
		return auth.Forbidden() // a task or an agent is no browser
	}
	who, err := h.users.of(c)
	if err != nil {
		return err
	}
	direct.AppID, direct.SessionID, direct.Claims = c.Param("appId"), c.Param("sessionId"), who.claims
	direct.FrontEnd = auth.PrincipalOf(c).FrontEnd()
	direct.TraceParent = tracing.Of(c.Request().Context())
	match, err := h.engine.Fire(c.Request().Context(), direct)
	if err != nil {
		return who.explained(err)
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
	query, err := triggersAsked(c)
	if err != nil {
		return err
	}
	items, next, err := h.engine.Triggers(c.Request().Context(), query)
	return answer.List(c, items, next, err)
}

func (h triggers) get(c echo.Context) error {
	record, err := h.engine.Trigger(c.Request().Context(), c.Param("appId"), c.Param("triggerId"))
	return answer.Result(c, http.StatusOK, record, err)
}

func (h triggers) remove(c echo.Context) error {
	return answer.Done(c, http.StatusNoContent, h.engine.Remove(c.Request().Context(), c.Param("appId"), c.Param("triggerId")))
}

func (h triggers) answer(c echo.Context, body []byte) error {
	if err := h.own(c); err != nil {
		return err
	}
	given, err := decodeGiven(h.bodies, body)
	if err != nil {
		return err
	}
	record, err := h.engine.Answer(c.Request().Context(), c.Param("appId"), c.Param("triggerId"), given)
	return tell(c, http.StatusOK, record, err)
}

// confirm lets a trigger go. The first attempts at its effects are made before it is answered, as with a
// trigger that is fired.
func (h triggers) confirm(c echo.Context, body []byte) error {
	return h.decide(c, "Confirmation", body, h.engine.Confirm)
}

func (h triggers) deny(c echo.Context) error {
	body, err := readOptional(c)
	if err != nil {
		return err
	}
	return h.decide(c, "Denial", body, h.engine.Deny)
}

// decide says yes or no to a trigger that waits for it. No body says nothing of a digest.
func (h triggers) decide(c echo.Context, form string, body []byte, do func(ctx context.Context, appID, triggerID, digest, by string) (query.Record, error)) error {
	if err := h.own(c); err != nil {
		return err
	}
	var said struct {
		Digest string `json:"digest"`
	}
	if len(body) > 0 {
		if err := h.bodies.Decode(form, body, &said); err != nil {
			return err
		}
	}
	record, err := do(c.Request().Context(), c.Param("appId"), c.Param("triggerId"), said.Digest, decider(c))
	return tell(c, moved(record), record, err)
}

// cancel takes a trigger back whose effects are kept back.
func (h triggers) cancel(c echo.Context) error {
	if err := h.own(c); err != nil {
		return err
	}
	record, err := h.engine.Cancel(c.Request().Context(), c.Param("appId"), c.Param("triggerId"), decider(c))
	return tell(c, moved(record), record, err)
}

// moved is the status of the answer to a confirm, deny or cancel: a client that lost the first
// answer asks again, and is told the same with 200.
func moved(record query.Record) int {
	if record.Repeated {
		return http.StatusOK
	}
	return http.StatusAccepted
}

// decider is how a record names who has moved its trigger.
func decider(c echo.Context) string {
	who := auth.PrincipalOf(c)
	if who.FrontEnd() {
		return "session"
	}
	return who.Name()
}

// tell answers with a record, or with the error of what was to be done to it. A front-end
// learns what became of the trigger, and not what was sent to whom for it.
func tell(c echo.Context, status int, record query.Record, err error) error {
	if err != nil {
		return err
	}
	if auth.PrincipalOf(c).FrontEnd() {
		record.Attempts, record.Retries = []query.Attempt{}, nil
	}
	return answer.JSON(c, status, record)
}

// own refuses a front-end the triggers of other sessions, in the same words whether they
// exist or not. Every route of auth.Access.ByTrigger asks it first.
func (h triggers) own(c echo.Context) error {
	who := auth.PrincipalOf(c)
	if !who.FrontEnd() {
		return nil
	}
	record, err := h.engine.Trigger(c.Request().Context(), c.Param("appId"), c.Param("triggerId"))
	if errors.Is(err, query.ErrNotFound) || err == nil && record.SessionID != who.SessionID {
		return auth.Forbidden()
	}
	return err
}

func (h triggers) retry(c echo.Context) error {
	return answer.Done(c, http.StatusAccepted, h.engine.Retry(c.Request().Context(), c.Param("appId"), c.Param("triggerId"), auth.PrincipalOf(c).Name()))
}

// matched is the answer of a bulk operation: how many failed triggers it was done to, or, of
// a dry run, would be.
type matched struct {
	Triggers int `json:"triggers"`
}

func (h triggers) retryAll(c echo.Context) error {
	return h.inBulk(c, http.StatusAccepted, func(ctx context.Context, q query.Triggers) (int, error) {
		return h.engine.RetryAll(ctx, q, auth.PrincipalOf(c).Name())
	})
}

// purge removes failed triggers. The state has to be named, so that a query that was left out does not
// cost an app its records.
func (h triggers) purge(c echo.Context) error {
	if state := c.QueryParam("state"); state != query.StateFailed {
		return answer.BadRequest("only failed triggers can be purged: add ?state=failed")
	}
	return h.inBulk(c, http.StatusOK, h.engine.Purge)
}

// inBulk does something to all failed triggers that the query selects. A dry run counts them.
func (h triggers) inBulk(c echo.Context, done int, do func(context.Context, query.Triggers) (int, error)) error {
	query, dryRun, err := failuresAsked(c)
	if err != nil {
		return err
	}
	if dryRun {
		do, done = h.engine.CountFailed, http.StatusOK
	}
	count, err := do(c.Request().Context(), query)
	return answer.Result(c, done, matched{count}, err)
}
