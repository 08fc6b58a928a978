package emitter

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"earshot/trigger/effect"
)

const (
	// catchUps bounds how many followers read stored events at the same time, since
	// each has a consumer of its own for that moment. It is what happens when a replica
	// was restarted and all its readers come at once.
	catchUps = 16
	// catchUpBatch is how many stored events are read at a time, and catchUpBytes how
	// much of them is kept while their reader takes them: the rest is read again.
	catchUpBatch = 64
	catchUpBytes = 128 << 10
	// catchUpIdle is when NATS forgets the consumer of a process that died.
	catchUpIdle = 30 * time.Second
)

// catchUp hands the follower what is stored between what it has seen and where it
// joined. Its error is one of NATS, or ctx's own.
func (t *Tail) catchUp(ctx context.Context, f *follower) error {
	for f.after < f.upTo && f.state() != over {
		events, through, err := t.stored(ctx, f)
		if err != nil {
			return fmt.Errorf("read what stream %s has after %d: %w", Stream, f.after, err)
		}
		for _, event := range events {
			if !f.hand(ctx, event) {
				return ctx.Err()
			}
		}
		f.after = through
	}
	return nil
}

// stored reads the next of a follower's events, and through which sequence there are
// no others. The reader is not waited for in here, nor with a consumer open.
func (t *Tail) stored(ctx context.Context, f *follower) (events []effect.Published, through uint64, err error) {
	select {
	case t.gate <- struct{}{}:
		defer func() { <-t.gate }()
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, catchUpIdle)
	defer cancel()
	consumer, err := t.emitter.js.CreateConsumer(ctx, Stream, jetstream.ConsumerConfig{
		FilterSubjects: f.filters(), AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1,
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: f.after + 1, InactiveThreshold: catchUpIdle,
	})
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = t.emitter.js.DeleteConsumer(ctx, Stream, consumer.CachedInfo().Name) }() // else it goes when it is idle
	return t.fetch(consumer, f)
}

func (t *Tail) fetch(consumer jetstream.Consumer, f *follower) (events []effect.Published, through uint64, err error) {
	pending := consumer.CachedInfo().NumPending
	count := int(min(pending, catchUpBatch))
	if count == 0 {
		return nil, f.upTo, nil
	}
	batch, err := consumer.Fetch(count, jetstream.FetchMaxWait(t.emitter.options.Timeout))
	if err != nil {
		return nil, 0, err
	}
	events, through, got, whole := f.pick(batch.Messages())
	switch {
	case batch.Error() != nil:
		return nil, 0, batch.Error()
	case got < count:
		return nil, 0, fmt.Errorf("%d of %d events came in time", got, count)
	case whole && pending <= catchUpBatch:
		through = f.upTo
	}
	return events, min(through, f.upTo), nil
}

// pick takes of the messages what the follower may hear and will not get live, as far as
// that is to be kept at once, and says whether that is all.
func (f *follower) pick(messages <-chan jetstream.Msg) (events []effect.Published, through uint64, got int, whole bool) {
	through, whole = f.after, true
	kept := 0
	for msg := range messages {
		got++
		if !whole {
			continue
		}
		event, of, err := published(msg)
		through = max(through, event.Sequence)
		if err == nil && event.Sequence <= f.upTo && f.hears(of) {
			events = append(events, event)
			kept += len(event.Data)
			whole = kept < catchUpBytes
		}
	}
	return events, through, got, whole
}
