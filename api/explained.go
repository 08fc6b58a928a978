package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/labstack/echo/v4"
	"golang.org/x/time/rate"

	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/matcher"
	"earshot/repositories/exactjson"
	"earshot/trigger"
	"earshot/trigger/explain"
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
	if errors.Is(err, trigger.ErrUnexplained) || errors.Is(err, trigger.ErrNoMessage) {
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
	trigger.Answer
	Explain *explain.Explanation `json:"explain,omitempty"`
}

// try answers what would come of a message.
func (h messages) try(c echo.Context, m trigger.Message, explained bool) error {
	if auth.PrincipalOf(c).FrontEnd() {
		if err := h.dry.admit(m.AppID + "/" + m.SessionID); err != nil {
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

// dryRuns bounds those of front-ends, whose users may be anybody: each may ask a model, and
// none counts to a limit of the app. The bound is that of messages by default, for each
// session and replica.
type dryRuns struct {
	now   func() time.Time
	bound *lru.Cache[string, *rate.Limiter] // by session
}

const (
	dryRunsPerMinute = 120
	boundSessions    = 4096
)

func newDryRuns(now func() time.Time) *dryRuns {
	bound, _ := lru.New[string, *rate.Limiter](boundSessions) // fails for a size of 0 only
	return &dryRuns{now, bound}
}

func (d *dryRuns) admit(session string) error {
	fresh := rate.NewLimiter(rate.Every(time.Minute/dryRunsPerMinute), dryRunsPerMinute)
	limiter, known, _ := d.bound.PeekOrAdd(session, fresh)
	if !known {
		limiter = fresh
	}
	now := d.now()
	if limiter.AllowN(now, 1) {
		return nil
	}
	return answer.NewProblem(http.StatusTooManyRequests, "a session makes at most "+strconv.Itoa(dryRunsPerMinute)+" dry runs a minute with its token").With("Retry-After", "1")
}
