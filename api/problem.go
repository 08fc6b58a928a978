package api

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/fault"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
	"earshot/trigger"
	"earshot/trigger/ledger"
)

// The types of problem (RFC 9457, section 3.1.1), each a place on the page /docs.
// All other problems say no more than their status and have the type about:blank.
const (
	typeBlank     = "about:blank"
	typeFaults    = "/docs#faults"
	typeUndecided = "/docs#undecided"
)

const problemJSON = "application/problem+json"

// problem is an error as clients see it (RFC 9457).
type problem struct {
	Type   string     `json:"type"`
	Title  string     `json:"title"`
	Status int        `json:"status"`
	Detail string     `json:"detail"`
	Errors fault.List `json:"errors,omitempty"`
	// MessageID is the id under which a message that was not decided is kept.
	MessageID string `json:"messageId,omitempty"`

	// header is sent with the problem: Allow, Retry-After, WWW-Authenticate.
	header map[string]string
	// cause is for the log alone.
	cause error
}

// newProblem returns a problem that its status and detail describe in full.
func newProblem(status int, detail string) *problem {
	return &problem{Type: typeBlank, Title: http.StatusText(status), Status: status, Detail: detail}
}

// badRequest returns the problem of a request that is at fault outside its body.
func badRequest(detail string) *problem { return newProblem(http.StatusBadRequest, detail) }

// Error returns what the log is to say: the cause, where there is one.
func (p *problem) Error() string {
	if p.cause == nil {
		return p.Detail
	}
	return p.cause.Error()
}

// Unwrap returns what the problem was made from.
func (p *problem) Unwrap() error { return p.cause }

// with adds a header to the answer.
func (p *problem) with(name, value string) *problem {
	if p.header == nil {
		p.header = map[string]string{}
	}
	p.header[name] = value
	return p
}

// write sends the problem.
func (p *problem) write(c echo.Context) error {
	header := c.Response().Header()
	for name, value := range p.header {
		header.Set(name, value)
	}
	header.Set("Cache-Control", "no-store")
	return writeAs(c, problemJSON, p.Status, p)
}

// writeError answers with the problem of err unless an answer is already under way.
func writeError(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	found := problemOf(routed(err, c))
	if found.Status == http.StatusInternalServerError {
		found.Detail = "internal error; the log says more under request " + requestID(c)
	}
	_ = found.write(c) // fails only where nobody is there to read it
}

// soon is the Retry-After, in seconds, of what is a matter of moments: a failover of
// Redis, a replica that is being replaced.
const soon = "1"

// later is the Retry-After, in seconds, of what somebody has to do something about.
const later = "5"

// problemOf maps an error to what clients see of it. An error that nothing here knows
// is ours: 500, and its text stays in the log.
func problemOf(err error) *problem {
	var own *problem
	if errors.As(err, &own) {
		return own
	}
	found := typedProblem(err)
	if found == nil {
		found = plainProblem(err)
	}
	found.cause = err
	return found
}

// typedProblem maps the errors that carry what to say.
func typedProblem(err error) *problem {
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
	)
	switch {
	case errors.As(err, &faults):
		return faulty(http.StatusBadRequest, "the body has "+faultCount(faults), faults)
	case errors.As(err, &values):
		return faulty(http.StatusUnprocessableEntity, "the values do not fit tool "+strconv.Quote(values.Name), valueFaults(values))
	case errors.As(err, &rate):
		return newProblem(http.StatusTooManyRequests, rate.Error()).with("Retry-After", seconds(rate.RetryAfter))
	case errors.As(err, &often):
		return newProblem(http.StatusTooManyRequests, often.Error()).with("Retry-After", seconds(often.RetryAfter))
	case errors.As(err, &limit):
		return newProblem(http.StatusUnprocessableEntity, limit.Error())
	case errors.As(err, &scopes):
		return faulty(http.StatusUnprocessableEntity, scopes.Error(), scopeFaults(scopes))
	case errors.As(err, &lacks):
		return newProblem(http.StatusUnauthorized, lacks.Error()).with("WWW-Authenticate", challenge)
	case errors.As(err, &llm):
		return undecided(llm)
	case errors.As(err, &size):
		return newProblem(http.StatusRequestEntityTooLarge, "the body is longer than "+strconv.FormatInt(size.Limit, 10)+" bytes, the most that is read")
	}
	return nil
}

// plainProblem maps the errors that only say which they are.
func plainProblem(err error) *problem {
	switch {
	case errors.Is(err, store.ErrNotFound), errors.Is(err, trigger.ErrNotFound), errors.Is(err, trigger.ErrNotInScope):
		return newProblem(http.StatusNotFound, err.Error())
	case errors.Is(err, trigger.ErrCursor):
		return badCursor()
	case errors.Is(err, repositories.ErrFull):
		return newProblem(http.StatusUnprocessableEntity, err.Error())
	case errors.Is(err, trigger.ErrConflict), errors.Is(err, trigger.ErrReused), errors.Is(err, trigger.ErrClosed):
		return newProblem(http.StatusConflict, err.Error())
	case errors.Is(err, keyspace.ErrMemory):
		return newProblem(http.StatusServiceUnavailable, "Redis is full: it is at its maxmemory. Nothing was stored; what deletes or revokes still works. Send the request again later, under the same id where it has one").with("Retry-After", later)
	case isUnavailable(err):
		return newProblem(http.StatusServiceUnavailable, "the store does not answer; send the request again, under the same id where it has one").with("Retry-After", soon)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return newProblem(http.StatusServiceUnavailable, "the request ended before its answer was there; send it again").with("Retry-After", soon)
	}
	return newProblem(http.StatusInternalServerError, "internal error")
}

func isUnavailable(err error) bool { return errors.Is(err, keyspace.ErrUnavailable) }

// faulty is the problem of a body with faults: those that are listed, and how many more
// there are.
func faulty(status int, detail string, faults fault.List) *problem {
	shown, more := faults.Listed()
	if more > 0 {
		detail += fmt.Sprintf("; %d are listed, and there are %d more", len(shown), more)
	}
	return &problem{Type: typeFaults, Title: "The body is at fault", Status: status, Detail: detail, Errors: shown}
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
func undecided(llm *matcher.Unavailable) *problem {
	found := &problem{
		Type: typeUndecided, Title: "The message is not decided", Status: http.StatusBadGateway,
		Detail: llm.Error() + "; the message is kept and nothing fired: send it again under the same messageId",
	}
	if llm.RetryAfter <= 0 {
		return found
	}
	found.Status = http.StatusServiceUnavailable
	return found.with("Retry-After", seconds(llm.RetryAfter))
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
