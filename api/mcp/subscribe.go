package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/repositories/exactjson"
	"earshot/trigger/effect"
)

// subscription lists the requested notifications (SEP-2575, SEP-2663).
type subscription struct {
	ToolsListChanged bool     `json:"toolsListChanged,omitempty"`
	TaskIDs          []string `json:"taskIds,omitempty"`
}

const maxTasks = 1000

// heartbeat is less than the 30 s after which some proxies drop a silent connection.
const heartbeat = 15 * time.Second

// subscribe answers subscriptions/listen with a stream of notifications, until the client, its key, its session
// or this process ends it. Their source is the event stream, so they cover changes on all replicas.
func (x *rpcCall) subscribe() error {
	filter := x.request.Params.Notifications
	switch {
	case filter == nil:
		return x.fail(invalid(answer.InvalidBody, "notifications is missing: what to hear of, as {\"toolsListChanged\":true}"))
	case len(filter.TaskIDs) > maxTasks:
		return x.fail(invalid(answer.InvalidBody, "taskIds are more than 1000"))
	}
	if _, err := x.server.Engine.Catalog(x.ctx(), x.AppID, x.SessionID); err != nil {
		return x.fail(err)
	}
	if x.server.Events == nil {
		return answer.NewProblem(answer.EventsUnavailable, "this service reads no events").With("Retry-After", answer.Soon)
	}
	release, err := x.server.EnterStream(x.Scope)
	if err != nil {
		return err
	}
	defer release()
	watch, err := x.server.Watch(x.ctx(), auth.PrincipalOf(x.c), x.Scope)
	if err != nil {
		return x.fail(err)
	}
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

	l := &listener{rpcCall: x, filter: *filter, meta: map[string]any{sdk.MetaKeySubscriptionID: x.request.ID}}
	if !x.request.supportsTasks() {
		l.filter.TaskIDs = nil
	}
	x.stream = openStream(x.c)
	if x.stream.notify("subscriptions/acknowledged", map[string]any{"_meta": l.meta, "notifications": l.filter}) == nil && l.pump(ctx, events, watch) {
		// The final answer: the client may subscribe again.
		_ = x.stream.sendMessage(map[string]any{"jsonrpc": "2.0", "id": x.request.ID, "result": map[string]any{"resultType": "complete", "_meta": l.meta}})
	}
	return nil
}

// listener is an open subscription. Its notifications contain the id of its request, since a client may have
// several.
type listener struct {
	*rpcCall
	filter subscription
	meta   map[string]any
}

// pump sends notifications of the app's events. It reports whether the client is still connected.
func (l *listener) pump(ctx context.Context, events <-chan effect.Published, watch *auth.Watch) bool {
	heartbeats, checks := time.NewTicker(heartbeat), time.NewTicker(auth.Recheck)
	defer heartbeats.Stop()
	defer checks.Stop()
	for {
		select {
		case event, open := <-events:
			if !open || l.forward(event) != nil {
				return true
			}
		case <-heartbeats.C:
			if l.stream.send(": alive\n\n") != nil {
				return false
			}
		case <-checks.C:
			if watch.Over(ctx) != nil {
				return true
			}
		case <-l.server.Closing:
			return true
		case <-ctx.Done():
			return false
		}
	}
}

func (l *listener) forward(event effect.Published) error {
	if strings.HasPrefix(event.Subject, "tool.changed.") {
		if !l.filter.ToolsListChanged || event.SessionID != "" && event.SessionID != l.SessionID {
			return nil
		}
		return l.stream.notify("tools/list_changed", map[string]any{"_meta": l.meta})
	}
	var payload struct {
		ID        string `json:"id"`
		TriggerID string `json:"triggerId"`
	}
	_ = json.Unmarshal(event.Data, &payload) // events without a trigger have no requested id
	id := cmp.Or(payload.TriggerID, payload.ID)
	if !slices.Contains(l.filter.TaskIDs, id) {
		return nil
	}
	t, err := l.task(id)
	if err != nil {
		return nil // it is gone, or its next event reports it
	}
	t.ResultType, t.Meta = "", l.meta
	return l.stream.notify("tasks", t)
}

// progressEvery is the interval of progress notifications. A faster call has none: its answer is plain JSON.
const progressEvery = time.Second

// wantsProgress reports whether the client asks for progress and accepts a stream.
func (r *rpcRequest) wantsProgress() bool {
	token := string(r.Params.Meta.ProgressToken)
	return r.acceptsStream && r.Method == methodCall && strings.ContainsAny(token[:min(len(token), 1)], `"-0123456789`)
}

// reporter sends the progress of a call to its client.
type reporter struct {
	*rpcCall
	reported int
}

// report sends the state of a trigger's call. It ignores a client that is gone.
func (r *reporter) report(triggerID string) {
	r.reported++
	params := map[string]any{"progressToken": r.request.Params.Meta.ProgressToken, "progress": r.reported}
	if record, err := r.record(triggerID); err == nil {
		if message := r.progress(record); message != "" {
			params["message"] = message
		}
	}
	if r.stream == nil {
		r.stream = openStream(r.c)
	}
	_ = r.stream.notify("progress", params)
}

// stream is an answer of several messages.
type stream struct {
	response   *echo.Response
	controller *http.ResponseController
}

// writeTimeout bounds the sending of one message.
const writeTimeout = 10 * time.Second

func openStream(c echo.Context) *stream {
	header := c.Response().Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("X-Accel-Buffering", "no") // nginx would buffer events
	c.Response().WriteHeader(http.StatusOK)
	return &stream{c.Response(), http.NewResponseController(c.Response())}
}

func (s *stream) notify(method string, params any) error {
	return s.sendMessage(map[string]any{"jsonrpc": "2.0", "method": "notifications/" + method, "params": params})
}

func (s *stream) sendMessage(message map[string]any) error {
	text, err := exactjson.Encode(message)
	if err != nil {
		return err
	}
	return s.send("event: message\ndata: " + string(text) + "\n\n")
}

func (s *stream) send(text string) error {
	_ = s.controller.SetWriteDeadline(time.Now().Add(writeTimeout)) // recorders in tests support none
	if _, err := s.response.Write([]byte(text)); err != nil {
		return err
	}
	return s.controller.Flush()
}
