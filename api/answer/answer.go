// Package answer writes the API's answers: values and pages of lists as JSON, and errors as problems (RFC
// 9457). ProblemOf converts the errors of the store, the engine and the matcher.
package answer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
	"earshot/repositories/lists"
)

// list is a page of a list. Next is the cursor of the next page, and missing on the last.
type list[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"`
}

// List answers with a page, or returns err; an empty page is an empty list, not null.
func List[T any](c echo.Context, items []T, next string, err error) error {
	if err != nil {
		return err
	}
	if items == nil {
		items = []T{}
	}
	return JSON(c, http.StatusOK, list[T]{Items: items, Next: next})
}

// JSON answers with a value.
func JSON(c echo.Context, status int, value any) error {
	return writeAs(c, echo.MIMEApplicationJSON, status, value)
}

// writeAs encodes the value before the first byte is sent, so that an error leaves no partial answer. It does
// not escape & < >; nosniff keeps browsers from rendering the answer.
func writeAs(c echo.Context, contentType string, status int, value any) error {
	text, err := exactjson.Encode(value)
	if err != nil {
		return err
	}
	return c.Blob(status, contentType, append(text, '\n'))
}

// Result answers with a value, or returns err.
func Result(c echo.Context, status int, value any, err error) error {
	if err != nil {
		return err
	}
	return JSON(c, status, value)
}

// Done answers without a body, or returns err.
func Done(c echo.Context, status int, err error) error {
	if err != nil {
		return err
	}
	return c.NoContent(status)
}

// Created returns the status of a write: 201 or 200.
func Created(created bool) int {
	if created {
		return http.StatusCreated
	}
	return http.StatusOK
}

// Stored answers with JSON from the engine, byte for byte, and a newline.
func Stored(c echo.Context, status int, stored json.RawMessage) error {
	if len(stored) == 0 {
		return errors.New("the engine has no answer and no error")
	}
	if err := c.Blob(status, echo.MIMEApplicationJSON, stored); err != nil {
		return err
	}
	_, err := c.Response().Write([]byte{'\n'})
	return err
}

// Recorder holds the complete answer to a REST request in the same process, from the console, NATS or a socket.
// It is not for streams.
type Recorder struct {
	Status int // 0 until the answer begins
	Body   bytes.Buffer
	header http.Header
}

// V1 returns a path of REST with these parts, each escaped.
func V1(parts ...string) string {
	return "/v1/" + strings.Join(lists.Map(parts, url.PathEscape), "/")
}

// Record runs a handler and returns its answer.
func Record(by http.Handler, request *http.Request) *Recorder {
	r := &Recorder{}
	by.ServeHTTP(r, request)
	return r
}

// Whole is Record for a goroutine of its own: an aborted answer becomes a problem.
func Whole(by http.Handler, request *http.Request) (got *Recorder) {
	defer func() {
		if fault := recover(); fault != nil { // REST has logged the panic, and aborted a started answer
			got = Refused(NewProblem(InternalError, "the answer broke off; ask again, with the same id"))
		}
	}()
	return Record(by, request)
}

// Refused returns the answer for a problem.
func Refused(problem *Problem) *Recorder {
	r := &Recorder{Status: problem.Status}
	r.Header().Set(echo.HeaderContentType, problemJSON)
	problem.SetHeader(r.Header())
	_ = json.NewEncoder(&r.Body).Encode(problem) // strings and numbers always encode
	return r
}

// Header implements http.ResponseWriter.
func (r *Recorder) Header() http.Header {
	if r.header == nil {
		r.header = http.Header{}
	}
	return r.header
}

// WriteHeader implements http.ResponseWriter.
func (r *Recorder) WriteHeader(status int) {
	if r.Status == 0 {
		r.Status = status
	}
}

// Write implements http.ResponseWriter.
func (r *Recorder) Write(part []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.Body.Write(part)
}

// Flush implements http.Flusher, which event streams need.
func (r *Recorder) Flush() { r.WriteHeader(http.StatusOK) }

// KnownQuery refuses parameters that are unknown or repeated: a misspelled dryRun would write. also takes further
// names.
func KnownQuery(taken []string, also ...func(name string) bool) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if c.Request().URL.RawQuery == "" {
				return next(c)
			}
			given, err := url.ParseQuery(c.Request().URL.RawQuery)
			if err != nil {
				return NewProblem(InvalidQuery, "the query is not well-formed: "+err.Error())
			}
			var wrong []string
			for name, values := range given {
				switch {
				case !slices.Contains(taken, name) && !slices.ContainsFunc(also, func(known func(string) bool) bool { return known(name) }):
					wrong = append(wrong, "query parameter "+Quote(name)+" is not known here"+fault.DidYouMean(name, taken).String())
				case len(values) > 1:
					wrong = append(wrong, "query parameter "+strconv.Quote(name)+" is given more than once")
				}
			}
			if wrong == nil {
				return next(c)
			}
			slices.Sort(wrong)
			return NewProblem(InvalidQuery, strings.Join(wrong, "; ")+"; this version takes "+cmp.Or(strings.Join(taken, ", "), "none"))
		}
	}
}
