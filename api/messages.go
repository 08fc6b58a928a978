package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"earshot/api/admission"
	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/api/ratelimit"
	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/bodies"
	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
	"earshot/repositories/tracing"
	"earshot/trigger"
	"earshot/trigger/explain"
	"earshot/trigger/ledger"
	"earshot/trigger/query"
)

// messages serves the messages of a session.
type messages struct {
	engine Engine
	users  users
	bodies *bodies.Definitions
	newID  func() string
}

func (h messages) routes() []route {
	const path = pathSession + "/messages"
	withdraw := func(c echo.Context) error {
		return answer.Done(c, http.StatusNoContent, h.engine.WithdrawDraft(c.Request().Context(), c.Param("appId"), c.Param("sessionId"), c.Param("messageId")))
	}
	return []route{
		{method: http.MethodPost, path: path, access: messageCallers, handler: h.post, natsName: "message", query: []string{"dryRun", "explain"}, readsBody: true, share: admission.Turn, counts: ratelimit.Messages},
		{method: http.MethodGet, path: path, access: messageCallers, handler: h.history, natsName: "messages", query: slices.Concat(pageQuery, []string{"since", "order"})},
		{method: http.MethodGet, path: path + "/:messageId", access: messageCallers, handler: showMessage(h, Engine.Message), natsName: "get-message"},
		{method: http.MethodGet, path: path + "/:messageId/explain", access: messageKeys, handler: showMessage(h, Engine.Explain), natsName: "explain"},
		{method: http.MethodPost, path: path + "/:messageId/commit", access: messageCallers, handler: h.commit, natsName: "commit", query: []string{"explain"}, share: admission.Turn, counts: ratelimit.Messages},
		{method: http.MethodDelete, path: path + "/:messageId", access: messageCallers, handler: withdraw, natsName: "withdraw", oldNATSName: "retract"},
	}
}

// wantsExplanation reads the query parameter of a posted message.
func wantsExplanation(c echo.Context) (bool, error) {
	why, err := isSet(c, "explain")
	if why && auth.PrincipalOf(c).FrontEnd() {
		err = auth.Forbidden() // an explanation shows the app's rules and all its tools
	}
	return why, err
}

func (h messages) post(c echo.Context) error {
	dryRun, err := isSet(c, "dryRun")
	if err != nil {
		return err
	}
	withExplanation, err := wantsExplanation(c)
	if err != nil {
		return err
	}
	message, isDraft, err := h.readMessage(c, dryRun)
	if err != nil {
		return err
	}
	message.Explain = withExplanation
	ctx := c.Request().Context()
	switch {
	case dryRun:
		return h.dryRun(c, message)
	case isDraft:
		matches, err := h.engine.Draft(ctx, message)
		if err != nil {
			return unmatchedProblem(err, message.ID, "the draft was not matched, and nothing fired: it is matched when it is committed")
		}
		if withExplanation {
			return h.answerExplained(c, message, matches, h.engine.ExplainDraft)
		}
		return answer.Stored(c, http.StatusOK, matches)
	case prefers(c.Request().Header, "respond-async"):
		id, err := h.engine.PostAsync(ctx, message)
		return answerAccepted(c, id, err)
	}
	stored, err := h.engine.Post(ctx, message)
	return h.answerDecided(c, message, stored, err)
}

// readMessage decodes the message and reports whether it is a draft. It generates a missing id here, so that the
// answer can name an undecided message.
func (h messages) readMessage(c echo.Context, dryRun bool) (message trigger.Message, isDraft bool, err error) {
	body, err := readBody(c)
	if err != nil {
		return message, false, err
	}
	var fields struct {
		MessageID string `json:"messageId"`
		Actor     string `json:"actor"`
		Text      string `json:"text"`
		Final     *bool  `json:"final"`
		Language  string `json:"language"`
		TimeZone  string `json:"timeZone"`
		User      string `json:"user"`

		Metadata repositories.Metadata `json:"metadata"`
		History  []trigger.Earlier     `json:"history"`
		Now      time.Time             `json:"now"`
	}
	parsed, err := h.bodies.Read("Message", body)
	if err != nil {
		return message, false, err
	}
	parsed.Into(&fields)
	checkMetadata(parsed, fields.Metadata)
	isDraft = fields.Final != nil && !*fields.Final
	if isDraft && fields.Actor == matcher.ActorAgent {
		parsed.Add(fault.Point("final"), "an agent's message is not matched, so that it cannot be a draft")
	}
	if err := parsed.Err(); err != nil {
		return message, isDraft, err
	}
	if !auth.PrincipalOf(c).MaySay(fields.Actor) {
		return message, isDraft, auth.Forbidden() // a browser posts only as its user
	}
	if fields.User != "" && auth.PrincipalOf(c).FrontEnd() {
		return message, isDraft, answer.NewProblem(answer.NotPermitted, "user: a session token cannot set the user of the session; the app's back-end sets it, in the session or in a message")
	}
	caller, err := h.users.verify(c)
	if err != nil {
		return message, isDraft, err
	}
	if fields.MessageID, err = idempotent(c, "messageId", fields.MessageID, checkMessageID); err != nil {
		return message, isDraft, err
	}
	if fields.MessageID == "" {
		fields.MessageID = h.newID()
	}
	message = trigger.Message{
		AppID: c.Param("appId"), SessionID: c.Param("sessionId"), ID: fields.MessageID, Actor: fields.Actor, Text: fields.Text,
		Language: fields.Language, TimeZone: fields.TimeZone, Metadata: fields.Metadata, User: fields.User, History: fields.History, Now: fields.Now,
		TraceParent: tracing.Of(c.Request().Context()), Claims: caller.claims, Auth: caller.faults,
	}
	return message, isDraft, checkDryRun(message, dryRun)
}

// checkDryRun reports the fields that are only for dry runs, or never for them.
func checkDryRun(m trigger.Message, dryRun bool) error {
	var faults fault.List
	if dryRun && m.User != "" {
		faults.Add(fault.Point("user"), "is not allowed in a dry run, which stores nothing for a user")
	}
	if !dryRun && m.History != nil {
		faults.Add(fault.Point("history"), "is only for dryRun=true: a session has its own history")
	}
	if !dryRun && !m.Now.IsZero() {
		faults.Add(fault.Point("now"), "is only for dryRun=true: a message has the time at which it arrives")
	}
	return faults.Err()
}

func (h messages) answerDecided(c echo.Context, m trigger.Message, stored json.RawMessage, err error) error {
	if err != nil {
		return withMessageID(err, m.ID)
	}
	if m.Explain {
		return h.answerExplained(c, m, stored, h.engine.Explain)
	}
	return answer.Stored(c, http.StatusOK, stored)
}

func answerAccepted(c echo.Context, messageID string, err error) error {
	if err == nil {
		c.Response().Header().Set("Preference-Applied", "respond-async")
	}
	return answer.Result(c, http.StatusAccepted, struct {
		MessageID string `json:"messageId"`
	}{messageID}, err)
}

// withMessageID adds the message's id to the problem of a message that may be stored but undecided. Posting
// it again with the same id retries it; another id would make a second message.
func withMessageID(err error, messageID string) error {
	problem := *answer.ProblemOf(err)
	if problem.Status < http.StatusInternalServerError {
		return err
	}
	problem.MessageID = messageID
	return &problem
}

func (h messages) dryRun(c echo.Context, m trigger.Message) error {
	// It may ask a model, as a message does. The session's own limit applies to front-ends only: a key
	// tries the messages of many conversations in one session.
	if m.Actor == matcher.ActorUser {
		use := ledger.Use{Messages: 1, AppAlone: !auth.PrincipalOf(c).FrontEnd()}
		if err := h.engine.Count(c.Request().Context(), m.AppID, m.SessionID, use); err != nil {
			return err
		}
	}
	match, explanation, err := h.engine.DryRun(c.Request().Context(), m)
	if err != nil {
		return unmatchedProblem(err, "", "this was a dry run, and nothing is kept")
	}
	result := struct {
		query.Answer
		Explain *explain.Explanation `json:"explain,omitempty"`
	}{Answer: match}
	if m.Explain {
		result.Explain = &explanation
	}
	return answer.JSON(c, http.StatusOK, result)
}

// unmatchedProblem completes the error of an unavailable model with what became of the message.
func unmatchedProblem(err error, messageID, outcome string) error {
	var unavailable *matcher.Unavailable
	if !errors.As(err, &unavailable) {
		return err
	}
	problem := *answer.ProblemOf(err)
	problem.Detail, problem.MessageID = unavailable.Error()+"; "+outcome, messageID
	return &problem
}

// commit decides a draft as post decides a message.
func (h messages) commit(c echo.Context) error {
	withExplanation, err := wantsExplanation(c)
	if err != nil {
		return err
	}
	ctx, m := c.Request().Context(), trigger.Message{AppID: c.Param("appId"), SessionID: c.Param("sessionId"), ID: c.Param("messageId"), Explain: withExplanation}
	if prefers(c.Request().Header, "respond-async") {
		return answerAccepted(c, m.ID, h.engine.CommitDraftAsync(ctx, m.AppID, m.SessionID, m.ID))
	}
	stored, err := h.engine.CommitDraft(ctx, m.AppID, m.SessionID, m.ID)
	return h.answerDecided(c, m, stored, err)
}

// answerExplained answers with a stored answer and its explanation, if one is kept.
func (h messages) answerExplained(c echo.Context, m trigger.Message, stored json.RawMessage, why func(ctx context.Context, appID, sessionID, messageID string) (explain.Explanation, error)) error {
	explanation, err := why(c.Request().Context(), m.AppID, m.SessionID, m.ID)
	if errors.Is(err, query.ErrUnexplained) || errors.Is(err, query.ErrNoMessage) {
		return answer.Stored(c, http.StatusOK, stored)
	}
	if err != nil {
		return withMessageID(err, m.ID)
	}
	text, err := exactjson.Encode(explanation)
	if err != nil {
		return err
	}
	object := bytes.TrimSuffix(bytes.TrimSpace(stored), []byte("}"))
	full := append(append(append(bytes.Clone(object), `,"explain":`...), text...), '}')
	return answer.Stored(c, http.StatusOK, full)
}

func (h messages) history(c echo.Context) error {
	a := &searchQuery{c: c}
	search := query.History{
		AppID: c.Param("appId"), SessionID: c.Param("sessionId"), Since: a.time("since"), Newest: a.oneOf("order", orders) == "desc", Page: a.page(pageOf),
	}
	if err := a.problem(); err != nil {
		return err
	}
	items, next, err := h.engine.History(c.Request().Context(), search)
	return listPage(c, items, next, err)
}

// showMessage returns the handler that reads one part of a stored message.
func showMessage[T any](h messages, read func(e Engine, ctx context.Context, appID, sessionID, messageID string) (T, error)) echo.HandlerFunc {
	return func(c echo.Context) error {
		found, err := read(h.engine, c.Request().Context(), c.Param("appId"), c.Param("sessionId"), c.Param("messageId"))
		return answer.Result(c, http.StatusOK, found, err)
	}
}

// prefers reports whether the request has a preference (RFC 7240). Values and parameters are ignored:
// respond-async has none.
func prefers(header http.Header, preference string) bool {
	for _, line := range header.Values("Prefer") {
		for item := range strings.SplitSeq(line, ",") {
			name, _, _ := strings.Cut(item, ";")
			if strings.EqualFold(strings.TrimSpace(name), preference) {
				return true
			}
		}
	}
	return false
}
