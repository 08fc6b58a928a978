package api

import (
	"net/http"
	"time"
)

// Limits of a connection.
const (
	// headerTime is how long a client may take to send a request's header. Slower
	// ones hold a connection for nothing (the Slowloris attack).
	headerTime = 10 * time.Second
	// bodyTime is how long it may take for a whole request, from the first byte of the
	// header to the last of the body: 1 MiB at 35 KiB/s. net/http lifts the deadline
	// where the body ends, so that it bounds neither an answer nor an event stream.
	bodyTime = 30 * time.Second
	// idleTime is longer than the 60 s for which proxies commonly keep a connection,
	// so that it is they who close it and no request is lost on one just closed.
	idleTime = 75 * time.Second
	// mostHeader is room for an ID token of each of several services, in bytes.
	mostHeader = 64 << 10
)

// NewServer returns a server for the handler of New, with limits against slow and
// greedy clients. It does not limit the time of the answer, which waits for tools and
// streams events: serve it on a Listener, which cuts off those who do not take theirs.
func NewServer(addr string, handler http.Handler) *http.Server {
	return &http.Server{
		Addr:              addr,
		Handler:           handler,
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       bodyTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    mostHeader,
	}
}
