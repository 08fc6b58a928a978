package api

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/matcher"
	"earshot/trigger"
)

// draft answers what a message calls for that may still change.
func (h messages) draft(c echo.Context, m trigger.Message, explained bool) error {
	shown, err := h.engine.Draft(c.Request().Context(), m)
	if away := (*matcher.Unavailable)(nil); errors.As(err, &away) {
		undecided := *answer.ProblemOf(err)
		undecided.Detail = away.Error() + "; the draft is not matched, and nothing fired: it is matched when it is decided"
		undecided.MessageID = m.ID
		return &undecided
	}
	if err != nil {
		return err
	}
	if explained {
		return h.explained(c, m, shown, h.engine.ExplainDraft)
	}
	return answer.Stored(c, http.StatusOK, shown)
}

// commit decides a draft as post does a message.
func (h messages) commit(c echo.Context) error {
	want, err := queryOf(c)
	if err != nil {
		return err
	}
	ctx, m := c.Request().Context(), trigger.Message{AppID: c.Param("appId"), SessionID: c.Param("sessionId"), ID: c.Param("messageId")}
	if prefers(c.Request().Header, "respond-async") {
		if err := h.engine.CommitDraftAsync(ctx, m.AppID, m.SessionID, m.ID); err != nil {
			return err
		}
		return acceptedLater(c, m.ID)
	}
	stored, err := h.engine.CommitDraft(ctx, m.AppID, m.SessionID, m.ID)
	if err != nil {
		return withMessageID(err, m.ID)
	}
	if want.why {
		return h.explained(c, m, stored, h.engine.Explain)
	}
	return answer.Stored(c, http.StatusOK, stored)
}

// retract takes a draft back.
func (h messages) retract(c echo.Context) error {
	if err := h.engine.RetractDraft(c.Request().Context(), c.Param("appId"), c.Param("sessionId"), c.Param("messageId")); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
