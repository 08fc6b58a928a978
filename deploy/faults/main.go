// Command faults proves the promise of the service from outside. It builds the real
// program, runs replicas of it on a real Redis and a real NATS server, lets clients
// talk to them as careful clients do, and breaks things: replicas kill themselves at
// the points of package crash, Redis and NATS are killed, are away, are full, replies
// are lost, processes are frozen, a Redis Cluster loses masters. Afterwards the books must balance: what the clients
// were told, what is in the stream, what the endpoints got, and what the API lists.
//
//	go run ./deploy/faults                # every point once, every fault once
//	go run ./deploy/faults -kills 500     # as many kills, and as long as that takes
//	go run ./deploy/faults -for 60m       # until the time is over
//	go run ./deploy/faults -seed 7 -race  # the same choice of points again
//	go run ./deploy/faults -flaw changing-id  # must fail: the service has a flaw
//
// It prints a table in Markdown and ends with 1 where the books do not balance, and
// where an era did not come to rest, so that nobody can tell.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"earshot/deploy/faults/servers"
	"earshot/repositories/failpoint"
)

// options are what a campaign is run with.
type options struct {
	seed     int64
	kills    int           // at least as many
	duration time.Duration // at least as long
	within   time.Duration // no round begins that would take longer; 0 for any time
	outage   time.Duration // of NATS
	rest     time.Duration // that what is owed may take when all is quiet again
	ready    time.Duration // that the replicas may take until they are
	race     bool
	flaw     failpoint.Flaw // that the replicas have; empty for none
	programs programs       // that were built before; none to have them built
	dir      string         // keeps logs and data there; empty for a temporary one
	eras     []era
	points   []failpoint.Point // at which replicas die
	logf     func(format string, args ...any)
}

// restLimit is several leases, as a call may have died several times, and longer than the pause of two
// minutes after a fourth attempt: calls of an MCP server that was away come to that.
const restLimit = 3 * time.Minute

// defaults are the options of the short form.
func defaults() options {
	return options{
		outage: 5 * time.Second, rest: restLimit, ready: servers.ComeUp, points: failpoint.Points(),
		logf: func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) },
	}
}

func main() {
	o, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	found, err := campaign(ctx, o)
	stop()
	if found != nil {
		fmt.Print(found.table())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
	}
	if err != nil || len(found.failures()) > 0 {
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	o, flags := defaults(), flag.NewFlagSet("faults", flag.ExitOnError)
	flags.Int64Var(&o.seed, "seed", time.Now().UnixNano()%1_000_000, "choice of points and operations")
	flags.IntVar(&o.kills, "kills", 0, "kill replicas at least so many times")
	flags.DurationVar(&o.duration, "for", 0, "go on for at least so long")
	flags.DurationVar(&o.within, "within", 0, "begin no round of eras that would not end within this time")
	flags.DurationVar(&o.outage, "outage", 0, "how long NATS is away (5s; 1m with -kills or -for)")
	flags.BoolVar(&o.race, "race", false, "build with the race detector")
	flags.StringVar(&o.dir, "dir", "", "keep logs and data in this folder")
	names := flags.String("eras", "", "run these eras alone, as in kills,outage")
	flags.StringVar((*string)(&o.flaw), "flaw", "", fmt.Sprintf("give the replicas a flaw that must be found: one of %v", failpoint.Flaws()))
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.flaw != "" && !slices.Contains(failpoint.Flaws(), o.flaw) {
		return o, fmt.Errorf("-flaw %s: there are %v", o.flaw, failpoint.Flaws())
	}
	switch {
	case o.outage > 0:
	case o.long():
		o.outage = time.Minute
	default:
		o.outage = defaults().outage
	}
	return o.withEras(*names)
}

// long tells the long form from the short one.
func (o options) long() bool { return o.kills > 0 || o.duration > 0 }

// withEras chooses eras by their names, separated by commas; all if there are none.
func (o options) withEras(names string) (options, error) {
	o.eras = nil
	all := eras(o)
	for _, one := range all {
		if names == "" || slices.Contains(strings.Split(names, ","), one.name) {
			o.eras = append(o.eras, one)
		}
	}
	if want := len(strings.Split(names, ",")); names != "" && len(o.eras) != want {
		return o, fmt.Errorf("-eras %s: there are kills, recovery, faults, outage, full, restore, deletion, cluster, and with -kills or -for failover", names)
	}
	return o, nil
}
