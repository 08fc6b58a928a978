package ledger_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"earshot/deploy/testbed/enginetest"
	"earshot/deploy/testbed/redistest"
	"earshot/matcher"
	"earshot/repositories/exactjson"
	"earshot/repositories/keyspace"
	"earshot/trigger/ledger"
	"earshot/trigger/query"
)

// BenchmarkTurn measures what a message that fires one tool costs Redis, if it comes alone: its CPU, the commands
// that its scripts run, and the bytes of the append-only file.
func BenchmarkTurn(b *testing.B) { benchmarkTurns(b, 1) }

// BenchmarkTurns is BenchmarkTurn for 16 messages at the same time, whose scripts are one.
func BenchmarkTurns(b *testing.B) { benchmarkTurns(b, 16) }

// BenchmarkTurnsOfLongSessions is BenchmarkTurns in sessions whose history is as long as a matcher reads it.
func BenchmarkTurnsOfLongSessions(b *testing.B) {
	cost := costOf(b, 16)
	cost(16*50, 16)
	measure(b, cost, 16)
}

func benchmarkTurns(b *testing.B, together int) {
	cost := costOf(b, 1000)
	cost(together, together) // the scripts are known now
	measure(b, cost, together)
}

func measure(b *testing.B, cost func(n, together int) (cpu, commands, bytes float64), together int) {
	b.ResetTimer()
	cpu, commands, bytes := cost(b.N, together)
	b.StopTimer()
	b.ReportMetric(cpu*1e6, "redis-µs/op")
	b.ReportMetric(commands, "commands/op")
	b.ReportMetric(bytes, "AOF-B/op")
}

// costOf starts a Redis, and returns a function that measures the cost per message of n messages, some
// concurrent, over so many sessions.
func costOf(t testing.TB, sessions int) func(n, together int) (cpu, commands, bytes float64) {
	server := redistest.Run(t)
	client := server.Client()
	require.NoError(t, client.ConfigSet(t.Context(), "appendonly", "yes").Err())
	k := keyspace.KeysOf("shop")
	require.NoError(t, client.HSet(t.Context(), k.App(), "rev", "r1", "version", "v1", "record", "{}", "generation", "g1", "limits", "0 0 0 0 0 0 0 0").Err())
	l, next := &talk{Ledger: ledger.New(&keyspace.DB{UniversalClient: client}), sessions: sessions}, 0
	client.AddHook(enginetest.Hook{Command: l.command})
	return func(n, together int) (cpu, commands, bytes float64) {
		beforeCPU, beforeCommands, beforeBytes := used(t, client)
		first := next
		for ; next < first+n; next += together {
			turns(t, l, next, together)
		}
		cpu, commands, bytes = used(t, client)
		each := float64(next - first)
		return (cpu - beforeCPU) / each, (commands - beforeCommands) / each, (bytes - beforeBytes) / each
	}
}

// TestAMessageCostsRedisWhatItDid bounds the cost of a message that fires one tool, alone and together with others.
func TestAMessageCostsRedisWhatItDid(t *testing.T) {
	t.Parallel()
	cost := costOf(t, 1000)
	cost(16, 16)
	_, commands, bytes := cost(200, 1)
	require.LessOrEqual(t, commands, 36.1)
	require.LessOrEqual(t, bytes, 3650.0)
	_, commands, bytes = cost(320, 16)
	require.LessOrEqual(t, commands, 14.8)
	require.LessOrEqual(t, bytes, 3100.0)
}

// TestAMessageOfALongSessionCostsRedisLittleMore bounds the cost in a session with a history of 40 messages for
// the matcher: messages that the caller has already read are compared together, and not sent again.
func TestAMessageOfALongSessionCostsRedisLittleMore(t *testing.T) {
	t.Parallel()
	for together, most := range map[int]float64{1: 37.1, 16: 17.5} {
		cost := costOf(t, together)
		cost(50*together, together)
		_, commands, _ := cost(320, together)
		require.LessOrEqual(t, commands, most, "%d together", together)
	}
}

// talk is a ledger with messages of so many sessions in turn.
type talk struct {
	*ledger.Ledger
	sessions int
	recalled sync.Map               // of each session what its last caller has read
	hold     atomic.Pointer[func()] // called before the next script runs
}

// command calls hold before a script.
func (l *talk) command(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
	if strings.HasPrefix(cmd.Name(), "evalsha") {
		if hold := l.hold.Swap(nil); hold != nil {
			(*hold)()
		}
	}
	return next(ctx, cmd)
}

// meet makes so many requests, all but the first of which wait for the script that the first one runs. So what they
// share does not depend on how busy the machine is.
func (l *talk) meet(b testing.TB, count int, waiting func(appID string) int, request func(n int) error) {
	hold := func() {
		for waiting("shop") < count-1 && b.Context().Err() == nil {
			runtime.Gosched()
		}
	}
	l.hold.Store(&hold)
	var all errgroup.Group
	for n := range count {
		all.Go(func() error { return request(n) })
	}
	require.NoError(b, all.Wait())
}

// turns takes messages from i on from their request to their settlement, all of them at the same time.
func turns(b testing.TB, l *talk, i, count int) {
	settled := make([]ledger.Settlement, count)
	l.meet(b, count, l.Waiting, func(n int) error { return accept(b.Context(), l, i+n) })
	l.meet(b, count, l.WaitingCommits, func(n int) (err error) {
		settled[n], err = commit(b.Context(), l, i+n)
		return err
	})
	_, err := l.Settle(b.Context(), settled)
	require.NoError(b, err)
}

// Ids and texts are as long as those of a service.
const said = "Good morning, this is Ms Keller. Please book a table for two at noon, on Friday"

func (l *talk) turn(i int) (of ledger.Turn, token, traceParent string) {
	of = ledger.Turn{App: "shop", Session: fmt.Sprint("s", i%l.sessions), Message: fmt.Sprintf("%026d", i)}
	return of, fmt.Sprintf("WOOAWNXDJHKHE.%d", i), fmt.Sprintf("00-%032x-%016x-01", i, i)
}

func accept(ctx context.Context, l *talk, i int) error {
	of, token, traceParent := l.turn(i)
	message, err := exactjson.Text(query.StoredMessage{Actor: "user", Text: said, Time: time.Unix(0, 1795819986610942706), TraceParent: traceParent})
	if err != nil {
		return err
	}
	before, _ := l.recalled.Load(of.Session)
	recalled, _ := before.(ledger.CachedMessages)
	found, err := l.Accept(ctx, ledger.Acceptance{
		Turn: of, Token: token, Cached: recalled, Lease: 15 * time.Second, Message: message,
		WordsHash: ledger.Hash(said), History: 40, Version: "v1", SessionTTL: time.Hour, GenerationTTL: time.Hour, Messages: 1000,
	})
	if err != nil || found.Status != ledger.Taken {
		return fmt.Errorf("%s: %w", found.Status, err)
	}
	l.recalled.Store(of.Session, found.Taken.History.Cached)
	return nil
}

// commit decides a message, and returns its settlement.
func commit(ctx context.Context, l *talk, i int) (settled ledger.Settlement, err error) {
	of, token, traceParent := l.turn(i)
	trigger := ledger.Hash(of.Message)
	match := query.Match{
		TriggerID: trigger, RepositoryID: "booking", Name: "book-table-kitchen", Source: query.SourceMessage, Values: map[string]any{"day": "Friday"},
		Event: &query.EventState{Subject: "tool.trigger.shop." + of.Session + ".book-table-kitchen", State: query.StatePending},
	}
	record := query.Record{
		Match: match, AppID: of.App, SessionID: of.Session, MessageID: of.Message, Text: said, Time: time.Unix(0, 1795819986614844332),
		Schema:   json.RawMessage(`[{"description":"wished day","parameter":"day","required":true,"type":"string"}]`),
		Evidence: map[string]*matcher.Evidence{"day": {MessageID: of.Message, Words: "Friday"}},
	}
	kept, _, err := record.Encode()
	if err != nil {
		return settled, err
	}
	decision, err := query.Answer{MessageID: of.Message, Matches: []query.Match{match}, Rejected: []query.Rejected{}}.Encode()
	if err != nil {
		return settled, err
	}
	states, err := match.States()
	if err != nil {
		return settled, err
	}
	decided, err := l.Commit(ctx, ledger.Commitment{
		Turn: of, Box: of.Session, Token: token, Decision: decision, Matched: "v1", Version: "v2",
		TTL: time.Hour, Lease: 15 * time.Second, Explanation: ledger.Explanation{Body: strings.Repeat("x", 460), Keep: 24 * time.Hour},
		Firings: []ledger.Firing{{ID: trigger, Name: trigger, Record: kept, Repository: "booking", Revision: "r1", Open: 1, States: states}},
		Events:  []keyspace.Entry{keyspace.EventEntry(trigger+".event", of.Session, trigger, "@"+traceParent)},
	})
	if err != nil || decided.Status != ledger.Committed || !decided.Batch {
		return settled, fmt.Errorf("%s: %w", decided.Status, err)
	}
	if states, err = match.WithPublishedEvents().States(); err != nil {
		return settled, err
	}
	attempt, err := exactjson.Text(query.Attempt{Effect: "event", Number: 1, Time: time.Unix(0, 1795819986614844332)})
	return ledger.Settlement{
		Turn: of, Box: of.Session, Token: token, Next: "next", Keep: time.Hour, Answer: ledger.AsDecided,
		Firings: []ledger.Settled{{ID: trigger, States: states, Attempts: attempt + "\n"}},
	}, err
}

// used returns Redis's CPU seconds, the commands run, including those of scripts, and the size of its
// append-only file.
func used(b testing.TB, client redis.UniversalClient) (cpu, commands, bytes float64) {
	b.Helper()
	info, err := client.Info(context.Background(), "cpu", "commandstats", "persistence").Result()
	require.NoError(b, err)
	lines := bufio.NewScanner(strings.NewReader(info))
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		switch {
		case name == "used_cpu_user" || name == "used_cpu_sys":
			cpu += parsed(value)
		case strings.HasPrefix(name, "cmdstat_"):
			calls, _, _ := strings.Cut(strings.TrimPrefix(value, "calls="), ",")
			commands += parsed(calls)
		case name == "aof_current_size":
			bytes = parsed(value)
		}
	}
	return cpu, commands, bytes
}

func parsed(text string) float64 {
	number, _ := strconv.ParseFloat(text, 64)
	return number
}
