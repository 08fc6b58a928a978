package emitter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"earshot/repositories/crash"
	"earshot/trigger"
)

// Emitter publishes events on JetStream. It is safe for concurrent use; the order of
// two events is kept where the second is delivered after the first was.
type Emitter struct {
	conn    *nats.Conn
	owned   bool
	js      jetstream.JetStream
	link    *link
	stream  *stream
	options Options

	// flight is held for reading by deliveries, and for writing by Close.
	flight sync.RWMutex
	closed bool
}

var _ trigger.Deliverer = (*Emitter)(nil)

// New returns an emitter that publishes over conn, which stays the caller's to close.
// Make it with nats.ReconnectBufSize(-1); a connection that buffers can put events
// out of order. The error is one of options.
func New(conn *nats.Conn, options Options) (*Emitter, error) {
	options = options.withDefaults()
	if err := options.check(); err != nil {
		return nil, err
	}
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, fmt.Errorf("use JetStream: %w", err)
	}
	return &Emitter{conn: conn, js: js, link: watch(conn), stream: newStream(js, options), options: options}, nil
}

// Deliver publishes an event effect once, and waits for the stream's acknowledgement
// until the time limit or the end of ctx. It returns at once where NATS is known to
// be down. A repeat that the stream dropped is Done. Events that cannot be published
// ever, for their size or their subject, are Dead; all other trouble asks for a Retry.
func (e *Emitter) Deliver(ctx context.Context, effect trigger.Effect) trigger.Outcome {
	e.flight.RLock()
	defer e.flight.RUnlock()
	if err := check(effect); err != nil {
		return trigger.Outcome{Verdict: trigger.Dead, Error: err.Error()}
	}
	return outcome(e.bounded(ctx, func(ctx context.Context) error {
		return e.publish(ctx, effect)
	}))
}

// bounded does what while the connection is up and the time limit is not reached.
func (e *Emitter) bounded(ctx context.Context, what func(context.Context) error) error {
	if e.closed {
		return fmt.Errorf("%w: the emitter is closed", errDown)
	}
	ctx, cancel := context.WithTimeout(ctx, e.options.Timeout)
	defer cancel()
	ctx, release := e.link.bind(ctx)
	defer release()
	if err := e.connected(); err != nil {
		return err
	}
	err := what(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errLost) {
		return errLost
	}
	return err
}

func check(effect trigger.Effect) error {
	switch {
	case effect.Kind != trigger.KindEvent || effect.Event == nil:
		return fmt.Errorf("effect %s of kind %q holds no event to publish", effect.ID, effect.Kind)
	case effect.ID == "":
		return fmt.Errorf("the event for %s has no id to tell its repeats by", effect.Event.Subject)
	case !ours(effect.Event.Subject):
		return fmt.Errorf("%q is no subject of stream %s: they are %s",
			effect.Event.Subject, Stream, subjectList())
	}
	return nil
}

// publish looks after the stream before the first event, and again when there is none
// that takes the event.
func (e *Emitter) publish(ctx context.Context, effect trigger.Effect) error {
	seen := e.stream.checks.Load()
	if seen == 0 {
		if err := e.stream.ensure(ctx, seen); err != nil {
			return err
		}
		seen = e.stream.checks.Load()
	}
	err := e.send(ctx, effect, 0)
	if !streamMissing(err) {
		return err
	}
	if err := e.stream.ensure(ctx, seen); err != nil {
		return err
	}
	return e.send(ctx, effect, settleTries)
}

// A stream that was just made, or has just changed its leader, is not known to every
// server of a cluster at once: asked some tens of milliseconds later, they answer.
const (
	settleWait  = 50 * time.Millisecond
	settleTries = 10
)

// send asks again up to tries times where nobody answers. Naming the stream keeps one
// that took over our subjects from acknowledging in its place.
func (e *Emitter) send(ctx context.Context, effect trigger.Effect, tries int) error {
	out := message(effect)
	crash.At(crash.PublishBefore)
	_, err := e.js.PublishMsg(ctx, out,
		jetstream.WithMsgID(effect.ID), jetstream.WithExpectStream(Stream),
		jetstream.WithRetryAttempts(tries), jetstream.WithRetryWait(settleWait))
	crash.At(crash.PublishAcked)
	switch {
	case errors.Is(err, nats.ErrMaxPayload):
		return tooLarge(out, fmt.Sprintf("the NATS server's max_payload is %d", e.conn.MaxPayload()))
	case errors.Is(err, jetstream.ErrStreamMessageExceedsMaximum):
		return tooLarge(out, "it is over the max_msg_size of stream "+Stream)
	}
	return err
}

func (e *Emitter) connected() error {
	status := e.conn.Status()
	if status == nats.CONNECTED {
		return nil
	}
	if last := e.conn.LastError(); last != nil {
		return fmt.Errorf("%w: the connection is %s after: %w", errDown, status, last)
	}
	return fmt.Errorf("%w: the connection is %s", errDown, status)
}

// Ready returns nil where an event could be published now: NATS is connected and the
// stream is as it should be, made or repaired if need be.
func (e *Emitter) Ready(ctx context.Context) error {
	e.flight.RLock()
	defer e.flight.RUnlock()
	return e.bounded(ctx, func(ctx context.Context) error {
		return e.stream.ensure(ctx, e.stream.checks.Load())
	})
}

// Close waits for the deliveries under way, at most the time limit of one, and closes
// the connection where it is the emitter's own. Deliveries that come later ask for a
// Retry.
func (e *Emitter) Close() {
	e.flight.Lock()
	defer e.flight.Unlock()
	if e.closed {
		return
	}
	e.closed = true
	e.link.close()
	if e.owned {
		e.conn.Close()
	}
}
