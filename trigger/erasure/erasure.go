// Package erasure forgets a session: all that was said or done in it goes from Redis, from the
// records of triggers and from the streams.
//
// It begins with a mark, which every script that begins something in the session looks for, so
// that nothing is added to what is removed. What was begun before comes to nothing, as each
// script that writes down what came of something finds it gone. Events are published by whoever
// has the lease of their outbox, and by nobody else: once the outbox could be taken, no replica
// publishes any more, and the streams can be cleared. That takes as long as a publish takes, and
// the length of a lease where a replica has died with one.
//
// An erasure that was broken off at any point is finished by the next one.
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
	// TriggersOf lists the triggers of a session whose events the stream has.
	TriggersOf(ctx context.Context, appID, sessionID string) ([]string, error)
	// Erase removes all events of a session.
	Erase(ctx context.Context, appID, sessionID string) error
	// Stored hands out the events of a session, in their order, until do fails.
	Stored(ctx context.Context, appID, sessionID string, do func(effect.Published) error) error
}

// Answers is the stream of what was published for triggers.
type Answers interface {
	Forget(ctx context.Context, appID string, triggerIDs []string) error
}

// Eraser erases sessions. All of its fields are required. It is safe for concurrent use.
type Eraser struct {
	Store   *store.Store
	Ledger  *ledger.Ledger
	Events  Events
	Answers Answers
}

// ErrStreams means that a stream could not be read or cleared. What Redis has had of the session
// is gone by then; to erase it again does the rest.
var ErrStreams = errors.New("the streams of NATS cannot be cleared now")

const (
	// longest is how long an erasure may take. It goes on when its client has left.
	longest = 10 * time.Minute
	// renewed is how often the mark is renewed.
	renewed = 15 * time.Second
	// looked is the pause before an outbox that another has is tried again.
	looked = 10 * time.Millisecond
)

// Erase erases a session, of all its lives, and returns when nothing of it is left. What comes
// meanwhile is refused with repositories.ErrErasing, and what comes afterwards begins the
// session anew. The session need not exist.
//
// Errors: repositories.ErrNotFound without the app, keyspace.ErrUnavailable, ErrStreams.
func (e *Eraser) Erase(ctx context.Context, appID, sessionID string) error {
	return e.erase(ctx, appID, sessionID, "")
}

const (
	atOnce     = 16  // sessions of a user are erased at the same time: each waits, for the most part
	togetherOf = 200 // sessions of a user are listed together
)

// EraseUser erases the sessions of a user as Erase does, those that have ended as well, and returns how many. What it
// has not come to when it fails is found again: to erase the user again does the rest. A session that begins meanwhile
// may stay.
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

// erase erases a session that the user is known to have had, or that is to be erased whoever had it.
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
				_ = mark.Renew(renewing) // the next time, if not now
			}
		}
	}()
	// The order is one in which a call that ends now, or an erasure that is broken off, leaves nothing
	// behind that cannot be found.
	for _, step := range []func(ctx context.Context, appID, sessionID string) error{
		func(ctx context.Context, _, _ string) error { return mark.Drop(ctx) },
		e.eraseCalls, e.eraseOutboxes, e.eraseTriggers,
		e.eraseOutboxes, // what was retried by hand in between
		func(ctx context.Context, appID, sessionID string) error {
			return ofStreams(e.Events.Erase(ctx, appID, sessionID))
		},
		func(ctx context.Context, _, _ string) error { return mark.Forget(ctx, user) }, // the last: whose it was leads to the rest
	} {
		if err = step(ctx, appID, sessionID); err != nil {
			break
		}
	}
	return errors.Join(err, mark.End(ctx))
}

// Stored hands out the events of a session that the stream has, in their order, until do fails.
// Its error is ErrStreams, or that of do.
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
