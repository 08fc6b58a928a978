package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redis/go-redis/v9"

	"earshot/deploy/testbed"
)

// promise is the least program that keeps Earshot's promise with the same libraries. A message is stored before it is matched,
// decided once, and repeated with the same answer; an event is acknowledged before the answer; a crash loses nothing. It has no
// order of events, limits, drafts, explanations and schemas.
type promise struct {
	*floor
	lease   time.Duration
	settled chan promised
}

type promised struct{ app, session, id string }

func (m promised) key(kind string) string {
	return "promise:{" + m.app + "}:" + kind + ":" + m.session + ":" + m.id
}

func (m promised) member() string { return m.session + " " + m.id }

func promiseOwed(app string) string { return "promise:{" + app + "}:owed" }

func promiseRecord(app, trigger string) string { return "promise:{" + app + "}:trigger:" + trigger }

const (
	promiseApps  = "promise:apps"
	promiseKept  = 24 * time.Hour
	promiseLease = 15 * time.Second      // longer than a model takes
	promiseLook  = 20 * time.Millisecond // for a decision that another request makes
)

// newPromise goes on with what is owed until ctx ends.
func newPromise(ctx context.Context, f *floor, lease time.Duration) *promise {
	p := &promise{f, lease, make(chan promised, 1024)}
	go p.settle(ctx)
	go p.recover(ctx)
	return p
}

func (p *promise) handler() http.Handler {
	e := echo.New()
	v1 := e.Group("/v1/apps/:app", func(next echo.HandlerFunc) echo.HandlerFunc {
		wanted := []byte("Bearer " + testbed.AdminKey)
		return func(c echo.Context) error {
			if subtle.ConstantTimeCompare([]byte(c.Request().Header.Get("Authorization")), wanted) == 0 {
				return echo.ErrUnauthorized
			}
			return next(c)
		}
	})
	v1.PUT("", func(c echo.Context) error {
		return p.redis.SAdd(c.Request().Context(), promiseApps, c.Param("app")).Err()
	})
	v1.PUT("/repositories/:repository", p.putTools)
	v1.POST("/sessions/:session/messages", p.message)
	v1.GET("/triggers/:trigger", p.record)
	e.GET("/readyz", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
	e.GET("/metrics", echo.WrapHandler(promhttp.Handler()))
	return e
}

// accepting stores a message that is owed from then on, and reads what its match needs.
//
//	KEYS message, history of the session, owed, tools
//	ARGV body, member, end of the lease (ms), how long the message is kept (s)
//	result {0, body as it was stored before}, or {1, tools, bodies said before…}
var accepting = redis.NewScript(`
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'EX', ARGV[4]) then return {0, redis.call('GET', KEYS[1])} end
redis.call('ZADD', KEYS[3], ARGV[3], ARGV[2])
local before = redis.call('LRANGE', KEYS[2], -40, -1)
redis.call('RPUSH', KEYS[2], KEYS[1])
redis.call('EXPIRE', KEYS[2], ARGV[4])
local found = {}
if #before > 0 then found = redis.call('MGET', unpack(before)) end
return {1, redis.call('GET', KEYS[4]), unpack(found)}
`)

// deciding stores a decision with the records of its triggers, once.
//
//	KEYS decision, record of each trigger
//	ARGV how long they are kept (s), decision, records
//	result '', or the decision that was there before
var deciding = redis.NewScript(`
if not redis.call('SET', KEYS[1], ARGV[2], 'NX', 'EX', ARGV[1]) then return redis.call('GET', KEYS[1]) end
for i = 2, #KEYS do redis.call('SET', KEYS[i], ARGV[i + 1], 'EX', ARGV[1]) end
return ''
`)

func (p *promise) message(c echo.Context) error {
	var body struct {
		floorBody
		MessageID string `json:"messageId"`
	}
	if err := c.Bind(&body); err != nil {
		return err
	}
	ctx, m := c.Request().Context(), promised{c.Param("app"), c.Param("session"), cmp.Or(body.MessageID, rand.Text())}
	stored, err := json.Marshal(body.floorBody)
	if err != nil {
		return err
	}
	keys := []string{m.key("message"), "promise:{" + m.app + "}:history:" + m.session, promiseOwed(m.app), floorTools(m.app)}
	found, err := accepting.Run(ctx, p.redis, keys, stored, m.member(), p.leased(), int(promiseKept.Seconds())).Slice()
	if err != nil {
		return err
	}
	var d floorAnswer
	switch {
	case found[0] == int64(1):
		d, err = p.decide(ctx, m, found[1], body.floorBody, found[2:])
	case found[1] != string(stored):
		return echo.NewHTTPError(http.StatusConflict, "the message "+m.id+" said something else")
	default:
		d, err = p.decided(ctx, m)
	}
	if err == nil {
		err = p.fulfil(ctx, m, d)
	}
	if err != nil {
		return err // it is owed, and found again
	}
	return c.JSON(http.StatusOK, d)
}

func (p *promise) leased() int64 { return time.Now().Add(p.lease).UnixMilli() }

// decide matches a message after the bodies that were said before, and returns the decision that holds.
func (p *promise) decide(ctx context.Context, m promised, tools any, body floorBody, before []any) (d floorAnswer, err error) {
	var said []string
	for _, one := range before {
		var earlier floorBody
		if text, is := one.(string); is && json.Unmarshal([]byte(text), &earlier) == nil { // others have expired
			said = append(said, earlier.Text)
		}
	}
	known, _ := tools.(string)
	calls, err := p.ask(ctx, known, body.Text, said...)
	if err != nil {
		return d, err
	}
	d = floorAnswer{m.id, matchesOf(m.app, m.session+"-"+m.id, calls)}
	decision, err := json.Marshal(d)
	if err != nil {
		return d, err
	}
	keys, args := []string{m.key("decision")}, []any{int(promiseKept.Seconds()), decision}
	for _, match := range d.Matches {
		record, err := json.Marshal(struct {
			floorMatch
			Session   string `json:"sessionId"`
			MessageID string `json:"messageId"`
			Text      string `json:"text"`
		}{match, m.session, m.id, body.Text})
		if err != nil {
			return d, err
		}
		keys, args = append(keys, promiseRecord(m.app, match.TriggerID)), append(args, record)
	}
	earlier, err := deciding.Run(ctx, p.redis, keys, args...).Text()
	if err == nil && earlier != "" {
		d = floorAnswer{}
		err = json.Unmarshal([]byte(earlier), &d)
	}
	return d, err
}

// decided waits for the decision that another request makes, or the recovery.
func (p *promise) decided(ctx context.Context, m promised) (d floorAnswer, err error) {
	for {
		decision, err := p.redis.Get(ctx, m.key("decision")).Bytes()
		switch {
		case err == nil:
			err = json.Unmarshal(decision, &d)
			return d, err
		case !errors.Is(err, redis.Nil):
			return d, err
		}
		if testbed.Wait(ctx, promiseLook); ctx.Err() != nil {
			return d, ctx.Err()
		}
	}
}

// fulfil publishes what a decision owes. JetStream drops what it has already.
func (p *promise) fulfil(ctx context.Context, m promised, d floorAnswer) error {
	if err := p.publish(ctx, m.app, m.session, d.Matches); err != nil {
		return err
	}
	p.settled <- m
	return nil
}

// settle takes off what is owed no more, together what has come meanwhile. Nobody waits for it.
func (p *promise) settle(ctx context.Context) {
	for ctx.Err() == nil {
		gone := map[string][]any{}
		for m, more := <-p.settled, true; more; {
			gone[m.app] = append(gone[m.app], m.member())
			select {
			case m = <-p.settled:
			default:
				more = false
			}
		}
		for app, members := range gone { // what fails is found again
			_ = p.redis.ZRem(ctx, promiseOwed(app), members...).Err()
		}
	}
}

// recover regularly continues with messages whose lease is over. They are matched without history; the first decision wins.
func (p *promise) recover(ctx context.Context) {
	for ctx.Err() == nil {
		apps, _ := p.redis.SMembers(ctx, promiseApps).Result()
		for _, app := range apps {
			lapsed := redis.ZRangeArgs{Key: promiseOwed(app), Start: "-inf", Stop: time.Now().UnixMilli(), ByScore: true}
			members, _ := p.redis.ZRangeArgs(ctx, lapsed).Result()
			for _, member := range members {
				session, id, _ := strings.Cut(member, " ")
				_ = p.goOn(ctx, promised{app, session, id}) // what fails is owed as before
			}
		}
		testbed.Wait(ctx, p.lease/4)
	}
}

func (p *promise) goOn(ctx context.Context, m promised) error {
	_ = p.redis.ZAddXX(ctx, promiseOwed(m.app), redis.Z{Score: float64(p.leased()), Member: m.member()}).Err()
	found, err := p.redis.MGet(ctx, m.key("message"), floorTools(m.app)).Result()
	if err != nil {
		return err
	}
	var body floorBody
	if text, _ := found[0].(string); json.Unmarshal([]byte(text), &body) != nil {
		return nil
	}
	d, err := p.decide(ctx, m, found[1], body, nil)
	if err != nil {
		return err
	}
	return p.fulfil(ctx, m, d)
}

func (p *promise) record(c echo.Context) error {
	record, err := p.redis.Get(c.Request().Context(), promiseRecord(c.Param("app"), c.Param("trigger"))).Bytes()
	if errors.Is(err, redis.Nil) {
		return echo.ErrNotFound
	}
	if err != nil {
		return err
	}
	return c.JSONBlob(http.StatusOK, record)
}

// floor is the least cost of a message with Earshot's libraries: one read in Redis, one request to the LLM, one script that stores
// the decision, and one acknowledged event for each match. It checks nothing and retries nothing.
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

type floorBody struct {
	Actor string `json:"actor"`
	Text  string `json:"text"`
}

// floorAnswer is the answer to a message, which the promise stores as its decision.
type floorAnswer struct {
	MessageID string       `json:"messageId"`
	Matches   []floorMatch `json:"matches"`
}

// floorCall is the body of a direct trigger, and what the model calls.
type floorCall struct {
	Name   string          `json:"name"`
	Values json.RawMessage `json:"values"`
}

func (f *floor) message(c echo.Context) error {
	var body floorBody
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
	return c.JSON(http.StatusOK, floorAnswer{id, matches})
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
