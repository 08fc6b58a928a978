// Command bench measures what a message costs, beside the least that it could: it starts Redis, NATS, a fake LLM, the
// floor, the least that keeps the promise, and Earshot, each in a process of its own, and ends them all. See README.md for how to read what it prints:
//
//	go run ./deploy/bench                  # floor, promise and Earshot in turns
//	go run ./deploy/bench -grow tools      # how the cost grows
//	go run ./deploy/bench -direct          # direct triggers
//	go run ./deploy/bench -chats           # streamed chats that are relayed to a model
//	go run ./deploy/bench -memory          # bytes in Redis
//	go run ./deploy/bench -sql             # a SQL tool, beside Toolbox with -toolbox PATH
//	go run ./deploy/bench -hold 1h         # what is held in memory under a constant load
//	go run ./deploy/bench -hostile 2000    # what a polite app notices of hostile clients
//	go run ./deploy/bench -for 1s -warmup 500ms -rounds 1    # a try
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"earshot/deploy/testbed"
)

type options struct {
	memoryOnly, directOnly   bool
	sqlOnly, chatsOnly       bool
	toolbox, earshotProgram  string
	dimension                string
	connections, points      []int
	tools, matches, sessions int
	things, rounds           int
	hostiles                 int
	rate                     float64
	warmup, measured, hold   time.Duration
	think                    time.Duration
	sync                     bool
	out                      io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := command(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context) error {
	if played, err := playRole(ctx); played {
		return err
	}
	o := options{out: os.Stdout}
	if err := o.parse(flag.CommandLine, os.Args[1:]); err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "earshot-bench-")
	if err != nil {
		return err
	}
	err = testbed.Run(ctx, folder, func(rig *testbed.Rig) error {
		run(rig, folder, o)
		return nil
	})
	return errors.Join(err, os.RemoveAll(folder), testbed.Close())
}

func (o *options) parse(set *flag.FlagSet, args []string) error {
	o.connections = []int{64, 1}
	set.StringVar(&o.dimension, "grow", "", "how the cost grows with `WHAT`: "+dimensionNames())
	set.BoolVar(&o.directOnly, "direct", false, "direct triggers, without a session, within one, and over all, at 1, 32 and 128 connections")
	set.BoolVar(&o.chatsOnly, "chats", false, "streamed chats that are relayed to the LLM, beside the least that relays them")
	set.BoolVar(&o.memoryOnly, "memory", false, "bytes in Redis for each session, message, trigger and tool")
	set.BoolVar(&o.sqlOnly, "sql", false, "SQL tools as direct triggers and over MCP, over 200 sessions, at 1 and 32 connections")
	set.StringVar(&o.toolbox, "toolbox", "", "Google's Toolbox, a built `PROGRAM`, for -sql to compare with")
	set.DurationVar(&o.hold, "hold", 0, "`HOW LONG` a constant load (-rate, default 50) is held: what server and Redis hold meanwhile, and whether it grows")
	set.IntVar(&o.hostiles, "hostile", 0, "`CLIENTS` of mixed kinds that are hostile: what a polite app at -rate (default 50) notices of them")
	set.Func("connections", "`N,N` requests under way at once (default 64,1; with -direct 1,32,128; with -sql 1,32; -grow, -memory and -hold take the first, 8, 8, 32)", numbersInto(&o.connections))
	set.Func("points", "`N,N` where -grow measures, instead of its own", numbersInto(&o.points))
	set.IntVar(&o.tools, "tools", 10, "tools in scope")
	set.IntVar(&o.matches, "matches", 1, "tools that each message calls for, 1 to 8")
	set.IntVar(&o.sessions, "sessions", 2000, "sessions that requests are spread over; 1 is one for all, 0 none: direct triggers instead of messages")
	set.IntVar(&o.things, "things", 2000, "of each kind that -memory adds")
	set.IntVar(&o.rounds, "rounds", 3, "times that Earshot and what it is compared with take turns")
	set.Float64Var(&o.rate, "rate", 0, "requests begun each second, whatever the answers (an open loop); 0: as many as are answered")
	set.DurationVar(&o.warmup, "warmup", 2*time.Second, "before counting, each time")
	set.DurationVar(&o.measured, "for", 5*time.Second, "counted, each time")
	set.DurationVar(&o.think, "think", 0, "how long the LLM takes for an answer")
	set.BoolVar(&o.sync, "sync", false, "NATS has an event on the disk before it acknowledges it")
	set.StringVar(&o.earshotProgram, "earshot", "", "a built `PROGRAM` to measure, instead of this source")
	if err := set.Parse(args); err != nil {
		return err
	}
	given := map[string]bool{}
	set.Visit(func(f *flag.Flag) { given[f.Name] = true })
	o.complete(given)
	switch {
	case set.NArg() > 0:
		return fmt.Errorf("%d arguments that are no flags", set.NArg())
	case o.matches < 1 || o.matches > 8 || o.matches > o.tools || o.tools > maxTools:
		return fmt.Errorf("-tools %d -matches %d: 1 to 8 matches of at most %d tools", o.tools, o.matches, maxTools)
	case o.rounds < 1 || o.measured <= 0 || o.hold < 0 || o.hostiles < 0 || o.sessions < 0 || o.things < 1 || o.rate < 0:
		return fmt.Errorf("-rounds %d -for %s -hold %s -sessions %d -things %d -rate %g: there is nothing to measure", o.rounds, o.measured, o.hold, o.sessions, o.things, o.rate)
	case o.hold > 0 && (o.rate == 0 || o.sessions == 0):
		return fmt.Errorf("-hold %s -rate %g -sessions %d: a load that is held has a rate, and sessions that it goes to", o.hold, o.rate, o.sessions)
	}
	return nil
}

func (o *options) complete(given map[string]bool) {
	o.sqlOnly = o.sqlOnly || o.toolbox != ""
	if o.sqlOnly && !given["sessions"] {
		o.sessions = 200
	}
	if (o.hold > 0 || o.hostiles > 0) && !given["rate"] {
		o.rate = 50
	}
	if o.hold > 0 && !given["sessions"] {
		o.sessions = livingSessions(o.rate, o.hold)
	}
	switch {
	case given["connections"]:
	case o.directOnly:
		o.connections = []int{1, 32, 128}
	case o.sqlOnly:
		o.connections = []int{1, 32}
	case o.hold > 0, o.hostiles > 0:
		o.connections = []int{32}
	case o.memoryOnly || o.dimension != "":
		o.connections = []int{8}
	}
}

func numbersInto(list *[]int) func(string) error {
	return func(text string) error {
		*list = nil
		for part := range strings.SplitSeq(text, ",") {
			n, err := strconv.Atoi(part)
			if err != nil || n < 0 {
				return fmt.Errorf("%q is no number of things", part)
			}
			*list = append(*list, n)
		}
		return nil
	}
}

type bench struct {
	options
	*world
	nextNumber int
}

func run(t testbed.TB, folder string, o options) {
	b := &bench{options: o, world: newWorld(t, folder, o)}
	switch ctx := t.Context(); {
	case o.dimension != "":
		b.grow(ctx)
	case o.directOnly:
		b.direct(ctx)
	case o.chatsOnly:
		b.chats(ctx)
	case o.memoryOnly:
		b.memory(ctx)
	case o.hold > 0:
		b.holdLoad(ctx)
	case o.hostiles > 0:
		b.hostileLoad(ctx)
	case o.sqlOnly:
		b.sqlCalls(ctx)
	default:
		b.compare(ctx)
	}
}

// playRole plays the role that this process was started for, if any, until ctx ends.
func playRole(ctx context.Context) (played bool, err error) {
	text := os.Getenv(roleVariable)
	if text == "" {
		return false, nil
	}
	var r role
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return true, fmt.Errorf("%s: %w", roleVariable, err)
	}
	handler := answering(r.Think)
	switch r.Name {
	case roleHostile:
		return true, r.Siege.play(ctx)
	case roleFloor, rolePromise:
		f, end, err := newFloor(ctx, r)
		if err != nil {
			return true, err
		}
		defer end()
		handler = f.handler()
		if r.Name == rolePromise {
			handler = newPromise(ctx, f, r.Lease).handler()
		}
	case roleRelay:
		if handler, err = relayTo(r.LLM); err != nil {
			return true, err
		}
	}
	s := &http.Server{Addr: r.Addr, Handler: handler, ReadHeaderTimeout: time.Minute}
	defer context.AfterFunc(ctx, func() { _ = s.Close() })()
	if err := s.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return true, err
	}
	return true, nil
}
