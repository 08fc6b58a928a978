package answer

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"earshot/repositories/fault"
)

// The problem types (RFC 9457, section 3.1.1) are anchors in the reference of routes, or about:blank.
const (
	typeBlank     = "about:blank"
	typeFaults    = "/docs/reference/api#faults"
	typeUndecided = "/docs/reference/api#undecided"
)

const problemJSON = "application/problem+json"

// Problem is an error for clients (RFC 9457).
type Problem struct {
	Type   string     `json:"type"`
	Title  string     `json:"title"`
	Status int        `json:"status"`
	Detail string     `json:"detail"`
	Code   Code       `json:"code"`
	Errors fault.List `json:"errors,omitempty"`

	State string `json:"state,omitempty"` // of the trigger that ended, or has pending work
	Limit string `json:"limit,omitempty"` // the reached limit, as in the settings

	MessageID string `json:"messageId,omitempty"` // id of a stored undecided message
	Matches   any    `json:"matches,omitempty"`   // of a message that was to be withdrawn
	Triggers  any    `json:"triggers,omitempty"`  // earlier name of matches
	Services  any    `json:"services,omitempty"`  // behind Earshot, for a probe

	header map[string]string // Allow, Retry-After, WWW-Authenticate
	cause  error             // for the log only
}

// NewProblem returns a problem with the code's status.
func NewProblem(code Code, detail string) *Problem {
	status := statuses[code]
	return &Problem{Type: typeBlank, Title: http.StatusText(status), Status: status, Detail: detail, Code: code}
}

// Error returns the text for the log: the cause, if any.
func (p *Problem) Error() string {
	if p.cause == nil {
		return p.Detail
	}
	return p.cause.Error()
}

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.cause }

// With adds a header to the answer.
func (p *Problem) With(name, value string) *Problem {
	if p.header == nil {
		p.header = map[string]string{}
	}
	p.header[name] = value
	return p
}

// Because adds the cause, for the log.
func (p *Problem) Because(err error) *Problem {
	p.cause = err
	return p
}

// SetHeader sets the problem's headers.
func (p *Problem) SetHeader(header http.Header) {
	for name, value := range p.header {
		header.Set(name, value)
	}
}

// Soon is the Retry-After, in seconds, during a failover of Redis or the replacement of a replica.
const Soon = "1"

// Quote quotes a client's text, shortened to 64 bytes.
func Quote(text string) string { return quoteStart(text, 64) }

// quoteStart quotes a text, of which it keeps whole characters of at most so many bytes.
func quoteStart(text string, most int) string {
	if len(text) > most {
		for most > 0 && !utf8.RuneStart(text[most]) {
			most--
		}
		text = text[:most] + "…"
	}
	return strconv.Quote(text)
}

// BadCursor returns the problem of an invalid cursor.
func BadCursor() *Problem {
	return NewProblem(InvalidCursor, "after is not a cursor of this list: give it the next of an earlier page, unchanged")
}

// Challenge tells clients how to authenticate (RFC 6750, section 3).
const Challenge = `Bearer realm="earshot"`

// OpenAIPath is part of the paths for OpenAI clients, which get errors in OpenAI's format.
const OpenAIPath = "/openai/v1/"

// forOpenAI reports whether a path belongs to the OpenAI endpoint of an app or session, served or not.
func forOpenAI(path string) bool {
	rest, inApp := strings.CutPrefix(path, "/v1/apps/")
	_, rest, _ = strings.Cut(rest, "/")
	if of, inSession := strings.CutPrefix(rest, "sessions/"); inSession {
		_, rest, _ = strings.Cut(of, "/")
	}
	first, _, _ := strings.Cut(rest, "/")
	return inApp && first == "openai"
}

type openAIError struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    Code    `json:"code"`
	} `json:"error"`
}

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
