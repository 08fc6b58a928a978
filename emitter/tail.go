package emitter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/nats-io/nats.go/jetstream"

	"earshot/repositories/panics"
	"earshot/trigger/effect"
)

// ErrNotReading means that the stream cannot be read now, as NATS is away.
var ErrNotReading = errors.New("the stream of events cannot be read now")

// DefaultWatch is how often a reader that gets nothing looks whether there is nothing:
// a stream that was made anew would never send it an event.
const DefaultWatch = 5 * time.Second

// Tail is a consumer of the stream that one process shares: it reads every event once and
// hands it to any number of subscribers. Where there are none it reads nothing. It is safe
// for concurrent use.
type Tail struct {
	emitter      *Emitter
	log          *slog.Logger
	hub          *hub
	demand       *demand
	catchUpSlots chan struct{} // one slot for each subscriber that catches up
	every        time.Duration
}

// Tail returns a reader of the stream. It reads while Run runs and somebody follows, and
// looks after itself every so often; DefaultWatch where that is zero. That is also how
// long it goes on, once or twice, when the last one has left.
func (e *Emitter) Tail(every time.Duration) *Tail {
	if every == 0 {
		every = DefaultWatch
	}
	subscribers := newHub()
	return &Tail{
		emitter: e, log: e.options.Logger, hub: subscribers, demand: newDemand(subscribers.followed), every: every,
		catchUpSlots: make(chan struct{}, maxCatchUps),
	}
}

// Run makes the stream, and reads it until ctx ends while somebody follows, through all
// outages. What subscribers miss of the stream while it was away, they get afterwards.
func (t *Tail) Run(ctx context.Context) {
	defer t.hub.close()
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = 50*time.Millisecond, 2*time.Second
	for ctx.Err() == nil {
		began := t.emitter.options.Now()
		err := t.read(ctx)
		if err == nil {
			t.hub.forget()
			pauses.Reset()
			t.demand.await(ctx)
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

// read follows the stream until something is wrong with it, or, without an error, until
// nobody wants it.
func (t *Tail) read(ctx context.Context) error {
	if err := t.emitter.Ready(ctx); err != nil || !t.demand.exists() {
		return err
	}
	last, err := t.last(ctx)
	if err != nil {
		return err
	}
	t.hub.begin(last)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	consumer, err := t.emitter.js.OrderedConsumer(ctx, Stream, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: t.hub.position() + 1,
	})
	if err != nil {
		return err
	}
	reading, err := consumer.Consume(t.receive)
	if err != nil {
		return err
	}
	t.demand.setReady()
	defer t.demand.setUnready()
	trouble := make(chan error, 1)
	go func() { trouble <- t.watch(ctx, consumer) }()
	select {
	case err = <-trouble:
	case <-reading.Closed():
		err = errors.New("the consumer was closed")
	}
	reading.Stop()
	if err == nil {
		t.remove(consumer)
	}
	return err
}

// remove spares NATS a consumer that nobody reads, which else it forgets in some minutes.
func (t *Tail) remove(consumer jetstream.Consumer) {
	ctx, cancel := context.WithTimeout(context.Background(), t.emitter.options.Timeout)
	defer cancel()
	if info := consumer.CachedInfo(); info != nil {
		_ = t.emitter.js.DeleteConsumer(ctx, Stream, info.Name)
	}
}

// receive hands an event out. One that is not of ours has no audience, and only counts.
func (t *Tail) receive(msg jetstream.Msg) {
	panics.Run(t.emitter.options.Logger, "events", msg.Subject(), func() {
		event, of, _ := readEvent(msg)
		t.hub.dispatch(event, of)
	})
}

// watch returns when the reader stands still while the stream goes on, or when the
// stream is another than it was; and, without an error, when nobody wants it any more.
// Outages alone are the client library's to mend.
func (t *Tail) watch(ctx context.Context, consumer jetstream.Consumer) error {
	ticks := time.NewTicker(t.every)
	defer ticks.Stop()
	for still := false; ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticks.C:
		}
		if t.demand.ended() {
			return nil
		}
		last, err := t.last(ctx)
		moved := t.hub.takeAdvanced()
		at := t.hub.position()
		switch {
		case err != nil || moved:
			still = false
		case last < at:
			return fmt.Errorf("stream %s was made anew: it ends at %d and was read up to %d", Stream, last, at)
		case last > at && still && waiting(ctx, consumer):
			return fmt.Errorf("stream %s goes on to %d and nothing came after %d", Stream, last, at)
		default:
			still = last > at
		}
	}
}

// waiting reports whether there is something that the consumer does not hand over. What
// was deleted from the stream's end is not.
func waiting(ctx context.Context, consumer jetstream.Consumer) bool {
	info, err := consumer.Info(ctx)
	return err != nil || info.NumPending > 0
}

// last is the sequence of the stream's newest event.
func (t *Tail) last(ctx context.Context) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, t.emitter.options.Timeout)
	defer cancel()
	held, err := t.emitter.js.Stream(ctx, Stream)
	if err != nil {
		return 0, err
	}
	return held.CachedInfo().State.LastSeq, nil
}

// enter waits until the stream is read, which goes on at least until leave is called.
func (t *Tail) enter(ctx context.Context) (leave func(), err error) {
	ready, leave := t.demand.enter()
	select {
	case <-ready:
		return leave, nil
	default:
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

// Now is where the stream ends for a subscriber that begins now.
func (t *Tail) Now(ctx context.Context) (uint64, error) {
	leave, err := t.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	return t.hub.position(), nil
}

// Follow hands out the events after a sequence, in their order, each once: first those
// that the stream has already, then what comes. They are those of one session, or all
// of the app where that is empty. The channel is closed when ctx ends, when the reader
// of it is too slow, or when the stream was made anew; whoever follows again from the
// last event that it got misses nothing.
//
// It fails with ErrNotReading.
func (t *Tail) Follow(ctx context.Context, appID, sessionID string, after uint64) (<-chan effect.Published, error) {
	leave, err := t.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if after > t.hub.position() {
		if after, err = t.knownSequence(ctx, after); err != nil {
			return nil, err
		}
	}
	s := t.hub.join(audience{appID, sessionID}, after)
	go t.serve(ctx, s)
	return s.out, nil
}

// serve catches up and then goes on live. A subscriber whose queue became full while it
// read what is stored reads on from the stream: that it is behind is no fault of its reader.
func (t *Tail) serve(ctx context.Context, s *subscriber) {
	defer close(s.out)
	for {
		err := t.catchUp(ctx, s)
		if err == nil && s.state() == subscribed {
			s.live(ctx, t.hub)
			t.hub.leave(s)
			return
		}
		if err != nil && ctx.Err() == nil {
			t.log.Warn("tail.catchup", "app", s.app, "session", s.session, "error", err.Error())
		}
		if err != nil || s.state() == ended {
			t.hub.leave(s)
			return
		}
		s = t.hub.rejoin(s)
	}
}

// knownSequence returns the sequence, or zero where the stream has never come so far: it is
// of a stream before this one, and all of this one is new to its reader. One that is a
// little ahead of us was read on a replica that is ahead.
func (t *Tail) knownSequence(ctx context.Context, after uint64) (uint64, error) {
	last, err := t.last(ctx)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrNotReading, err)
	}
	if after > last {
		return 0, nil
	}
	return after, nil
}
