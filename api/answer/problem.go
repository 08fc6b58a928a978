package answer

import (
	"cmp"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"
	"go.opentelemetry.io/otel/trace"

	"earshot/repositories/fault"
)

// The types of problem (RFC 9457, section 3.1.1), each a place on the page /docs, and the one of all others.
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

	MessageID string `json:"messageId,omitempty"` // under which an undecided message is kept
	Triggers  any    `json:"triggers,omitempty"`  // that a message has set off which was to be retracted
	Services  any    `json:"services,omitempty"`  // behind Earshot, for a probe

	code   string            // for clients of OpenAI's
	header map[string]string // Allow, Retry-After, WWW-Authenticate
	cause  error             // for the log alone
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

// Soon is the Retry-After, in seconds, of a failover of Redis or a replica that is being replaced.
const Soon = "1"

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

// RequestID names the request in the log and in internal errors: the id of its span, which is its own even where
// callers share a trace.
func RequestID(c echo.Context) string {
	return trace.SpanContextFromContext(c.Request().Context()).SpanID().String()
}

// Challenge says how to authenticate (RFC 6750, section 3).
const Challenge = `Bearer realm="earshot"`

// OpenAIPath is in the paths whose clients are those of OpenAI's, and read errors in its form
// alone.
const OpenAIPath = "/openai/v1/"

// openAIError is a problem as clients of OpenAI's read it.
type openAIError struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	} `json:"error"`
}

// openAIWords are the type and the code of a problem of that status, in OpenAI's words where
// it has some.
var openAIWords = map[int][2]string{
	http.StatusUnauthorized:          {"authentication_error", "invalid_api_key"},
	http.StatusForbidden:             {"permission_error", "forbidden"},
	http.StatusNotFound:              {"invalid_request_error", "not_found"},
	http.StatusRequestEntityTooLarge: {"invalid_request_error", "request_too_large"},
	http.StatusTooManyRequests:       {"rate_limit_error", "rate_limit_exceeded"},
}

func (p *Problem) openAI() (shown openAIError) {
	words := openAIWords[p.Status]
	if words[0] == "" {
		words[0] = "invalid_request_error"
	}
	if p.Status >= http.StatusInternalServerError {
		words[0] = "server_error"
	}
	shown.Error.Message, shown.Error.Type = p.Detail, words[0]
	if code := cmp.Or(p.code, words[1]); code != "" {
		shown.Error.Code = &code
	}
	return shown
}
