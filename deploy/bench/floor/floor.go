// Package floor is the least that a message can cost with the libraries that Earshot
// uses: one read in Redis, one request to the LLM, one script that stores what was
// decided, and one event on JetStream for each match, acknowledged before the answer.
// It checks nothing, retries nothing and forgets nothing: it is there to compare with.
package floor

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

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
	model model
}

// stream and subjects are the floor's own, beside Earshot's.
const (
	stream   = "FLOOR"
	subjects = "floor.>"
)

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
		_, err = js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: stream, Subjects: []string{subjects}, Storage: jetstream.FileStorage})
	}
	if err != nil {
		conn.Close()
		return nil, nil, fmt.Errorf("make the stream %s: %w", stream, err)
	}
	s := &service{redis: redis.NewClient(address), js: js, model: newModel(o.LLM)}
	return s.routes(), func() { conn.Close(); _ = s.redis.Close() }, nil
}

// connections are as many as requests are under way in a run, and more.
const connections = 256

func (s *service) routes() http.Handler {
	e := echo.New()
	e.PUT("/v1/apps/:app", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
	e.PUT("/v1/apps/:app/repositories/:repository", s.putTools)
	e.POST("/v1/apps/:app/sessions/:session/messages", s.message)
	e.POST("/v1/apps/:app/sessions/:session/triggers", s.trigger)
	e.POST("/v1/apps/:app/triggers", s.trigger)
	e.GET("/readyz", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
	e.GET("/metrics", echo.WrapHandler(promhttp.Handler()))
	return e
}

// putTools keeps the tools in the form in which the model gets them.
func (s *service) putTools(c echo.Context) error {
	var body struct {
		Tools []struct {
			Name        string `json:"name"`
			Description string `json:"description"`
		} `json:"tools"`
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

// said is the body of a message, fired that of a direct trigger.
type (
	said struct {
		Actor string `json:"actor"`
		Text  string `json:"text"`
	}
	fired struct {
		Name   string          `json:"name"`
		Values json.RawMessage `json:"values"`
	}
)

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
	calls, err := s.model.calls(ctx, tools, body.Text)
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
