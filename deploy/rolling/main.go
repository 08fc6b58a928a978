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
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/natstest"
	"earshot/deploy/testbed/redistest"
	"earshot/emitter"
)

type options struct {
	before, after string // commits, or paths of programs; empty for this source
	clients       int
	settle        time.Duration // load between two restarts
	marks         bool          // the balancer gives nothing to a replica that has refused a connection
	logf          func(format string, args ...any)
}

func main() {
	o := options{logf: func(format string, args ...any) { fmt.Printf(format+"\n", args...) }}
	flag.StringVar(&o.before, "before", "", "`COMMIT`, or the path of a program, that runs at first (default this source)")
	flag.StringVar(&o.after, "after", "", "`COMMIT`, or the path of a program, that takes its place (default this source)")
	flag.IntVar(&o.clients, "clients", 8, "clients, each in a session of its own")
	flag.DurationVar(&o.settle, "settle", 5*time.Second, "load before, between and after the restarts")
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
	for n := range 3 {
		r := testbed.NewReplica(t, folder, fmt.Sprintf("replica-%d", n+1), program,
			"REDIS_URL="+store.URL(), "NATS_URL="+broker.URL(), "EARSHOT_STREAM_MAX_BYTES=256MiB", "EARSHOT_DRAIN=1s")
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

// balance starts a proxy that sends each request to the next replica that was ready at the last look, and to no other. With marks,
// a replica that refuses a connection gets nothing until it is ready.
func balance(t testbed.TB, replicas []*testbed.Replica, marks bool) (front string) {
	var backends []*backend
	for _, r := range replicas {
		one := &backend{Replica: r, host: strings.TrimPrefix(r.URL, "http://")}
		one.up.Store(true)
		backends = append(backends, one)
		testbed.Background(t, func(ctx context.Context) {
			for ; ctx.Err() == nil; testbed.Wait(ctx, checkEvery) {
				one.up.Store(one.Ready(ctx) == nil)
			}
		})
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

const (
	app      = "/v1/apps/clinic"
	desk     = `{"tools":[{"name":"ring","description":"Ring the bell at the desk","examples":["Ring the bell"],"url":"%s/ok"}]}`
	breath   = 5 * time.Millisecond
	patience = 30 * time.Second // for an answer, and for all that is owed
)

type load struct {
	testbed.Client
	stop    context.CancelFunc
	running sync.WaitGroup

	quiet   atomic.Bool // clients are to send nothing new
	mu      sync.Mutex
	talking int // clients that have not stopped yet
	report
	sessions map[string][]string // ids of the triggers that were set off in it, in order
	followed map[string][]string // and those that its follower got, in theirs
}

func begin(ctx context.Context, service testbed.Client, sink string, clients int) (*load, error) {
	l := &load{Client: service, sessions: map[string][]string{}, followed: map[string][]string{}, talking: clients}
	for _, put := range [][2]string{{app, `{"settings":{"limits":null}}`}, {app + "/repositories/desk", fmt.Sprintf(desk, sink)}} {
		if answer, err := l.Ask(ctx, http.MethodPut, put[0], put[1]); err != nil || answer.Status >= 300 {
			return nil, fmt.Errorf("PUT %s: %d %s %w", put[0], answer.Status, answer.Body, err)
		}
	}
	ctx, l.stop = context.WithCancel(ctx)
	for n := range clients {
		session := fmt.Sprintf("s%d", n+1)
		following := make(chan struct{})
		l.running.Go(func() { l.follow(ctx, session, sync.OnceFunc(func() { close(following) })) })
		l.running.Go(func() {
			<-following
			for n := 0; !l.quiet.Load(); n++ {
				if n%3 == 2 {
					l.twice(session, "/triggers", fmt.Sprintf(`{"name":"ring","source":"ui","triggerId":"%s-t%d"}`, session, n))
				} else {
					l.twice(session, "/messages", fmt.Sprintf(`{"messageId":"m%d","actor":"user","text":"Ring the bell"}`, n))
				}
				testbed.Wait(ctx, breath)
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			l.talking--
		})
	}
	return l, nil
}

// follow reads the events of a session as a browser does, and reconnects after the last one. heard is called for each.
func (l *load) follow(ctx context.Context, session string, heard func()) {
	reader, last, kind := l.Client, "", ""
	reader.HTTP = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for ; ctx.Err() == nil; testbed.Wait(ctx, checkEvery) {
		response, err := reader.Open(ctx, http.MethodGet, app+"/sessions/"+session+"/events", "", "Last-Event-ID", last)
		if err != nil {
			continue
		}
		lines := bufio.NewScanner(response.Body)
		lines.Buffer(nil, 1<<20)
		for response.StatusCode == http.StatusOK && lines.Scan() {
			switch name, value, _ := strings.Cut(lines.Text(), ": "); {
			case name == "id":
				last = value
				heard()
			case name == "event":
				kind = value
			case name == "data" && kind == "tool.trigger":
				var event struct{ ID string }
				_ = json.Unmarshal([]byte(value), &event) // one that cannot be read is missed
				l.mu.Lock()
				l.followed[session] = append(l.followed[session], event.ID)
				l.mu.Unlock()
			}
		}
		_ = response.Body.Close()
	}
}

// twice sends a request that sets a tool off, and once more if it was not answered as it should be.
func (l *load) twice(session, path, body string) {
	ctx := context.Background() // what was begun is finished
	answer, err := l.Ask(ctx, http.MethodPost, app+"/sessions/"+session+path, body)
	again, first := err != nil || answer.Status >= 500, fmt.Sprint(answer.Status, " ", string(answer.Body), " ", err)
	if again {
		answer, err = l.Ask(ctx, http.MethodPost, app+"/sessions/"+session+path, body)
	}
	type trigger struct{ TriggerID string }
	var said struct {
		trigger
		Matches []trigger
	}
	_ = json.Unmarshal(answer.Body, &said) // one that cannot be read has no match, which is noticed
	if said.TriggerID != "" {
		said.Matches = append(said.Matches, said.trigger)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests++
	if again {
		l.retried = append(l.retried, first)
	}
	if err != nil || answer.Status >= 300 || len(said.Matches) != 1 {
		l.failed = append(l.failed, fmt.Sprintf("%s %s: %s, then %d %s %v", path, body, first, answer.Status, answer.Body, err))
		return
	}
	l.sessions[session] = append(l.sessions[session], said.Matches[0].TriggerID)
}

// end waits until all that the clients set off has been called, published and followed, or patience ends, and counts.
func (l *load) end(broker *natstest.Server, sink *testbed.Sink) *report {
	l.quiet.Store(true)
	_ = testbed.Until(context.Background(), patience, func(context.Context) error { // what is missing is told below
		calls := len(sink.Calls())
		l.mu.Lock()
		defer l.mu.Unlock()
		fired, heard := 0, 0
		for session, ids := range l.sessions {
			fired, heard = fired+len(ids), heard+len(l.followed[session])
		}
		if l.talking > 0 || calls < fired || heard < fired {
			return errors.New("something is under way")
		}
		return nil
	})
	l.stop()
	l.running.Wait()
	calls, events := map[string]int{}, map[string]int{}
	for _, call := range sink.Calls() {
		calls[call.ID]++
	}
	for _, event := range broker.Stored(emitter.Stream, "tool.trigger.>") {
		id, _, _ := strings.Cut(event.Header.Get("ce-id"), ".")
		events[id]++
	}
	for session, ids := range l.sessions {
		l.triggers += len(ids)
		l.streams++
		if got := l.followed[session]; !slices.Equal(ids, got) {
			at := 0
			for at < min(len(ids), len(got)) && ids[at] == got[at] {
				at++
			}
			l.wrong = append(l.wrong, fmt.Sprintf("session %s set off %d tools, and its followers got %d events; the first that differs is the %dth: %s and %s",
				session, len(ids), len(got), at+1, ids[at:min(at+3, len(ids))], got[at:min(at+3, len(got))]))
		}
		for _, id := range ids {
			if calls[id] != 1 || events[id] != 1 {
				l.wrong = append(l.wrong, fmt.Sprintf("%s was called %d times and published %d times", id, calls[id], events[id]))
			}
			delete(calls, id)
			delete(events, id)
		}
	}
	if l.failed == nil && len(calls)+len(events) > 0 {
		l.wrong = append(l.wrong, fmt.Sprintf("%d calls and %d events are of triggers that no answer names", len(calls), len(events)))
	}
	return &l.report
}

type report struct {
	requests int
	retried  []string // what the first attempt of a request came to
	failed   []string // requests that failed twice
	triggers int
	streams  int      // event streams that were followed
	wrong    []string // tools and events that were lost, or came twice
}

func (r *report) fault() error {
	switch bad := slices.Concat(r.failed, r.wrong); {
	case len(bad) > 0:
		return errors.New("the restart was noticed: " + strings.Join(bad[:min(5, len(bad))], "\n"))
	case r.triggers == 0:
		return errors.New("no tool was set off")
	default:
		return nil
	}
}

func (r *report) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%d requests, %d sent twice, %d failed\n", r.requests, len(r.retried), len(r.failed))
	for _, first := range r.retried[:min(5, len(r.retried))] {
		fmt.Fprintf(&out, "  sent twice after: %s\n", strings.TrimSpace(first))
	}
	fmt.Fprintf(&out, "%d tools set off, each called and published once but for %d; %d event streams followed\n", r.triggers, len(r.wrong), r.streams)
	return out.String()
}
