package earshot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// What kinds of problems there are, for errors.Is.
var (
	ErrInvalid      = errors.New("earshot: the request is at fault") // 400, 422: Problem.Errors says where
	ErrUnauthorized = errors.New("earshot: unauthorized")            // 401: no valid key, or the user is not verified
	ErrForbidden    = errors.New("earshot: forbidden")               // 403: the key may not do this
	ErrNotFound     = errors.New("earshot: not found")               // 404: it does not exist, or the tool is not in scope
	ErrConflict     = errors.New("earshot: conflict")                // 409, 412: it has ended, or the id is in use for something else
	ErrTooLarge     = errors.New("earshot: too large")               // 413: the body is too large
	ErrUnavailable  = errors.New("earshot: unavailable")             // 429, 502, 503, 504: try again later
)

var kinds = map[int]error{
	400: ErrInvalid, 422: ErrInvalid, 401: ErrUnauthorized, 403: ErrForbidden, 404: ErrNotFound,
	409: ErrConflict, 412: ErrConflict, 413: ErrTooLarge, 429: ErrUnavailable, 502: ErrUnavailable, 503: ErrUnavailable, 504: ErrUnavailable,
}

// Problem is what the service says of a request that it refuses (RFC 9457).
type Problem struct {
	Type       string        `json:"type"`
	Title      string        `json:"title"`
	Status     int           `json:"status"`
	Detail     string        `json:"detail"`              // what is wrong this time, and the way out
	Code       Code          `json:"code"`                // as CodeTriggerEnded; empty if the service did not answer itself
	State      string        `json:"state,omitempty"`     // of the trigger, with CodeTriggerEnded and CodeTriggerOwes
	Limit      string        `json:"limit,omitempty"`     // that is reached, with CodeRateLimited and CodeLimitReached
	Errors     []Fault       `json:"errors,omitempty"`    // all faults of the body, at most 100
	MessageID  string        `json:"messageId,omitempty"` // of a message that is stored undecided: sent again, it is decided
	Matches    []Match       `json:"matches,omitempty"`   // what a decided message fired that was to be withdrawn as a draft
	Triggers   []Match       `json:"triggers,omitempty"`  // the earlier name of Matches
	RetryAfter time.Duration `json:"-"`                   // when to try again; 0 if the service does not say
}

// Fault is what is wrong in one place of a body.
type Fault struct {
	Pointer string `json:"pointer"` // RFC 6901; empty for the body as a whole
	Detail  string `json:"detail"`
	Code    string `json:"code"` // as unknown_field, missing or not_allowed
	// Allowed are the names or values that are taken there, and Suggestion the nearest of them.
	Allowed    []string `json:"allowed,omitempty"`
	Suggestion string   `json:"suggestion,omitempty"`
}

// Error names the status, what is wrong, and every fault.
func (p *Problem) Error() string {
	text := fmt.Sprintf("earshot: %d %s", p.Status, p.Title)
	if p.Detail != "" {
		text += ": " + p.Detail
	}
	for _, fault := range p.Errors {
		text += "; " + strings.TrimPrefix(fault.Pointer+": "+fault.Detail, ": ")
	}
	return text
}

// Is makes a problem one of the kinds, as ErrNotFound.
func (p *Problem) Is(target error) bool { return kinds[p.Status] == target }

const longestProblem = 1 << 20

func newProblem(response *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(response.Body, longestProblem))
	problem := &Problem{}
	if json.Unmarshal(text, problem) != nil || problem.Status != response.StatusCode {
		*problem = Problem{Status: response.StatusCode, Title: http.StatusText(response.StatusCode), Detail: "the answer is not one of Earshot's; is the URL right?"}
	}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil {
		problem.RetryAfter = time.Duration(seconds) * time.Second
	}
	return problem
}

// lost is a request of which nobody knows whether it arrived.
type lost struct{ err error }

func (l *lost) Error() string { return "earshot: no answer: " + l.err.Error() }
func (l *lost) Unwrap() error { return l.err }

// longestPause is the longest before a request is sent again; a service that asks for more is reported.
const longestPause = 30 * time.Second

// worthAgain says whether a call that failed may go well when it is sent again, and after which pause.
func worthAgain(err error, repeatable bool, attempt int) (time.Duration, bool) {
	pause := min(100*time.Millisecond<<min(attempt, 10), 5*time.Second)
	pause = pause/2 + rand.N(pause/2)
	var problem *Problem
	if errors.As(err, &problem) {
		if problem.RetryAfter > longestPause {
			return 0, false
		}
		taken := problem.Status == http.StatusBadGateway || problem.Status == http.StatusGatewayTimeout
		return max(pause, problem.RetryAfter), errors.Is(err, ErrUnavailable) && (repeatable || !taken)
	}
	var refused *net.OpError
	unsent := errors.As(err, &refused) && refused.Op == "dial"
	var unanswered *lost
	return pause, errors.As(err, &unanswered) && (repeatable || unsent)
}

// waiter waits for a time, unless there is less of it left.
type waiter func(ctx context.Context, pause time.Duration) error

func wait(ctx context.Context, pause time.Duration) error {
	if deadline, has := ctx.Deadline(); has && time.Until(deadline) < pause {
		return context.DeadlineExceeded
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
