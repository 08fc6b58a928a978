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
	engine Messages
	users  users
	bodies *bodies.Definitions
	newID  func() string
}

func (h messages) routes() []route {
	const path = ofSession + "/messages"
	withdraw := func(c echo.Context) error {
		return answer.Done(c, http.StatusNoContent, h.engine.WithdrawDraft(c.Request().Context(), c.Param("appId"), c.Param("sessionId"), c.Param("messageId")))
	}
	return []route{
		{method: http.MethodPost, path: path, handle: h.post, nats: "message", query: []string{"dryRun", "explain"}, reads: true, kind: admission.Turn, counts: ratelimit.Messages},
		{method: http.MethodGet, path: path, handle: h.history, nats: "messages", query: slices.Concat(pageQuery, []string{"since", "order"})},
		{method: http.MethodGet, path: path + "/:messageId", handle: showMessage(h, Messages.Message), nats: "get-message"},
		{method: http.MethodGet, path: path + "/:messageId/explain", handle: showMessage(h, Messages.Explain), nats: "explain"},
		{method: http.MethodPost, path: path + "/:messageId/commit", handle: h.commit, nats: "commit", query: []string{"explain"}, kind: admission.Turn, counts: ratelimit.Messages},
		{method: http.MethodDelete, path: path + "/:messageId", handle: withdraw, nats: "withdraw", before: "retract"},
	}
}

// messageQuery holds the query parameters of a posted message.
type messageQuery struct{ dry, why bool }

func queryOf(c echo.Context) (messageQuery, error) {
	dry, err := isSet(c, "dryRun")
	if err != nil {
		return messageQuery{}, err
	}
	why, err := isSet(c, "explain")
	if err == nil && why && auth.PrincipalOf(c).FrontEnd() {
		err = auth.Forbidden() // an explanation shows the app's rules and all its tools
	}
	return messageQuery{dry, why}, err
}

func (h messages) post(c echo.Context) error {
	want, err := queryOf(c)
	if err != nil {
		return err
	}
	message, isDraft, err := h.read(c, want.dry)
	if err != nil {
		return err
	}
	message.Explained = want.why
	ctx := c.Request().Context()
	switch {
	case want.dry:
		return h.try(c, message, want.why)
	case isDraft:
		shown, err := h.engine.Draft(ctx, message)
		if err != nil {
			return undecided(err, message.ID, "the draft is not matched, and nothing fired: it is matched when it is decided")
		}
		if want.why {
			return h.explained(c, message, shown, h.engine.ExplainDraft)
		}
		return answer.Stored(c, http.StatusOK, shown)
	case prefers(c.Request().Header, "respond-async"):
		id, err := h.engine.PostAsync(ctx, message)
		return acceptedLater(c, id, err)
	}
	stored, err := h.engine.Post(ctx, message)
	return h.decided(c, message, stored, err, want.why)
}

// read decodes the message and reports whether it is a draft. It generates a missing id here, so that the
// answer can name an undecided message.
func (h messages) read(c echo.Context, dry bool) (message trigger.Message, isDraft bool, err error) {
	body, err := readBody(c)
	if err != nil {
		return message, false, err
	}
	var given struct {
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
	read, err := h.bodies.Read("Message", body)
	if err != nil {
		return message, false, err
	}
	read.Into(&given)
	checkMetadata(read, given.Metadata)
	isDraft = given.Final != nil && !*given.Final
	if isDraft && given.Actor == matcher.ActorAgent {
		read.Add(fault.Point("final"), "what an agent says is matched against nothing, so that it has no draft")
	}
	if err := read.Err(); err != nil {
		return message, isDraft, err
	}
	if !auth.PrincipalOf(c).MaySay(given.Actor) {
		return message, isDraft, auth.Forbidden() // a browser posts only as its user
	}
	if given.User != "" && auth.PrincipalOf(c).FrontEnd() {
		return message, isDraft, answer.NewProblem(answer.NotPermitted, "user: a session's token does not say whose the session is; the app's back-end does, in the session or in a message")
	}
	who, err := h.users.of(c)
	if err != nil {
		return message, isDraft, err
	}
	if given.MessageID, err = idempotent(c, "messageId", given.MessageID, checkMessageID); err != nil {
		return message, isDraft, err
	}
	if given.MessageID == "" {
		given.MessageID = h.newID()
	}
	message = trigger.Message{
		AppID: c.Param("appId"), SessionID: c.Param("sessionId"), ID: given.MessageID, Actor: given.Actor, Text: given.Text,
		Language: given.Language, TimeZone: given.TimeZone, Metadata: given.Metadata, User: given.User, History: given.History, Now: given.Now,
		TraceParent: tracing.Of(c.Request().Context()), Claims: who.claims, Auth: who.faults,
	}
	return message, isDraft, checkDry(message, dry)
}

// checkDry reports the fields that are only for dry runs, or never for them.
func checkDry(m trigger.Message, dry bool) error {
	var faults fault.List
	if dry && m.User != "" {
		faults.Add(fault.Point("user"), "goes with no dry run: nothing is kept that would be the user's")
	}
	if !dry && m.History != nil {
		faults.Add(fault.Point("history"), "goes with dryRun=true alone: the session has its own")
	}
	if !dry && !m.Now.IsZero() {
		faults.Add(fault.Point("now"), "goes with dryRun=true alone: a message has the time at which it comes")
	}
	return faults.Err()
}

// decided answers with the stored answer of a message, or with err.
func (h messages) decided(c echo.Context, m trigger.Message, stored json.RawMessage, err error, why bool) error {
	if err != nil {
		return withMessageID(err, m.ID)
	}
	if why {
		return h.explained(c, m, stored, h.engine.Explain)
	}
	return answer.Stored(c, http.StatusOK, stored)
}

func acceptedLater(c echo.Context, messageID string, err error) error {
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
	found := *answer.ProblemOf(err)
	if found.Status < http.StatusInternalServerError {
		return err
	}
	found.MessageID = messageID
	return &found
}

func (h messages) try(c echo.Context, m trigger.Message, explained bool) error {
	// It may ask a model, as a message does. The session's own limit applies to front-ends only: a key
	// tries the messages of many conversations in one session.
	if m.Actor == matcher.ActorUser {
		use := ledger.Use{Messages: 1, AppAlone: !auth.PrincipalOf(c).FrontEnd()}
		if err := h.engine.Count(c.Request().Context(), m.AppID, m.SessionID, use); err != nil {
			return err
		}
	}
	found, why, err := h.engine.DryRun(c.Request().Context(), m)
	if err != nil {
		return undecided(err, "", "this was a dry run, and nothing is kept")
	}
	tried := struct {
		query.Answer
		Explain *explain.Explanation `json:"explain,omitempty"`
	}{Answer: found}
	if explained {
		tried.Explain = &why
	}
	return answer.JSON(c, http.StatusOK, tried)
}

// undecided completes the error of an unavailable model with what became of the message.
func undecided(err error, messageID, became string) error {
	away := (*matcher.Unavailable)(nil)
	if !errors.As(err, &away) {
		return err
	}
	found := *answer.ProblemOf(err)
	found.Detail, found.MessageID = away.Error()+"; "+became, messageID
	return &found
}

// commit decides a draft as post decides a message.
func (h messages) commit(c echo.Context) error {
	want, err := queryOf(c)
	if err != nil {
		return err
	}
	ctx, m := c.Request().Context(), trigger.Message{AppID: c.Param("appId"), SessionID: c.Param("sessionId"), ID: c.Param("messageId")}
	if prefers(c.Request().Header, "respond-async") {
		return acceptedLater(c, m.ID, h.engine.CommitDraftAsync(ctx, m.AppID, m.SessionID, m.ID))
	}
	stored, err := h.engine.CommitDraft(ctx, m.AppID, m.SessionID, m.ID)
	return h.decided(c, m, stored, err, want.why)
}

// explained answers with a stored answer and its explanation, if one is kept.
func (h messages) explained(c echo.Context, m trigger.Message, stored json.RawMessage, why func(ctx context.Context, appID, sessionID, messageID string) (explain.Explanation, error)) error {
	found, err := why(c.Request().Context(), m.AppID, m.SessionID, m.ID)
	if errors.Is(err, query.ErrUnexplained) || errors.Is(err, query.ErrNoMessage) {
		return answer.Stored(c, http.StatusOK, stored)
	}
	if err != nil {
		return withMessageID(err, m.ID)
	}
	text, err := exactjson.Encode(found)
	if err != nil {
		return err
	}
	begun := bytes.TrimSuffix(bytes.TrimSpace(stored), []byte("}"))
	whole := append(append(append(bytes.Clone(begun), `,"explain":`...), text...), '}')
	return answer.Stored(c, http.StatusOK, whole)
}

func (h messages) history(c echo.Context) error {
	a := &searchQuery{c: c}
	asked := query.History{
		AppID: c.Param("appId"), SessionID: c.Param("sessionId"), Since: a.time("since"), Newest: a.oneOf("order", orders) == "desc", Page: a.page(pageOf),
	}
	if err := a.problem(); err != nil {
		return err
	}
	items, next, err := h.engine.History(c.Request().Context(), asked)
	return listPage(c, items, next, err)
}

// showMessage returns the handler that reads one part of a stored message.
func showMessage[T any](h messages, read func(m Messages, ctx context.Context, appID, sessionID, messageID string) (T, error)) echo.HandlerFunc {
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
