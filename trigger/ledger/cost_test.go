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
	server := redistest.Run(b)
	client := server.Client()
	require.NoError(b, client.ConfigSet(b.Context(), "appendonly", "yes").Err())
	db := &keyspace.DB{UniversalClient: client}
	k := keyspace.KeysOf("shop")
	require.NoError(b, client.HSet(b.Context(), k.App(), "rev", "r1", "version", "v1", "record", "{}", "generation", "g1", "limits", "0 0 0 0 0 0 0 0").Err())
	l := ledger.New(db)
	turns(b, l, -together, together) // the scripts are known now
	cpu, commands, bytes := used(b, client)
	b.ResetTimer()
	n := 0
	for ; n < b.N; n += together {
		turns(b, l, n, together)
	}
	b.StopTimer()
	cpuAfter, commandsAfter, bytesAfter := used(b, client)
	b.ReportMetric((cpuAfter-cpu)*1e6/float64(n), "redis-µs/op")
	b.ReportMetric((commandsAfter-commands)/float64(n), "commands/op")
	b.ReportMetric((bytesAfter-bytes)/float64(n), "AOF-B/op")
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
