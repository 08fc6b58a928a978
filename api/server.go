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
	// idleTime is longer than the 60 s for which proxies commonly keep a connection,
	// so that it is they who close it and no request is lost on one just closed.
	idleTime = 75 * time.Second
	// mostHeader is room for an ID token of each of several services, in bytes.
	mostHeader = 64 << 10
)

// NewServer returns a server for the handler of New, with limits against slow and
// greedy clients. It limits neither the whole request nor the answer in time: readBody
// limits the one, and the other waits for tools and streams events.
func NewServer(addr string, handler http.Handler) *http.Server {
	return &http.Server{
		Addr:              addr,
		Handler:           handler,
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    mostHeader,
	}
}
