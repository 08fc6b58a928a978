package emitter

import (
	"context"
	"sync"
	"sync/atomic"

	"earshot/trigger/effect"
)

const (
	// queueLength is how many events may wait for a subscriber. One further behind is dropped, and can come
	// back.
	queueLength = 256
	// Bytes queued for one subscriber and for all. An event that is queued for several counts for each.
	maxQueuedBytes      = 1 << 20
	maxQueuedBytesInAll = 64 << 20
	// maxCatchUps bounds how many subscribers read stored events at a time, each with a consumer: all come at
	// once when a replica was restarted.
	maxCatchUps = 16
	// catchUpBatch is how many stored events are read at a time; more than catchUpBytes are read again.
	catchUpBatch = 64
	catchUpBytes = 128 << 10
)

type subscriber struct {
	audience
	seen     uint64 // what it has seen
	joinedAt uint64 // what came before it joined, and is read from the stream
	queue    chan effect.Published
	out      chan effect.Published

	queuedBytes atomic.Int64  // in its queue
	allQueued   *atomic.Int64 // in the queues of all subscribers

	dropped chan struct{} // closed when it is dropped
	once    sync.Once
	endedAs state
}

type state int

const (
	subscribed state = iota
	slow             // its queue had no room
	ended            // the reading, or the stream, came to an end
)

// enqueue never waits: a subscriber without room is dropped.
func (s *subscriber) enqueue(event effect.Published) {
	size := int64(len(event.Data))
	queued := s.queuedBytes.Load()
	if queued > 0 && (queued+size > maxQueuedBytes || s.allQueued.Load()+size > maxQueuedBytesInAll) {
		s.drop(slow)
		return
	}
	s.count(size)
	select {
	case s.queue <- event:
	default:
		s.count(-size)
		s.drop(slow)
	}
}

func (s *subscriber) count(size int64) {
	s.queuedBytes.Add(size)
	s.allQueued.Add(size)
}

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
func (s *subscriber) live(ctx context.Context) {
	for {
		select {
		case event := <-s.queue:
			s.count(-int64(len(event.Data)))
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
