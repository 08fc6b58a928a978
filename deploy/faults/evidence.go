package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"earshot/deploy/faults/endpoints"
	"earshot/deploy/faults/servers"
	"earshot/emitter"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
	"earshot/trigger/verify"
)

// evidence is all that is seen of a run from outside, when it is over.
type evidence struct {
	operations []*operation
	lost       []*operation
	again      map[string]string   // what the id of an operation is answered now
	records    map[string][]record // of an app, oldest first
	histories  map[string][]entry  // of app/session
	stored     []stored
	calls      []endpoints.Call
	failed     []record       // when all was quiet for the first time, before they were retried
	retried    map[string]int // triggerId to retries by hand of what had failed
	due        int64
	left       []string            // what stands in Redis of effects that no counter counts
	findings   []string            // what is orphaned or impossible in the ledger
	seen       map[string]taskSeen // tasks by their ids, as they stand in the end
	leaks      []string
	faults     []string // panics and data races in the logs
	// deleted says that the stream was deleted in between: what is missing in it was
	// there if its record says so.
	deleted bool
	kept    map[string]bool // triggers that were listed before all was asked again; nil where they need not be
	losses  []loss
	// restored says that Redis had forgotten some of what it is asked again for.
	restored bool
}

// record is a trigger as the API lists it.
type record struct {
	TriggerID, RepositoryID, Name, SessionID, MessageID, State string
	Of                                                         string
	Event, Emitter, Call                                       *state
	Values                                                     spoken
}

// spoken are the values of the parameters that the tools have.
type spoken struct{ Day, Desk, Hour string }

// state is where an effect of a trigger stands.
type state struct {
	State, Reason string
	Status        int // of the answer
	Result        json.RawMessage
}

// entry is a message as the API lists it.
type entry struct {
	MessageID, Actor, State, Error string
	Triggers                       []struct{ TriggerID, Name string }
}

// stored is an event as it stands in the stream.
type stored struct {
	Subject, MsgID                                           string
	ID, AppID, SessionID, MessageID, RepositoryID, TriggerID string
	Operation, Reason                                        string
	Values                                                   spoken
}

// gather asks the service and looks into the stream, the sink and the logs. Nothing is
// owed any more by then.
func gather(ctx context.Context, w *world, c *clients, deleted bool) (*evidence, error) {
	e := &evidence{
		operations: c.done, lost: c.lost, records: map[string][]record{}, histories: map[string][]entry{},
		deleted: deleted, failed: c.failed, retried: c.retried, seen: c.lookAtTasks(ctx),
	}
	for _, app := range apps {
		records, err := read[record](ctx, c, "/v1/apps/"+app+"/triggers")
		if err != nil {
			return nil, err
		}
		slices.Reverse(records)
		e.records[app] = records
	}
	e.calls = w.sink.All()
	if err := e.readHistories(ctx, c); err != nil {
		return nil, err
	}
	if err := e.readStream(ctx, w); err != nil {
		return nil, err
	}
	left, err := w.left(ctx)
	if err != nil {
		return nil, err
	}
	e.due, e.left = w.due(), left
	if e.findings, err = w.findings(ctx); err != nil {
		return nil, err
	}
	return e, e.readLogs(w)
}

// findings are what earshot verify says of the ledger.
func (w *world) findings(ctx context.Context) (list []string, err error) {
	report, err := verify.Ledger(ctx, verify.Options{
		DB: &keyspace.DB{UniversalClient: w.client}, Done: store.DefaultRetention, Dead: store.DefaultDeadRetention,
		Pause: func(ctx context.Context) error { wait(ctx, time.Second); return ctx.Err() },
	})
	for _, f := range report.Findings {
		list = append(list, fmt.Sprintf("%s of %s: %s %s", f.Rule, f.App, f.Of, f.Detail))
	}
	return append(list, report.Notes...), err
}

// askers is how many ask again at the same time.
const askers = 8

// insistence is how long a client asks again that is told to: on a machine without processor time the
// masters of a cluster take each other for dead when all is quiet.
const insistence = 30 * time.Second

// askAgain sends every message and direct trigger that was answered once more, and
// returns the answers by the ids.
func (c *clients) askAgain(ctx context.Context) map[string]string {
	again := map[string]string{}
	var group errgroup.Group
	group.SetLimit(askers)
	for i, o := range c.done {
		if o.Kind != "message" && o.Kind != "direct" && o.Kind != "chat" || o.Status >= 300 || closed(o) {
			continue
		}
		group.Go(func() error {
			url := c.world.replicas[i%len(c.world.replicas)].url()
			status, answer, err := c.ask(ctx, url+o.Path, http.MethodPost, o.Body)
			for deadline := time.Now().Add(insistence); status == http.StatusServiceUnavailable && time.Now().Before(deadline); {
				wait(ctx, 500*time.Millisecond)
				status, answer, err = c.ask(ctx, url+o.Path, http.MethodPost, o.Body)
			}
			if err != nil || status >= 300 {
				answer = fmt.Sprint(status, " ", answer, err)
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			again[o.ID] = answer
			return nil
		})
	}
	_ = group.Wait() // what fails stands among the answers
	return again
}

// closed reports whether the operation's session was closed by its own client.
func closed(o *operation) bool { return strings.HasPrefix(o.Session, "visit") }

func (e *evidence) readHistories(ctx context.Context, c *clients) error {
	for _, o := range e.operations {
		if o.Session == "" || closed(o) || e.histories[o.App+"/"+o.Session] != nil {
			continue
		}
		entries, err := read[entry](ctx, c, sessionPath(o.App, o.Session)+"/messages")
		if err != nil {
			return err
		}
		e.histories[o.App+"/"+o.Session] = append([]entry{}, entries...)
	}
	return nil
}

func (e *evidence) readStream(ctx context.Context, w *world) error {
	held, _, err := w.events(ctx)
	e.stored = append(append([]stored{}, w.emptied...), held...)
	return err
}

// events reads all that is in the stream, and the sequence of the last event.
func (w *world) events(ctx context.Context) (list []stored, last uint64, err error) {
	held, err := w.js.Stream(ctx, emitter.Stream)
	if err != nil || held.CachedInfo().State.Msgs == 0 {
		return nil, 0, err
	}
	reader, err := held.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return nil, 0, err
	}
	for end := held.CachedInfo().State.LastSeq; last < end; {
		message, err := reader.Next(jetstream.FetchMaxWait(servers.ComeUp))
		if err != nil {
			return nil, 0, fmt.Errorf("read event %d of the stream: %w", last+1, err)
		}
		meta, err := message.Metadata()
		if err != nil {
			return nil, 0, err
		}
		w.secrets.look("the stream", fmt.Sprint(message.Headers(), string(message.Data())))
		one := stored{Subject: message.Subject(), MsgID: message.Headers().Get("Nats-Msg-Id")}
		if err := json.Unmarshal(message.Data(), &one); err != nil {
			return nil, 0, err
		}
		list, last = append(list, one), meta.Sequence.Stream
	}
	return list, last, nil
}

// readLogs looks for credentials in all files that the run has written, and for
// panics and data races in the logs.
func (e *evidence) readLogs(w *world) error {
	logs, err := filepath.Glob(filepath.Join(w.dir, "*.log"))
	if err != nil {
		return err
	}
	data, err := filepath.Glob(filepath.Join(w.dir, "redis*", "appendonlydir", "*"))
	if err != nil {
		return err
	}
	for _, file := range append(logs, data...) {
		text, err := w.secrets.lookInto(file)
		if err != nil {
			return err
		}
		for _, bad := range []string{"WARNING: DATA RACE", "panic: ", ".panicked", "fatal error: "} {
			if strings.HasSuffix(file, ".log") && strings.Contains(text, bad) {
				e.faults = append(e.faults, fmt.Sprintf("%s says %q", file, bad))
			}
		}
	}
	e.leaks = w.secrets.all()
	return nil
}

// unsafe are the tools whose calls are not idempotent.
var unsafe = map[string]bool{"charge": true, "pledge": true, "refund": true, "wire": true}

// outcomeUnknown is why such a call fails of which nobody knows whether it arrived.
const outcomeUnknown = "outcome_unknown"

// sentOnce counts the arrivals of calls that are not idempotent: one, and another for
// each retry by hand. Where one has failed, it is because nobody knows, or because the server
// has answered that it is down.
func (e *evidence) sentOnce() (found []string) {
	arrivals := map[string]int{}
	for _, one := range e.calls {
		arrivals[one.ID]++
	}
	for id, one := range e.byID() {
		if unsafe[one.Name] && arrivals[id] > 1+e.retried[id] {
			found = append(found, fmt.Sprintf("the call of trigger %s (%s) arrived %d times, and was retried by hand %d times",
				id, one.Name, arrivals[id], e.retried[id]))
		}
	}
	for _, one := range e.failed {
		if unsafe[one.Name] && one.Call != nil && one.Call.State == "failed" && one.Call.Reason != outcomeUnknown && one.Call.Status < http.StatusInternalServerError {
			found = append(found, fmt.Sprintf("the call of trigger %s (%s) failed for %q, not as %s", one.TriggerID, one.Name, one.Call.Reason, outcomeUnknown))
		}
	}
	return found
}
