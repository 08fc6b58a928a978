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

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/enginetest"
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

// command holds a script up.
func (g *gate) command(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
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
	client.AddHook(enginetest.Hook{Command: g.command})
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
		Turn: ledger.Turn{App: "shop", Session: session, Message: message}, Token: "token of " + session, Lease: time.Hour, Message: `{"text":"noon"}`, WordsHash: "hash",
		History: 40, Version: "v0", SessionTTL: time.Hour, GenerationTTL: time.Hour, Messages: 100,
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
	require.Equal(t, "22", client.Get(t.Context(), k.PendingCount()).Val())
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
	var seen []ledger.PastMessage
	var recalled ledger.CachedMessages
	calls := 0
	accept := func(l *ledger.Ledger, message string) (ledger.Accepted, error) {
		a := acceptance("s", message)
		a.Token, a.Message = "token of "+message, fmt.Sprintf(`{"text":%q}`, message)
		var n int
		if _, err := fmt.Sscanf(message, "s%d", &n); err == nil && n%2 == 0 {
			a.Cached, a.Version = recalled, "v1"
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
		had := testbed.Got(accept(l, fmt.Sprint("early", n)))(t)
		seen, recalled = had.Taken.History.Messages, had.Taken.History.Cached
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
			if past.CachedIndex > 0 {
				history[i], had = seen[past.CachedIndex-1], had+1
			}
		}
		if n%2 == 0 {
			require.Equal(t, len(seen), had)
		}
		whole := testbed.Got(l.Peek(t.Context(), ledger.Turn{App: "shop", Session: "s", Message: fmt.Sprint("s", n)}, 40, ""))(t)
		require.Equal(t, whole.History.Messages, history)
		require.GreaterOrEqual(t, len(history), 12)
	}
}

// TestARunShortensTheHistoryOfASessionOnce has messages of one session, whose history is longer than it may be now,
// wait for another one.
func TestARunShortensTheHistoryOfASessionOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Run(t)
	client, k := server.Client(), keyspace.KeysOf("shop")
	require.NoError(t, client.HSet(t.Context(), k.App(), "record", "{}", "rev", "r1", "version", "v1", "generation", "g1").Err())
	early := ledger.New(&keyspace.DB{UniversalClient: client, Embedded: server.Embedded()})
	for n := range 40 {
		a := acceptance("s", fmt.Sprint("early", n))
		_, err := early.Accept(t.Context(), a)
		require.NoError(t, err)
		if n != 38 { // that one stays undecided, and so it stays with those behind it
			decided, err := early.Commit(t.Context(), ledger.Commitment{Turn: a.Turn, Box: "s", Token: a.Token, Decision: "{}", Matched: "v1", TTL: time.Hour, Lease: 15 * time.Second})
			require.NoError(t, err)
			require.Equal(t, ledger.Committed, decided.Status)
		}
		require.NoError(t, client.HDel(t.Context(), k.Turns("s"), "k:"+a.Turn.Message).Err()) // its lease has ended
	}
	accept := func(l *ledger.Ledger, message string) (ledger.Accepted, error) {
		a := acceptance("s", message)
		a.Messages = 12
		if message == "warm" {
			a.Messages = 100
		}
		return l.Accept(t.Context(), a)
	}
	found, errs, g := whileOneRuns(t, server, 5, accept, func(l *ledger.Ledger) int { return l.Waiting("shop") }, func(func() int) {})
	for n, one := range found {
		require.NoError(t, errs[n])
		require.Len(t, one.Taken.History.Messages, 11, "those that stay, before it")
	}
	require.Equal(t, 2, g.scripts)
	order := client.LRange(t.Context(), k.Order("s"), 0, -1).Val()
	require.Len(t, order, 12, "47 messages in all")
	require.Equal(t, []string{"early35", "early36", "early37", "early38", "early39", "warm", "first"}, order[:7])
	require.Equal(t, "35", client.HGet(t.Context(), k.Turns("s"), "left").Val())
	for _, id := range []string{"early0", "early34"} {
		require.False(t, client.HExists(t.Context(), k.Turns("s"), "m:"+id).Val(), id)
	}

	a := acceptance("s", "last")
	a.Messages = 2
	_, err := early.Accept(t.Context(), a)
	require.NoError(t, err)
	require.Equal(t, "early38", client.LIndex(t.Context(), k.Order("s"), 0).Val(), "the first that is undecided")
}

// TestARunShortensALongHistoryByAPart has a session with far more messages than may stay, of which one run of a script
// cannot name all fields.
func TestARunShortensALongHistoryByAPart(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		const count, had, most = 31, 3000, 10
		ids := make([]any, had)
		for n := range ids {
			ids[n] = fmt.Sprint("early", n)
		}
		client, k := server.Client(), keyspace.KeysOf("shop")
		require.NoError(t, client.RPush(t.Context(), k.Order("s"), ids...).Err())
		accept := func(l *ledger.Ledger, message string) (ledger.Accepted, error) {
			a := acceptance("s", message)
			a.Messages = most
			return l.Accept(t.Context(), a)
		}
		found, errs, _ := whileOneRuns(t, server, count, accept, func(l *ledger.Ledger) int { return l.Waiting("shop") }, func(func() int) {})
		for n, one := range found {
			require.NoError(t, errs[n])
			require.Len(t, one.Taken.History.Messages, most-1, "those that are about to leave are not in it")
		}
		left := client.LLen(t.Context(), k.Order("s")).Val()
		require.Less(t, left, int64(had), "more leave than come")
		require.Greater(t, left, int64(had)/2)
	})
}

// TestDecisionsOfASessionThatAreCommittedTogetherQueueTheirEvents has decisions of one session wait for another one of
// it, whose events are published first.
func TestDecisionsOfASessionThatAreCommittedTogetherQueueTheirEvents(t *testing.T) {
	t.Parallel()
	server := redistest.Run(t)
	const count = 5
	client, k := server.Client(), keyspace.KeysOf("shop")
	require.NoError(t, client.HSet(t.Context(), k.App(), "record", "{}", "rev", "r1", "version", "v1", "generation", "g1").Err())
	early := ledger.New(&keyspace.DB{UniversalClient: client, Embedded: server.Embedded()})
	accepted := func(session, message string) ledger.Turn {
		a := acceptance(session, message)
		a.Token = "token of " + message
		found := testbed.Got(early.Accept(t.Context(), a))(t)
		require.Equal(t, ledger.Taken, found.Status)
		return a.Turn
	}
	turns := map[string]ledger.Turn{"warm": accepted("another", "warm"), "first": accepted("s", "first")}
	for n := range 2 * count { // the second half are of a session without events so far
		message := fmt.Sprint("s", n)
		turns[message] = accepted([]string{"s", "t"}[n/count], message)
	}
	commit := func(l *ledger.Ledger, message string) (ledger.Decision, error) {
		turn, id := turns[message], "trigger-of-"+message
		return l.Commit(t.Context(), ledger.Commitment{
			Turn: turn, Box: turn.Session, Token: "token of " + message, Decision: "{}", Matched: "v1", TTL: time.Hour, Lease: 15 * time.Second,
			Firings: []ledger.Firing{{ID: id, Name: id, Record: "{}", Repository: "r", Revision: "r1", Open: 2}},
			Events:  []keyspace.Entry{keyspace.EventEntry(id+".event", turn.Session, id, "{}"), keyspace.EventEntry(id+".emitter", turn.Session, id, "{}")},
		})
	}
	found, errs, g := whileOneRuns(t, server, 2*count, commit, func(l *ledger.Ledger) int { return l.WaitingCommits("shop") }, func(func() int) {})
	require.Equal(t, 2, g.scripts)
	holds := map[string]string{"s": "token of first"} // by session the token whose events are published first
	for n, one := range found[count:] {
		if one.Batch {
			require.NotContains(t, holds, "t")
			holds["t"] = fmt.Sprint("token of s", count+n)
		}
	}
	for n, one := range found {
		require.NoError(t, errs[n])
		of := turns[fmt.Sprint("s", n)].Session
		require.Equal(t, ledger.Decision{Status: ledger.Committed, Holder: holds[of], Batch: holds[of] == fmt.Sprint("token of s", n)}, one)
	}
	for session, behind := range map[string]int{"s": count, "t": count - 1} {
		outbox := client.LRange(t.Context(), k.Outbox(session), 0, -1).Val()
		require.Len(t, outbox, 1+2*behind)
		require.True(t, strings.HasPrefix(outbox[0], "#"+holds[session]+"\t"))
		for n := range behind {
			event, emitter := outbox[1+2*n], outbox[2+2*n]
			require.Equal(t, strings.TrimSuffix(event, ".event"), strings.TrimSuffix(emitter, ".emitter"), "those of a decision are together")
			require.Equal(t, "event", client.HGet(t.Context(), k.Effect(event), "kind").Val())
		}
	}
	require.EqualValues(t, 2*count-1, client.ZCard(t.Context(), k.InState(keyspace.Pending)).Val())
	require.Equal(t, fmt.Sprint(3+2*(2*count-1)), client.Get(t.Context(), k.PendingCount()).Val(), "three batches, and the events behind two")
}

// TestAToolThatGoesWithItsFirstFiringFiresOnceInARun has decisions wait that all fire a tool which goes with its firing.
func TestAToolThatGoesWithItsFirstFiringFiresOnceInARun(t *testing.T) {
	t.Parallel()
	server := redistest.Run(t)
	require.NoError(t, server.Client().HSet(t.Context(), keyspace.KeysOf("shop").Repos(""), "r", "r1 g1 {}").Err())
	commit := func(l *ledger.Ledger, id string) (ledger.Decision, error) {
		once := id != "warm" && id != "first"
		return l.Commit(t.Context(), ledger.Commitment{
			Turn: ledger.Turn{App: "shop"}, Box: "x", Token: "token of " + id, Matched: "v1", Version: "v2", TTL: time.Hour, Lease: 15 * time.Second,
			Firings: []ledger.Firing{{ID: id, Name: id, Record: "{}", Repository: "r", Revision: "r1", Once: once, Open: 1}},
			Events:  []keyspace.Entry{keyspace.EventEntry(id+".event", "", id, "{}")},
		})
	}
	found, errs, g := whileOneRuns(t, server, 3, commit, func(l *ledger.Ledger) int { return l.WaitingCommits("shop") }, func(func() int) {})
	require.Equal(t, 2, g.scripts)
	count := map[ledger.Status]int{}
	for n, one := range found {
		require.NoError(t, errs[n])
		count[one.Status]++
	}
	require.Equal(t, map[ledger.Status]int{ledger.Committed: 1, ledger.Stale: 2}, count)
}
