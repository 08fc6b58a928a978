package emitter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"earshot/trigger/effect"
)

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
		if err != nil || len(left) == 0 {
			return err
		}
		held, err := e.js.Stream(ctx, Stream)
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
		info, err := consumer.Info(ctx)
		if err != nil {
			return err
		}
		pending = info.NumPending
	}
	return ctx.Err()
}

// consumer creates a consumer for one pass over the stream, and returns a function to delete it.
func (e *Emitter) consumer(ctx context.Context, config jetstream.ConsumerConfig) (consumer jetstream.Consumer, remove func(), err error) {
	config.AckPolicy, config.MemoryStorage, config.Replicas, config.InactiveThreshold = jetstream.AckNonePolicy, true, 1, consumerIdle
	consumer, err = e.js.CreateConsumer(ctx, Stream, config)
	return consumer, func() { _ = e.js.DeleteConsumer(ctx, Stream, consumer.CachedInfo().Name) }, err // otherwise it is removed when idle
}
