package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/matcher"
	"earshot/repositories/exactjson"
	"earshot/trigger"
	"earshot/trigger/explain"
	"earshot/trigger/ledger"
	"earshot/trigger/query"
)

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

// one answers with a message and its outcome.
func (h messages) one(c echo.Context) error {
	found, err := h.engine.Message(c.Request().Context(), c.Param("appId"), c.Param("sessionId"), c.Param("messageId"))
	if err != nil {
		return err
	}
	return answer.JSON(c, http.StatusOK, found)
}

// explain answers why a message came out as it did.
func (h messages) explain(c echo.Context) error {
	found, err := h.engine.Explain(c.Request().Context(), c.Param("appId"), c.Param("sessionId"), c.Param("messageId"))
	if err != nil {
		return err
	}
	return answer.JSON(c, http.StatusOK, found)
}

// explaining says why a message came out as it did.
type explaining func(ctx context.Context, appID, sessionID, messageID string) (explain.Explanation, error)

// explained answers with a stored answer and why it came out so, as far as that is kept.
func (h messages) explained(c echo.Context, m trigger.Message, stored json.RawMessage, explained explaining) error {
	found, err := explained(c.Request().Context(), m.AppID, m.SessionID, m.ID)
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

// triedAnswer is the answer to a dry run.
type triedAnswer struct {
	query.Answer
	Explain *explain.Explanation `json:"explain,omitempty"`
}

// try answers what would come of a message.
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
	if away := (*matcher.Unavailable)(nil); errors.As(err, &away) {
		undecided := *answer.ProblemOf(err)
		undecided.Detail = away.Error() + "; this was a dry run, and nothing is kept"
		return &undecided
	}
	if err != nil {
		return err
	}
	tried := triedAnswer{Answer: found}
	if explained {
		tried.Explain = &why
	}
	return answer.JSON(c, http.StatusOK, tried)
}
