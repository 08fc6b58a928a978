package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
)

// at is the pressure that the flags ask for.
func (b *bench) at(connections int) pressure {
	return pressure{connections: connections, rate: b.rate, warmup: b.warmup, measured: b.measured}
}

// String says it for a title.
func (p pressure) String() string {
	if p.rate > 0 {
		return fmt.Sprintf("%g requests/s over at most %d connections", p.rate, p.connections)
	}
	if p.connections == 1 {
		return "one connection"
	}
	return fmt.Sprintf("%d connections", p.connections)
}

func (b *bench) rounded() string { return fmt.Sprintf("%d rounds of %s", b.rounds, b.measured) }

// spread says which sessions requests go to.
func (w workload) spread() string {
	switch w.sessions {
	case 0:
		return "no session"
	case 1:
		return "one session"
	}
	return comma(w.sessions) + " sessions"
}

func comma(n int) string { return humanize.Comma(int64(n)) }

// note prints a line.
func (b *bench) note(format string, args ...any) { fmt.Fprintf(b.out, format+"\n\n", args...) }

// table prints rows in Markdown, the first as the head, in columns of one width.
func (b *bench) table(rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for i, row := range rows {
		for column, cell := range row {
			fmt.Fprintf(b.out, "| %s%s ", cell, strings.Repeat(" ", widths[column]-utf8.RuneCountInString(cell)))
		}
		fmt.Fprintln(b.out, "|")
		if i == 0 {
			fmt.Fprintln(b.out, strings.Repeat("| --- ", len(row))+"|")
		}
	}
	fmt.Fprintln(b.out)
}
