package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"earshot/emitter"
)

// evidence is all that is seen of a run from outside, when it is over.
type evidence struct {
	operations []*operation
	lost       []*operation
	again      map[string]string   // what the id of an operation is answered now
	records    map[string][]record // of an app, oldest first
	histories  map[string][]entry  // of app/session
	stored     []stored
	calls      []call
	due        int64
	leaks      []string
	faults     []string // panics and data races in the logs
	// deleted says that the stream was deleted in between: what is missing in it was
	// there if its record says so.
	deleted bool
}

// record is a trigger as the API lists it.
type record struct {
	TriggerID, RepositoryID, Name, SessionID, MessageID, State string
	Event, Emitter                                             *struct{ State string }
	Call                                                       *struct{ State string }
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
	Operation                                                string
}

// gather asks the service and looks into the stream, the sink and the logs. Nothing is
// owed any more by then.
func gather(ctx context.Context, w *world, c *clients, deleted bool) (*evidence, error) {
	e := &evidence{
		operations: c.done, lost: c.lost, again: map[string]string{}, records: map[string][]record{}, histories: map[string][]entry{},
		calls: w.sink.all(), deleted: deleted,
	}
	e.askAgain(ctx, c)
	if err := w.rest(comeUp); err != nil {
		return nil, fmt.Errorf("asking again has left something owed: %w", err)
	}
	for _, app := range apps {
		records, err := read[record](ctx, c, "/v1/apps/"+app+"/triggers")
		if err != nil {
			return nil, err
		}
		slices.Reverse(records)
		e.records[app] = records
	}
	if err := e.readHistories(ctx, c); err != nil {
		return nil, err
	}
	if err := e.readStream(ctx, w); err != nil {
		return nil, err
	}
	e.due = w.due()
	return e, e.readLogs(w)
}

// askAgain sends every message and direct trigger that was answered once more.
func (e *evidence) askAgain(ctx context.Context, c *clients) {
	for i, o := range e.operations {
		if o.Kind != "message" && o.Kind != "direct" || o.Status >= 300 || closed(o) {
			continue
		}
		url := c.world.replicas[i%len(c.world.replicas)].url()
		status, answer, err := c.ask(ctx, url+o.Path, http.MethodPost, o.Body)
		if err != nil || status >= 300 {
			answer = fmt.Sprint(status, " ", answer, err)
		}
		e.again[o.ID] = answer
	}
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
	held, err := w.js.Stream(ctx, emitter.Stream)
	if err != nil {
		return err
	}
	for next := uint64(1); ; {
		message, err := held.GetMsg(ctx, next, jetstream.WithGetMsgSubject(">"))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		w.secrets.look("the stream", fmt.Sprint(message.Header, string(message.Data)))
		one := stored{Subject: message.Subject, MsgID: message.Header.Get("Nats-Msg-Id")}
		if err := json.Unmarshal(message.Data, &one); err != nil {
			return err
		}
		e.stored, next = append(e.stored, one), message.Sequence+1
	}
}

// readLogs looks for credentials in all files that the run has written, and for
// panics and data races in the logs.
func (e *evidence) readLogs(w *world) error {
	logs, err := filepath.Glob(filepath.Join(w.dir, "*.log"))
	if err != nil {
		return err
	}
	data, err := filepath.Glob(filepath.Join(w.dir, "redis", "appendonlydir", "*"))
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
