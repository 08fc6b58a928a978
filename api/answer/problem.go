package answer

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

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
	Code   Code       `json:"code"`
	Errors fault.List `json:"errors,omitempty"`

	State string `json:"state,omitempty"` // of the trigger that ended, or owes something
	Limit string `json:"limit,omitempty"` // that is reached, as settings name it

	MessageID string `json:"messageId,omitempty"` // under which an undecided message is kept
	Matches   any    `json:"matches,omitempty"`   // of a message which was to be withdrawn
	Triggers  any    `json:"triggers,omitempty"`  // the earlier name of matches, the same
	Services  any    `json:"services,omitempty"`  // behind Earshot, for a probe

	header map[string]string // Allow, Retry-After, WWW-Authenticate
	cause  error             // for the log alone
}

// NewProblem returns the problem of a code, which has the status of the table.
func NewProblem(code Code, detail string) *Problem {
	status := statuses[code]
	return &Problem{Type: typeBlank, Title: http.StatusText(status), Status: status, Detail: detail, Code: code}
}

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
	return NewProblem(InvalidCursor, "after is not a cursor: give it the next of an earlier page, unchanged")
}

// Challenge says how to authenticate (RFC 6750, section 3).
const Challenge = `Bearer realm="earshot"`

// OpenAIPath is in the paths whose clients are those of OpenAI's, and read errors in its form
// alone.
const OpenAIPath = "/openai/v1/"

// forOpenAI reports whether a path is at the listening endpoint of an app or a session, served or not.
func forOpenAI(path string) bool {
	rest, inApp := strings.CutPrefix(path, "/v1/apps/")
	_, rest, _ = strings.Cut(rest, "/")
	if of, inSession := strings.CutPrefix(rest, "sessions/"); inSession {
		_, rest, _ = strings.Cut(of, "/")
	}
	first, _, _ := strings.Cut(rest, "/")
	return inApp && first == "openai"
}

// openAIError is a problem as clients of OpenAI's read it.
type openAIError struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    Code    `json:"code"`
	} `json:"error"`
}

// openAITypes are the types of errors of a status, in OpenAI's words.
var openAITypes = map[int]string{
	http.StatusUnauthorized: "authentication_error", http.StatusForbidden: "permission_error", http.StatusTooManyRequests: "rate_limit_error",
}

func (p *Problem) openAI() (shown openAIError) {
	kind := cmp.Or(openAITypes[p.Status], "invalid_request_error")
	if p.Status >= http.StatusInternalServerError {
		kind = "server_error"
	}
	shown.Error.Message, shown.Error.Type, shown.Error.Code = p.Detail, kind, p.Code
	return shown
}
