package emitter

import (
	"context"
	"sync"
	"sync/atomic"

	"earshot/trigger/effect"
)

// queueLength is how many events may wait for one subscriber. One that falls further
// behind is dropped: it can come back and go on where it was, and memory cannot.
const queueLength = 256

// What is queued for subscribers is bounded in bytes as well, for one and for all together.
// An event that is queued for several counts for each, so that a process holds less.
const (
	maxQueuedBytes      = 1 << 20
	maxQueuedBytesInAll = 64 << 20
)

// audience is the scope of an event, and of a subscription: a session, or with an empty
// session the whole app.
type audience struct{ app, session string }

// hub fans the events of the one consumer out to all subscribers.
type hub struct {
	mu          sync.Mutex
	last        uint64 // sequence of the last event that was handed out
	positioned  bool
	advanced    bool         // since it was last asked
	queuedBytes atomic.Int64 // bytes that wait for subscribers
	subscribers map[audience]map[*subscriber]bool
}

// subscriber is one open subscription, with its queue.
type subscriber struct {
	audience
	seen        uint64 // what it has seen
	joinedAt    uint64 // what came before it joined, and is read from the stream
	queue       chan effect.Published
	out         chan effect.Published
	dropped     chan struct{} // closed when it is dropped
	queuedBytes atomic.Int64  // bytes in its queue
	endedAs     state
	once        sync.Once
}

func newHub() *hub { return &hub{subscribers: map[audience]map[*subscriber]bool{}} }

// begin sets where the reading begins, the first time and after forget; later it goes on
// where it was. In a stream that ends before that, which must be another, it begins anew, and the
// subscribers as well.
func (h *hub) begin(last uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.positioned && last >= h.last {
		return
	}
	h.last, h.positioned = last, true
	h.dropAll()
}

// forget lets the next reading begin anew. Nobody may follow.
func (h *hub) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.positioned = false
}

// followed reports whether there are subscribers.
func (h *hub) followed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.subscribers) > 0
}

// takeAdvanced reports whether an event came since it was asked before.
func (h *hub) takeAdvanced() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	moved := h.advanced
	h.advanced = false
	return moved
}

func (h *hub) position() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last
}

// dispatch never waits: a subscriber without room is dropped.
func (h *hub) dispatch(event effect.Published, of audience) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if event.Sequence <= h.last {
		return
	}
	h.last, h.advanced = event.Sequence, true
	h.enqueue(event, audience{app: of.app})
	if of.session != "" {
		h.enqueue(event, of)
	}
}

func (h *hub) enqueue(event effect.Published, to audience) {
	for s := range h.subscribers[to] {
		size := int64(len(event.Data))
		queued := s.queuedBytes.Load()
		if queued > 0 && (queued+size > maxQueuedBytes || h.queuedBytes.Load()+size > maxQueuedBytesInAll) {
			s.drop(slow)
			continue
		}
		s.queuedBytes.Add(size)
		h.queuedBytes.Add(size)
		select {
		case s.queue <- event:
		default:
			h.release(s, size)
			s.drop(slow)
		}
	}
}

// release counts off what is queued no more.
func (h *hub) release(s *subscriber, size int64) {
	s.queuedBytes.Add(-size)
	h.queuedBytes.Add(-size)
}

// join adds a subscriber: what comes from now on goes into its queue.
func (h *hub) join(of audience, after uint64) *subscriber {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.joinLocked(of, after)
}

func (h *hub) joinLocked(of audience, after uint64) *subscriber {
	s := &subscriber{
		audience: of, seen: after, joinedAt: h.last, dropped: make(chan struct{}),
		queue: make(chan effect.Published, queueLength), out: make(chan effect.Published),
	}
	if h.subscribers[of] == nil {
		h.subscribers[of] = map[*subscriber]bool{}
	}
	h.subscribers[of][s] = true
	return s
}

// rejoin gives a subscriber a new queue, from what it has seen. There is no moment in which
// nobody follows.
func (h *hub) rejoin(s *subscriber) *subscriber {
	h.mu.Lock()
	defer h.mu.Unlock()
	next := h.joinLocked(s.audience, s.seen)
	next.out = s.out
	h.leaveLocked(s)
	return next
}

func (h *hub) leave(s *subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leaveLocked(s)
}

func (h *hub) leaveLocked(s *subscriber) {
	delete(h.subscribers[s.audience], s)
	for { // nobody fills it any more, and nobody empties it
		select {
		case event := <-s.queue:
			h.release(s, int64(len(event.Data)))
			continue
		default:
		}
		break
	}
	if len(h.subscribers[s.audience]) == 0 {
		delete(h.subscribers, s.audience)
	}
}

// close drops all subscribers.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dropAll()
}

func (h *hub) dropAll() {
	for _, of := range h.subscribers {
		for s := range of {
			s.drop(ended)
		}
	}
}

// state is whether a subscriber is dropped, and why.
type state int

const (
	subscribed state = iota
	slow             // its queue had no room
	ended            // the reading, or the stream, came to an end
)

func (s *subscriber) drop(why state) {
	s.once.Do(func() {
		s.endedAs = why
		close(s.dropped)
	})
}

func (s *subscriber) state() state {
	select {
	case <-s.dropped:
		return s.endedAs
	default:
		return subscribed
	}
}

// live hands on what comes, until ctx ends or the subscriber is dropped.
func (s *subscriber) live(ctx context.Context, h *hub) {
	for {
		select {
		case event := <-s.queue:
			h.release(s, int64(len(event.Data)))
			if event.Sequence > s.seen && !s.deliver(ctx, event) {
				return
			}
		case <-s.dropped:
			return
		case <-ctx.Done():
			return
		}
	}
}

// deliver waits for the reader, and reports whether it took the event.
func (s *subscriber) deliver(ctx context.Context, event effect.Published) bool {
	select {
	case s.out <- event:
		s.seen = event.Sequence
		return true
	case <-ctx.Done():
		return false
	}
}
