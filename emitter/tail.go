package emitter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/nats-io/nats.go/jetstream"

	"earshot/repositories/panics"
	"earshot/trigger/effect"
)

// ErrNotReading means that the stream cannot be read now, as NATS is away.
var ErrNotReading = errors.New("the stream of events cannot be read now")

// DefaultWatch is how often an idle reader looks at the stream: one made anew would never send it an event.
const DefaultWatch = 5 * time.Second

// Tail is a consumer of the stream that one process shares: it reads every event once for any number of
// subscribers, and rests while there are none. It is safe for concurrent use.
type Tail struct {
	emitter      *Emitter
	log          *slog.Logger
	every        time.Duration
	catchUpSlots chan struct{} // one slot for each subscriber that catches up
	wake         chan struct{} // has room for one: somebody came
	queuedBytes  atomic.Int64  // that wait for subscribers

	mu          sync.Mutex
	subscribers map[audience]map[*subscriber]bool
	last        uint64 // sequence of the last event that was handed out
	positioned  bool   // last holds
	advanced    bool   // since watch last looked
	coming      int    // those who wait for the reading, or are about to subscribe
	recent      bool   // somebody came since watch last looked
	ready       chan struct{}
}

// Tail returns a reader of the stream. It reads while Run runs and somebody follows, looks after itself every
// so often (DefaultWatch if zero), and goes on for once or twice as long when the last one has left.
func (e *Emitter) Tail(every time.Duration) *Tail {
	if every == 0 {
		every = DefaultWatch
	}
	return &Tail{
		emitter: e, log: e.options.Logger, every: every, catchUpSlots: make(chan struct{}, maxCatchUps),
		wake: make(chan struct{}, 1), subscribers: map[audience]map[*subscriber]bool{}, ready: make(chan struct{}),
	}
}

// Run makes the stream, and reads it until ctx ends while somebody follows, through all outages.
func (t *Tail) Run(ctx context.Context) {
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.dropAll()
	}()
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = 50*time.Millisecond, 2*time.Second
	for ctx.Err() == nil {
		began := t.emitter.options.Now()
		err := t.read(ctx)
		if err == nil {
			pauses.Reset()
			t.mu.Lock()
			t.positioned = false // the next reading begins at the end of the stream
			t.mu.Unlock()
			for ctx.Err() == nil && !t.wanted() {
				select {
				case <-t.wake:
				case <-ctx.Done():
				}
			}
			continue
		}
		if ctx.Err() != nil {
			return
		}
		t.log.Warn("tail.interrupted", "error", err.Error())
		if t.emitter.options.Now().Sub(began) > t.every {
			pauses.Reset()
		}
		select {
		case <-ctx.Done():
		case <-time.After(pauses.NextBackOff()):
		}
	}
}

func (t *Tail) wanted() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.wantedLocked()
}

func (t *Tail) wantedLocked() bool { return t.coming > 0 || t.recent || len(t.subscribers) > 0 }

// read follows the stream until something is wrong with it, or, without an error, until nobody follows. It goes
// on after the last event. A stream that ends before that is another: all begin anew.
func (t *Tail) read(ctx context.Context) error {
	if err := t.emitter.Ready(ctx); err != nil || !t.wanted() {
		return err
	}
	last, err := t.emitter.end(ctx)
	if err != nil {
		return err
	}
	t.mu.Lock()
	if !t.positioned || last < t.last {
		t.last, t.positioned = last, true
		t.dropAll()
	}
	start := t.last + 1
	t.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	consumer, err := t.emitter.js.OrderedConsumer(ctx, Stream, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: start,
	})
	if err != nil {
		return err
	}
	reading, err := consumer.Consume(func(msg jetstream.Msg) {
		panics.Run(t.log, "events", msg.Subject(), func() {
			event, of, _ := readEvent(msg) // one that is not of ours has no audience, and only counts
			t.dispatch(event, of)
		})
	})
	if err != nil {
		return err
	}
	t.mu.Lock()
	close(t.ready)
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.unready()
	}()
	trouble := make(chan error, 1)
	go func() { trouble <- t.watch(ctx, consumer) }()
	select {
	case err = <-trouble:
	case <-reading.Closed():
		err = errors.New("the consumer was closed")
	}
	reading.Stop()
	if info := consumer.CachedInfo(); err == nil && info != nil { // spares NATS a consumer that nobody reads
		removing, cancel := context.WithTimeout(context.Background(), t.emitter.options.Timeout)
		defer cancel()
		_ = t.emitter.js.DeleteConsumer(removing, Stream, info.Name)
	}
	return err
}

// unready keeps a channel that is open: somebody may wait for it. t.mu is held.
func (t *Tail) unready() {
	select {
	case <-t.ready:
		t.ready = make(chan struct{})
	default:
	}
}

// watch returns when the reader stands still while the stream goes on, or the stream is another; without an
// error when nobody follows. What was deleted from the stream's end is no event that the reader lacks.
func (t *Tail) watch(ctx context.Context, consumer jetstream.Consumer) error {
	ticks := time.NewTicker(t.every)
	defer ticks.Stop()
	for still := false; ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticks.C:
		}
		t.mu.Lock()
		t.recent = false
		unwanted := !t.wantedLocked()
		if unwanted { // who comes now waits until the stream is read again
			t.unready()
		}
		t.mu.Unlock()
		if unwanted {
			return nil
		}
		last, err := t.emitter.end(ctx)
		t.mu.Lock()
		moved, at := t.advanced, t.last
		t.advanced = false
		t.mu.Unlock()
		switch {
		case err != nil || moved:
			still = false
			continue
		case last < at:
			return fmt.Errorf("stream %s was made anew: it ends at %d and was read up to %d", Stream, last, at)
		case last > at && still:
			if info, err := consumer.Info(ctx); err != nil || info.NumPending > 0 {
				return fmt.Errorf("stream %s goes on to %d and nothing came after %d", Stream, last, at)
			}
		}
		still = last > at
	}
}

// dispatch hands an event to those who follow its session or its app. It never waits.
func (t *Tail) dispatch(event effect.Published, of audience) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if event.Sequence <= t.last {
		return
	}
	t.last, t.advanced = event.Sequence, true
	for s := range t.subscribers[audience{app: of.app}] {
		s.enqueue(event)
	}
	if of.session != "" {
		for s := range t.subscribers[of] {
			s.enqueue(event)
		}
	}
}

// dropAll ends all subscriptions; t.mu is held.
func (t *Tail) dropAll() {
	for _, of := range t.subscribers {
		for s := range of {
			s.drop(ended)
		}
	}
}

// enter waits until the stream is read, which goes on at least until leave is called.
func (t *Tail) enter(ctx context.Context) (leave func(), err error) {
	t.mu.Lock()
	t.coming++
	t.recent = true
	ready := t.ready
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
	leave = func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.coming--
	}
	ctx, cancel := context.WithTimeout(ctx, t.emitter.options.Timeout)
	defer cancel()
	select {
	case <-ready:
		return leave, nil
	case <-ctx.Done():
		leave()
		return nil, ErrNotReading
	}
}

// Now is the sequence at which the stream ends for a subscriber that begins now.
func (t *Tail) Now(ctx context.Context) (uint64, error) {
	leave, err := t.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	return t.position(), nil
}

func (t *Tail) position() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}

// Follow hands out the events of a session, or without one of the app, after a sequence, in their order, each
// once: first the stored, then what comes. The channel is closed when ctx ends, when its reader is too slow, or
// when the stream was made anew; a reader that follows again from its last event misses nothing. It fails with
// ErrNotReading.
func (t *Tail) Follow(ctx context.Context, appID, sessionID string, after uint64) (<-chan effect.Published, error) {
	leave, err := t.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if after > t.position() { // it was read on a replica that is ahead, or of a stream before this one
		last, err := t.emitter.end(ctx)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotReading, err)
		}
		if after > last {
			after = 0 // all of this stream is new to its reader
		}
	}
	t.mu.Lock()
	s := t.join(audience{appID, sessionID}, after, make(chan effect.Published))
	t.mu.Unlock()
	go t.serve(ctx, s)
	return s.out, nil
}

// join adds a subscriber: what comes from now on goes into its queue. t.mu is held.
func (t *Tail) join(of audience, after uint64, out chan effect.Published) *subscriber {
	s := &subscriber{
		audience: of, seen: after, joinedAt: t.last, queue: make(chan effect.Published, queueLength), out: out,
		allQueued: &t.queuedBytes, dropped: make(chan struct{}),
	}
	if t.subscribers[of] == nil {
		t.subscribers[of] = map[*subscriber]bool{}
	}
	t.subscribers[of][s] = true
	return s
}

// serve catches up and then goes on live. A subscriber whose queue became full while it read what is stored
// reads on from the stream with a new queue: its reader was not slow.
func (t *Tail) serve(ctx context.Context, s *subscriber) {
	defer close(s.out)
	for {
		var err error // of NATS, or ctx's own
		for err == nil && s.seen < s.joinedAt && s.state() != ended {
			var events []effect.Published
			var through uint64
			if events, through, err = t.stored(ctx, s); err != nil {
				err = fmt.Errorf("read what stream %s has after %d: %w", Stream, s.seen, err)
				break
			}
			for i := 0; i < len(events) && err == nil; i++ {
				if !s.deliver(ctx, events[i]) {
					err = ctx.Err()
				}
			}
			if err == nil {
				s.seen = through
			}
		}
		if err != nil && ctx.Err() == nil {
			t.log.Warn("tail.catchup", "app", s.app, "session", s.session, "error", err.Error())
		}
		why := s.state()
		if err == nil && why == subscribed {
			s.live(ctx)
		}
		t.mu.Lock()
		next := s
		if err == nil && why == slow {
			next = t.join(s.audience, s.seen, s.out)
		}
		delete(t.subscribers[s.audience], s)
		if len(t.subscribers[s.audience]) == 0 {
			delete(t.subscribers, s.audience)
		}
		for len(s.queue) > 0 { // nothing fills or empties it any more
			event := <-s.queue
			s.count(-int64(len(event.Data)))
		}
		t.mu.Unlock()
		if next == s {
			return
		}
		s = next
	}
}

// stored reads the next of a subscriber's events, and through which sequence there are no others.
func (t *Tail) stored(ctx context.Context, s *subscriber) (events []effect.Published, last uint64, err error) {
	select {
	case t.catchUpSlots <- struct{}{}:
		defer func() { <-t.catchUpSlots }()
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, consumerIdle)
	defer cancel()
	consumer, remove, err := t.emitter.consumer(ctx, jetstream.ConsumerConfig{
		FilterSubjects: s.filters(), DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: s.seen + 1,
	})
	if err != nil {
		return nil, 0, err
	}
	defer remove()
	pending := consumer.CachedInfo().NumPending
	count := int(min(pending, catchUpBatch))
	if count == 0 {
		return nil, s.joinedAt, nil
	}
	batch, err := consumer.Fetch(count, jetstream.FetchMaxWait(t.emitter.options.Timeout))
	if err != nil {
		return nil, 0, err
	}
	through, whole := s.seen, true // whether all that the subscriber may see was kept
	got, kept := 0, 0
	for msg := range batch.Messages() {
		got++
		if !whole {
			continue
		}
		event, of, err := readEvent(msg)
		through = max(through, event.Sequence)
		if err == nil && event.Sequence <= s.joinedAt && of.app == s.app && (s.session == "" || of.session == s.session) {
			events = append(events, event)
			kept += len(event.Data)
			whole = kept < catchUpBytes
		}
	}
	switch {
	case batch.Error() != nil:
		return nil, 0, batch.Error()
	case got == 0:
		return nil, 0, fmt.Errorf("none of %d events came in time", count)
	case got < count: // over a slow connection, which gets on all the same
	case whole && pending <= catchUpBatch:
		through = s.joinedAt
	}
	return events, min(through, s.joinedAt), nil
}

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
