package mcp

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
)

// refusal replaces the SDK's plain-text errors: a JSON-RPC client gets a readable error.
type refusal struct {
	http.ResponseWriter
	status int // of a plain-text error; 0 for any other answer
	text   bytes.Buffer
}

// WriteHeader withholds the header of a plain-text error.
func (r *refusal) WriteHeader(status int) {
	if status >= http.StatusBadRequest && strings.HasPrefix(r.Header().Get(echo.HeaderContentType), echo.MIMETextPlain) {
		r.status = status
		return
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write withholds the text of a plain-text error.
func (r *refusal) Write(part []byte) (int, error) {
	if r.status != 0 {
		return r.text.Write(part)
	}
	return r.ResponseWriter.Write(part)
}

// Flush flushes a stream.
func (r *refusal) Flush() {
	if f, ok := r.ResponseWriter.(http.Flusher); ok && r.status == 0 {
		f.Flush()
	}
}

// Unwrap returns the underlying writer, for http.ResponseController.
func (r *refusal) Unwrap() http.ResponseWriter { return r.ResponseWriter }
