package ledger_test

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"earshot/deploy/testbed/redistest"
	"earshot/repositories/keyspace"
	"earshot/trigger/ledger"
)

// BenchmarkTurn measures what a message that fires one tool costs Redis, if it comes alone: its CPU, the commands
// that its scripts run, and the bytes of the append-only file.
func BenchmarkTurn(b *testing.B) { benchmarkTurns(b, 1) }

// BenchmarkTurns is BenchmarkTurn for 16 messages at the same time, whose scripts are one.
func BenchmarkTurns(b *testing.B) { benchmarkTurns(b, 16) }

func benchmarkTurns(b *testing.B, together int) {
	cost := costOf(b)
	cost(together, together) // the scripts are known now
	b.ResetTimer()
	cpu, commands, bytes := cost(b.N, together)
	b.StopTimer()
	b.ReportMetric(cpu*1e6, "redis-µs/op")
	b.ReportMetric(commands, "commands/op")
	b.ReportMetric(bytes, "AOF-B/op")
}

// costOf starts a Redis, and returns what measures there what n messages cost each, some at the same time.
func costOf(t testing.TB) func(n, together int) (cpu, commands, bytes float64) {
	server := redistest.Run(t)
	client := server.Client()
	require.NoError(t, client.ConfigSet(t.Context(), "appendonly", "yes").Err())
	k := keyspace.KeysOf("shop")
	require.NoError(t, client.HSet(t.Context(), k.App(), "rev", "r1", "version", "v1", "record", "{}", "generation", "g1", "limits", "0 0 0 0 0 0 0 0").Err())
	l, next := ledger.New(&keyspace.DB{UniversalClient: client}), 0
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

// TestAMessageCostsRedisWhatItDid holds what a message costs that fires one tool: these figures are not those of a clock,
// and do not swing. Messages that come together share what they write of their app.
func TestAMessageCostsRedisWhatItDid(t *testing.T) {
	t.Parallel()
	cost := costOf(t)
	cost(16, 16)
	_, commands, bytes := cost(200, 1)
	require.LessOrEqual(t, commands, 42.0)
	require.LessOrEqual(t, bytes, 4000.0)
	_, commands, bytes = cost(320, 16)
	require.LessOrEqual(t, commands, 27.0)
	require.LessOrEqual(t, bytes, 3800.0)
}

// turns takes messages from i on from their request to their settlement, all of them at the same time.
func turns(b testing.TB, l *ledger.Ledger, i, count int) {
	settled := make([]ledger.Settlement, count)
	var all errgroup.Group
	for n := range count {
		all.Go(func() (err error) {
			settled[n], err = turn(b.Context(), l, i+n)
			return err
		})
	}
	require.NoError(b, all.Wait())
	_, err := l.Settle(b.Context(), settled)
	require.NoError(b, err)
}

// turn takes a message from its request to its decision, and returns what is to be settled then.
func turn(ctx context.Context, l *ledger.Ledger, i int) (ledger.Settlement, error) {
	of := ledger.Turn{App: "shop", Session: fmt.Sprint("s", i%1000), Message: fmt.Sprint("m", i)}
	token, trigger := fmt.Sprint("token", i), fmt.Sprint("trigger", i)
	found, err := l.Accept(ctx, ledger.Acceptance{
		Turn: of, Token: token, Lease: 15 * time.Second, Message: `{"actor":"user","text":"a table for two at noon","ts":"2026-11-21T10:00:00Z"}`,
		Says: "hash", History: 40, Version: "v1", Life: time.Hour, Remembers: time.Hour, Messages: 1000,
	})
	if err != nil || found.Status != ledger.Taken {
		return ledger.Settlement{}, fmt.Errorf("%s: %w", found.Status, err)
	}
	decided, err := l.Commit(ctx, ledger.Commitment{
		Turn: of, Box: of.Session, Token: token, Decision: strings.Repeat("d", 300), Matched: "v1", Version: "v2",
		TTL: time.Hour.Milliseconds(), Lease: 15000, Explanation: ledger.Explanation{Body: strings.Repeat("x", 600), Keep: 24 * time.Hour},
		Firings: []ledger.Firing{{
			ID: trigger, Name: trigger, Record: strings.Repeat("r", 700), Repository: "booking", Revision: "r1", Open: 1,
			States: ledger.States{Event: `{"subject":"tool.trigger.shop.s.book","state":"pending"}`},
		}},
		Events: []keyspace.Entry{keyspace.EventEntry(trigger+".event", of.Session, trigger, "@00-"+strings.Repeat("e", 52))},
	})
	if err != nil || decided.Status != ledger.Committed || !decided.Batch {
		return ledger.Settlement{}, fmt.Errorf("%s: %w", decided.Status, err)
	}
	return ledger.Settlement{
		Turn: of, Box: of.Session, Token: token, Next: "next", Keep: time.Hour, Answered: true,
		Firings: []ledger.Settled{{ID: trigger, States: ledger.States{Event: `{"subject":"tool.trigger.shop.s.book","state":"published"}`}, Attempts: strings.Repeat("l", 80)}},
	}, nil
}

// used are the seconds of CPU that Redis has used, the commands that it has run, those of scripts included, and the
// size of its append-only file.
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
