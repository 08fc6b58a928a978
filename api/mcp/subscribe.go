package mcp

import (
	"cmp"
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

// subscription names the notifications that a client wants (SEP-2575, SEP-2663).
type subscription struct {
	ToolsListChanged bool     `json:"toolsListChanged,omitempty"`
	TaskIDs          []string `json:"taskIds,omitempty"`
}

const mostTasks = 1000

const (
	// heartbeat is less than the 30 s after which some proxies take a silent connection for dead.
	heartbeat = 15 * time.Second
	// writeTime is how long a client may take for one notification.
	writeTime = 10 * time.Second
)

// subscribe answers subscriptions/listen: with a stream of notifications, until the client, its key
// or this process ends it. They are made of the events that every replica reads, so that it does
// not matter on which of them a tool was registered, or a task has ended.
func (x *rpcCall) subscribe() error {
	wanted := x.request.Params.Notifications
	switch {
	case wanted == nil:
		return x.fail(invalid(answer.InvalidBody, "notifications is missing: what to hear of, as {\"toolsListChanged\":true}"))
	case len(wanted.TaskIDs) > mostTasks:
		return x.fail(invalid(answer.InvalidBody, "taskIds are more than 1000"))
	case x.server.Events == nil:
		return answer.NewProblem(answer.EventsUnavailable, "this service reads no events")
	}
	leave, err := x.server.Enter(x.Scope)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithCancel(x.ctx())
	defer cancel()
	after, err := x.server.Events.Now(ctx)
	var events <-chan effect.Published
	if err == nil {
		events, err = x.server.Events.Follow(ctx, x.AppID, "", after)
	}
	if err != nil {
		return answer.NewProblem(answer.EventsUnavailable, "the events cannot be read now; subscribe again").
			With("Retry-After", answer.Soon).Because(err)
	}

	l := &stream{rpcCall: x, wanted: *wanted, with: http.NewResponseController(x.c.Response()), meta: map[string]any{sdk.MetaKeySubscriptionID: x.request.ID}}
	if !x.request.tasks() {
		l.wanted.TaskIDs = nil
	}
	header := x.c.Response().Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("X-Accel-Buffering", "no") // nginx would collect events
	x.c.Response().WriteHeader(http.StatusOK)
	if l.notify("subscriptions/acknowledged", map[string]any{"_meta": l.meta, "notifications": l.wanted}) == nil && l.pump(ctx, events) {
		// The answer to the request at last: the client may subscribe again.
		_ = l.sendMessage(map[string]any{"jsonrpc": "2.0", "id": x.request.ID, "result": map[string]any{"resultType": "complete", "_meta": l.meta}})
	}
	return nil
}

// stream is an open subscription. Its notifications have the id of the request that opened it,
// since a client may have several.
type stream struct {
	*rpcCall
	wanted subscription
	with   *http.ResponseController
	meta   map[string]any
}

// pump sends the notifications of the app's events. It reports whether the client is still there.
func (l *stream) pump(ctx context.Context, events <-chan effect.Published) bool {
	beats, checks := time.NewTicker(heartbeat), time.NewTicker(auth.Recheck)
	defer beats.Stop()
	defer checks.Stop()
	for {
		select {
		case event, open := <-events:
			if !open || l.forward(event) != nil {
				return true
			}
		case <-beats.C:
			if l.send(": alive\n\n") != nil {
				return false
			}
		case <-checks.C:
			if err := l.server.StillGood(ctx, auth.PrincipalOf(l.c)); err != nil && !answer.IsUnavailable(err) {
				return true
			}
		case <-l.server.Closing:
			return true
		case <-ctx.Done():
			return false
		}
	}
}

func (l *stream) forward(event effect.Published) error {
	if strings.HasPrefix(event.Subject, "tool.changed.") {
		if !l.wanted.ToolsListChanged || event.SessionID != "" && event.SessionID != l.SessionID {
			return nil
		}
		return l.notify("tools/list_changed", map[string]any{"_meta": l.meta})
	}
	var of struct {
		ID        string `json:"id"`
		TriggerID string `json:"triggerId"`
	}
	_ = json.Unmarshal(event.Data, &of) // an event of no trigger has no id that is wanted
	id := cmp.Or(of.TriggerID, of.ID)
	if !slices.Contains(l.wanted.TaskIDs, id) {
		return nil
	}
	t, err := l.task(id)
	if err != nil {
		return nil // it is gone, or its next event reports it
	}
	t.ResultType, t.Meta = "", l.meta
	return l.notify("tasks", t)
}

func (l *stream) notify(method string, params any) error {
	return l.sendMessage(map[string]any{"jsonrpc": "2.0", "method": "notifications/" + method, "params": params})
}

func (l *stream) sendMessage(message map[string]any) error {
	text, err := exactjson.Encode(message)
	if err != nil {
		return err
	}
	return l.send("event: message\ndata: " + string(text) + "\n\n")
}

func (l *stream) send(text string) error {
	_ = l.with.SetWriteDeadline(time.Now().Add(writeTime)) // a recorder has none
	if _, err := l.c.Response().Write([]byte(text)); err != nil {
		return err
	}
	return l.with.Flush()
}
