package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"earshot/deploy/bench/double"
	"earshot/deploy/bench/load"
	"earshot/deploy/bench/rig"
)

// workload is what is asked of a service.
type workload struct {
	app      string
	tools    int // in the scope of every message
	matches  int // tools that a message calls for
	sessions int // that messages are spread over; 0: none, which only direct triggers can do
	first    int // number of the first session
	messages int // that a session gets before another takes its place; 0: no end of them
	direct   bool
}

// repositorySize is how many tools are registered together.
const repositorySize = 500

// register makes the app with its tools, and no limits.
func (w workload) register(ctx context.Context, c client) error {
	body := map[string]any{"name": w.app, "settings": map[string]any{"limits": nil}}
	if err := c.send(ctx, http.MethodPut, "/v1/apps/"+w.app, body, nil); err != nil {
		return err
	}
	schema := []any{map[string]any{"parameter": "day", "type": "string", "description": "wished day", "required": true}}
	for first := 0; first < w.tools; first += repositorySize {
		var tools []any
		for i := first; i < min(w.tools, first+repositorySize); i++ {
			tools = append(tools, map[string]any{"name": toolName(i), "description": describe(i), "schema": schema})
		}
		path := fmt.Sprintf("/v1/apps/%s/repositories/tools-%d", w.app, first)
		if err := c.send(ctx, http.MethodPut, path, map[string]any{"tools": tools}, nil); err != nil {
			return err
		}
	}
	return nil
}

// match is what an answer says of a tool that has fired.
type match struct{ Event struct{ State string } }

// post sends the i-th request and checks that all it called for has fired. Replicas
// take turns.
func (w workload) post(ctx context.Context, replicas []client, i int) error {
	c, path := replicas[i%len(replicas)], "/v1/apps/"+w.app
	if w.sessions > 0 {
		path += fmt.Sprintf("/sessions/s%d", w.session(i))
	}
	if w.direct {
		var answer match
		body := map[string]any{"name": toolName(i * 31 % w.tools), "source": "task", "values": json.RawMessage(double.Arguments)}
		err := c.send(ctx, http.MethodPost, path+"/triggers", body, &answer)
		return w.judge([]match{answer}, 1, err)
	}
	var answer struct{ Matches []match }
	err := c.send(ctx, http.MethodPost, path+"/messages", map[string]any{"actor": "user", "text": w.text(i)}, &answer)
	return w.judge(answer.Matches, w.matches, err)
}

// session is the number of the session that the i-th request goes to. Sessions that take
// the place of others do not all do so at the same time.
func (w workload) session(i int) int {
	place := i % w.sessions
	if w.messages == 0 {
		return w.first + place
	}
	return w.first + (i/w.sessions+place)/w.messages*w.sessions + place
}

func (w workload) judge(found []match, wanted int, err error) error {
	if err != nil {
		return err
	}
	if len(found) != wanted {
		return fmt.Errorf("%d matches, %d were asked for", len(found), wanted)
	}
	for _, m := range found {
		switch m.Event.State {
		case "published":
		case "pending":
			err = load.ErrPending
		default:
			return fmt.Errorf("an event is %q", m.Event.State)
		}
	}
	return err
}

// client speaks to one replica.
type client struct {
	url  string
	http *http.Client
}

// answerLimit is how long a request may take: longer than the lease that a message has.
const answerLimit = 30 * time.Second

func newClient(s *rig.Server, connections int) client {
	return client{s.URL, &http.Client{Timeout: answerLimit, Transport: &http.Transport{MaxIdleConnsPerHost: connections, IdleConnTimeout: 30 * time.Second}}} // the server's is longer
}

func (c client) send(ctx context.Context, method, path string, body, into any, headers ...string) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+rig.AdminKey)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	if response.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s: %.200s", method, path, response.Status, answer)
	}
	if into == nil || len(answer) == 0 {
		return nil
	}
	return json.Unmarshal(answer, into)
}
