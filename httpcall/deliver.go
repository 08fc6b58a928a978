package httpcall

import (
	"context"
	"errors"
	"net/http"
	"time"

	"earshot/repositories"
	"earshot/repositories/crash"
	"earshot/trigger/effect"
)

var _ effect.Deliverer = (*Caller)(nil)

// Deliver makes one attempt of a call. Its only repetition is after a 401 to a token,
// which is dropped for a new one at once; a call that must not be made twice is not
// repeated, whatever the answer. It ends with ctx or with the call's own time
// for one attempt, whichever is first.
func (c *Caller) Deliver(ctx context.Context, delivery effect.Effect) effect.Outcome {
	started := c.now()
	outcome := c.deliver(ctx, delivery)
	c.log.DebugContext(ctx, "call.attempted",
		"app", delivery.AppID, "session", delivery.SessionID, "trigger", delivery.TriggerID, "attempt", delivery.Attempt,
		"done", outcome.Verdict == effect.Done, "dead", outcome.Verdict == effect.Dead, "deferred", outcome.Deferred,
		"status", outcome.Status, "reason", outcome.Reason, "error", outcome.Error, "took", c.now().Sub(started))
	return outcome
}

func (c *Caller) deliver(ctx context.Context, delivery effect.Effect) effect.Outcome {
	if delivery.Call == nil {
		return outcomeOf(dead(effect.ReasonRequest, "effect %q of kind %q holds no call", delivery.ID, delivery.Kind))
	}
	app, err := c.app(ctx, delivery)
	if err != nil {
		return outcomeOf(err)
	}
	ctx, cancel := context.WithTimeout(ctx, timeOf(app, delivery.Call))
	defer cancel()
	call, err := c.prepare(app, delivery)
	if err != nil {
		return outcomeOf(err)
	}
	outcome := call.mask.outcome(c.perform(ctx, call))
	if call.terse && outcome.Verdict != effect.Done {
		outcome.Result, outcome.Truncated = nil, false
	}
	return outcome
}

// timeOf is the time of one attempt.
func timeOf(app *repositories.App, call *effect.Call) time.Duration {
	if call.Tool != nil {
		return app.AttemptTimeout(call.Tool)
	}
	return call.Request.AttemptTimeout()
}

// app returns the call's app, looked up where it is not at hand. An app that is gone makes its calls impossible; a store
// that is away puts them off.
func (c *Caller) app(ctx context.Context, delivery effect.Effect) (*repositories.App, error) {
	if delivery.Call.App != nil {
		return delivery.Call.App, nil
	}
	appID := delivery.AppID
	ctx, cancel := context.WithTimeout(ctx, delivery.Call.Request.AttemptTimeout())
	defer cancel()
	app, err := c.apps.App(ctx, appID)
	switch {
	case errors.Is(err, repositories.ErrNotFound), err == nil && app == nil:
		return nil, dead(effect.ReasonRequest, "app %q is gone, and with it the keys that its calls are signed with", appID)
	case err != nil:
		c.log.WarnContext(ctx, "call.deferred", "app", appID, "error", err.Error())
		return nil, &effect.Failure{Outcome: effect.Outcome{
			Verdict: effect.Retry, Deferred: true, Reason: effect.ReasonRequest,
			Error: "app " + appID + " cannot be looked up now",
		}}
	}
	return app, nil
}

// perform authorises and sends a call that is ready.
func (c *Caller) perform(ctx context.Context, call *call) effect.Outcome {
	authorization, err := c.authorization(ctx, call)
	if err != nil {
		return outcomeOf(err)
	}
	crash.At(crash.TokenFetched)
	leave, err := c.gate.enter(ctx, call.effect.AppID, call.target)
	if err != nil {
		return outcomeOf(err)
	}
	outcome, health := c.exchange(ctx, call, authorization)
	if outcome.Status == http.StatusUnauthorized && call.credential.grant != nil {
		c.tokens.drop(call.credential.grant, bearerOf(authorization))
		if call.repeatable {
			outcome, health = c.again(ctx, call)
		}
	}
	leave(health)
	crash.At(crash.ResponseRead)
	return outcome
}

// again makes the call with another token than the one that the endpoint has refused.
func (c *Caller) again(ctx context.Context, call *call) (effect.Outcome, health) {
	renewed, err := c.authorization(ctx, call)
	if err != nil {
		return outcomeOf(err), alive // it answered: what is missing is the token
	}
	return c.exchange(ctx, call, renewed)
}
