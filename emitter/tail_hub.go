package emitter

import (
	"context"
	"sync"
	"sync/atomic"

	"earshot/trigger/effect"
)

// followerRoom is how many events may wait for one follower. One that falls further
// behind is dropped: it can come back and go on where it was, and memory cannot.
const followerRoom = 256

// What waits for followers is bounded in bytes as well, for one and for all together. An
// event that waits for several counts for each, so that a process holds less.
const (
	followerBytes = 1 << 20
	allBytes      = 64 << 20
)

// audience is who may see an event: the followers of a session, and with an empty
// session those of the app.
type audience struct{ app, session string }

// hub hands the events of the one consumer to all followers.
type hub struct {
	mu        sync.Mutex
	at        uint64 // sequence of the last event that was handed out
	begun     bool
	movedOn   bool         // since it was last asked
	held      atomic.Int64 // bytes that wait for followers
	followers map[audience]map[*follower]bool
}

// follower is one open stream.
type follower struct {
	audience
	after uint64 // what it has seen
	upTo  uint64 // what came before it joined, and is read from the stream
	queue chan effect.Published
	out   chan effect.Published
	gone  chan struct{} // closed when it is dropped
	waits atomic.Int64  // bytes in its queue
	why   standing
	once  sync.Once
}

func newHub() *hub { return &hub{followers: map[audience]map[*follower]bool{}} }

// begin sets where the reading begins, the first time; later it goes on where it was.
// In a stream that ends before that, which must be another, it begins anew, and the
// followers as well.
func (h *hub) begin(last uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.begun && last >= h.at {
		return
	}
	h.at, h.begun = last, true
	h.dropAll()
}

// moved reports whether an event came since it was asked before.
func (h *hub) moved() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	moved := h.movedOn
	h.movedOn = false
	return moved
}

func (h *hub) position() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at
}

// dispatch never waits: a follower without room is dropped.
func (h *hub) dispatch(event effect.Published, of audience) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if event.Sequence <= h.at {
		return
	}
	h.at, h.movedOn = event.Sequence, true
	h.hand(event, audience{app: of.app})
	if of.session != "" {
		h.hand(event, of)
	}
}

func (h *hub) hand(event effect.Published, to audience) {
	for f := range h.followers[to] {
		size := int64(len(event.Data))
		queued := f.waits.Load()
		if queued > 0 && (queued+size > followerBytes || h.held.Load()+size > allBytes) {
			f.drop(full)
			continue
		}
		f.waits.Add(size)
		h.held.Add(size)
		select {
		case f.queue <- event:
		default:
			h.release(f, size)
			f.drop(full)
		}
	}
}

// release counts what waits no more.
func (h *hub) release(f *follower, size int64) {
	f.waits.Add(-size)
	h.held.Add(-size)
}

// join adds a follower: what comes from now on goes into its queue.
func (h *hub) join(of audience, after uint64) *follower {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := &follower{
		audience: of, after: after, upTo: h.at, gone: make(chan struct{}),
		queue: make(chan effect.Published, followerRoom), out: make(chan effect.Published),
	}
	if h.followers[of] == nil {
		h.followers[of] = map[*follower]bool{}
	}
	h.followers[of][f] = true
	return f
}

// rejoin adds a follower again that has left, with a new queue, from what it has seen.
func (h *hub) rejoin(f *follower) *follower {
	next := h.join(f.audience, f.after)
	next.out = f.out
	return next
}

func (h *hub) leave(f *follower) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.followers[f.audience], f)
	for { // nobody fills it any more, and nobody empties it
		select {
		case event := <-f.queue:
			h.release(f, int64(len(event.Data)))
			continue
		default:
		}
		break
	}
	if len(h.followers[f.audience]) == 0 {
		delete(h.followers, f.audience)
	}
}

// close drops all followers.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dropAll()
}

func (h *hub) dropAll() {
	for _, of := range h.followers {
		for f := range of {
			f.drop(over)
		}
	}
}

// standing is whether a follower is dropped, and why.
type standing int

const (
	following standing = iota
	full               // its queue had no room
	over               // the reading, or the stream, came to an end
)

func (f *follower) drop(why standing) {
	f.once.Do(func() {
		f.why = why
		close(f.gone)
	})
}

func (f *follower) state() standing {
	select {
	case <-f.gone:
		return f.why
	default:
		return following
	}
}

// live hands on what comes, until ctx ends or the follower is dropped.
func (f *follower) live(ctx context.Context, h *hub) {
	for {
		select {
		case event := <-f.queue:
			h.release(f, int64(len(event.Data)))
			if event.Sequence > f.after && !f.hand(ctx, event) {
				return
			}
		case <-f.gone:
			return
		case <-ctx.Done():
			return
		}
	}
}

// hand waits for the reader, and reports whether it took the event.
func (f *follower) hand(ctx context.Context, event effect.Published) bool {
	select {
	case f.out <- event:
		f.after = event.Sequence
		return true
	case <-ctx.Done():
		return false
	}
}
