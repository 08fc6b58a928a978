package server

import (
	"context"
	"net/http"
	"sync/atomic"
)

// Parting is the time between the request to stop a replica and the end of its listening. The replica answers
// all requests but closes their connections, so that load balancers and clients leave in time.
type Parting struct{ begun atomic.Bool }

// Begin starts it. It cannot be undone.
func (p *Parting) Begin() { p.begun.Store(true) }

// Handler serves requests, and after Begin closes the connection of each with its answer. A later request on it
// could meet the end of listening. Idle connections stay open.
func (p *Parting) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, request *http.Request) {
		if p.begun.Load() {
			out.Header().Set("Connection", "close") // in HTTP/2 this sends GOAWAY
		}
		next.ServeHTTP(out, request)
	})
}

// Ready is a readiness check, which fails after Begin.
func (p *Parting) Ready(context.Context) error {
	if p.begun.Load() {
		return parted{}
	}
	return nil
}

type parted struct{}

// Error implements error.
func (parted) Error() string { return "the replica is to stop" }

// Public returns the public text, which follows the check's name.
func (parted) Public() string { return "is stopping: send requests to another" }
