package earshot

import (
	"context"
	"errors"
	"time"
)

// Handler does what a trigger asks for: it gets the values, and the trigger that has them. What it returns is the result,
// as JSON; its error is told as the reason why it was not done.
type Handler func(ctx context.Context, values Values, trigger Payload) (any, error)

const (
	atOnce = 16
	toTell = 30 * time.Second // for the result of a handler after the context has ended
)

// Serve answers the triggers of tools that have an answer in the place of a URL, by the names of the tools, until the
// context ends: what the handlers return is their result. It returns the error that ended it, the context's included.
// after is the id of the event behind which it begins; empty is now.
//
// Delivery is at least once, and all programs that serve a tool get its triggers; the first answer to a trigger holds.
func (s *scope) Serve(ctx context.Context, after string, handlers map[string]Handler) error {
	followed, err := s.Follow(ctx, after)
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
			s.handle(ctx, trigger, handler)
		}()
	}
	for range atOnce {
		places <- struct{}{}
	}
	return ctx.Err()
}

// handle answers one trigger. That nobody waits for the answer any more is no news to anybody.
func (s *scope) handle(ctx context.Context, trigger Payload, handler Handler) {
	result, err := handler(ctx, trigger.Values, trigger)
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), toTell)
	defer end()
	if err != nil {
		_, _ = s.Fail(ctx, trigger.ID, err.Error())
		return
	}
	var problem *Problem
	if _, err := s.Answer(ctx, trigger.ID, result); err != nil && !errors.As(err, &problem) {
		_, _ = s.Fail(ctx, trigger.ID, err.Error()) // what was returned is no JSON
	}
}
