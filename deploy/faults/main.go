// Command faults proves the promise of the service from outside. It builds the real
// program, runs replicas of it on a real Redis and a real NATS server, lets clients
// talk to them as careful clients do, and breaks things: replicas kill themselves at
// the points of package crash, Redis and NATS are killed, replies are lost, processes
// are frozen. Afterwards the books must balance: what the clients were told, what is
// in the stream, what the endpoints got, and what the API lists.
//
//	go run ./deploy/faults                # every point once, every fault once
//	go run ./deploy/faults -kills 500     # as many kills, and as long as that takes
//	go run ./deploy/faults -for 10m       # until the time is over
//	go run ./deploy/faults -seed 7 -race  # the same choice of points again
//
// It prints a table in Markdown and ends with 1 where the books do not balance.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options are what a campaign is run with.
type options struct {
	seed     int64
	kills    int           // at least as many
	duration time.Duration // at least as long
	race     bool
	dir      string // keeps logs and data there; empty for a temporary one
	logf     func(format string, args ...any)
}

func main() {
	o := options{logf: func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }}
	flag.Int64Var(&o.seed, "seed", time.Now().UnixNano()%1_000_000, "choice of points and operations")
	flag.IntVar(&o.kills, "kills", 0, "kill replicas at least so many times")
	flag.DurationVar(&o.duration, "for", 0, "go on for at least so long")
	flag.BoolVar(&o.race, "race", false, "build with the race detector")
	flag.StringVar(&o.dir, "dir", "", "keep logs and data in this folder")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	outcome, err := campaign(ctx, o)
	stop()
	if outcome != nil {
		fmt.Print(outcome.table())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
	}
	if err != nil || len(outcome.violations) > 0 {
		os.Exit(1)
	}
}
