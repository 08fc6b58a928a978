package floor

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
)

// event is what subscribers get, match what the answer says of it.
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

// fire stores what was said with what it sets off, and publishes it.
func (s *service) fire(c echo.Context, body any, calls []fired) (id string, matches []match, err error) {
	id, matches = rand.Text(), make([]match, len(calls))
	for i, call := range calls {
		matches[i] = match{TriggerID: id + "-" + strconv.Itoa(i), Name: call.Name, Values: call.Values}
		matches[i].Event = publication{Subject: "floor." + c.Param("app") + "." + call.Name, State: "published"}
	}
	ctx := c.Request().Context()
	if err := s.store(ctx, c.Param("app"), c.Param("session"), id, body, matches); err != nil {
		return id, nil, err
	}
	for _, m := range matches {
		payload, err := json.Marshal(event{m.TriggerID, c.Param("app"), c.Param("session"), m.Name, m.Values, time.Now()})
		if err != nil {
			return id, nil, err
		}
		if _, err := s.js.Publish(ctx, m.Event.Subject, payload, jetstream.WithMsgID(m.TriggerID)); err != nil {
			return id, nil, err
		}
	}
	return id, matches, nil
}

// storing writes a message, once, with what it sets off, into the history.
//
//	KEYS message, history of the session
//	ARGV body, matches (JSON)
//	result 1, or 0 where it was there
var storing = redis.NewScript(`
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('HSET', KEYS[1], 'body', ARGV[1], 'matches', ARGV[2])
redis.call('EXPIRE', KEYS[1], 86400)
redis.call('LPUSH', KEYS[2], KEYS[1])
redis.call('LTRIM', KEYS[2], 0, 999)
return 1
`)

func (s *service) store(ctx context.Context, app, session, id string, body any, matches []match) error {
	record, err := json.Marshal(body)
	if err != nil {
		return err
	}
	found, err := json.Marshal(matches)
	if err != nil {
		return err
	}
	prefix := "floor:{" + app + "}:"
	return storing.Run(ctx, s.redis, []string{prefix + "message:" + id, prefix + "history:" + session}, record, found).Err()
}
