package answer

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
	"go.opentelemetry.io/otel/trace"

	"earshot/repositories/fault"
)

// The types of problem (RFC 9457, section 3.1.1), each a place on the page /docs.
// All other problems say no more than their status and have the type about:blank.
const (
	typeBlank     = "about:blank"
	typeFaults    = "/docs#faults"
	typeUndecided = "/docs#undecided"
)

const problemJSON = "application/problem+json"

// Problem is an error as clients see it (RFC 9457).
type Problem struct {
	Type   string     `json:"type"`
	Title  string     `json:"title"`
	Status int        `json:"status"`
	Detail string     `json:"detail"`
	Errors fault.List `json:"errors,omitempty"`
	// MessageID is the id under which a message that was not decided is kept.
	MessageID string `json:"messageId,omitempty"`
	// Triggers is a list of what a message has set off that was to be taken back.
	Triggers any `json:"triggers,omitempty"`
	// Services is a list of those behind Earshot, as a probe was asked for it.
	Services any `json:"services,omitempty"`

	// code is a word for programs, where a client of OpenAI's asks.
	code string
	// header is sent with the problem: Allow, Retry-After, WWW-Authenticate.
	header map[string]string
	// cause is for the log alone.
	cause error
}

// NewProblem returns a problem that its status and detail describe in full.
func NewProblem(status int, detail string) *Problem {
	return &Problem{Type: typeBlank, Title: http.StatusText(status), Status: status, Detail: detail}
}

// BadRequest returns the problem of a request that is at fault outside its body.
func BadRequest(detail string) *Problem { return NewProblem(http.StatusBadRequest, detail) }

// Error returns what the log is to say: the cause, where there is one.
func (p *Problem) Error() string {
	if p.cause == nil {
		return p.Detail
	}
	return p.cause.Error()
}

// Unwrap returns what the problem was made from.
func (p *Problem) Unwrap() error { return p.cause }

// With adds a header to the answer.
func (p *Problem) With(name, value string) *Problem {
	if p.header == nil {
		p.header = map[string]string{}
	}
	p.header[name] = value
	return p
}

// Because adds what the problem was made from, for the log.
func (p *Problem) Because(err error) *Problem {
	p.cause = err
	return p
}

// Coded adds a word for programs, which clients of OpenAI's are shown.
func (p *Problem) Coded(code string) *Problem {
	p.code = code
	return p
}

// SetHeader sets what the problem says in the header of the answer.
func (p *Problem) SetHeader(header http.Header) {
	for name, value := range p.header {
		header.Set(name, value)
	}
}

// write sends the problem.
func (p *Problem) write(c echo.Context) error {
	header := c.Response().Header()
	p.SetHeader(header)
	header.Set("Cache-Control", "no-store")
	if strings.Contains(c.Path(), OpenAIPath) {
		return JSON(c, p.Status, p.openAI())
	}
	return writeAs(c, problemJSON, p.Status, p)
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
	_ = found.write(c) // fails only where nobody is there to read it
}

// Soon is the Retry-After, in seconds, of what is a matter of moments: a failover of
// Redis, a replica that is being replaced.
const Soon = "1"

// routed puts the router's own errors into words: no such path, or no such method on
// it, in which case the router has set Allow already (RFC 9110, section 15.5.6).
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

// Quote quotes what a client sent, but not at any length.
func Quote(text string) string {
	const most = 64
	if len(text) > most {
		text = text[:most] + "…"
	}
	return strconv.Quote(text)
}

// BadCursor returns the problem of a list whose cursor is none.
func BadCursor() *Problem {
	return BadRequest("after is not a cursor: give it the next of an earlier page, unchanged")
}

// RequestID names the request in the log and in the answer to an internal error: the
// id of its span, which is its own even where callers share a trace.
func RequestID(c echo.Context) string {
	return trace.SpanContextFromContext(c.Request().Context()).SpanID().String()
}

// Challenge says how to authenticate (RFC 6750, section 3).
const Challenge = `Bearer realm="earshot"`
