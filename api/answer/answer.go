// Package answer writes what the API answers: values and pages of lists as JSON, and every
// error as a problem (RFC 9457), which ProblemOf makes of the errors of the store, the
// engine and the matcher.
package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"earshot/repositories/exactjson"
)

// list is the answer to a request for a list. Next is the cursor of the next page,
// and missing on the last.
type list[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"`
}

// List answers with a page, unless err says why there is none; an empty one is an empty list and not null.
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

// writeAs encodes the value before the first byte is sent: an error is no half answer. It leaves & < > as they
// are; nosniff keeps a browser from reading the answer as a page.
func writeAs(c echo.Context, contentType string, status int, value any) error {
	text, err := exactjson.Encode(value)
	if err != nil {
		return err
	}
	return c.Blob(status, contentType, append(text, '\n'))
}

// Result answers with a value, unless err says why there is none.
func Result(c echo.Context, status int, value any, err error) error {
	if err != nil {
		return err
	}
	return JSON(c, status, value)
}

// Done answers without a body, unless err says why nothing was done.
func Done(c echo.Context, status int, err error) error {
	if err != nil {
		return err
	}
	return c.NoContent(status)
}

// Created is the status of a write.
func Created(created bool) int {
	if created {
		return http.StatusCreated
	}
	return http.StatusOK
}

// Stored answers with JSON that the engine has stored, byte for byte, and a line's end.
func Stored(c echo.Context, status int, stored json.RawMessage) error {
	if len(stored) == 0 {
		return errors.New("the engine has no answer and no error")
	}
	return c.Blob(status, echo.MIMEApplicationJSON, slices.Concat(stored, []byte{'\n'}))
}

// Recorder is the answer to a REST request in the same process, by the console, over NATS or a socket. It keeps the
// answer whole, so it is not for streams.
type Recorder struct {
	// Status is 0 before there is an answer.
	Status int
	Body   bytes.Buffer
	header http.Header
}

// Record has a handler answer a request.
func Record(by http.Handler, request *http.Request) *Recorder {
	r := &Recorder{}
	by.ServeHTTP(r, request)
	return r
}

// Whole is Record for a caller of its own goroutine: an answer that breaks off becomes a problem.
func Whole(by http.Handler, request *http.Request) (got *Recorder) {
	defer func() {
		if fault := recover(); fault != nil { // REST has logged it, and cut an answer that had begun
			got = Refused(NewProblem(InternalError, "the answer broke off; ask again, with the same id"))
		}
	}()
	return Record(by, request)
}

// Refused is the answer that a problem is.
func Refused(problem *Problem) *Recorder {
	r := &Recorder{Status: problem.Status}
	r.Header().Set(echo.HeaderContentType, problemJSON)
	problem.SetHeader(r.Header())
	_ = json.NewEncoder(&r.Body).Encode(problem) // texts and numbers never fail
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

// Flush implements http.Flusher: an event stream wants it even for its beginning.
func (r *Recorder) Flush() { r.WriteHeader(http.StatusOK) }
