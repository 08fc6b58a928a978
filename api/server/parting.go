package server

import (
	"context"
	"net/http"
	"sync/atomic"
)

// Parting is the time between the word that a replica is to stop and the end of its listening:
// it answers all that comes, and sends everybody elsewhere, so that balancers and clients have
// left when it is gone.
type Parting struct{ begun atomic.Bool }

// Begin begins it. It is not taken back.
func (p *Parting) Begin() { p.begun.Store(true) }

// Handler serves requests, and from then on ends the connection of each with its answer. What a
// client sends over a connection of before would else meet the end of it. The others are idle
// then, and are left open.
func (p *Parting) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, request *http.Request) {
		if p.begun.Load() {
			out.Header().Set("Connection", "close") // HTTP/2 is told to go away in its own words
		}
		next.ServeHTTP(out, request)
	})
}

// Ready is a check of readiness, which fails from then on.
func (p *Parting) Ready(context.Context) error {
	if p.begun.Load() {
		return parted{}
	}
	return nil
}

// parted is the error of a replica that is to stop.
type parted struct{}

// Error says what is wrong.
func (parted) Error() string { return "the replica is to stop" }

// Public is the text for everybody, which follows the name of the check.
func (parted) Public() string { return "is stopping: send requests to another" }
