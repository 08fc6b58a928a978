package emitter

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"earshot/trigger/effect"
)

const (
	// feedBytes is how many bytes of events are read together, not counting the last one.
	feedBytes = 4 << 20
	feedBatch = 8
)

// After reads an app's events after a place in the stream, up to a number and a size, of some kinds or without
// any of all. It omits events of emitters, which repeat their tool.trigger. Up to reached, no event was left
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

var errNoEvents = errors.New("the stream has events and handed none out")

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
