package main

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/bench/rig"
	"earshot/repositories/redistest"
)

// whole is the variable with which the test binary is the command.
const whole = "EARSHOT_BENCH_WHOLE"

// TestMain lets the test binary play the roles of the bench's own servers.
func TestMain(m *testing.M) {
	if _, given, _ := rig.RoleToPlay(); given || os.Getenv(whole) != "" {
		main()
		return
	}
	dir, err := os.MkdirTemp("", "earshot-bench-test-")
	if err != nil {
		panic(err)
	}
	built = sync.OnceValues(func() (string, error) { return build(context.Background(), dir) })
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// built makes Earshot, once for all tests.
var built func() (string, error)

// earshot is the path of the program.
func earshot(t *testing.T) string {
	if testing.Short() {
		t.Skip("builds and starts Earshot")
	}
	redistest.Program(t)
	path, err := built()
	require.NoError(t, err)
	return path
}

func shortRun(earshot string) options {
	return options{
		servers: rig.Options{Earshot: earshot}, connections: []int{4}, tools: 10, matches: 2, sessions: 20,
		things: 20, rounds: 1, warmup: 100 * time.Millisecond, measured: 300 * time.Millisecond,
	}
}

func TestReportsHaveFigures(t *testing.T) {
	short := shortRun(earshot(t))
	for _, test := range []struct {
		name   string
		change func(*options)
		lines  []string
	}{
		{"compare", func(*options) {}, []string{
			`\| requests/s +\| [1-9]\d* +\| [1-9]\d* +\| \d+\.\d\d +\| .* to .* \|`, `\| p50 ms +\| \d+\.\d\d +\| \d+\.\d\d +\| \d`, `\| p99 ms`,
			`\| CPU ms, server +\| \d+\.\d{3} +\| \d+\.\d{3} +\|`, `\| allocations +\| [1-9]\d+ +\| [1-9]\d+`, `\| failed +\| 0 +\| 0 `,
		}},
		{"open loop", func(o *options) { o.rate, o.matches = 100, 1 }, []string{`## 100 requests/s`, `\| failed +\| 0 +\| 0 `}},
		{"grow", func(o *options) { o.dimension, o.points = "sessions", []int{1, 10} }, []string{`(?m)^\| 1 +\| \d+ `, `(?m)^\| 10 +\| \d+ .*\| \d+\.\d\d +\| \d+\.\d +\|$`}},
		{"direct", func(o *options) { o.directOnly = true }, []string{`(?m)^\| 0 +\| 4 +\| [1-9]`, `(?m)^\| 1 +\| 4 +\| [1-9]`, `(?m)^\| 20 +\| 4 +\| [1-9]`}},
		{"memory", func(o *options) { o.memoryOnly = true }, []string{`\| tool +\| -?\d+ +\| [1-9]\d* +\|`, `\| direct trigger without one +\| -?\d+ +\| [1-9]\d+`}},
		{"hold", func(o *options) { o.hold, o.rate = 5*time.Second, 50 }, []string{`\| server RSS MiB +\| [1-9]\d*\.\d +\| [+-]\d`, `(?m)^\| keys in Redis but marks +\| [1-9].*\| (flat|grows|falls|unclear.*) +\|$`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			o := short
			o.out = &out
			test.change(&o)
			require.NoError(t, run(t.Context(), o))
			for _, line := range test.lines {
				require.Regexp(t, regexp.MustCompile(line), out.String())
			}
		})
	}
}

func flagSet() *flag.FlagSet {
	set := flag.NewFlagSet("bench", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	return set
}

func TestFlagsThatMeasureNothingAreRefused(t *testing.T) {
	for _, args := range [][]string{{"-matches", "9"}, {"-matches", "2", "-tools", "1"}, {"-for", "0s"}, {"-connections", "many"}, {"rest"}, {"-tools", "10001"}, {"-hold", "-1s"}, {"-hold", "1m", "-rate", "0"}} {
		o := options{}
		require.Error(t, o.parse(flagSet(), args), "%q", args)
	}
	o := options{}
	require.NoError(t, o.parse(flagSet(), []string{"-direct"}))
	require.Equal(t, []int{1, 32, 128}, o.connections)
}

func TestEveryToolHasANameOfItsOwnAndManyBringAWord(t *testing.T) {
	names, words := map[string]bool{}, map[string]bool{}
	for i := range maxTools {
		names[toolName(i)], words[rare(i)] = true, true
	}
	require.Len(t, names, maxTools)
	require.Len(t, words, maxTools)
}

func TestTableHasTheMedianOfThePairs(t *testing.T) {
	rates := func(floor, earshot float64) pair { return pair{figures{rate: floor}, figures{rate: earshot}} }
	rows := pairTable([]pair{rates(100, 50), rates(200, 80), rates(10, 9)})
	require.Equal(t, []string{"requests/s", "100", "50", "0.50", "0.40 to 0.90"}, rows[1])
}
