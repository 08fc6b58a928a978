package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redis/go-redis/v9"
)

// floor is the least that a message can cost with the libraries that Earshot uses: one read in Redis, one request to the
// LLM, one script that stores what was decided, and one event on JetStream for each match, acknowledged before the answer.
// It checks nothing, retries nothing and forgets nothing.
type floor struct {
	redis *redis.Client
	js    jetstream.JetStream
	llm   string
	http  *http.Client
}

// newFloor connects to what the role names. end closes the connections.
func newFloor(ctx context.Context, r role) (f *floor, end func(), err error) {
	const connections = 256 // more than requests are under way
	address, err := redis.ParseURL(r.Redis)
	if err != nil {
		return nil, nil, err
	}
	address.PoolSize = connections
	conn, err := nats.Connect(r.NATS)
	if err != nil {
		return nil, nil, fmt.Errorf("connect to NATS: %w", err)
	}
	js, err := jetstream.New(conn)
	if err == nil {
		_, err = js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: "FLOOR", Subjects: []string{"floor.>"}, Storage: jetstream.FileStorage})
	}
	if err != nil {
		conn.Close()
		return nil, nil, fmt.Errorf("make a stream: %w", err)
	}
	f = &floor{
		redis: redis.NewClient(address), js: js, llm: r.LLM + "/chat/completions",
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections}},
	}
	return f, func() { conn.Close(); _ = f.redis.Close() }, nil
}

// handler has the routes that the load is sent to.
func (f *floor) handler() http.Handler {
	e := echo.New()
	e.PUT("/v1/apps/:app", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
	e.PUT("/v1/apps/:app/repositories/:repository", f.putTools)
	e.POST("/v1/apps/:app/sessions/:session/messages", f.message)
	e.POST("/v1/apps/:app/sessions/:session/triggers", f.trigger)
	e.POST("/v1/apps/:app/triggers", f.trigger)
	e.GET("/readyz", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
	e.GET("/metrics", echo.WrapHandler(promhttp.Handler()))
	return e
}

// putTools keeps the tools in the form in which the model gets them.
func (f *floor) putTools(c echo.Context) error {
	type definition struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	type function struct {
		Type     string     `json:"type"`
		Function definition `json:"function"`
	}
	var body struct{ Tools []definition }
	if err := c.Bind(&body); err != nil {
		return err
	}
	functions := make([]function, len(body.Tools))
	for i, tool := range body.Tools {
		tool.Parameters = json.RawMessage(`{"type":"object","properties":{"day":{"type":"string","description":"wished day"}},"required":["day"]}`)
		functions[i] = function{"function", tool}
	}
	text, err := json.Marshal(functions)
	if err != nil {
		return err
	}
	return f.redis.Set(c.Request().Context(), floorTools(c.Param("app")), text, 0).Err()
}

func floorTools(app string) string { return "floor:{" + app + "}:tools" }

// floorCall is the body of a direct trigger, and what the model calls.
type floorCall struct {
	Name   string          `json:"name"`
	Values json.RawMessage `json:"values"`
}

func (f *floor) message(c echo.Context) error {
	var body struct {
		Actor string `json:"actor"`
		Text  string `json:"text"`
	}
	if err := c.Bind(&body); err != nil {
		return err
	}
	tools, err := f.redis.Get(c.Request().Context(), floorTools(c.Param("app"))).Result()
	if err != nil {
		return err
	}
	calls, err := f.ask(c.Request().Context(), tools, body.Text)
	if err != nil {
		return err
	}
	id, matches, err := f.fire(c, body, calls)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, struct {
		MessageID string       `json:"messageId"`
		Matches   []floorMatch `json:"matches"`
	}{id, matches})
}

func (f *floor) trigger(c echo.Context) error {
	body := floorCall{}
	if err := c.Bind(&body); err != nil {
		return err
	}
	if err := f.redis.Get(c.Request().Context(), floorTools(c.Param("app"))).Err(); err != nil {
		return err
	}
	_, matches, err := f.fire(c, body, []floorCall{body})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, matches[0])
}

// ask asks the LLM which of the tools a text calls for, after what was said before.
func (f *floor) ask(ctx context.Context, tools, text string, before ...string) (calls []floorCall, err error) {
	type content struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	messages := []content{{"system", "Call the tools that the user's words ask for."}}
	for _, said := range append(before, text) {
		messages = append(messages, content{"user", said})
	}
	body, err := json.Marshal(struct {
		Model    string          `json:"model"`
		Messages []content       `json:"messages"`
		Tools    json.RawMessage `json:"tools"`
	}{"double", messages, json.RawMessage(tools)})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, f.llm, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := f.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var found struct {
		Choices []struct {
			Message struct {
				Calls []struct {
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&found); err != nil || len(found.Choices) == 0 {
		return nil, fmt.Errorf("the LLM answered %s without a choice: %w", response.Status, err)
	}
	for _, call := range found.Choices[0].Message.Calls {
		calls = append(calls, floorCall{call.Function.Name, json.RawMessage(call.Function.Arguments)})
	}
	return calls, nil
}

// storing writes a message with its matches, once, into the history.
//
//	KEYS message, history of the session
//	ARGV body, matches (JSON)
//	result 1, or 0 if it was there
var storing = redis.NewScript(`
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('HSET', KEYS[1], 'body', ARGV[1], 'matches', ARGV[2])
redis.call('EXPIRE', KEYS[1], 86400)
redis.call('LPUSH', KEYS[2], KEYS[1])
redis.call('LTRIM', KEYS[2], 0, 999)
return 1
`)

// floorMatch is what an answer has of a trigger.
type floorMatch struct {
	TriggerID string          `json:"triggerId"`
	Name      string          `json:"name"`
	Values    json.RawMessage `json:"values"`
	Event     struct {
		Subject string `json:"subject"`
		State   string `json:"state"`
	} `json:"event"`
}

func matchesOf(app, id string, calls []floorCall) []floorMatch {
	matches := make([]floorMatch, len(calls))
	for i, call := range calls {
		matches[i] = floorMatch{TriggerID: id + "-" + strconv.Itoa(i), Name: call.Name, Values: call.Values}
		matches[i].Event.Subject, matches[i].Event.State = "floor."+app+"."+call.Name, "published"
	}
	return matches
}

// fire stores a body with its matches, and publishes an event of each.
func (f *floor) fire(c echo.Context, body any, calls []floorCall) (id string, matches []floorMatch, err error) {
	ctx, app, session := c.Request().Context(), c.Param("app"), c.Param("session")
	id = rand.Text()
	matches = matchesOf(app, id, calls)
	record, err := json.Marshal(body)
	if err != nil {
		return id, nil, err
	}
	found, err := json.Marshal(matches)
	if err != nil {
		return id, nil, err
	}
	prefix := "floor:{" + app + "}:"
	if err := storing.Run(ctx, f.redis, []string{prefix + "message:" + id, prefix + "history:" + session}, record, found).Err(); err != nil {
		return id, nil, err
	}
	return id, matches, f.publish(ctx, app, session, matches)
}

// publish returns when JetStream has acknowledged an event of each match.
func (f *floor) publish(ctx context.Context, app, session string, matches []floorMatch) error {
	for _, m := range matches {
		payload, err := json.Marshal(struct {
			TriggerID string          `json:"triggerId"`
			App       string          `json:"appId"`
			Session   string          `json:"sessionId,omitempty"`
			Name      string          `json:"name"`
			Values    json.RawMessage `json:"values"`
			At        time.Time       `json:"time"`
		}{m.TriggerID, app, session, m.Name, m.Values, time.Now()})
		if err != nil {
			return err
		}
		if _, err := f.js.Publish(ctx, m.Event.Subject, payload, jetstream.WithMsgID(m.TriggerID)); err != nil {
			return err
		}
	}
	return nil
}
