// Command faults proves the promise of the service from outside. It builds the real program, runs replicas of it on a
// real Redis and a real NATS server, lets clients talk to them as careful clients do, and breaks things: replicas
// kill themselves at the points of package failpoint, Redis and NATS are killed, are away, are full, replies are
// lost, processes are frozen, a Redis Cluster loses masters. Afterwards the books must balance: what was answered to
// clients, what is in the stream, what the endpoints got, and what the API lists.
//
//	go run ./deploy/faults                # every point once, every fault once
//	go run ./deploy/faults -kills 500     # as many kills, and as long as that takes
//	go run ./deploy/faults -for 60m       # until the time is over
//	go run ./deploy/faults -seed 7 -race  # the same choice of points again
//	go run ./deploy/faults -flaw changing-id  # must fail: the service has a flaw
//
// It prints a table in Markdown and ends with 1 if the books do not balance, and if a phase did not
// come to rest, since its books prove nothing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"earshot/deploy/testbed"
	"earshot/repositories/failpoint"
)

func main() {
	o, race, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var found *outcome
	err = testbed.Run(ctx, os.TempDir(), func(rig *testbed.Rig) (err error) {
		if o.program = testbed.Program(rig, "crashtest"); race {
			o.program = testbed.Built(rig, "earshot/cmd/earshot", "-race", "-tags", "crashtest")
		}
		found, err = campaign(ctx, o)
		return err
	})
	stop()
	if found != nil {
		fmt.Print(found.table())
	}
	if err = errors.Join(err, testbed.Close()); err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
	}
	if err != nil || len(found.failures()) > 0 {
		os.Exit(1)
	}
}

func parse(args []string) (o options, race bool, err error) {
	o, flags := defaults(), flag.NewFlagSet("faults", flag.ExitOnError)
	flags.Int64Var(&o.seed, "seed", time.Now().UnixNano()%1_000_000, "choice of points and operations")
	flags.IntVar(&o.kills, "kills", 0, "kill replicas at least so many times")
	flags.DurationVar(&o.duration, "for", 0, "go on for at least so long")
	flags.DurationVar(&o.within, "within", 0, "begin no round of phases that would not end within this time")
	flags.BoolVar(&race, "race", false, "build with the race detector")
	flags.StringVar(&o.dir, "dir", "", "keep logs and data in this folder")
	var names string
	flags.StringVar(&names, "phases", "", "run these phases alone, as in kills,outage")
	flags.StringVar((*string)(&o.flaw), "flaw", "", fmt.Sprintf("give the replicas a flaw that must be found: one of %v", failpoint.Flaws()))
	if err := flags.Parse(args); err != nil {
		return o, race, err
	}
	if o.flaw != "" && !slices.Contains(failpoint.Flaws(), o.flaw) {
		return o, race, fmt.Errorf("-flaw %s: there are %v", o.flaw, failpoint.Flaws())
	}
	o, err = o.withPhases(names)
	return o, race, err
}

// campaign runs phases until there were enough kills and enough time, or a phase does not come to rest.
func campaign(ctx context.Context, o options) (*outcome, error) {
	dir, err := filepath.Abs(o.dir)
	if o.dir == "" {
		dir, err = os.MkdirTemp("", "earshot-faults-")
	}
	if err != nil {
		return nil, err
	}
	plan, begun := newSchedule(o.seed, o.points), time.Now()
	found := &outcome{seed: o.seed, asked: o.kills, kills: plan.kills, faults: map[string]int{}}
	defer func() { found.random, found.took = plan.random, time.Since(begun) }()
	for n := 0; ; n++ {
		spent := time.Since(begun)
		enough := found.killed()+plan.random >= o.kills && spent >= o.duration
		if n > 0 && (enough || ctx.Err() != nil || found.unsound() > 0 || o.within > 0 && spent+spent/time.Duration(n) > o.within) {
			break
		}
		for _, one := range o.phases {
			if found.cut = ctx.Err() != nil; found.cut {
				return found, nil
			}
			one.run(ctx, filepath.Join(dir, fmt.Sprintf("%d-%s", n, one.name)), o, plan, found)
		}
		o.seed++
	}
	if o.dir == "" && len(found.violations()) == 0 && found.unsound() == 0 {
		return found, os.RemoveAll(dir)
	}
	o.logf("logs and data are in %s", dir)
	return found, nil
}
