package clients

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"earshot/deploy/testbed"
)

// trouble is a network between clients and a service that fails in each way once: the answer to every POST is lost
// the first time, after the service has given it. Of the streams of events of a session, the first breaks off behind
// its first event, the second falls silent, and all others come in pieces of a few bytes.
type trouble struct {
	service *httputil.ReverseProxy
	mu      sync.Mutex
	lost    map[string]bool // bodies whose answer was lost
	streams map[string]int  // by path
}

func troubleBefore(t *testing.T, s *service) (*trouble, string) {
	t.Helper()
	to := testbed.Got(url.Parse(s.URL))(t)
	between := &trouble{service: httputil.NewSingleHostReverseProxy(to), lost: map[string]bool{}, streams: map[string]int{}}
	between.service.FlushInterval = -1
	return between, testbed.Serve(t, "", between)
}

func (b *trouble) came(path string) (streams, lost int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.streams[path], len(b.lost)
}

func (b *trouble) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/events"):
		b.mu.Lock()
		b.streams[r.URL.Path]++
		nth := b.streams[r.URL.Path]
		b.mu.Unlock()
		b.service.ServeHTTP(&stream{ResponseWriter: w, request: r, nth: nth}, r)
	case r.Method == http.MethodPost && b.loses(r):
		b.service.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	default:
		b.service.ServeHTTP(w, r)
	}
}

func (b *trouble) loses(r *http.Request) bool {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	key := r.URL.Path + "\n" + string(body)
	b.mu.Lock()
	defer b.mu.Unlock()
	first := !b.lost[key]
	b.lost[key] = true
	return err == nil && first
}

type stream struct {
	http.ResponseWriter
	request *http.Request
	nth     int
}

func (s *stream) Unwrap() http.ResponseWriter { return s.ResponseWriter }

func (s *stream) Write(text []byte) (int, error) {
	isEvent := bytes.Contains(text, []byte("event: "))
	if isEvent && s.nth == 2 {
		<-s.request.Context().Done() // until the client has had enough
		panic(http.ErrAbortHandler)
	}
	for piece := range slices.Chunk(text, 7) { // none of which ends where a line or a letter does
		if _, err := s.ResponseWriter.Write(piece); err != nil {
			return 0, err
		}
		if err := http.NewResponseController(s.ResponseWriter).Flush(); err != nil {
			return 0, err
		}
	}
	if isEvent && s.nth == 1 {
		panic(http.ErrAbortHandler)
	}
	return len(text), nil
}
