package emitter

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"earshot/trigger/effect"
)

const (
	// storedBatch is how many stored events are read at a time.
	storedBatch = 128
	// erasePasses bounds how often the stream is looked through for events of a session until
	// it has none: in the second pass there is none, unless somebody publishes them.
	erasePasses = 5
	// erasesAtOnce is how many events are removed at the same time.
	erasesAtOnce = 16
)

// TriggersOf lists the triggers of a session whose events the stream has.
func (e *Emitter) TriggersOf(ctx context.Context, appID, sessionID string) (ids []string, err error) {
	filter := []string{"tool.trigger." + appID + "." + sessionID + ".*"}
	err = e.each(ctx, filter, true, func(msg jetstream.Msg) error {
		ids = append(ids, msg.Headers().Get("ce-id"))
		return nil
	})
	return ids, err
}

// Erase removes all events of a session from the stream, and has the server write over what it
// has on disk of them. Nobody may publish any meanwhile.
func (e *Emitter) Erase(ctx context.Context, appID, sessionID string) error {
	for range erasePasses {
		left, err := e.sequencesOf(ctx, audience{appID, sessionID})
		if err != nil || len(left) == 0 {
			return err
		}
		if err := e.remove(ctx, left); err != nil {
			return err
		}
	}
	return fmt.Errorf("events of session %q come faster to stream %s than they are removed", sessionID, Stream)
}

// sequencesOf lists the events of an audience.
func (e *Emitter) sequencesOf(ctx context.Context, own audience) (list []uint64, err error) {
	err = e.each(ctx, own.filters(), true, func(msg jetstream.Msg) error {
		if event, of, err := readEvent(msg); err == nil && of == own {
			list = append(list, event.Sequence)
		}
		return nil
	})
	return list, err
}

// remove removes messages. One that is gone already, or whose removal cannot be told from that,
// is found by the next pass.
func (e *Emitter) remove(ctx context.Context, sequences []uint64) error {
	held, err := e.js.Stream(ctx, Stream)
	if err != nil {
		return err
	}
	removing, ctx := errgroup.WithContext(ctx)
	removing.SetLimit(erasesAtOnce)
	for _, sequence := range sequences {
		removing.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, e.options.Timeout)
			defer cancel()
			err := held.SecureDeleteMsg(ctx, sequence)
			if errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) {
				return nil
			}
			return err
		})
	}
	return removing.Wait()
}

// Stored hands out the events of a session that the stream has, in their order, until do fails.
func (e *Emitter) Stored(ctx context.Context, appID, sessionID string, do func(effect.Published) error) error {
	own := audience{appID, sessionID}
	return e.each(ctx, own.filters(), false, func(msg jetstream.Msg) error {
		event, of, err := readEvent(msg)
		if err != nil || of != own {
			return nil
		}
		return do(event)
	})
}

// each hands out the messages that the stream has now on the subjects; of those without bodies
// only the headers.
func (e *Emitter) each(ctx context.Context, subjects []string, bodiless bool, do func(jetstream.Msg) error) error {
	e.inFlight.RLock()
	defer e.inFlight.RUnlock()
	if e.closed {
		return fmt.Errorf("%w: the emitter is closed", errDown)
	}
	if err := e.connected(); err != nil {
		return err
	}
	consumer, err := e.js.CreateConsumer(ctx, Stream, jetstream.ConsumerConfig{
		FilterSubjects: subjects, AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1,
		DeliverPolicy: jetstream.DeliverAllPolicy, HeadersOnly: bodiless, InactiveThreshold: catchUpIdle,
	})
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = e.js.DeleteConsumer(ctx, Stream, consumer.CachedInfo().Name) }() // else it goes when it is idle
	return e.drain(ctx, consumer, do)
}

// drain reads a consumer until it has nothing more.
func (e *Emitter) drain(ctx context.Context, consumer jetstream.Consumer, do func(jetstream.Msg) error) error {
	for pending := consumer.CachedInfo().NumPending; pending > 0; {
		batch, err := consumer.Fetch(int(min(pending, storedBatch)), jetstream.FetchMaxWait(e.options.Timeout))
		if err != nil {
			return err
		}
		for msg := range batch.Messages() {
			if err := do(msg); err != nil {
				return err
			}
		}
		if err := batch.Error(); err != nil {
			return err
		}
		info, err := consumer.Info(ctx)
		if err != nil {
			return err
		}
		pending = info.NumPending
	}
	return ctx.Err()
}
