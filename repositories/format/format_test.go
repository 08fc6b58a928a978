package format_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/repositories/format"
	"earshot/repositories/keyspace"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// stage is a Redis with data in the first format, and steps that mark what they did.
type stage struct {
	t     *testing.T
	db    *keyspace.DB
	steps []format.Step
	names atomic.Int64
	older func() []string

	mu   sync.Mutex
	made []string // step/partition
}

func on(t *testing.T, server *redistest.Server, steps ...string) *stage {
	s := &stage{t: t, db: &keyspace.DB{UniversalClient: server.Client(), Embedded: server.Embedded()}, older: func() []string { return nil }}
	for _, name := range steps {
		s.steps = append(s.steps, format.Step{Name: name, Live: true, Partition: func(_ context.Context, _ *keyspace.DB, n int) error {
			s.note(name, n)
			return nil
		}})
	}
	return s
}

func (s *stage) note(step string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made = append(s.made, step+"/"+strconv.Itoa(n))
}

// upgrade is what a replica does at its start that knows some of the steps.
func (s *stage) upgrade(known int) format.Upgrade {
	return format.Upgrade{
		DB: s.db, Steps: s.steps[:known], Program: "v" + strconv.Itoa(known), Log: slog.New(slog.DiscardHandler),
		NewToken: func() string { return strconv.FormatInt(s.names.Add(1), 10) },
		Older:    func(context.Context, int) ([]string, error) { return s.older(), nil },
	}
}

func (s *stage) run(known int) error { return s.upgrade(known).Run(s.t.Context()) }

func (s *stage) mark() map[string]string {
	return s.db.HGetAll(s.t.Context(), keyspace.Format).Val()
}

func partitions(step string) (all []string) {
	for n := range keyspace.Partitions {
		all = append(all, step+"/"+strconv.Itoa(n))
	}
	return all
}

func TestStepsAreMadeOnceInTheirOrder(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		s := on(t, server, "a", "b", "c")
		require.NoError(t, s.run(1))
		require.Equal(t, partitions("a"), s.made)
		require.NoError(t, s.run(3))
		require.Equal(t, append(append(partitions("a"), partitions("b")...), partitions("c")...), s.made)
		require.NoError(t, s.run(3))
		require.Len(t, s.made, 3*keyspace.Partitions)
		require.Equal(t, map[string]string{"version": "4", "oldest": "1", "program": "v3"}, s.mark())
	})
}

func TestReplicaGoesOnWhereAnotherHasDied(t *testing.T) {
	t.Parallel()
	s, died, asleep := on(t, redistest.Run(t), "a"), make(chan struct{}), make(chan struct{})
	plain := s.steps[0].Partition
	frozen := s.upgrade(1)
	frozen.Steps = []format.Step{{Live: true, Partition: func(ctx context.Context, db *keyspace.DB, n int) error {
		if n == 10 {
			close(died)
			<-asleep
		}
		return plain(ctx, db, n)
	}}}
	ended := make(chan error, 1)
	go func() { ended <- frozen.Run(t.Context()) }()
	<-died
	require.ErrorIs(t, s.run(1), format.ErrWait)
	require.ErrorContains(t, s.run(1), "has done 10 of 64 partitions")

	require.NoError(t, s.db.HSet(t.Context(), keyspace.Format, "ends", 1).Err()) // its lease is over
	require.NoError(t, s.run(1))
	require.Equal(t, partitions("a"), s.made, "what was done is not done again")
	after := s.mark()
	close(asleep)
	require.ErrorIs(t, <-ended, format.ErrWait, "it was not dead after all")
	require.Equal(t, after, s.mark())
}

func TestStepThatFailsIsGoneOnWithAtOnce(t *testing.T) {
	t.Parallel()
	s := on(t, redistest.Run(t), "a")
	broken := s.upgrade(1)
	broken.Steps = []format.Step{{Live: true, Partition: func(ctx context.Context, db *keyspace.DB, n int) error {
		if n == 5 {
			return errors.New("no answer")
		}
		return s.steps[0].Partition(ctx, db, n)
	}}}
	require.EqualError(t, broken.Run(t.Context()), "change the format of partition 5: what it holds cannot be changed to the format of this version: no answer")
	require.NoError(t, s.run(1))
	require.Equal(t, partitions("a"), s.made)
}

func TestReplicasThatStartTogetherMakeAStepOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		s := on(t, server, "a")
		var starting sync.WaitGroup
		for range 5 {
			starting.Go(func() {
				for {
					err := s.run(1)
					if err == nil {
						return
					}
					if !errors.Is(err, format.ErrWait) {
						t.Error(err)
						return
					}
				}
			})
		}
		starting.Wait()
		require.Equal(t, partitions("a"), s.made)
	})
}

func TestOlderProgramGoesOnBesideALiveStepAndNotAfterAnother(t *testing.T) {
	t.Parallel()
	s := on(t, redistest.Run(t), "a", "b")
	s.steps[1].Live = false
	require.NoError(t, s.run(1))
	require.NoError(t, s.run(0), "one that knows no step starts after a live one")
	require.NoError(t, format.Check(t.Context(), s.db, 1))
	require.Equal(t, "2", s.mark()["version"])

	require.NoError(t, s.run(2))
	for _, err := range []error{s.run(1), s.run(0), format.Check(t.Context(), s.db, 2)} {
		require.ErrorIs(t, err, format.ErrNewer)
		require.ErrorContains(t, err, "its format is 3, by earshot v2, and this version knows formats up to")
		require.ErrorContains(t, err, "start that version or a later one, or restore the backup")
	}
	require.NoError(t, format.Check(t.Context(), s.db, 3))
	require.Len(t, s.made, 2*keyspace.Partitions)
}

func TestStepWaitsForOlderReplicasToStop(t *testing.T) {
	t.Parallel()
	s := on(t, redistest.Run(t), "a")
	s.steps[0].Live, s.older = false, func() []string { return []string{"10.0.0.7", "10.0.0.8"} }
	err := s.run(1)
	require.ErrorIs(t, err, format.ErrWait)
	require.ErrorContains(t, err, "stop them all")
	require.ErrorContains(t, err, "10.0.0.7, 10.0.0.8")
	require.Empty(t, s.mark(), "an older one may still be started again")
	require.NoError(t, format.Check(t.Context(), s.db, 1))

	looks := 0
	s.older = func() []string { // one starts between the look and the claim
		if looks++; looks == 2 {
			return []string{"10.0.0.9"}
		}
		return nil
	}
	require.ErrorContains(t, s.run(1), "10.0.0.9")
	require.Empty(t, s.made)
	require.ErrorIs(t, format.Check(t.Context(), s.db, 1), format.ErrNewer, "it is told to end")
	require.NoError(t, s.run(1))
	require.Equal(t, partitions("a"), s.made)
}

func TestMarkThatCannotBeReadIsRefused(t *testing.T) {
	t.Parallel()
	s := on(t, redistest.Run(t))
	require.NoError(t, s.db.HSet(t.Context(), keyspace.Format, "oldest", "next").Err())
	require.ErrorIs(t, s.run(0), format.ErrNewer)
	require.ErrorContains(t, s.run(0), `oldest "next"`)
}

func TestSessionsOfBeforeTheListsAreListed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		s := on(t, server)
		s.steps = format.Steps()
		clinic, home := keyspace.KeysOf("clinic"), keyspace.KeysOf("home")
		for n := range 1500 {
			require.NoError(t, s.db.ZAdd(t.Context(), clinic.Idle(), redis.Z{Score: 1e13, Member: "clinic/s" + strconv.Itoa(n)}).Err())
		}
		require.NoError(t, s.db.ZAdd(t.Context(), home.Idle(), redis.Z{Score: 1e13, Member: "home/s1"}).Err())
		require.NoError(t, s.run(len(s.steps)))
		require.Len(t, s.db.ZRange(t.Context(), clinic.Sessions(), 0, -1).Val(), 1500)
		require.Equal(t, []string{"s1"}, s.db.ZRange(t.Context(), home.Sessions(), 0, -1).Val())
	})
}

func TestKeysOfBeforeTheirEndsWereListedAreListed(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		s := on(t, server)
		s.steps = format.Steps()
		k := keyspace.KeysOf("clinic")
		require.NoError(t, s.db.ZAdd(t.Context(), k.Apps(), redis.Z{Member: "clinic"}).Err())
		require.NoError(t, s.db.HSet(t.Context(), k.AppKeys(), "stays", `/{"keyId":"stays"}`, "ends", `/stays/{"keyId":"ends","expiresAt":"2026-12-01T12:00:00.5Z"}`).Err())
		require.NoError(t, s.run(len(s.steps)))
		ends := float64(time.Date(2026, 12, 1, 12, 0, 0, 501e6, time.UTC).UnixMilli())
		require.Equal(t, []redis.Z{{Score: ends, Member: "clinic/ends"}}, s.db.ZRangeWithScores(t.Context(), keyspace.KeyEnds(k), 0, -1).Val())
	})
}

func TestFormatIsBroughtUpInARedisThatIsFull(t *testing.T) {
	t.Parallel()
	s := on(t, redistest.Run(t))
	s.steps = format.Steps()
	k := keyspace.KeysOf("clinic")
	require.NoError(t, s.db.ZAdd(t.Context(), k.Idle(), redis.Z{Score: 1e13, Member: "clinic/s1"}).Err())
	require.NoError(t, s.db.ConfigSet(t.Context(), "maxmemory", "1").Err())
	require.ErrorContains(t, s.db.Set(t.Context(), "k", "v", 0).Err(), "OOM")
	require.NoError(t, s.run(len(s.steps)))
	require.Equal(t, []string{"s1"}, s.db.ZRange(t.Context(), k.Sessions(), 0, -1).Val())
}
