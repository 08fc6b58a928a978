package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"earshot/api/admission"
	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/api/ratelimit"
	"earshot/matcher"
	"earshot/repositories/bodies"
	"earshot/repositories/exactjson"
	"earshot/repositories/tracing"
	"earshot/trigger"
	"earshot/trigger/explain"
	"earshot/trigger/ledger"
	"earshot/trigger/query"
)

// messages serves the conversation of a session.
type messages struct {
	engine Messages
	users  users
	bodies *bodies.Definitions
	newID  func() string
}

func (h messages) routes() []route {
	const path = "/v1/apps/:appId/sessions/:sessionId/messages"
	return []route{
		{method: http.MethodPost, path: path, handle: h.post, query: []string{"dryRun", "explain"}, reads: true, kind: admission.Turn, counts: ratelimit.Messages},
		{method: http.MethodGet, path: path, handle: h.history, query: historyQuery},
		{method: http.MethodGet, path: path + "/:messageId", handle: h.one},
		{method: http.MethodGet, path: path + "/:messageId/explain", handle: h.explain},
		{method: http.MethodPost, path: path + "/:messageId/commit", handle: h.commit, query: []string{"explain"}, kind: admission.Turn, counts: ratelimit.Messages},
		{method: http.MethodDelete, path: path + "/:messageId", handle: h.retract},
	}
}

// accepted is the answer to a message whose outcome comes later.
type accepted struct {
	MessageID string `json:"messageId"`
}

// messageQuery is what the query of a posted message asks for.
type messageQuery struct{ dry, why bool }

func queryOf(c echo.Context) (messageQuery, error) {
	dry, err := isSet(c, "dryRun")
	if err != nil {
		return messageQuery{}, err
	}
	why, err := isSet(c, "explain")
	if err == nil && why && auth.PrincipalOf(c).FrontEnd() {
		err = auth.Forbidden() // it shows the app's rules and all its tools
	}
	return messageQuery{dry, why}, err
}

func (h messages) post(c echo.Context) error {
	want, err := queryOf(c)
	if err != nil {
		return err
	}
	message, isDraft, err := h.read(c)
	if err == nil {
		err = checkTold(message, want.dry)
	}
	switch {
	case err != nil:
		return err
	case want.dry:
		return h.try(c, message, want.why)
	case isDraft:
		return h.draft(c, message, want.why)
	case prefers(c.Request().Header, "respond-async"):
		id, err := h.engine.PostAsync(c.Request().Context(), message)
		return acceptedLater(c, id, err)
	}
	stored, err := h.engine.Post(c.Request().Context(), message)
	return h.decided(c, message, stored, err, want.why)
}

// decided answers with the stored answer of a message that was decided, or was not.
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
	return answer.Result(c, http.StatusAccepted, accepted{messageID}, err)
}

// read makes a message of the request, and says whether it is a draft. The id is made here where the client gave
// none, so that a message which is not decided can be named in the answer.
func (h messages) read(c echo.Context) (message trigger.Message, isDraft bool, err error) {
	body, err := readBody(c)
	if err != nil {
		return message, false, err
	}
	message, isDraft, err = decodeMessage(h.bodies, body)
	if err != nil {
		return message, isDraft, err
	}
	if !auth.PrincipalOf(c).MaySay(message.Actor) {
		return message, isDraft, auth.Forbidden() // a browser speaks for its user alone
	}
	if message.ID == "" {
		message.ID = h.newID()
	}
	message.AppID, message.SessionID = c.Param("appId"), c.Param("sessionId")
	message.TraceParent = tracing.Of(c.Request().Context())
	who, err := h.users.of(c)
	message.Claims, message.Auth = who.claims, who.faults
	return message, isDraft, err
}

// withMessageID adds the message's id to the problem of one that may have been kept without
// being decided: posting it again under that id tries again, and under another would
// be a second message.
func withMessageID(err error, messageID string) error {
	found := *answer.ProblemOf(err)
	if found.Status < http.StatusInternalServerError {
		return err
	}
	found.MessageID = messageID
	return &found
}

// triedAnswer is the answer to a dry run.
type triedAnswer struct {
	query.Answer
	Explain *explain.Explanation `json:"explain,omitempty"`
}

func (h messages) try(c echo.Context, m trigger.Message, explained bool) error {
	// It may ask a model, as a message does. The session's own limit is for front-ends: a key tries
	// the messages of many conversations in one.
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
	tried := triedAnswer{Answer: found}
	if explained {
		tried.Explain = &why
	}
	return answer.JSON(c, http.StatusOK, tried)
}

// draft answers what a message calls for that may still change.
func (h messages) draft(c echo.Context, m trigger.Message, explained bool) error {
	shown, err := h.engine.Draft(c.Request().Context(), m)
	if err != nil {
		return undecided(err, m.ID, "the draft is not matched, and nothing fired: it is matched when it is decided")
	}
	if explained {
		return h.explained(c, m, shown, h.engine.ExplainDraft)
	}
	return answer.Stored(c, http.StatusOK, shown)
}

// undecided says of a message that no model decided what became of it.
func undecided(err error, messageID, became string) error {
	away := (*matcher.Unavailable)(nil)
	if !errors.As(err, &away) {
		return err
	}
	found := *answer.ProblemOf(err)
	found.Detail, found.MessageID = away.Error()+"; "+became, messageID
	return &found
}

// commit decides a draft as post does a message.
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

func (h messages) retract(c echo.Context) error {
	return answer.Done(c, http.StatusNoContent, h.engine.RetractDraft(c.Request().Context(), c.Param("appId"), c.Param("sessionId"), c.Param("messageId")))
}

// explained answers with a stored answer and why it came out so, as far as that is kept.
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
	asked, err := historyAsked(c)
	if err != nil {
		return err
	}
	items, next, err := h.engine.History(c.Request().Context(), asked)
	return answer.List(c, items, next, err)
}

func (h messages) one(c echo.Context) error {
	found, err := h.engine.Message(c.Request().Context(), c.Param("appId"), c.Param("sessionId"), c.Param("messageId"))
	return answer.Result(c, http.StatusOK, found, err)
}

func (h messages) explain(c echo.Context) error {
	found, err := h.engine.Explain(c.Request().Context(), c.Param("appId"), c.Param("sessionId"), c.Param("messageId"))
	return answer.Result(c, http.StatusOK, found, err)
}

// prefers reports whether the request asks for a preference (RFC 7240). A value or
// parameters of the preference are not looked at: respond-async has none.
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
