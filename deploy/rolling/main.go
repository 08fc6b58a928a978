// Command rolling restarts replicas of the service one by one while it is used, as an upgrade
// does, and says what its clients and subscribers noticed:
//
//	go run ./deploy/rolling                  # this version by this version
//	go run ./deploy/rolling -before v1.0.0   # replicas of that commit by this version
//
// Three replicas stand behind a proxy that spreads requests over those that are ready. Clients
// send messages and direct triggers one after the other, each again once if it got no answer or a
// 5xx, and follow the events of their sessions. It exits with 1 if a request failed twice, a
// tool was lost or set off twice, or an event stream lacks one or has one twice. It needs a
// redis-server.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/natstest"
	"earshot/deploy/testbed/redistest"
)

type options struct {
	before, after string // commits, or paths of programs; empty for this source
	replicas      int
	clients       int
	settle        time.Duration // load between two restarts
	drain         time.Duration // EARSHOT_DRAIN of the replicas
	marks         bool          // the balancer gives nothing to a replica that has refused a connection
	logf          func(format string, args ...any)
}

func main() {
	o := options{logf: func(format string, args ...any) { fmt.Printf(format+"\n", args...) }}
	flag.StringVar(&o.before, "before", "", "`COMMIT`, or the path of a program, that runs at first (default this source)")
	flag.StringVar(&o.after, "after", "", "`COMMIT`, or the path of a program, that takes its place (default this source)")
	flag.IntVar(&o.replicas, "replicas", 3, "replicas")
	flag.IntVar(&o.clients, "clients", 8, "clients, each in a session of its own")
	flag.DurationVar(&o.settle, "settle", 5*time.Second, "load before, between and after the restarts")
	flag.DurationVar(&o.drain, "drain", time.Second, "EARSHOT_DRAIN of the replicas")
	flag.BoolVar(&o.marks, "marks", false, "the proxy sends nothing more to a replica that has refused a connection, until it is ready")
	flag.Parse()
	folder, err := os.MkdirTemp("", "earshot-rolling-")
	if err == nil {
		err = testbed.Run(context.Background(), folder, func(rig *testbed.Rig) error {
			found, err := roll(rig, folder, o)
			if found != nil {
				fmt.Print(found)
				err = errors.Join(err, found.fault())
			}
			return err
		})
		if err != nil {
			err = fmt.Errorf("%w\nlogs are in %s", err, folder)
		} else {
			err = os.RemoveAll(folder)
		}
	}
	if err = errors.Join(err, testbed.Close()); err != nil {
		fmt.Fprintln(os.Stderr, "rolling:", err)
		os.Exit(1)
	}
}

func roll(t testbed.TB, folder string, o options) (*report, error) {
	ctx, program := t.Context(), testbed.ProgramOf(t, folder, o.before)
	store, broker, sink := redistest.Run(t, "--appendfsync", "always"), natstest.Run(t), &testbed.Sink{}
	var replicas []*testbed.Replica
	for n := range o.replicas {
		r := testbed.NewReplica(t, folder, fmt.Sprintf("replica-%d", n+1), program,
			"REDIS_URL="+store.URL(), "NATS_URL="+broker.URL(), "EARSHOT_STREAM_MAX_BYTES=256MiB", "EARSHOT_DRAIN="+o.drain.String())
		if err := r.Up(ctx); err != nil {
			return nil, err
		}
		replicas = append(replicas, r)
	}
	if o.after != o.before {
		program = testbed.ProgramOf(t, folder, o.after)
	}
	service := testbed.Client{URL: balance(t, replicas, o.marks), Key: testbed.AdminKey, HTTP: &http.Client{Timeout: patience}}
	used, err := begin(ctx, service, testbed.Serve(t, "", sink), o.clients)
	if err != nil {
		return nil, err
	}
	testbed.Wait(ctx, o.settle)
	for n, r := range replicas { // as a supervisor does
		began := time.Now()
		if err = r.Stop(syscall.SIGTERM); err != nil {
			break
		}
		stopped := time.Since(began)
		r.Path = program
		if err = r.Up(ctx); err != nil {
			break
		}
		o.logf("replica %d: stopped in %s, ready again %s later", n+1, stopped.Round(time.Millisecond), (time.Since(began) - stopped).Round(time.Millisecond))
		testbed.Wait(ctx, o.settle)
	}
	return used.end(broker, sink), err
}

const checkEvery = 200 * time.Millisecond

type backend struct {
	*testbed.Replica
	host string
	up   atomic.Bool
}

// balance starts a proxy that gives each request to the next replica that was ready when it last looked, and tries no
// other. If it marks, a replica that has refused a connection gets nothing until it is ready.
func balance(t testbed.TB, replicas []*testbed.Replica, marks bool) (front string) {
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	var backends []*backend
	for _, r := range replicas {
		one := &backend{Replica: r, host: strings.TrimPrefix(r.URL, "http://")}
		one.up.Store(true)
		backends = append(backends, one)
		go func() {
			for ctx.Err() == nil {
				one.up.Store(one.Ready(ctx) == nil)
				testbed.Wait(ctx, checkEvery)
			}
		}()
	}
	var turn atomic.Uint64
	next := func() *backend { return backends[turn.Add(1)%uint64(len(backends))] }
	return testbed.Serve(t, "", &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			one := next()
			for range len(backends) - 1 {
				if !one.up.Load() {
					one = next()
				}
			}
			r.SetURL(&url.URL{Scheme: "http", Host: one.host})
		},
		FlushInterval: -1, // events
		Transport:     &http.Transport{MaxIdleConnsPerHost: 64},
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler: func(out http.ResponseWriter, request *http.Request, _ error) {
			for _, one := range backends {
				if marks && one.host == request.URL.Host {
					one.up.Store(false)
				}
			}
			out.WriteHeader(http.StatusBadGateway)
		},
	})
}
