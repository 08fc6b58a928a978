// Package goroutines runs functions beside their callers, as go does, on goroutines that are
// used again: the stack of a new one is small, and is copied again and again while it grows
// to what its work takes.
package goroutines

import "time"

// idleTime is how long a goroutine waits for more work.
const idleTime = time.Second

// Pool is as many goroutines as have run at once within the last second. It is safe for
// concurrent use.
type Pool struct {
	next chan func() // has no room: whoever receives is idle
}

// New returns a pool without a goroutine.
func New() Pool { return Pool{make(chan func())} }

// Start runs f at once, and does not wait for it. A panic of f ends the process.
func (p Pool) Start(f func()) {
	select {
	case p.next <- f:
	default:
		go p.follow(f)
	}
}

// follow runs f and then what comes, until nothing does.
func (p Pool) follow(f func()) {
	f()
	patience := time.NewTimer(idleTime)
	defer patience.Stop()
	for {
		select {
		case f := <-p.next:
			f()
			patience.Reset(idleTime)
		case <-patience.C:
			return
		}
	}
}
