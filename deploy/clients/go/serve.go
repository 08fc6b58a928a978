package earshot

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Handler does the work of a trigger with its values. It returns the result, as JSON, or the reason of the failure.
type Handler func(ctx context.Context, values Values, trigger Payload) (any, error)

const (
	atOnce = 16
	toTell = 30 * time.Second // for the result of a handler after the context has ended
)

// Serve answers triggers of tools with an answer instead of a URL by the handlers of their names, until the context ends. It
// returns the error that ended it, also the context's. after is the id of the event to continue after; empty is now.
//
// Delivery is at least once, and all programs that serve a tool get its triggers; the first answer to a trigger holds.
func (s *scope) Serve(ctx context.Context, after string, handlers map[string]Handler) error {
	followed, err := s.Follow(ctx, after)
	if err != nil {
		return err
	}
	defer followed.Close()
	places := make(chan struct{}, atOnce)
	defer func() { // wait for the handlers, also after an error
		for range atOnce {
			places <- struct{}{}
		}
	}()
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
	return ctx.Err()
}

// handle answers one trigger. That nobody waits for the answer any more is no news to anybody. An answer that does not
// arrive is no failure: the work is done.
func (s *scope) handle(ctx context.Context, trigger Payload, handler Handler) {
	result, err := handler(ctx, trigger.Values, trigger)
	var text json.RawMessage
	if err == nil {
		if text, err = json.Marshal(result); err != nil {
			err = fmt.Errorf("the result is no JSON: %w", err)
		}
	}
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), toTell)
	defer end()
	if err != nil {
		_, _ = s.Fail(ctx, trigger.ID, err.Error())
		return
	}
	_, _ = s.Answer(ctx, trigger.ID, text)
}
