package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"earshot/deploy/testbed"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
	"earshot/trigger/verify"
)

// evidence is all that is seen of a run from outside.
type evidence struct {
	operations []*operation
	lost       []*operation
	again      map[string]string   // what the id of an operation is answered now
	records    map[string][]record // of an app, oldest first
	histories  map[string][]entry  // of app/session
	stored     []stored
	calls      []testbed.Call
	hooks      map[string]int  // events that arrived at the webhook, by their ids; nil if it cannot have all
	carried    map[string]bool // ids of the calls that the MCP server has carried out
	failed     []record        // when all was quiet for the first time, before they were retried
	retried    map[string]int  // triggerId to retries by hand of what had failed
	due        int64
	left       []string              // what stands in Redis of effects that no counter counts
	findings   []string              // what is orphaned or impossible in the ledger
	tasks      map[string]taskStatus // by their ids, as they stand in the end
	leaks      []string
	faults     []string        // panics and data races in the logs
	deleted    bool            // the stream was deleted meanwhile, so a missing event counts if its record says that it was published
	kept       map[string]bool // triggers that were listed before all was asked again; nil if they need not be
	losses     []loss
	deaths     []time.Time // of replicas
	restored   bool        // Redis has forgotten some of what it answered

	// By trigger, once the books are judged: records, events of each kind, calls, and requests about it, also unanswered ones.
	byID             map[string]record
	events, arrivals map[string]int
	said             map[string][]*operation
}

type record struct {
	App                                                        string `json:"-"`
	TriggerID, RepositoryID, Name, SessionID, MessageID, State string
	Of                                                         string
	Event, Emitter, Call                                       *state
	Values                                                     dayDeskHour
}

type dayDeskHour struct{ Day, Desk, Hour string }

type state struct {
	State, Reason string
	Status        int // of the answer
	Result        json.RawMessage
}

func (s *state) page() string { return pageOf(fmt.Sprintf(`{"result":%s}`, s.Result)) }

func pageOf(body string) string {
	var says struct{ Result struct{ Page string } }
	_ = json.Unmarshal([]byte(body), &says) // what cannot be read says nothing
	return says.Result.Page
}

type entry struct {
	MessageID, Actor, State, Error string
	Triggers                       []struct{ TriggerID, Name string }
}

type stored struct {
	Subject, MsgID                                           string
	ID, AppID, SessionID, MessageID, RepositoryID, TriggerID string
	Operation, Reason                                        string
	Values                                                   dayDeskHour
}

func (r record) place() string { return r.App + "/" + r.SessionID + "/" + r.MessageID }

// kind is the first two words of a tool's subject, or app.
func (s stored) kind() string {
	words := strings.SplitN(s.Subject, ".", 3)
	if words[0] == "app" {
		return "app"
	}
	return words[0] + "." + words[1]
}

func (s stored) about() string {
	if s.kind() == "chat.message" {
		return s.AppID + "/" + s.SessionID + "/" + s.MessageID
	}
	if s.TriggerID != "" {
		return s.TriggerID
	}
	return s.ID
}

// gather reads the service, the stream, the sink and the logs, when nothing is owed any more.
func gather(s *system) *evidence {
	b := s.books
	e := &evidence{
		operations: b.done, lost: b.lost, failed: b.failed, retried: b.retried, tasks: map[string]taskStatus{},
		records: map[string][]record{}, histories: map[string][]entry{}, carried: map[string]bool{},
		deleted: s.phase.deleted, restored: s.phase.restored, losses: s.losses,
	}
	s.plan.locked(func() { e.deaths = slices.Clone(s.plan.deaths) })
	for _, app := range apps {
		e.records[app] = readAll[record](b, pathOf(app, "")+"/triggers")
		slices.Reverse(e.records[app])
	}
	for i, o := range b.done {
		id := taskIn(o.Answer).TaskID
		if o.Kind != "task" || id == "" {
			continue
		}
		body, header := testbed.RPC("tasks/get", id, fmt.Sprintf(`"taskId":%q`, id), "")
		if answer, err := b.send(s.ctx, i%replicas, http.MethodPost, o.Path, body, header...); err == nil {
			e.tasks[id] = taskIn(string(answer.Body))
		}
	}
	e.hooks = map[string]int{}
	for _, one := range s.sink.Calls() {
		switch {
		case one.Path != hookPath:
			e.calls = append(e.calls, one)
		case !refused(one):
			e.hooks[one.ID]++
		}
	}
	if s.phase.full > 0 || s.phase.deleted { // what is taken out of the stream is sent no more
		e.hooks = nil
	}
	s.remote.done.Range(func(key, _ any) bool { e.carried[key.(string)] = true; return true })
	for _, o := range e.operations {
		place := o.App + "/" + o.Session
		if _, read := e.histories[place]; o.Session != "" && !closed(o) && !read {
			e.histories[place] = readAll[entry](b, pathOf(o.App, o.Session)+"/messages")
		}
	}
	held, _, err := s.events(s.ctx)
	s.must(err)
	e.stored = slices.Concat(s.emptied, held)
	e.due, e.left = s.due(), s.left()
	report, err := verify.Ledger(s.ctx, verify.Options{
		DB: &keyspace.DB{UniversalClient: s.client}, Done: store.DefaultRetention, Dead: store.DefaultDeadRetention,
		Pause: func(ctx context.Context) error { testbed.Wait(ctx, time.Second); return ctx.Err() },
	})
	s.must(err)
	for _, f := range report.Findings {
		e.findings = append(e.findings, fmt.Sprintf("%s of %s: %s %s", f.Rule, f.App, f.Object, f.Detail))
	}
	e.findings = append(e.findings, report.Notes...)
	s.must(e.readFiles(s))
	return e
}

func (e *evidence) readFiles(s *system) error {
	err := filepath.WalkDir(s.dir, func(file string, found fs.DirEntry, err error) error {
		log := strings.HasSuffix(file, ".log")
		if err != nil || found.IsDir() || !log && filepath.Base(filepath.Dir(file)) != "appendonlydir" {
			return err
		}
		text, err := os.ReadFile(file)
		s.secrets.look(file, string(text))
		for _, bad := range []string{"WARNING: DATA RACE", "panic: ", ".panicked", "fatal error: "} {
			if log && strings.Contains(string(text), bad) {
				e.faults = append(e.faults, fmt.Sprintf("%s says %q", file, bad))
			}
		}
		return err
	})
	e.leaks = s.secrets.all()
	return err
}

func (o *operation) place() string { return o.App + "/" + o.Session + "/" + o.ID }

type reply struct {
	TriggerID string
	Matches   []struct{ TriggerID, State string }
}

func (o *operation) reply() (a reply) {
	var wrapped struct {
		Result struct{ StructuredContent json.RawMessage }
	}
	text := []byte(o.Answer)
	if json.Unmarshal(text, &wrapped) == nil && wrapped.Result.StructuredContent != nil {
		text = wrapped.Result.StructuredContent // an agent is shown the same
	}
	_ = json.Unmarshal(text, &a) // what cannot be read says nothing
	return a
}

func (o *operation) triggers() (ids []string) {
	a := o.reply()
	if (o.Kind == "direct" || o.Kind == "read") && o.Status < 300 {
		return []string{a.TriggerID}
	}
	for _, match := range a.Matches {
		if o.Kind != "draft" {
			ids = append(ids, match.TriggerID)
		}
	}
	return ids
}

type askedTask struct {
	*operation
	id       string
	given    map[string][]string // values that were taken on, by their parameters
	ended    bool                // it was taken back
	touched  time.Time           // last
	followed []taskStatus
}

func (e *evidence) askedTasks() map[string]*askedTask {
	all := map[string]*askedTask{}
	for _, o := range e.operations {
		if id := taskIn(o.Answer).TaskID; o.Kind == "task" && id != "" {
			all[id] = &askedTask{operation: o, id: id, given: map[string][]string{}}
		}
	}
	for _, o := range e.operations {
		t := all[o.Trigger]
		if o.Kind == "task" {
			t = all[taskIn(o.Answer).TaskID]
		}
		if t == nil || o.Status >= 300 {
			continue
		}
		for name, value := range o.Given {
			t.given[name] = append(t.given[name], value)
		}
		if o.At.After(t.touched) {
			t.touched = o.At
		}
		t.ended = t.ended || o.Kind == "ended"
		if o.Kind == "followed" {
			t.followed = append(t.followed, taskIn(o.Answer))
		}
	}
	return all
}
