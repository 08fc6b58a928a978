package format

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"earshot/repositories/keyspace"
)

// lease is how long a replica that makes a step is believed to be at it, after it was last
// heard of. One that was killed is replaced after that.
const lease = 10 * time.Second

// Upgrade brings data to the format of a program.
type Upgrade struct {
	DB    *keyspace.DB
	Steps []Step
	// Program is the version of this program, which those that know less are told to look for.
	Program string
	// Older lists the programs that are connected to Redis and know formats below a number
	// only, each by its address. It is asked before a step that is not live.
	Older func(ctx context.Context, below int) ([]string, error)
	// Begun is called, if it is set, before a step is made: it may take minutes.
	Begun func()
	// NewToken makes a name for this replica that no other has.
	NewToken func() string
	Log      *slog.Logger
}

// Run makes all steps that the data lacks, and returns nil where it has the format of this
// program or a later one that this program can work on. Its error wraps ErrNewer where it
// cannot, and ErrWait where it is to be run again after a while. It may be ended at any time,
// and goes on where it, or another replica, has left off.
func (u Upgrade) Run(ctx context.Context) error {
	for {
		m, err := read(ctx, u.DB)
		if err == nil {
			err = m.judge(Known(u.Steps))
		}
		if err != nil || m.version >= Known(u.Steps) {
			return err
		}
		if err := u.step(ctx, m.version); err != nil {
			return err
		}
	}
}

func (u Upgrade) step(ctx context.Context, from int) error {
	s, token := u.Steps[from-first], u.NewToken()
	if err := u.alone(ctx, s, from+1); err != nil {
		return err
	}
	done, err := u.claim(ctx, s, from, token)
	if err != nil {
		return err
	}
	if err := u.alone(ctx, s, from+1); err != nil { // nobody can have begun since
		return errors.Join(err, u.release(ctx, token))
	}
	if u.Begun != nil {
		u.Begun()
	}
	u.Log.Info("format.step", "from", from, "to", from+1, "does", s.Name, "partition", done)
	if err := u.partitions(ctx, s, token, done); err != nil {
		return errors.Join(err, u.release(context.WithoutCancel(ctx), token))
	}
	if err := u.hold(ctx, finish, token, from+1); err != nil {
		return err
	}
	u.Log.Info("format.changed", "to", from+1)
	return nil
}

// alone returns an ErrWait where programs run that a step would take the ground from.
func (u Upgrade) alone(ctx context.Context, s Step, to int) error {
	if s.Live {
		return nil
	}
	older, err := u.Older(ctx, to)
	if err != nil || len(older) == 0 {
		return err
	}
	return fmt.Errorf("%w: format %d is not for the replicas of before that still run, at %s: stop them all, and this one goes on by itself", ErrWait, to, strings.Join(older, ", "))
}

// partitions makes a step in all partitions from the nth on, and says after each that this
// replica is still at it, as it does while one takes long.
func (u Upgrade) partitions(ctx context.Context, s Step, token string, n int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go u.keep(ctx, cancel, token)
	for ; n < keyspace.Partitions; n++ {
		if err := s.Partition(ctx, u.DB, n); err != nil {
			if lost := context.Cause(ctx); lost != nil {
				err = lost
			}
			return fmt.Errorf("change the format of partition %d: %w", n, err)
		}
		if err := u.hold(ctx, progress, token, n+1); err != nil {
			return err
		}
	}
	return nil
}

// keep renews the lease until ctx ends, and ends it where the lease was lost.
func (u Upgrade) keep(ctx context.Context, cancel context.CancelCauseFunc, token string) {
	again := time.NewTicker(lease / 4)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
			if err := u.hold(ctx, progress, token, 0); errors.Is(err, ErrWait) {
				cancel(err)
				return
			}
		}
	}
}
