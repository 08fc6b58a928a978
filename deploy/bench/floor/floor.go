// Package floor is the least that a message can cost with the libraries that Earshot
// uses: one read in Redis, one request to the LLM, one script that stores what was
// decided, and one event on JetStream for each match, acknowledged before the answer.
// It checks nothing, retries nothing and forgets nothing: it is there to compare with.
package floor

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

// Options say where everything is.
type Options struct {
	Redis, NATS, LLM string // URLs; of the LLM what OPENAI_BASE_URL is
}

// service is what the handlers share.
type service struct {
	redis *redis.Client
	js    jetstream.JetStream
	llm   string
	http  *http.Client
}

// connections are as many as requests are under way in a run, and more.
const connections = 256

// New connects to everything and returns the routes that the load is sent to:
// messages, direct triggers, tools, metrics. close ends the connections.
func New(ctx context.Context, o Options) (handler http.Handler, close func(), err error) {
	address, err := redis.ParseURL(o.Redis)
	if err != nil {
		return nil, nil, err
	}
	address.PoolSize = connections
	conn, err := nats.Connect(o.NATS)
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
	s := &service{
		redis: redis.NewClient(address), js: js, llm: o.LLM + "/chat/completions",
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections}},
	}
	e := echo.New()
	e.PUT("/v1/apps/:app", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
	e.PUT("/v1/apps/:app/repositories/:repository", s.putTools)
	e.POST("/v1/apps/:app/sessions/:session/messages", s.message)
	e.POST("/v1/apps/:app/sessions/:session/triggers", s.trigger)
	e.POST("/v1/apps/:app/triggers", s.trigger)
	e.GET("/readyz", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
	e.GET("/metrics", echo.WrapHandler(promhttp.Handler()))
	return e, func() { conn.Close(); _ = s.redis.Close() }, nil
}

// function is a tool as the model gets it.
type function struct {
	Type     string     `json:"type"`
	Function definition `json:"function"`
}

type definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// parameters are those of all tools of the measurements.
const parameters = `{"type":"object","properties":{"day":{"type":"string","description":"wished day"}},"required":["day"]}`

// putTools keeps the tools in the form in which the model gets them.
func (s *service) putTools(c echo.Context) error {
	var body struct {
		Tools []struct{ Name, Description string }
	}
	if err := c.Bind(&body); err != nil {
		return err
	}
	functions := make([]function, len(body.Tools))
	for i, tool := range body.Tools {
		functions[i] = function{Type: "function", Function: definition{tool.Name, tool.Description, json.RawMessage(parameters)}}
	}
	text, err := json.Marshal(functions)
	if err != nil {
		return err
	}
	return s.redis.Set(c.Request().Context(), toolsKey(c.Param("app")), text, 0).Err()
}

func toolsKey(app string) string { return "floor:{" + app + "}:tools" }

// said is the body of a message.
type said struct {
	Actor string `json:"actor"`
	Text  string `json:"text"`
}

// fired is the body of a direct trigger, and what the model calls.
type fired struct {
	Name   string          `json:"name"`
	Values json.RawMessage `json:"values"`
}

// message is what the comparison is about.
func (s *service) message(c echo.Context) error {
	ctx, body := c.Request().Context(), said{}
	if err := c.Bind(&body); err != nil {
		return err
	}
	tools, err := s.redis.Get(ctx, toolsKey(c.Param("app"))).Result()
	if err != nil {
		return err
	}
	calls, err := s.ask(ctx, tools, body.Text)
	if err != nil {
		return err
	}
	id, matches, err := s.fire(c, body, calls)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, answer{id, matches})
}

// trigger fires without the model.
func (s *service) trigger(c echo.Context) error {
	body := fired{}
	if err := c.Bind(&body); err != nil {
		return err
	}
	if err := s.redis.Get(c.Request().Context(), toolsKey(c.Param("app"))).Err(); err != nil {
		return err
	}
	_, matches, err := s.fire(c, body, []fired{body})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, matches[0])
}

// request and completion are exchanged with the LLM.
type (
	request struct {
		Model    string          `json:"model"`
		Messages []content       `json:"messages"`
		Tools    json.RawMessage `json:"tools"`
	}
	content struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	completion struct {
		Choices []struct {
			Message struct {
				Calls []struct {
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
		}
	}
)

// ask asks the LLM which of the tools a text calls for, over connections that are kept.
func (s *service) ask(ctx context.Context, tools, text string) (calls []fired, err error) {
	body, err := json.Marshal(request{"double", []content{{"system", "Call the tools that the user's words ask for."}, {"user", text}}, json.RawMessage(tools)})
	if err != nil {
		return nil, err
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, s.llm, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	post.Header.Set("Content-Type", "application/json")
	response, err := s.http.Do(post)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var found completion
	if err := json.NewDecoder(response.Body).Decode(&found); err != nil || len(found.Choices) == 0 {
		return nil, fmt.Errorf("the LLM answered %s without a choice: %w", response.Status, err)
	}
	for _, call := range found.Choices[0].Message.Calls {
		calls = append(calls, fired{call.Function.Name, json.RawMessage(call.Function.Arguments)})
	}
	return calls, nil
}

// event is what subscribers get, and match what the answer says of it.
type (
	event struct {
		TriggerID string          `json:"triggerId"`
		App       string          `json:"appId"`
		Session   string          `json:"sessionId,omitempty"`
		Name      string          `json:"name"`
		Values    json.RawMessage `json:"values"`
		At        time.Time       `json:"time"`
	}
	match struct {
		TriggerID string          `json:"triggerId"`
		Name      string          `json:"name"`
		Values    json.RawMessage `json:"values"`
		Event     publication     `json:"event"`
	}
	publication struct {
		Subject string `json:"subject"`
		State   string `json:"state"`
	}
	answer struct {
		MessageID string  `json:"messageId"`
		Matches   []match `json:"matches"`
	}
)

// storing writes a message, once, with what it sets off, into the history.
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

// fire stores what was said with what it sets off, and publishes it.
func (s *service) fire(c echo.Context, body any, calls []fired) (id string, matches []match, err error) {
	ctx, app, session := c.Request().Context(), c.Param("app"), c.Param("session")
	id, matches = rand.Text(), make([]match, len(calls))
	for i, call := range calls {
		matches[i] = match{id + "-" + strconv.Itoa(i), call.Name, call.Values, publication{"floor." + app + "." + call.Name, "published"}}
	}
	record, err := json.Marshal(body)
	if err != nil {
		return id, nil, err
	}
	found, err := json.Marshal(matches)
	if err != nil {
		return id, nil, err
	}
	prefix := "floor:{" + app + "}:"
	if err := storing.Run(ctx, s.redis, []string{prefix + "message:" + id, prefix + "history:" + session}, record, found).Err(); err != nil {
		return id, nil, err
	}
	for _, m := range matches {
		payload, err := json.Marshal(event{m.TriggerID, app, session, m.Name, m.Values, time.Now()})
		if err != nil {
			return id, nil, err
		}
		if _, err := s.js.Publish(ctx, m.Event.Subject, payload, jetstream.WithMsgID(m.TriggerID)); err != nil {
			return id, nil, err
		}
	}
	return id, matches, nil
}
