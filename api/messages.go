package api

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"earshot/api/admission"
	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/api/ratelimit"
	"earshot/repositories/bodies"
	"earshot/repositories/tracing"
	"earshot/trigger"
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
		return h.accept(c, message)
	}
	stored, err := h.engine.Post(c.Request().Context(), message)
	if err != nil {
		return withMessageID(err, message.ID)
	}
	if want.why {
		return h.explained(c, message, stored, h.engine.Explain)
	}
	return answer.Stored(c, http.StatusOK, stored)
}

func (h messages) accept(c echo.Context, message trigger.Message) error {
	id, err := h.engine.PostAsync(c.Request().Context(), message)
	if err != nil {
		return err
	}
	return acceptedLater(c, id)
}

func acceptedLater(c echo.Context, messageID string) error {
	c.Response().Header().Set("Preference-Applied", "respond-async")
	return answer.JSON(c, http.StatusAccepted, accepted{messageID})
}

// read makes a message of the request, and says whether it is a draft. The id is made here where the client gave
// none, so that a message which is not decided can be named in the answer.
func (h messages) read(c echo.Context) (message trigger.Message, isDraft bool, err error) {
	body, err := readBody(c)
	if err != nil {
		return trigger.Message{}, false, err
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

func (h messages) history(c echo.Context) error {
	asked, err := historyAsked(c)
	if err != nil {
		return err
	}
	items, next, err := h.engine.History(c.Request().Context(), asked)
	if err != nil {
		return err
	}
	return answer.List(c, items, next)
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
