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

	"earshot/deploy/testbed/redistest"
	"earshot/repositories/keyspace"
	"earshot/trigger/ledger"
)

// BenchmarkTurn measures what a message that fires one tool costs Redis: its CPU, and the
// commands that its scripts run.
func BenchmarkTurn(b *testing.B) {
	server := redistest.Run(b)
	client := server.Client()
	db := &keyspace.DB{UniversalClient: client}
	k := keyspace.KeysOf("shop")
	require.NoError(b, client.HSet(b.Context(), k.App(), "rev", "r1", "version", "v1", "record", "{}", "generation", "g1").Err())
	turn(b, ledger.New(db), -1) // the scripts are known now
	cpu, commands := used(b, client)
	b.ResetTimer()
	for i := range b.N {
		turn(b, ledger.New(db), i)
	}
	b.StopTimer()
	cpuAfter, commandsAfter := used(b, client)
	b.ReportMetric((cpuAfter-cpu)*1e6/float64(b.N), "redis-µs/op")
	b.ReportMetric((commandsAfter-commands)/float64(b.N), "commands/op")
}

func turn(b *testing.B, l *ledger.Ledger, i int) {
	b.Helper()
	ctx := b.Context()
	of := ledger.Turn{App: "shop", Session: fmt.Sprint("s", i%1000), Message: fmt.Sprint("m", i)}
	token, trigger := fmt.Sprint("token", i), fmt.Sprint("trigger", i)
	found, err := l.Accept(ctx, ledger.Acceptance{
		Turn: of, Token: token, Lease: 15 * time.Second, Message: `{"actor":"user","text":"a table for two at noon","ts":"2026-11-21T10:00:00Z"}`,
		Says: "hash", History: 40, Version: "v1", Life: time.Hour, Remembers: time.Hour, Messages: 1000,
	})
	require.NoError(b, err)
	require.Equal(b, ledger.Taken, found.Status)
	decided, err := l.Commit(ctx, ledger.Commitment{
		Turn: of, Box: of.Session, Token: token, Decision: strings.Repeat("d", 300), Matched: "v1", Version: "v2",
		TTL: time.Hour.Milliseconds(), Lease: 15000, Explanation: ledger.Explanation{Body: strings.Repeat("x", 600), Keep: 24 * time.Hour},
		Firings: []ledger.Firing{{
			ID: trigger, Name: trigger, Record: strings.Repeat("r", 700), Repository: "booking", Revision: "r1", Open: 1,
			States: ledger.States{Event: `{"subject":"tool.trigger.shop.s.book","state":"pending"}`},
		}},
		Events: []keyspace.Entry{keyspace.EventEntry(trigger+".event", of.Session, trigger, strings.Repeat("e", 600))},
	})
	require.NoError(b, err)
	require.Equal(b, ledger.Committed, decided.Status)
	_, err = l.Settle(ctx, []ledger.Settlement{{
		Turn: of, Box: of.Session, Token: token, Next: "next", Keep: time.Hour, Answered: true,
		Firings: []ledger.Settled{{ID: trigger, States: ledger.States{Event: `{"subject":"tool.trigger.shop.s.book","state":"published"}`}, Attempts: strings.Repeat("l", 80)}},
	}})
	require.NoError(b, err)
}

// used are the seconds of CPU that Redis has used, and the commands that it has run, those
// of scripts included.
func used(b *testing.B, client redis.UniversalClient) (cpu, commands float64) {
	b.Helper()
	info, err := client.Info(context.Background(), "cpu", "commandstats").Result()
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
		}
	}
	return cpu, commands
}

func parsed(text string) float64 {
	number, _ := strconv.ParseFloat(text, 64)
	return number
}
