package answer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"strconv"
	"time"

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

// later is the Retry-After, in seconds, of what somebody has to do something about.
const later = "5"

// ProblemOf maps an error to what clients see of it. An error that nothing here knows
// is ours: 500, and its text stays in the log.
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
		return faulty(http.StatusBadRequest, "the body has "+faultCount(faults), faults)
	case errors.As(err, &values):
		return faulty(http.StatusUnprocessableEntity, "the values do not fit tool "+strconv.Quote(values.Name), valueFaults(values))
	case errors.As(err, &rate):
		return NewProblem(http.StatusTooManyRequests, rate.Error()).With("Retry-After", seconds(rate.RetryAfter))
	case errors.As(err, &often):
		return NewProblem(http.StatusTooManyRequests, often.Error()).With("Retry-After", seconds(often.RetryAfter))
	case errors.As(err, &posted):
		return conflictOf(posted)
	case errors.As(err, &limit):
		return NewProblem(http.StatusUnprocessableEntity, limit.Error())
	case errors.As(err, &scopes):
		return faulty(http.StatusUnprocessableEntity, scopes.Error(), scopeFaults(scopes))
	case errors.As(err, &lacks):
		return NewProblem(http.StatusUnauthorized, lacks.Error()).With("WWW-Authenticate", Challenge)
	case errors.As(err, &llm):
		return undecided(llm)
	case errors.As(err, &size):
		return NewProblem(http.StatusRequestEntityTooLarge, "the body is longer than "+strconv.FormatInt(size.Limit, 10)+" bytes, the most that is read")
	}
	return nil
}

func conflictOf(posted *trigger.PostedError) *Problem {
	found := NewProblem(http.StatusConflict, posted.Error())
	found.Triggers = posted.Triggers
	return found
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
		return NewProblem(http.StatusServiceUnavailable, "the store "+storeSays(err)+"; send the request again, under the same id where it has one").With("Retry-After", Soon)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return NewProblem(http.StatusServiceUnavailable, "the request ended before its answer was there; send it again").With("Retry-After", Soon)
	}
	return NewProblem(http.StatusInternalServerError, "internal error")
}

// storeSays is what the store does instead of what it was asked for: its own word, if it gave one.
func storeSays(err error) string {
	var refused *keyspace.Refusal
	if errors.As(err, &refused) {
		return refused.Public()
	}
	return "does not answer"
}

// IsUnavailable reports whether the store did not answer.
func IsUnavailable(err error) bool { return errors.Is(err, keyspace.ErrUnavailable) }

// faulty is the problem of a body with faults: those that are listed, and how many more
// there are.
func faulty(status int, detail string, faults fault.List) *Problem {
	shown, more := faults.Listed()
	if more > 0 {
		detail += fmt.Sprintf("; %d are listed, and there are %d more", len(shown), more)
	}
	return &Problem{Type: typeFaults, Title: "The body is at fault", Status: status, Detail: detail, Errors: shown}
}

func scopeFaults(scopes *store.ScopeError) fault.List {
	var faults fault.List
	for _, i := range scopes.Beyond {
		faults.Add(fault.Point("scopes", i), "is more than the key has that asks; ask with one that has it")
	}
	return faults
}

func valueFaults(values *trigger.ValuesError) fault.List {
	var faults fault.List
	for _, one := range values.Faults {
		faults.Add(fault.Point("values", one.Parameter), "%s", one.Detail)
	}
	return faults
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

// seconds writes a pause as Retry-After wants it, rounded up.
func seconds(pause time.Duration) string {
	return strconv.Itoa(int(math.Ceil(pause.Seconds())))
}

func faultCount(faults fault.List) string {
	shown, more := faults.Listed()
	return count(len(shown)+more, "fault")
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// Unread returns the problem of a body that was not read to its end: it is too long, too late,
// broke off, or there is no room for it. What is left of one that is late would be read as the next request, so the
// connection ends.
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
