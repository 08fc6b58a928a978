package ledger_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"earshot/deploy/testbed/redistest"
	"earshot/repositories/keyspace"
	"earshot/trigger/ledger"
)

// gate blocks the first script until it is opened, and counts scripts.
type gate struct {
	first, open chan struct{}
	once        sync.Once
	mu          sync.Mutex
	scripts     int
}

func newGate() *gate { return &gate{first: make(chan struct{}), open: make(chan struct{})} }

func (g *gate) DialHook(next redis.DialHook) redis.DialHook { return next }

func (g *gate) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (g *gate) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if !strings.HasPrefix(cmd.Name(), "evalsha") {
			return next(ctx, cmd)
		}
		g.mu.Lock()
		g.scripts++
		g.mu.Unlock()
		g.once.Do(func() { close(g.first) })
		<-g.open
		return next(ctx, cmd)
	}
}

// whileOneRuns makes count requests, each of its own session, while the script runs for another one, and returns the
// outcomes. Before they continue, do is called with the number that wait.
func whileOneRuns[R any](
	t *testing.T, server *redistest.Server, count int, request func(l *ledger.Ledger, session string) (R, error), waits func(*ledger.Ledger) int, do func(waiting func() int),
) (found []R, errs []error, g *gate) {
	t.Helper()
	client := server.Client()
	require.NoError(t, client.HSet(t.Context(), keyspace.KeysOf("shop").App(), "record", "{}", "rev", "r1", "version", "v1", "generation", "g1").Err())
	db := &keyspace.DB{UniversalClient: client, Embedded: server.Embedded()}
	_, err := request(ledger.New(db), "warm")
	require.NoError(t, err) // the server knows the script now
	g = newGate()
	client.AddHook(g)
	l := ledger.New(db)
	var all errgroup.Group
	all.Go(func() error {
		_, err := request(l, "first")
		return err
	})
	<-g.first
	found, errs = make([]R, count), make([]error, count)
	for n := range count {
		all.Go(func() error {
			found[n], errs[n] = request(l, fmt.Sprint("s", n))
			return nil
		})
	}
	waiting := func() int { return waits(l) }
	require.Eventually(t, func() bool { return waiting() == count }, time.Minute, time.Millisecond)
	do(waiting)
	close(g.open)
	require.NoError(t, all.Wait())
	return found, errs, g
}

// together is whileOneRuns for messages that are accepted. ctx is the context of a session.
func together(t *testing.T, server *redistest.Server, count int, ctx func(session string) context.Context, do func(waiting func() int)) ([]ledger.Accepted, []error, *gate) {
	t.Helper()
	accept := func(l *ledger.Ledger, session string) (ledger.Accepted, error) {
		return l.Accept(ctx(session), acceptance(session, "m"))
	}
	return whileOneRuns(t, server, count, accept, func(l *ledger.Ledger) int { return l.Waiting("shop") }, do)
}

func acceptance(session, message string) ledger.Acceptance {
	return ledger.Acceptance{
		Turn: ledger.Turn{App: "shop", Session: session, Message: message}, Token: "token of " + session, Lease: time.Hour, Message: `{"text":"noon"}`, Says: "hash",
		History: 40, Version: "v0", Life: time.Hour, Remembers: time.Hour, Messages: 100,
	}
}

func TestWhatComesWhileAScriptRunsIsDoneByTheNext(t *testing.T) {
	t.Parallel()
	server := redistest.Run(t)
	found, errs, g := together(t, server, 20, func(string) context.Context { return t.Context() }, func(func() int) {})
	for n, err := range errs {
		require.NoError(t, err)
		require.Equal(t, ledger.Taken, found[n].Status)
		require.Equal(t, "r1", found[n].Taken.App.Revision)
	}
	require.Equal(t, 2, g.scripts, "one for the first message, and one for the others")
	client, k := server.Client(), keyspace.KeysOf("shop")
	require.EqualValues(t, 22, client.ZCard(t.Context(), k.Lane(keyspace.LaneTurns)).Val())
	require.Equal(t, "22", client.Get(t.Context(), k.Owed()).Val())
	require.EqualValues(t, 22, client.ZCard(t.Context(), k.Sessions()).Val())
	require.EqualValues(t, 22, client.ZCard(t.Context(), k.Idle()).Val())
}

func TestAMessageThatCannotBeAcceptedFailsAlone(t *testing.T) {
	t.Parallel()
	server := redistest.Run(t)
	require.NoError(t, server.Client().Set(t.Context(), keyspace.KeysOf("shop").Turns("s3"), "no hash", 0).Err())
	found, errs, g := together(t, server, 6, func(string) context.Context { return t.Context() }, func(func() int) {})
	for n, err := range errs {
		if n == 3 {
			require.ErrorContains(t, err, "WRONGTYPE")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, ledger.Taken, found[n].Status)
	}
	require.Equal(t, 2, g.scripts)
	require.EqualValues(t, 7, server.Client().ZCard(t.Context(), keyspace.KeysOf("shop").Lane(keyspace.LaneTurns)).Val())
}

// TestReadsAreAdmittedTogetherAndFailAlone has reads wait for one that is being admitted. One of them has a session
// whose key Redis refuses.
func TestReadsAreAdmittedTogetherAndFailAlone(t *testing.T) {
	t.Parallel()
	server := redistest.Run(t)
	require.NoError(t, server.Client().Set(t.Context(), keyspace.KeysOf("shop").Closed("s3"), "no hash", 0).Err())
	admit := func(l *ledger.Ledger, session string) (ledger.Status, error) {
		status, _, err := ledger.Admit(t.Context(), l, ledger.Commitment{Turn: ledger.Turn{App: "shop", Session: session}, Matched: "v1"}, 100)
		return status, err
	}
	found, errs, g := whileOneRuns(t, server, 6, admit, func(l *ledger.Ledger) int { return l.WaitingReads("shop") }, func(func() int) {})
	for n, err := range errs {
		if n == 3 {
			require.ErrorContains(t, err, "WRONGTYPE")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, ledger.Committed, found[n])
	}
	require.Equal(t, 2, g.scripts, "one for the first, and one for the others")
}

func TestAMessageWhoseClientIsGoneBeforeItsTurnIsNotAccepted(t *testing.T) {
	t.Parallel()
	server := redistest.Run(t)
	gone, leave := context.WithCancel(t.Context())
	found, errs, _ := together(t, server, 4, func(session string) context.Context {
		if session == "s2" {
			return gone
		}
		return t.Context()
	}, func(waiting func() int) {
		leave()
		require.Eventually(t, func() bool { return waiting() == 3 }, time.Minute, time.Millisecond)
	})
	for n, err := range errs {
		if n == 2 {
			require.ErrorIs(t, err, context.Canceled)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, ledger.Taken, found[n].Status)
	}
	require.Zero(t, server.Client().Exists(t.Context(), keyspace.KeysOf("shop").Turns("s2")).Val())
}

func TestWithoutAnAnswerNobodyOfAGroupIsAccepted(t *testing.T) {
	t.Parallel()
	server := redistest.Run(t)
	l := ledger.New(&keyspace.DB{UniversalClient: server.Client()})
	server.Stop()
	var all errgroup.Group
	for n := range 4 {
		all.Go(func() error {
			_, err := l.Accept(t.Context(), acceptance(fmt.Sprint("s", n), "m2"))
			if err == nil {
				return fmt.Errorf("message %d is said to be accepted", n)
			}
			return nil
		})
	}
	require.NoError(t, all.Wait())
}

// TestMessagesOfASessionThatAreAcceptedTogetherHaveEachTheirHistory has messages of one session wait for another one.
// Some of their callers recall a part of the history, and some do not know the app.
func TestMessagesOfASessionThatAreAcceptedTogetherHaveEachTheirHistory(t *testing.T) {
	t.Parallel()
	server := redistest.Run(t)
	client, count := server.Client(), 24
	require.NoError(t, client.HSet(t.Context(), keyspace.KeysOf("shop").Repos(""), "one", "r1 {}", "two", "r1 {}").Err())
	var seen []ledger.Past
	var recalled ledger.Recalled
	calls := 0
	accept := func(l *ledger.Ledger, message string) (ledger.Accepted, error) {
		a := acceptance("s", message)
		a.Token, a.Message = "token of "+message, fmt.Sprintf(`{"text":%q}`, message)
		var n int
		if _, err := fmt.Sscanf(message, "s%d", &n); err == nil && n%2 == 0 {
			a.Recalled, a.Version = recalled, "v1"
		}
		return l.Accept(t.Context(), a)
	}
	hmgets := func() (calls int) {
		_, stats, _ := strings.Cut(client.Info(t.Context(), "commandstats").Val(), "cmdstat_hmget:calls=")
		_, _ = fmt.Sscanf(stats, "%d", &calls) // an embedded Redis counts none
		return calls
	}
	l := ledger.New(&keyspace.DB{UniversalClient: client, Embedded: server.Embedded()})
	require.NoError(t, client.HSet(t.Context(), keyspace.KeysOf("shop").App(), "record", "{}", "rev", "r1", "version", "v1", "generation", "g1", "limits", "0 0 0 0 0 0 0 0").Err())
	for n := range 10 {
		had, err := accept(l, fmt.Sprint("early", n))
		require.NoError(t, err)
		seen, recalled = had.Taken.History.Messages, had.Taken.History.Recalled
	}
	found, errs, g := whileOneRuns(t, server, count, accept, func(l *ledger.Ledger) int { return l.Waiting("shop") }, func(func() int) { calls = hmgets() })
	require.Equal(t, 2, g.scripts)
	require.LessOrEqual(t, hmgets()-calls, 2*(count+1)+4, "the history is not read for each message again")
	for n, one := range found {
		require.NoError(t, errs[n])
		require.Equal(t, ledger.Taken, one.Status)
		if n%2 == 0 {
			require.Empty(t, one.Taken.App.Revision+one.Taken.App.Record)
			require.Empty(t, one.Taken.App.Repositories)
		} else {
			require.Equal(t, ledger.AppFields{Version: "v1", Revision: "r1", Record: "{}", Repositories: []string{"r1 {}", "r1 {}"}}, one.Taken.App)
		}
		history, had := one.Taken.History.Messages, 0
		for i, past := range history {
			if past.Had > 0 {
				history[i], had = seen[past.Had-1], had+1
			}
		}
		if n%2 == 0 {
			require.Equal(t, len(seen), had)
		}
		whole, err := l.Peek(t.Context(), ledger.Turn{App: "shop", Session: "s", Message: fmt.Sprint("s", n)}, 40, "")
		require.NoError(t, err)
		require.Equal(t, whole.History.Messages, history)
		require.GreaterOrEqual(t, len(history), 12)
	}
}
