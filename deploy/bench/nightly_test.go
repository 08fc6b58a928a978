//go:build nightly

package main

import (
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// reports are what the bench prints, each with lines that show figures.
var reports = map[string]struct {
	change func(*options)
	lines  []string
}{
	"compare": {func(*options) {}, []string{
		`\| requests/s +\| [1-9]\d* +\| [1-9]\d* +\| [1-9]\d* +\| \d+\.\d\d \(.* to .*\) +\| \d+\.\d\d \(.* to .*\) +\|`, `\| p50 ms +(\| \d+\.\d\d +){3}\| \d`, `\| p99 ms`,
		`\| CPU ms, server +(\| \d+\.\d{3} +){3}\|`, `\| commands of Redis +(\| [1-9]\d*\.\d +){3}\|`, `\| bytes of AOF +(\| [1-9]\d+ +){3}\|`, `\| bytes of NATS +(\| [1-9]\d+ +){3}\|`,
		`\| allocations +(\| [1-9]\d+ +){3}\|`, `\| failed +\| 0 +\| 0 +\| 0 `,
	}},
	"open loop": {func(o *options) { o.rate, o.matches = 100, 1 }, []string{`## 100 requests/s`, `\| failed +\| 0 +\| 0 +\| 0 `}},
	"grow":      {func(o *options) { o.dimension, o.points = "sessions", []int{1, 10} }, []string{`(?m)^\| 1 +\| \d+ `, `(?m)^\| 10 +\| \d+ .*\| \d+\.\d\d +\| \d+\.\d +\|$`}},
	"direct":    {func(o *options) { o.directOnly = true }, []string{`(?m)^\| 0 +\| 4 +\| [1-9]`, `(?m)^\| 1 +\| 4 +\| [1-9]`, `(?m)^\| 20 +\| 4 +\| [1-9]`}},
	"memory":    {func(o *options) { o.memoryOnly = true }, []string{`\| tool +\| -?\d+ +\| [1-9]\d* +\|`, `\| direct trigger without one +\| -?\d+ +\| [1-9]\d+ +\| -?\d+ +\|`}},
	"hold":      {func(o *options) { o.hold, o.rate = 5*time.Second, 50 }, []string{`\| server RSS MiB +\| [1-9]\d*\.\d +\| [+-]\d`, `(?m)^\| keys in Redis but lasting +\| [1-9].*\| (flat|grows|falls|unclear.*) +\|$`}},
	"hostile":   {func(o *options) { o.hostiles, o.rate, o.measured = 20, 50, 5*time.Second }, []string{`(?m)^\| 1 +\|( [1-9]\d*\.\d +\|){4}`, `\| guesses of a key +\| 401: [1-9]`, `\| half a header +\|.* open at the end: 2 `}},
	"chats":     {func(o *options) { o.chatsOnly = true }, []string{`\| bare relay +\| [1-9]\d* +\| 1\.00 +\| \d+\.\d{3} `, `\| Earshot, each a message +\| [1-9].*\| 0 +\|`}},
	"sql":       {func(o *options) { o.sqlOnly = true }, []string{`Toolbox is not compared: .*-toolbox`, `a SELECT, as a direct trigger(?s:.*)\| 4 +\| [1-9].* 0 +\|\n(?s:.*)a SELECT over MCP(?s:.*)\| 4 +\| [1-9].* 0 +\|\n(?s:.*)a statement that changes, over MCP(?s:.*)\| 4 +\| [1-9].* 0 +\|\n`}},
}

func TestReportsHaveFigures(t *testing.T) {
	for name, report := range reports {
		t.Run(name, func(t *testing.T) {
			printed := short(t, report.change)
			for _, line := range report.lines {
				require.Regexp(t, regexp.MustCompile(line), printed)
			}
		})
	}
}
