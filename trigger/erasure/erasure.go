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
	// Stored calls visit with the events of a session, in order, until visit fails.
	Stored(ctx context.Context, appID, sessionID string, visit func(effect.Published) error) error
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

// ErrStreams means that a stream could not be read or cleared. The session's data in Redis is already removed then;
// another erasure continues.
var ErrStreams = errors.New("the events of the session cannot be removed from the NATS streams now")

const (
	// erasureTimeout bounds the time of an erasure, which continues after its client has disconnected.
	erasureTimeout = 10 * time.Minute
	// renewInterval is the interval at which the mark is renewed.
	renewInterval = 15 * time.Second
	// outboxPause is the pause before a leased outbox is tried again.
	outboxPause = 10 * time.Millisecond
)

// Erase erases all generations of a session, and returns when no data of it is left. Requests during the erasure are
// refused with repositories.ErrErasing; a later one begins a new generation. The session need not exist.
//
// Errors: repositories.ErrNotFound without the app, keyspace.ErrUnavailable, ErrStreams.
func (e *Eraser) Erase(ctx context.Context, appID, sessionID string) error {
	return e.erase(ctx, appID, sessionID, "")
}

const (
	concurrency     = 16  // sessions of a user erased concurrently: each mostly waits
	sessionsPerRead = 200 // sessions of a user read together
)

// EraseUser erases the sessions of a user as Erase does, including ended ones, and returns their number. After a
// failure, another call continues. A session that begins during the erasure may stay.
func (e *Eraser) EraseUser(ctx context.Context, appID, user string) (count int, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), erasureTimeout)
	defer cancel()
	var done atomic.Int64
	for after, more := "", true; more; {
		ids, next, err := e.Store.SessionsOf(ctx, appID, user, after, sessionsPerRead)
		if err != nil {
			return int(done.Load()), err
		}
		group, groupCtx := errgroup.WithContext(ctx)
		group.SetLimit(concurrency)
		for _, id := range ids {
			group.Go(func() error {
				err := groupCtx.Err() // another has failed
				if err == nil {
					err = e.erase(groupCtx, appID, id, user)
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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), erasureTimeout)
	defer cancel()
	mark, err := e.Store.BeginErasing(ctx, appID, sessionID)
	if err != nil {
		return err
	}
	renewing, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		ticks := time.NewTicker(renewInterval)
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
			return streamsError(e.Events.Erase(ctx, appID, sessionID))
		},
		func(ctx context.Context, _, _ string) error { return mark.Forget(ctx, user) }, // last: an interrupted erasure is found by the user
	} {
		if err = step(ctx, appID, sessionID); err != nil {
			break
		}
	}
	return errors.Join(err, mark.End(ctx))
}

// Stored calls visit with the events of a session in the stream, in order, until visit fails. Its error is ErrStreams,
// or visit's.
func (e *Eraser) Stored(ctx context.Context, appID, sessionID string, visit func(effect.Published) error) error {
	var visitErr error
	err := e.Events.Stored(ctx, appID, sessionID, func(event effect.Published) error {
		visitErr = visit(event)
		return visitErr
	})
	if visitErr != nil {
		return visitErr
	}
	return streamsError(err)
}
