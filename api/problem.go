package api

import (
	"net/http"

	"github.com/labstack/echo/v4"

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
