package earshot

import (
	"context"
	"errors"
	"time"
)

// Handler does what a trigger asks for. What it returns is the result, as JSON; its error is told
// as the reason why it was not done.
type Handler func(ctx context.Context, trigger Payload) (any, error)

const atOnce = 16

// toTell is the time in which the result of a handler is told, though the program is to end.
const toTell = 30 * time.Second

// Serve answers the triggers of tools that have an answer in the place of a URL, by the names of the tools, until the
// context ends: what the handlers return is their result. It returns the error that ended it, the context's included.
// after is the id of the event behind which it begins; empty is now.
//
// Delivery is at least once, as that of all events; the first answer to a trigger holds. Programs
// that serve the same tool side by side all get its triggers.
func (a *App) Serve(ctx context.Context, after string, handlers map[string]Handler) error {
	followed, err := a.Follow(ctx, after)
	if err != nil {
		return err
	}
	defer followed.Close()
	places := make(chan struct{}, atOnce)
	for event, err := range followed.All() {
		if err != nil {
			return err
		}
		if event.Kind != "tool.trigger" {
			continue
		}
		trigger, err := event.Payload()
		handler := handlers[trigger.Name]
		if err != nil || handler == nil || trigger.Answer == nil {
			continue
		}
		places <- struct{}{}
		go func() {
			defer func() { <-places }()
			a.handle(ctx, trigger, handler)
		}()
	}
	for range atOnce {
		places <- struct{}{}
	}
	return ctx.Err()
}

// handle answers one trigger. That nobody waits for the answer any more is no news to anybody.
func (a *App) handle(ctx context.Context, trigger Payload, handler Handler) {
	result, err := handler(ctx, trigger)
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), toTell)
	defer end()
	if err != nil {
		_, _ = a.Fail(ctx, trigger.ID, err.Error())
		return
	}
	var problem *Problem
	if _, err := a.Answer(ctx, trigger.ID, result); err != nil && !errors.As(err, &problem) {
		_, _ = a.Fail(ctx, trigger.ID, err.Error()) // what was returned is no JSON
	}
}
