package httpcall

import (
	"context"
	"encoding/json"
	"net/url"
	"time"

	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/trigger/effect"
)

const webhookTimeout = 10 * time.Second

// Post sends an event to a webhook (Standard Webhooks 1.0): the body has type, timestamp and the event's
// payload as data; webhook-id is the event's id on every attempt. Of the answer only the status is read.
func (c *Caller) Post(ctx context.Context, app *repositories.App, to repositories.Webhook, event effect.StoredEvent, attempt int) effect.Outcome {
	body, err := exactjson.Encode(struct {
		Type      string          `json:"type"`
		Timestamp time.Time       `json:"timestamp"`
		Data      json.RawMessage `json:"data"`
	}{event.Kind, event.Time, event.Data})
	if err != nil {
		return effect.OutcomeOf(err)
	}
	target, err := url.Parse(to.URL)
	if err != nil || !isHTTP(target) {
		return effect.OutcomeOf(effect.Permanent(effect.ReasonRequest, "the url of webhook %q must be as in https://host/path", to.Name))
	}
	call := &preparedCall{
		app: app, request: &repositories.Request{}, target: target, body: body, redactor: &redactor{}, signingSecret: to.Secret,
		effect: effect.Effect{ID: event.ID, AppID: app.ID, SessionID: event.SessionID, TriggerID: event.ID, Attempt: attempt, TraceParent: event.TraceParent},
	}
	if err := c.authorize(call); err != nil {
		return effect.OutcomeOf(err)
	}
	if call.header, err = c.headers(call); err != nil {
		return effect.OutcomeOf(err)
	}
	ctx, cancel := context.WithTimeout(ctx, webhookTimeout)
	defer cancel()
	outcome := c.withSlot(ctx, call, func(ctx context.Context, call *preparedCall) (effect.Outcome, hostHealth) {
		outcome, health := c.roundTrip(ctx, call)
		if outcome.Verdict != effect.Done {
			health = unknown // package webhooks tracks the health of servers itself
		}
		return outcome, health
	})
	outcome.Result, outcome.Truncated, outcome.Error = nil, false, call.redactor.redact(outcome.Error)
	return outcome
}
