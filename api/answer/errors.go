package answer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"earshot/api/server"
	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/fault"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
	"earshot/trigger"
	"earshot/trigger/ledger"
	"earshot/trigger/query"
)

// later is the Retry-After, in seconds, of what an operator has to mend.
const later = "5"

// ProblemOf maps an error to what clients see of it. An unknown error is ours: 500, and its text stays in the log.
func ProblemOf(err error) *Problem {
	var own *Problem
	if errors.As(err, &own) {
		return own
	}
	found := typedProblem(err)
	if found == nil {
		found = plainProblem(err)
	}
	return found.Because(err)
}

// typedProblem maps the errors that carry what to say.
func typedProblem(err error) *Problem {
	var (
		faults fault.List
		values *trigger.ValuesError
		llm    *matcher.Unavailable
		size   *http.MaxBytesError
		rate   *ledger.RateError
		limit  *repositories.LimitError
		lacks  *repositories.Unverified
		scopes *store.ScopeError
		often  *store.CompareError
		posted *trigger.PostedError
		inUse  *repositories.InUseError
	)
	switch {
	case errors.As(err, &inUse):
		found := NewProblem(http.StatusConflict, inUse.Error())
		found.Errors, _ = inUse.Faults.Listed()
		return found
	case errors.As(err, &faults):
		shown, more := faults.Listed()
		noun := " faults"
		if len(shown)+more == 1 {
			noun = " fault"
		}
		return faulty(http.StatusBadRequest, "the body has "+strconv.Itoa(len(shown)+more)+noun, faults)
	case errors.As(err, &values):
		var wrong fault.List
		for _, one := range values.Faults {
			wrong.Add(fault.Point("values", one.Parameter), "%s", one.Detail)
		}
		return faulty(http.StatusUnprocessableEntity, "the values do not fit tool "+strconv.Quote(values.Name), wrong)
	case errors.As(err, &rate):
		return NewProblem(http.StatusTooManyRequests, rate.Error()).With("Retry-After", seconds(rate.RetryAfter))
	case errors.As(err, &often):
		return NewProblem(http.StatusTooManyRequests, often.Error()).With("Retry-After", seconds(often.RetryAfter))
	case errors.As(err, &posted):
		found := NewProblem(http.StatusConflict, posted.Error())
		found.Triggers = posted.Triggers
		return found
	case errors.As(err, &limit):
		return NewProblem(http.StatusUnprocessableEntity, limit.Error())
	case errors.As(err, &scopes):
		var beyond fault.List
		for _, i := range scopes.Beyond {
			beyond.Add(fault.Point("scopes", i), "is more than the key has that asks; ask with one that has it")
		}
		return faulty(http.StatusUnprocessableEntity, scopes.Error(), beyond)
	case errors.As(err, &lacks):
		return NewProblem(http.StatusUnauthorized, lacks.Error()).With("WWW-Authenticate", Challenge)
	case errors.As(err, &llm):
		return undecided(llm)
	case errors.As(err, &size):
		return NewProblem(http.StatusRequestEntityTooLarge, "the body is longer than "+strconv.FormatInt(size.Limit, 10)+" bytes, the most that is read")
	}
	return nil
}

// plainProblem maps the errors that only say which they are.
func plainProblem(err error) *Problem {
	switch {
	case errors.Is(err, repositories.ErrNotFound), errors.Is(err, query.ErrNotFound), errors.Is(err, trigger.ErrNotInScope),
		errors.Is(err, query.ErrNoMessage), errors.Is(err, query.ErrUnexplained), errors.Is(err, trigger.ErrNoDraft):
		return NewProblem(http.StatusNotFound, err.Error())
	case errors.Is(err, query.ErrCursor):
		return BadCursor()
	case errors.Is(err, repositories.ErrFull):
		return NewProblem(http.StatusUnprocessableEntity, err.Error())
	case errors.Is(err, trigger.ErrConflict), errors.Is(err, trigger.ErrReused), errors.Is(err, trigger.ErrSuperseded), errors.Is(err, trigger.ErrClosed), errors.Is(err, trigger.ErrDelivered), errors.Is(err, trigger.ErrOwes),
		errors.Is(err, query.ErrEnded), errors.Is(err, query.ErrNotAsked), errors.Is(err, trigger.ErrDigest):
		return NewProblem(http.StatusConflict, err.Error())
	case errors.Is(err, repositories.ErrErasing):
		return NewProblem(http.StatusServiceUnavailable, err.Error()+": send the request again in a moment, and the session begins anew").With("Retry-After", Soon)
	case errors.Is(err, keyspace.ErrMemory):
		return NewProblem(http.StatusServiceUnavailable, "Redis is full: it is at its maxmemory. Nothing was stored; what deletes or revokes still works. Send the request again later, under the same id where it has one").With("Retry-After", later)
	case IsUnavailable(err):
		says, refused := "does not answer", (*keyspace.Refusal)(nil)
		if errors.As(err, &refused) {
			says = refused.Public()
		}
		return NewProblem(http.StatusServiceUnavailable, "the store "+says+"; send the request again, under the same id where it has one").With("Retry-After", Soon)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return NewProblem(http.StatusServiceUnavailable, "the request ended before its answer was there; send it again").With("Retry-After", Soon)
	}
	return NewProblem(http.StatusInternalServerError, "internal error")
}

// IsUnavailable reports whether the store did not answer.
func IsUnavailable(err error) bool { return errors.Is(err, keyspace.ErrUnavailable) }

func faulty(status int, detail string, faults fault.List) *Problem {
	shown, more := faults.Listed()
	if more > 0 {
		detail += fmt.Sprintf("; %d are listed, and there are %d more", len(shown), more)
	}
	return &Problem{Type: typeFaults, Title: "The body is at fault", Status: status, Detail: detail, Errors: shown}
}

// undecided is the problem of a message that the LLM did not decide.
func undecided(llm *matcher.Unavailable) *Problem {
	found := &Problem{
		Type: typeUndecided, Title: "The message is not decided", Status: http.StatusBadGateway,
		Detail: llm.Error() + "; the message is kept and nothing fired: send it again under the same messageId",
	}
	if llm.RetryAfter <= 0 {
		return found
	}
	found.Status = http.StatusServiceUnavailable
	return found.With("Retry-After", seconds(llm.RetryAfter))
}

// seconds writes a pause as Retry-After wants it.
func seconds(pause time.Duration) string { return strconv.Itoa(int(math.Ceil(pause.Seconds()))) }

// Unread returns the problem of a body that was not read to its end. What is left of a late one would be read as
// the next request, so the connection ends.
func Unread(err error) error {
	var size *http.MaxBytesError
	var own *Problem
	switch {
	case errors.As(err, &size), errors.As(err, &own):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return NewProblem(http.StatusRequestTimeout, "the body did not arrive within "+server.BodyTime.String()).With("Connection", "close")
	default:
		return BadRequest("the body broke off before its end")
	}
}

// WriteError answers with the problem of err unless an answer is already under way.
func WriteError(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	found := ProblemOf(routed(err, c))
	if found.Status == http.StatusInternalServerError {
		found.Detail = "internal error; the log says more under request " + RequestID(c)
	}
	found.SetHeader(c.Response().Header())
	c.Response().Header().Set("Cache-Control", "no-store")
	if strings.Contains(c.Path(), OpenAIPath) {
		_ = JSON(c, found.Status, found.openAI())
		return
	}
	_ = writeAs(c, problemJSON, found.Status, found) // fails only when the client is gone
}

// routed puts the router's own errors into words: no such path, or no such method on it, with Allow set already
// (RFC 9110, section 15.5.6).
func routed(err error, c echo.Context) error {
	var routing *echo.HTTPError
	if !errors.As(err, &routing) {
		return err
	}
	switch routing.Code {
	case http.StatusNotFound:
		return NewProblem(routing.Code, "there is nothing at this path; /docs lists what there is")
	case http.StatusMethodNotAllowed:
		return NewProblem(routing.Code, Quote(c.Request().Method)+" is not allowed here, but "+c.Response().Header().Get(echo.HeaderAllow))
	default:
		return NewProblem(routing.Code, http.StatusText(routing.Code))
	}
}

// OpenAIError is an error as clients of OpenAI's read it, to be written as JSON.
func OpenAIError(err error) any { return ProblemOf(err).openAI() }
