package emitter

import (
	"context"
	"sync"
)

// demand is whether anybody wants the stream to be read, and whether it is. Reading costs
// NATS and this process about as much as publishing does, so it rests while nobody follows.
type demand struct {
	followed func() bool   // whether there are subscribers
	wake     chan struct{} // has room for one: somebody came

	mu     sync.Mutex
	coming int           // those who wait for the reading, or are about to subscribe
	recent bool          // somebody came since this was last asked
	ready  chan struct{} // closed while the stream is read
}

func newDemand(followed func() bool) *demand {
	return &demand{followed: followed, wake: make(chan struct{}, 1), ready: make(chan struct{})}
}

// enter has the stream read at least until leave is called; ready is closed when it is.
func (d *demand) enter() (ready <-chan struct{}, leave func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.coming++
	d.recent = true
	select {
	case d.wake <- struct{}{}:
	default:
	}
	return d.ready, d.leave
}

func (d *demand) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.coming--
}

// exists reports whether the stream should be read.
func (d *demand) exists() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.existsLocked()
}

func (d *demand) existsLocked() bool { return d.coming > 0 || d.recent || d.followed() }

// await waits until the stream should be read, and returns false if ctx ends before.
func (d *demand) await(ctx context.Context) bool {
	for !d.exists() {
		select {
		case <-d.wake:
		case <-ctx.Done():
			return false
		}
	}
	return ctx.Err() == nil
}

// ended reports whether the reading may rest: nobody follows, and nobody has come since it
// was asked before. Whoever comes afterwards waits until the stream is read again.
func (d *demand) ended() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.recent = false
	if d.existsLocked() {
		return false
	}
	d.unreadyLocked()
	return true
}

func (d *demand) setReady() {
	d.mu.Lock()
	defer d.mu.Unlock()
	close(d.ready)
}

func (d *demand) setUnready() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unreadyLocked()
}

// unreadyLocked keeps a channel that is open: somebody may wait for it.
func (d *demand) unreadyLocked() {
	select {
	case <-d.ready:
		d.ready = make(chan struct{})
	default:
	}
}
