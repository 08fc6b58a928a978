// Command rolling restarts replicas of the service one by one while it is used, as an upgrade
// does, and says what its clients and subscribers noticed:
//
//	go run ./deploy/rolling                  # this version by this version
//	go run ./deploy/rolling -before v1.0.0   # replicas of that commit by this version
//
// Three replicas stand behind a proxy that spreads requests over those that are ready. Clients
// send messages and direct triggers one after the other, each again once where it got no answer or a
// 5xx, and follow the events of their sessions. It exits with 1 where a request failed twice, a
// tool was lost or set off twice, or an event stream lacks one or has one twice. It needs a
// redis-server.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"earshot/deploy/rolling/stage"
)

// options say what is restarted.
type options struct {
	before, after string // commits, or paths of programs; empty for this source
	replicas      int
	clients       int
	settle        time.Duration // load between two restarts
	drain         time.Duration // EARSHOT_DRAIN of the replicas
	marks         bool          // the balancer gives nothing to a replica that has refused a connection
	dir           string        // for logs and programs
	logf          func(format string, args ...any)
}

func defaults() options {
	return options{replicas: 3, clients: 8, settle: time.Second, drain: time.Second, logf: func(string, ...any) {}}
}

func main() {
	o := defaults()
	flag.StringVar(&o.before, "before", "", "`COMMIT`, or the path of a program, that runs at first (default this source)")
	flag.StringVar(&o.after, "after", "", "`COMMIT`, or the path of a program, that takes its place (default this source)")
	flag.IntVar(&o.replicas, "replicas", o.replicas, "replicas")
	flag.IntVar(&o.clients, "clients", o.clients, "clients, each in a session of its own")
	flag.DurationVar(&o.settle, "settle", 5*time.Second, "load before, between and after the restarts")
	flag.DurationVar(&o.drain, "drain", o.drain, "EARSHOT_DRAIN of the replicas")
	flag.BoolVar(&o.marks, "marks", false, "the proxy sends nothing more to a replica that has refused a connection, until it is ready")
	flag.Parse()
	o.logf = func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	if err := run(context.Background(), o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "rolling:", err)
		os.Exit(1)
	}
}

// run restarts all replicas under load and reports.
func run(ctx context.Context, o options, out io.Writer) error {
	dir, err := os.MkdirTemp(o.dir, "earshot-rolling-")
	if err != nil {
		return err
	}
	o.dir = dir
	before, err := stage.Build(ctx, dir, o.before)
	if err != nil {
		return err
	}
	after := before
	if o.after != o.before {
		if after, err = stage.Build(ctx, dir, o.after); err != nil {
			return err
		}
	}
	found, err := roll(ctx, o, before, after)
	if found != nil {
		found.print(out)
		err = errors.Join(err, found.fault())
	}
	if err != nil {
		return fmt.Errorf("%w\nlogs are in %s", err, dir)
	}
	return os.RemoveAll(dir)
}

// roll has the replicas run the program before, and one after the other the one after.
func roll(ctx context.Context, o options, before, after string) (found *report, err error) {
	s, err := stage.New(o.dir, "")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	replicas, err := start(s, o, before)
	defer func() {
		for _, r := range replicas {
			r.Kill()
		}
	}()
	if err != nil {
		return nil, err
	}
	front, err := balance(replicas, o.marks)
	if err != nil {
		return nil, err
	}
	defer front.close()
	used, err := begin(ctx, s, front.url, o.clients)
	if err != nil {
		return nil, err
	}
	wait(ctx, o.settle)
	restarted := restart(ctx, o, replicas, after)
	return used.end(ctx), restarted
}

func start(s *stage.Stage, o options, program string) (replicas []*stage.Replica, err error) {
	for n := range o.replicas {
		r, err := s.NewReplica(fmt.Sprintf("replica-%d", n+1))
		if err != nil {
			return replicas, err
		}
		replicas = append(replicas, r)
		if err := r.Start(program, "EARSHOT_DRAIN="+o.drain.String()); err != nil {
			return replicas, err
		}
	}
	return replicas, nil
}

// restart ends each replica as a supervisor does, and starts the other program in its place.
func restart(ctx context.Context, o options, replicas []*stage.Replica, program string) error {
	for n, r := range replicas {
		began := time.Now()
		if err := r.Stop(); err != nil {
			return err
		}
		stopped := time.Since(began)
		if err := r.Start(program, "EARSHOT_DRAIN="+o.drain.String()); err != nil {
			return err
		}
		o.logf("replica %d: stopped in %s, ready again %s later", n+1, stopped.Round(time.Millisecond), (time.Since(began) - stopped).Round(time.Millisecond))
		wait(ctx, o.settle)
	}
	return nil
}

// wait pauses, or not so long where ctx ends.
func wait(ctx context.Context, pause time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(pause):
	}
}
