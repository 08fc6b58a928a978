package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/repositories/exactjson"
	"earshot/trigger/effect"
)

// subscription is what a client wants to hear of (SEP-2575, SEP-2663).
type subscription struct {
	ToolsListChanged bool     `json:"toolsListChanged,omitempty"`
	TaskIDs          []string `json:"taskIds,omitempty"`
}

// mostTasks is how many tasks one stream tells of.
const mostTasks = 1000

// Notifications of a stream.
const (
	notifyAcknowledged = "notifications/subscriptions/acknowledged"
	notifyListChanged  = "notifications/tools/list_changed"
	notifyTask         = "notifications/tasks"
)

// Times of a stream.
const (
	// heartbeat is less than the 30 s after which some proxies take a silent connection for dead.
	heartbeat = 15 * time.Second
	// writeTime is how long a client may take for one notification.
	writeTime = 10 * time.Second
)

// subscribe answers subscriptions/listen: with a stream of notifications, until the client, its key
// or this process ends it. They are made of the events that every replica reads, so that it does
// not matter which of them a tool was registered on, or a task has ended on.
func (x *exchange) subscribe() error {
	wanted := x.request.Params.Notifications
	switch {
	case wanted == nil:
		return x.fail(invalid("notifications is missing: what to hear of, as {\"toolsListChanged\":true}"))
	case len(wanted.TaskIDs) > mostTasks:
		return x.fail(invalid("taskIds are more than 1000"))
	case x.server.Events == nil:
		return answer.NewProblem(http.StatusServiceUnavailable, "this service reads no events")
	}
	leave, err := x.server.Enter(x.scope())
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithCancel(x.ctx())
	defer cancel()
	after, err := x.server.Events.Now(ctx)
	if err != nil {
		return unreadable(err)
	}
	events, err := x.server.Events.Follow(ctx, x.scope().AppID, "", after)
	if err != nil {
		return unreadable(err)
	}
	l := &listener{exchange: x, wanted: *wanted, with: http.NewResponseController(x.c.Response())}
	if !x.request.tasks() {
		l.wanted.TaskIDs = nil
	}
	if l.begin() == nil {
		l.pump(ctx, events)
	}
	return nil
}

func unreadable(cause error) error {
	return answer.NewProblem(http.StatusServiceUnavailable, "the events cannot be read now; subscribe again").With("Retry-After", answer.Soon).Because(cause)
}

// listener is an open stream.
type listener struct {
	*exchange
	wanted subscription
	with   *http.ResponseController
}

// notification is what a stream sends. Its subscription is the id of the request that opened it,
// since a client may have several.
type notification struct {
	Version string `json:"jsonrpc"`
	Method  string `json:"method"`
	Params  any    `json:"params"`
}

type acknowledged struct {
	Meta          map[string]any `json:"_meta"`
	Notifications subscription   `json:"notifications"`
}

type changed struct {
	Meta map[string]any `json:"_meta"`
}

func (l *listener) meta() map[string]any {
	return map[string]any{sdk.MetaKeySubscriptionID: l.request.ID}
}

func (l *listener) begin() error {
	header := l.c.Response().Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("X-Accel-Buffering", "no") // nginx would collect events
	l.c.Response().WriteHeader(http.StatusOK)
	return l.notify(notifyAcknowledged, acknowledged{l.meta(), l.wanted})
}

// pump sends what the events of the app come to.
func (l *listener) pump(ctx context.Context, events <-chan effect.Published) {
	beats, checks := time.NewTicker(heartbeat), time.NewTicker(auth.Recheck)
	defer beats.Stop()
	defer checks.Stop()
	for {
		select {
		case event, open := <-events:
			if !open || l.hear(event) != nil {
				l.end()
				return
			}
		case <-beats.C:
			if l.send(": alive\n\n") != nil {
				return
			}
		case <-checks.C:
			if err := l.server.StillGood(ctx, auth.PrincipalOf(l.c)); err != nil && !answer.IsUnavailable(err) {
				l.end()
				return
			}
		case <-l.server.Closing:
			l.end()
			return
		case <-ctx.Done():
			return
		}
	}
}

// end is the answer to the request at last: the client may subscribe again.
func (l *listener) end() {
	text := exactjson.EncodeOrNull(map[string]any{"jsonrpc": "2.0", "id": l.request.ID, "result": map[string]any{"resultType": "complete", "_meta": l.meta()}})
	_ = l.send("event: message\ndata: " + string(text) + "\n\n") // nobody may be there any more
}

// hear tells the client what an event means to it.
func (l *listener) hear(event effect.Published) error {
	if strings.HasPrefix(event.Subject, "tool.changed.") {
		if !l.wanted.ToolsListChanged || event.SessionID != "" && event.SessionID != l.scope().SessionID {
			return nil
		}
		return l.notify(notifyListChanged, changed{l.meta()})
	}
	id := triggerOf(event)
	if !slices.Contains(l.wanted.TaskIDs, id) {
		return nil
	}
	t, err := tasks{l.exchange}.task(id)
	if err != nil {
		return nil // it is gone, or will be told of by its next event
	}
	t.ResultType, t.Meta = "", l.meta()
	return l.notify(notifyTask, t)
}

// triggerOf is the trigger that an event is of; empty for none.
func triggerOf(event effect.Published) string {
	var of struct {
		ID        string `json:"id"`
		TriggerID string `json:"triggerId"`
	}
	if json.Unmarshal(event.Data, &of) != nil {
		return ""
	}
	if of.TriggerID != "" {
		return of.TriggerID
	}
	return of.ID
}

func (l *listener) notify(method string, of any) error {
	text, err := exactjson.Encode(notification{"2.0", method, of})
	if err != nil {
		return err
	}
	return l.send("event: message\ndata: " + string(text) + "\n\n")
}

func (l *listener) send(text string) error {
	_ = l.with.SetWriteDeadline(time.Now().Add(writeTime)) // a recorder has none
	if _, err := l.c.Response().Write([]byte(text)); err != nil {
		return err
	}
	return l.with.Flush()
}
