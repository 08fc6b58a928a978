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

	"earshot/repositories/outages"
	"earshot/repositories/panics"
	"earshot/trigger/effect"
)

// ErrNotReading means that the stream cannot be read now.
var ErrNotReading = errors.New("the stream of events cannot be read now")

// DefaultCheckInterval is how often an idle reader checks the stream: it would never get an event of a recreated one.
const DefaultCheckInterval = 5 * time.Second

// Tail is the consumer of the stream that one process shares. It reads each event once for all subscribers, and
// pauses without any. It is safe for concurrent use.
type Tail struct {
	emitter       *Emitter
	log           *slog.Logger
	troubles      *outages.Log
	checkInterval time.Duration
	catchUpSlots  chan struct{} // one slot per subscriber that catches up
	wake          chan struct{} // signals a new subscriber; capacity 1
	queuedBytes   atomic.Int64  // queued for subscribers

	mu          sync.Mutex
	subscribers map[audience]map[*subscriber]bool
	last        uint64 // sequence of the last dispatched event
	hasPosition bool   // whether last is valid
	dispatched  bool   // since the last check of watch
	entering    int    // callers that wait for reading, or are about to subscribe
	recentEntry bool   // a caller arrived since the last check of watch
	ready       chan struct{}
}

// Tail returns a reader of the stream. It reads while Run runs and has subscribers, checks itself at the
// interval every (DefaultCheckInterval if zero), and continues for one or two intervals after the last subscriber has
// left.
func (e *Emitter) Tail(every time.Duration) *Tail {
	if every == 0 {
		every = DefaultCheckInterval
	}
	return &Tail{
		emitter: e, log: e.options.Logger, troubles: outages.New(e.options.Logger), checkInterval: every, catchUpSlots: make(chan struct{}, maxCatchUps),
		wake: make(chan struct{}, 1), subscribers: map[audience]map[*subscriber]bool{}, ready: make(chan struct{}),
	}
}

// Run reads the stream until ctx ends while there are subscribers, through all outages.
func (t *Tail) Run(ctx context.Context) {
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.dropAll()
	}()
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = 50*time.Millisecond, 2*time.Second
	for ctx.Err() == nil {
		started := t.emitter.options.Now()
		err := t.read(ctx)
		if err == nil {
			pauses.Reset()
			t.mu.Lock()
			t.hasPosition = false // the next read starts at the end of the stream
			t.mu.Unlock()
			for ctx.Err() == nil && !t.hasReaders() {
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
		t.troubles.Trouble(ctx, "tail", "", "tail.interrupted", "error", err.Error())
		if t.emitter.options.Now().Sub(started) > t.checkInterval {
			pauses.Reset()
		}
		t.mu.Lock()
		t.recentEntry = false // as in watch: without readers nothing is tried again
		t.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(pauses.NextBackOff()):
		}
	}
}

func (t *Tail) hasReaders() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.hasReadersLocked()
}

func (t *Tail) hasReadersLocked() bool {
	return t.entering > 0 || t.recentEntry || len(t.subscribers) > 0
}

// read follows the stream from the last event on. It returns an error if the stream fails, and nil when the
// last subscriber has left. If the stream ends before the last event, it is a new stream: all subscribers start
// again.
func (t *Tail) read(ctx context.Context) error {
	if err := t.emitter.Ready(ctx); err != nil {
		return err
	}
	if !t.hasReaders() {
		t.troubles.Over(ctx, "tail", "tail.resumed")
		return nil
	}
	last, err := t.emitter.end(ctx)
	if err != nil {
		return err
	}
	t.mu.Lock()
	if !t.hasPosition || last < t.last {
		t.last, t.hasPosition = last, true
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
	consumption, err := consumer.Consume(func(msg jetstream.Msg) {
		panics.Run(t.log, "events", msg.Subject(), func() {
			event, target, _ := readEvent(msg) // a foreign message has no audience, and only counts
			t.dispatch(event, target)
		})
	})
	if err != nil {
		return err
	}
	t.troubles.Over(ctx, "tail", "tail.resumed")
	t.mu.Lock()
	close(t.ready)
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.markNotReady()
	}()
	trouble := make(chan error, 1)
	go func() { trouble <- t.watch(ctx, consumer) }()
	select {
	case err = <-trouble:
	case <-consumption.Closed():
		err = errors.New("the consumer was closed")
	}
	consumption.Stop()
	if info := consumer.CachedInfo(); err == nil && info != nil { // nobody reads this consumer any more
		removeCtx, cancel := context.WithTimeout(context.Background(), t.emitter.options.Timeout)
		defer cancel()
		_ = t.emitter.js.DeleteConsumer(removeCtx, Stream, info.Name)
	}
	return err
}

// markNotReady replaces a closed channel; an open one may have waiters. The caller holds t.mu.
func (t *Tail) markNotReady() {
	select {
	case <-t.ready:
		t.ready = make(chan struct{})
	default:
	}
}

// watch returns an error when the reader is stuck or the stream was recreated, and nil when the last subscriber
// has left. Deletions at the stream's end are no missed events.
func (t *Tail) watch(ctx context.Context, consumer jetstream.Consumer) error {
	ticks := time.NewTicker(t.checkInterval)
	defer ticks.Stop()
	for wasBehind := false; ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticks.C:
		}
		t.mu.Lock()
		t.recentEntry = false
		idle := !t.hasReadersLocked()
		if idle { // new subscribers wait until the stream is read again
			t.markNotReady()
		}
		t.mu.Unlock()
		if idle {
			return nil
		}
		last, err := t.emitter.end(ctx)
		t.mu.Lock()
		progressed, position := t.dispatched, t.last
		t.dispatched = false
		t.mu.Unlock()
		switch {
		case err != nil || progressed:
			wasBehind = false
			continue
		case last < position:
			return fmt.Errorf("stream %s was created again: it ends at %d, but was read up to %d", Stream, last, position)
		case last > position && wasBehind:
			if pending, err := t.emitter.pending(ctx, consumer); err != nil || pending > 0 {
				return fmt.Errorf("stream %s continues to %d, but nothing came after %d", Stream, last, position)
			}
		}
		wasBehind = last > position
	}
}

// dispatch passes an event to the subscribers of its session and app. It never blocks.
func (t *Tail) dispatch(event effect.Published, target audience) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if event.Sequence <= t.last {
		return
	}
	t.last, t.dispatched = event.Sequence, true
	for s := range t.subscribers[audience{app: target.app}] {
		s.enqueue(event)
	}
	if target.session != "" {
		for s := range t.subscribers[target] {
			s.enqueue(event)
		}
	}
}

// dropAll ends all subscriptions. The caller holds t.mu.
func (t *Tail) dropAll() {
	for _, group := range t.subscribers {
		for s := range group {
			s.drop(stateEnded)
		}
	}
}

// awaitReady waits until the stream is read, which then continues at least until release is called.
func (t *Tail) awaitReady(ctx context.Context) (release func(), err error) {
	t.mu.Lock()
	t.entering++
	t.recentEntry = true
	ready := t.ready
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
	release = func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.entering--
	}
	ctx, cancel := context.WithTimeout(ctx, t.emitter.options.Timeout)
	defer cancel()
	select {
	case <-ready:
		return release, nil
	case <-ctx.Done():
		release()
		return nil, ErrNotReading
	}
}

// Now returns the sequence after which a new subscriber gets events.
func (t *Tail) Now(ctx context.Context) (uint64, error) {
	release, err := t.awaitReady(ctx)
	if err != nil {
		return 0, err
	}
	defer release()
	return t.position(), nil
}

func (t *Tail) position() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}

// Follow passes the events of a session, or without one of the app, after a sequence, in order and each once:
// first the stored ones, then new ones. The channel is closed when ctx ends, when its reader is too slow, or
// when the stream was recreated. Following again from the last event misses nothing. It fails with
// ErrNotReading.
func (t *Tail) Follow(ctx context.Context, appID, sessionID string, after uint64) (<-chan effect.Published, error) {
	release, err := t.awaitReady(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	if after > t.position() { // the caller read it on a replica that is ahead, or from an earlier stream
		last, err := t.emitter.end(ctx)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotReading, err)
		}
		if after > last {
			after = 0 // all of this stream is new to the caller
		}
	}
	t.mu.Lock()
	s := t.addSubscriber(audience{appID, sessionID}, after, make(chan effect.Published))
	t.mu.Unlock()
	go t.serve(ctx, s)
	return s.out, nil
}

// addSubscriber adds a subscriber, whose queue gets all events from now on. The caller holds t.mu.
func (t *Tail) addSubscriber(target audience, after uint64, out chan effect.Published) *subscriber {
	s := &subscriber{
		audience: target, delivered: after, joinedAt: t.last, queue: make(chan effect.Published, queueLength), out: out,
		totalQueued: &t.queuedBytes, dropped: make(chan struct{}),
	}
	if t.subscribers[target] == nil {
		t.subscribers[target] = map[*subscriber]bool{}
	}
	t.subscribers[target][s] = true
	return s
}

// serve delivers stored events and then new ones. If the queue overflows while stored events are read, it
// continues from the stream with a new queue: the reader was not slow.
func (t *Tail) serve(ctx context.Context, s *subscriber) {
	defer close(s.out)
	for {
		var err error // of NATS or ctx
		for err == nil && s.delivered < s.joinedAt && s.state() != stateEnded {
			var events []effect.Published
			var through uint64
			if events, through, err = t.readStored(ctx, s); err != nil {
				err = fmt.Errorf("read what stream %s has after %d: %w", Stream, s.delivered, err)
				break
			}
			for i := 0; i < len(events) && err == nil; i++ {
				if !s.deliver(ctx, events[i]) {
					err = ctx.Err()
				}
			}
			if err == nil {
				s.delivered = through
			}
		}
		if err != nil && ctx.Err() == nil {
			t.log.Warn("tail.catchup", "app", s.app, "session", s.session, "error", err.Error())
		}
		why := s.state()
		if err == nil && why == stateSubscribed {
			s.forwardQueue(ctx)
		}
		t.mu.Lock()
		next := s
		if err == nil && why == stateSlow {
			next = t.addSubscriber(s.audience, s.delivered, s.out)
		}
		delete(t.subscribers[s.audience], s)
		if len(t.subscribers[s.audience]) == 0 {
			delete(t.subscribers, s.audience)
		}
		for len(s.queue) > 0 { // the queue is no longer used
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

// readStored reads the subscriber's next stored events. It has read all of its events through last.
func (t *Tail) readStored(ctx context.Context, s *subscriber) (events []effect.Published, last uint64, err error) {
	select {
	case t.catchUpSlots <- struct{}{}:
		defer func() { <-t.catchUpSlots }()
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, consumerIdle)
	defer cancel()
	consumer, remove, err := t.emitter.consumer(ctx, jetstream.ConsumerConfig{
		FilterSubjects: s.filters(), DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: s.delivered + 1,
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
	through, complete := s.delivered, true // whether all matching events were kept
	received, size := 0, 0
	for msg := range batch.Messages() {
		received++
		if !complete {
			continue
		}
		event, target, err := readEvent(msg)
		through = max(through, event.Sequence)
		if err == nil && event.Sequence <= s.joinedAt && target.app == s.app && (s.session == "" || target.session == s.session) {
			events = append(events, event)
			size += len(event.Data)
			complete = size < catchUpBytes
		}
	}
	switch {
	case batch.Error() != nil:
		return nil, 0, batch.Error()
	case received == 0:
		return nil, 0, fmt.Errorf("none of %d events came in time", count)
	case received < count: // a slow connection still makes progress
	case complete && pending <= catchUpBatch:
		through = s.joinedAt
	}
	return events, min(through, s.joinedAt), nil
}

const (
	// queueLength is how many events may wait for a subscriber. A slower one is dropped, and may follow again.
	queueLength = 256
	// Bytes queued for one subscriber and for all. An event counts once per queue.
	maxQueuedBytes      = 1 << 20
	maxQueuedBytesInAll = 64 << 20
	// maxCatchUps bounds how many subscribers read stored events at once, each with a consumer: after a restart
	// all return together.
	maxCatchUps = 16
	// catchUpBatch is how many stored events are read at a time; those beyond catchUpBytes are read again.
	catchUpBatch = 64
	catchUpBytes = 128 << 10
)

type subscriber struct {
	audience
	delivered uint64 // the last delivered sequence
	joinedAt  uint64 // earlier events are read from the stream
	queue     chan effect.Published
	out       chan effect.Published

	queuedBytes atomic.Int64  // in its queue
	totalQueued *atomic.Int64 // in the queues of all subscribers

	dropped   chan struct{} // closed when it is dropped
	once      sync.Once
	dropState state
}

type state int

const (
	stateSubscribed state = iota
	stateSlow             // its queue was full
	stateEnded            // reading or the stream ended
)

// enqueue never blocks: a subscriber without room is dropped.
func (s *subscriber) enqueue(event effect.Published) {
	size := int64(len(event.Data))
	queued := s.queuedBytes.Load()
	if queued > 0 && (queued+size > maxQueuedBytes || s.totalQueued.Load()+size > maxQueuedBytesInAll) {
		s.drop(stateSlow)
		return
	}
	s.count(size)
	select {
	case s.queue <- event:
	default:
		s.count(-size)
		s.drop(stateSlow)
	}
}

func (s *subscriber) count(size int64) {
	s.queuedBytes.Add(size)
	s.totalQueued.Add(size)
}

func (s *subscriber) drop(reason state) {
	s.once.Do(func() {
		s.dropState = reason
		close(s.dropped)
	})
}

func (s *subscriber) state() state {
	select {
	case <-s.dropped:
		return s.dropState
	default:
		return stateSubscribed
	}
}

// forwardQueue delivers queued events, until ctx ends or the subscriber is dropped.
func (s *subscriber) forwardQueue(ctx context.Context) {
	for {
		select {
		case event := <-s.queue:
			s.count(-int64(len(event.Data)))
			if event.Sequence > s.delivered && !s.deliver(ctx, event) {
				return
			}
		case <-s.dropped:
			return
		case <-ctx.Done():
			return
		}
	}
}

// deliver waits for the reader, and reports whether it received the event.
func (s *subscriber) deliver(ctx context.Context, event effect.Published) bool {
	select {
	case s.out <- event:
		s.delivered = event.Sequence
		return true
	case <-ctx.Done():
		return false
	}
}
