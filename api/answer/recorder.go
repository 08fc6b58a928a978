package answer

import (
	"bytes"
	"net/http"
)

// Recorder is the answer to a request that REST was asked in the same process: by the console,
// and for requests over NATS. An answer is kept whole, so that it is for those that are no
// streams: none is longer than a page of a list.
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
