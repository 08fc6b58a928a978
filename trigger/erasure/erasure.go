// Package erasure erases a session: all its data is removed from Redis, from the records of triggers and from
// the streams.
//
// It begins with a mark that every script checks before it begins something in the session, so that nothing is
// added to erased data. Work begun earlier has no effect: each script that records an outcome finds its object
// gone. Only the holder of an outbox's lease publishes its events. So once the outbox is taken, no replica
// publishes any more, and the streams can be cleared. That takes as long as a publish, or as a lease if a
// replica has died with one.
//
// The next erasure completes an interrupted one.
package erasure

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"earshot/repositories/store"
	"earshot/trigger/effect"
	"earshot/trigger/ledger"
)

// Events is the stream of events.
type Events interface {
	// TriggersOf lists the triggers of a session with events in the stream.
	TriggersOf(ctx context.Context, appID, sessionID string) ([]string, error)
	// Erase removes all events of a session.
	Erase(ctx context.Context, appID, sessionID string) error
	// Stored calls do with the events of a session, in order, until do fails.
	Stored(ctx context.Context, appID, sessionID string, do func(effect.Published) error) error
}

// Answers is the stream of published answers to triggers.
type Answers interface {
	Forget(ctx context.Context, appID string, triggerIDs []string) error
}

// Eraser erases sessions. All its fields are required. It is safe for concurrent use.
type Eraser struct {
	Store   *store.Store
	Ledger  *ledger.Ledger
	Events  Events
	Answers Answers
}

// ErrStreams means that a stream could not be read or cleared. The session's data in Redis is then already
// gone; another erasure does the rest.
var ErrStreams = errors.New("the streams of NATS cannot be cleared now")

const (
	// longest bounds the time of an erasure, which continues when its client has left.
	longest = 10 * time.Minute
	// renewed is the interval at which the mark is renewed.
	renewed = 15 * time.Second
	// looked is the pause before a leased outbox is tried again.
	looked = 10 * time.Millisecond
)

// Erase erases a session in all its lives, and returns when nothing of it is left. Requests meanwhile are
// refused with repositories.ErrErasing, and later ones begin the session anew. The session need not exist.
//
// Errors: repositories.ErrNotFound without the app, keyspace.ErrUnavailable, ErrStreams.
func (e *Eraser) Erase(ctx context.Context, appID, sessionID string) error {
	return e.erase(ctx, appID, sessionID, "")
}

const (
	atOnce     = 16  // sessions of a user erased concurrently: each mostly waits
	togetherOf = 200 // sessions of a user listed together
)

// EraseUser erases the sessions of a user as Erase does, including ended ones, and returns their number. After
// a failure, erasing the user again does the rest. A session that begins meanwhile may stay.
func (e *Eraser) EraseUser(ctx context.Context, appID, user string) (count int, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), longest)
	defer cancel()
	var done atomic.Int64
	for after, more := "", true; more; {
		ids, next, err := e.Store.SessionsOf(ctx, appID, user, after, togetherOf)
		if err != nil {
			return int(done.Load()), err
		}
		group, of := errgroup.WithContext(ctx)
		group.SetLimit(atOnce)
		for _, id := range ids {
			group.Go(func() error {
				err := of.Err() // another has failed
				if err == nil {
					err = e.erase(of, appID, id, user)
				}
				if err == nil {
					done.Add(1)
				}
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return int(done.Load()), err
		}
		after, more = next, next != ""
	}
	return int(done.Load()), nil
}

// erase erases a session of a user; an empty user stands for any.
func (e *Eraser) erase(ctx context.Context, appID, sessionID, user string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), longest)
	defer cancel()
	mark, err := e.Store.BeginErasing(ctx, appID, sessionID)
	if err != nil {
		return err
	}
	renewing, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		ticks := time.NewTicker(renewed)
		defer ticks.Stop()
		for {
			select {
			case <-renewing.Done():
				return
			case <-ticks.C:
				_ = mark.Renew(renewing) // a failed renewal is tried again at the next tick
			}
		}
	}()
	// In this order, a call that ends now, or an interrupted erasure, leaves nothing that cannot be found.
	for _, step := range []func(ctx context.Context, appID, sessionID string) error{
		func(ctx context.Context, _, _ string) error { return mark.Drop(ctx) },
		e.eraseCalls, e.eraseOutboxes, e.eraseTriggers,
		e.eraseOutboxes, // manual retries in between
		func(ctx context.Context, appID, sessionID string) error {
			return ofStreams(e.Events.Erase(ctx, appID, sessionID))
		},
		func(ctx context.Context, _, _ string) error { return mark.Forget(ctx, user) }, // last: its user leads to the rest
	} {
		if err = step(ctx, appID, sessionID); err != nil {
			break
		}
	}
	return errors.Join(err, mark.End(ctx))
}

// Stored calls do with the events of a session in the stream, in order, until do fails. Its error is
// ErrStreams, or do's.
func (e *Eraser) Stored(ctx context.Context, appID, sessionID string, do func(effect.Published) error) error {
	var own error
	err := e.Events.Stored(ctx, appID, sessionID, func(event effect.Published) error {
		own = do(event)
		return own
	})
	if own != nil {
		return own
	}
	return ofStreams(err)
}
