package emitter

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"earshot/trigger/effect"
)

const (
	// maxCatchUps bounds how many subscribers read stored events at the same time, since
	// each has a consumer of its own for that moment. It is what happens when a replica
	// was restarted and all its readers come at once.
	maxCatchUps = 16
	// catchUpBatch is how many stored events are read at a time, and catchUpBytes how
	// much of them is kept while their reader takes them: the rest is read again.
	catchUpBatch = 64
	catchUpBytes = 128 << 10
	// catchUpIdle is when NATS forgets the consumer of a process that died.
	catchUpIdle = 30 * time.Second
)

// catchUp hands the subscriber what is stored between what it has seen and where it
// joined. Its error is one of NATS, or ctx's own.
func (t *Tail) catchUp(ctx context.Context, s *subscriber) error {
	for s.seen < s.joinedAt && s.state() != ended {
		events, through, err := t.stored(ctx, s)
		if err != nil {
			return fmt.Errorf("read what stream %s has after %d: %w", Stream, s.seen, err)
		}
		for _, event := range events {
			if !s.deliver(ctx, event) {
				return ctx.Err()
			}
		}
		s.seen = through
	}
	return nil
}

// stored reads the next of a subscriber's events, and through which sequence there are
// no others. The reader is not waited for in here, nor with a consumer open.
func (t *Tail) stored(ctx context.Context, s *subscriber) (events []effect.Published, through uint64, err error) {
	select {
	case t.catchUpSlots <- struct{}{}:
		defer func() { <-t.catchUpSlots }()
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, catchUpIdle)
	defer cancel()
	consumer, err := t.emitter.js.CreateConsumer(ctx, Stream, jetstream.ConsumerConfig{
		FilterSubjects: s.filters(), AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1,
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: s.seen + 1, InactiveThreshold: catchUpIdle,
	})
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = t.emitter.js.DeleteConsumer(ctx, Stream, consumer.CachedInfo().Name) }() // else it goes when it is idle
	return t.fetch(consumer, s)
}

func (t *Tail) fetch(consumer jetstream.Consumer, s *subscriber) (events []effect.Published, through uint64, err error) {
	pending := consumer.CachedInfo().NumPending
	count := int(min(pending, catchUpBatch))
	if count == 0 {
		return nil, s.joinedAt, nil
	}
	batch, err := consumer.Fetch(count, jetstream.FetchMaxWait(t.emitter.options.Timeout))
	if err != nil {
		return nil, 0, err
	}
	events, through, got, whole := s.pick(batch.Messages())
	switch {
	case batch.Error() != nil:
		return nil, 0, batch.Error()
	case got < count:
		return nil, 0, fmt.Errorf("%d of %d events came in time", got, count)
	case whole && pending <= catchUpBatch:
		through = s.joinedAt
	}
	return events, min(through, s.joinedAt), nil
}

// pick takes of the messages what the subscriber may hear and will not get live, as far as
// that is to be kept at once, and says whether that is all.
func (s *subscriber) pick(messages <-chan jetstream.Msg) (events []effect.Published, through uint64, got int, whole bool) {
	through, whole = s.seen, true
	kept := 0
	for msg := range messages {
		got++
		if !whole {
			continue
		}
		event, of, err := readEvent(msg)
		through = max(through, event.Sequence)
		if err == nil && event.Sequence <= s.joinedAt && s.hears(of) {
			events = append(events, event)
			kept += len(event.Data)
			whole = kept < catchUpBytes
		}
	}
	return events, through, got, whole
}
