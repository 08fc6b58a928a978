package emitter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"earshot/trigger/effect"
)

const (
	// feedBytes is how many bytes of events are read together, not counting the last one.
	feedBytes = 4 << 20
	feedBatch = 8
)

// After reads an app's events after a place in the stream, up to a number and a size: those of the given kinds, or
// all if none is given. It omits events of emitters, which repeat their tool.trigger. Up to reached, no event was left
// out for lack of room; more reports whether any was. A place beyond the stream's end belongs to an earlier
// stream: reading starts at the beginning.
func (e *Emitter) After(ctx context.Context, appID string, kinds []string, after uint64, limit int) (events []effect.StoredEvent, reached uint64, more bool, err error) {
	e.inFlight.RLock()
	defer e.inFlight.RUnlock()
	if err := e.connected(); err != nil {
		return nil, after, false, err
	}
	last, err := e.end(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, after, false, nil
	}
	if err != nil {
		return nil, after, false, err
	}
	if after > last {
		after = 0
	}
	if after == last {
		return nil, after, false, nil
	}
	var subjects []string
	for _, filter := range (audience{app: appID}).filters() {
		if kind := kindOf(filter); !strings.HasPrefix(filter, "app.") && (len(kinds) == 0 || slices.Contains(kinds, kind)) {
			subjects = append(subjects, filter)
		}
	}
	consumer, remove, err := e.consumer(ctx, jetstream.ConsumerConfig{
		FilterSubjects: subjects, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: after + 1,
	})
	if err != nil {
		return nil, after, false, err
	}
	defer remove()
	pending := int(consumer.CachedInfo().NumPending)
	for bytes := 0; len(events) < min(pending, limit) && bytes < feedBytes; {
		batch, err := consumer.Fetch(min(feedBatch, min(pending, limit)-len(events)), jetstream.FetchMaxWait(e.options.Timeout))
		if err != nil {
			return nil, after, false, err
		}
		count := len(events)
		for msg := range batch.Messages() {
			published, _, _ := readEvent(msg)
			events, bytes = append(events, storedEvent(published, msg.Headers())), bytes+len(msg.Data())
		}
		if err := batch.Error(); err != nil || len(events) == count {
			return nil, after, false, errors.Join(err, ctx.Err(), errNoEvents)
		}
	}
	if len(events) < pending {
		return events, events[len(events)-1].Sequence, true, nil
	}
	if len(events) > 0 {
		last = max(last, events[len(events)-1].Sequence)
	}
	return events, last, false, nil
}

var errNoEvents = errors.New("the stream has events, but delivered none")

// kindOf returns the first two words of a subject.
func kindOf(subject string) string {
	words := strings.SplitN(subject, ".", 3)
	return strings.Join(words[:min(2, len(words))], ".")
}

func storedEvent(published effect.Published, header nats.Header) effect.StoredEvent {
	return effect.StoredEvent{
		Published: published, ID: header.Get(jetstream.MsgIDHeader), Kind: kindOf(published.Subject), TraceParent: header.Get("traceparent"),
	}
}

// At reads the events at places of the stream; nil for deleted ones.
func (e *Emitter) At(ctx context.Context, sequences []uint64) ([]*effect.StoredEvent, error) {
	events := make([]*effect.StoredEvent, len(sequences))
	if len(sequences) == 0 {
		return events, nil
	}
	e.inFlight.RLock()
	defer e.inFlight.RUnlock()
	if err := e.connected(); err != nil {
		return nil, err
	}
	current, err := e.readStream(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return events, nil
	}
	if err != nil {
		return nil, err
	}
	for i, sequence := range sequences {
		if events[i], err = e.readAt(ctx, current, sequence); err != nil {
			return nil, err
		}
	}
	return events, nil
}

func (e *Emitter) readAt(ctx context.Context, current jetstream.Stream, sequence uint64) (*effect.StoredEvent, error) {
	ctx, cancel := context.WithTimeout(ctx, e.options.Timeout)
	defer cancel()
	msg, err := current.GetMsg(ctx, sequence)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	of, _ := audienceOf(msg.Subject, msg.Header.Get("ce-source"))
	event := storedEvent(effect.Published{Sequence: msg.Sequence, Subject: msg.Subject, SessionID: of.session, Time: timeOf(msg.Header, msg.Time), Data: msg.Data}, msg.Header)
	return &event, nil
}

// Before returns the place in the stream before the first event since a moment.
func (e *Emitter) Before(ctx context.Context, moment time.Time) (uint64, error) {
	e.inFlight.RLock()
	defer e.inFlight.RUnlock()
	if err := e.connected(); err != nil {
		return 0, err
	}
	last, err := e.end(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	consumer, remove, err := e.consumer(ctx, jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverByStartTimePolicy, OptStartTime: &moment, HeadersOnly: true})
	if err != nil {
		return 0, err
	}
	defer remove()
	if consumer.CachedInfo().NumPending == 0 {
		return last, nil
	}
	msg, err := consumer.Next(jetstream.FetchMaxWait(e.options.Timeout))
	if err != nil {
		return 0, err
	}
	metadata, err := msg.Metadata()
	if err != nil {
		return 0, err
	}
	return metadata.Sequence.Stream - 1, nil
}

// end returns the last place of the stream.
func (e *Emitter) end(ctx context.Context) (uint64, error) {
	current, err := e.readStream(ctx)
	if err != nil {
		return 0, err
	}
	return current.CachedInfo().State.LastSeq, nil
}

func (e *Emitter) readStream(ctx context.Context) (jetstream.Stream, error) {
	ctx, cancel := context.WithTimeout(ctx, e.options.Timeout)
	defer cancel()
	return e.js.Stream(ctx, Stream)
}

const (
	storedBatch = 128
	// consumerIdle is when NATS removes the consumer of a dead process.
	consumerIdle = 30 * time.Second
	// erasePasses bounds the searches for events of a session; normally the second finds none.
	erasePasses  = 5
	erasesAtOnce = 16
)

// TriggersOf lists the triggers of a session with events in the stream.
func (e *Emitter) TriggersOf(ctx context.Context, appID, sessionID string) (ids []string, err error) {
	filter := []string{"tool.trigger." + appID + "." + sessionID + ".*"}
	err = e.each(ctx, filter, true, func(msg jetstream.Msg) error {
		ids = append(ids, msg.Headers().Get("ce-id"))
		return nil
	})
	return ids, err
}

// Stored passes the stored events of a session in order, until do fails.
func (e *Emitter) Stored(ctx context.Context, appID, sessionID string, do func(effect.Published) error) error {
	return e.eachOf(ctx, audience{appID, sessionID}, false, do)
}

// Erase deletes all events of a session, and has the server overwrite them on disk. No events of the session
// may be published meanwhile. Each pass retries failed deletions of the previous one.
func (e *Emitter) Erase(ctx context.Context, appID, sessionID string) error {
	for range erasePasses {
		var left []uint64
		err := e.eachOf(ctx, audience{appID, sessionID}, true, func(event effect.Published) error {
			left = append(left, event.Sequence)
			return nil
		})
		if err != nil {
			return fmt.Errorf("events of session %q in stream %s cannot be read: %w", sessionID, Stream, err)
		}
		if len(left) == 0 {
			return nil
		}
		held, err := e.readStream(ctx)
		if err != nil {
			return err
		}
		removing, ctx := errgroup.WithContext(ctx)
		removing.SetLimit(erasesAtOnce)
		for _, sequence := range left {
			removing.Go(func() error {
				ctx, cancel := context.WithTimeout(ctx, e.options.Timeout)
				defer cancel()
				if err := held.SecureDeleteMsg(ctx, sequence); !errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) {
					return err
				}
				return nil
			})
		}
		if err := removing.Wait(); err != nil {
			return err
		}
	}
	return fmt.Errorf("events of session %q come faster to stream %s than they are removed", sessionID, Stream)
}

// eachOf passes the stored events of an audience.
func (e *Emitter) eachOf(ctx context.Context, own audience, bodiless bool, do func(effect.Published) error) error {
	return e.each(ctx, own.filters(), bodiless, func(msg jetstream.Msg) error {
		event, of, err := readEvent(msg)
		if err != nil || of != own {
			return nil
		}
		return do(event)
	})
}

// each passes the stored messages; without data if bodiless.
func (e *Emitter) each(ctx context.Context, subjects []string, bodiless bool, visit func(jetstream.Msg) error) error {
	e.inFlight.RLock()
	defer e.inFlight.RUnlock()
	if err := e.connected(); err != nil {
		return err
	}
	consumer, remove, err := e.consumer(ctx, jetstream.ConsumerConfig{FilterSubjects: subjects, DeliverPolicy: jetstream.DeliverAllPolicy, HeadersOnly: bodiless})
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer remove()
	for pending := consumer.CachedInfo().NumPending; pending > 0; {
		batch, err := consumer.Fetch(int(min(pending, storedBatch)), jetstream.FetchMaxWait(e.options.Timeout))
		if err != nil {
			return err
		}
		for msg := range batch.Messages() {
			if err := visit(msg); err != nil {
				return err
			}
		}
		if err := batch.Error(); err != nil {
			return err
		}
		if pending, err = e.pending(ctx, consumer); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// consumer creates a consumer for one pass over the stream, and returns a function to delete it.
func (e *Emitter) consumer(ctx context.Context, config jetstream.ConsumerConfig) (consumer jetstream.Consumer, remove func(), err error) {
	config.AckPolicy, config.MemoryStorage, config.Replicas, config.InactiveThreshold = jetstream.AckNonePolicy, true, 1, consumerIdle
	creating, cancel := context.WithTimeout(ctx, e.options.Timeout) // a request that a lost connection swallows has no answer
	defer cancel()
	consumer, err = e.js.CreateConsumer(creating, Stream, config)
	return consumer, func() {
		removing, cancel := context.WithTimeout(ctx, e.options.Timeout)
		defer cancel()
		_ = e.js.DeleteConsumer(removing, Stream, consumer.CachedInfo().Name) // otherwise it is removed when idle
	}, err
}

// pending returns how many messages a consumer has left.
func (e *Emitter) pending(ctx context.Context, consumer jetstream.Consumer) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, e.options.Timeout)
	defer cancel()
	info, err := consumer.Info(ctx)
	if err != nil {
		return 0, err
	}
	return info.NumPending, nil
}
