package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"earshot/repositories"
	"earshot/trigger"
	"earshot/trigger/query"
)

// defaultTaskAfter is how long a call may take before it is a task, for a client that declares
// tasks (section 19 of the contract).
const defaultTaskAfter = 2 * time.Second

// mostSlow is how many calls go on at once behind the answer to their client. Further ones are
// waited for, so that a client has no more calls under way than requests.
const mostSlow = 1024

// errSlow means that a call goes on, and its client follows it as a task.
var errSlow = errors.New("the call goes on as a task")

// fireWithin fires a tool. For a client that knows tasks it waits for TaskAfter only: then the
// trigger is there, errSlow is returned, and the first attempt goes on here. If this replica dies,
// another makes the next attempt, and the client has the id.
func (x toolCall) fireWithin(d trigger.Direct) (json.RawMessage, error) {
	if !x.request.tasks() {
		return x.server.Engine.Fire(x.ctx(), d)
	}
	chosen := d.TriggerID != ""
	d.TriggerID = x.idOf(d) // the task has it before the call has ended
	var answered json.RawMessage
	err := x.within(d.TriggerID, func(ctx context.Context) (err error) {
		answered, err = x.server.Engine.Fire(ctx, d)
		return err
	})
	if errors.Is(err, errSlow) {
		return nil, x.beginTask(d.TriggerID)
	}
	if !chosen && errors.Is(err, query.ErrNotFound) && !errors.Is(err, repositories.ErrNotFound) {
		err = fmt.Errorf("tool %q: %w", d.Name, trigger.ErrNotInScope) // another has just taken the repository
	}
	return answered, err
}

// idOf is the id that the trigger will have.
func (x tasks) idOf(d trigger.Direct) string {
	id := d.TriggerID
	if id == "" {
		id = x.server.NewID()
	}
	if d.FrontEnd {
		id = trigger.OwnID(d.SessionID, id)
	}
	return id
}

// within does something that ends with the first attempt at a trigger's call, which it may take
// long to make. It returns errSlow when TaskAfter is over and the trigger is there, and waits for no
// yes any more.
func (x tasks) within(triggerID string, do func(context.Context) error) error {
	select {
	case x.server.slow <- struct{}{}:
	default:
		return do(x.ctx())
	}
	over, ctx := make(chan error, 1), context.WithoutCancel(x.ctx())
	x.server.Engine.Background(func(context.Context) {
		defer func() { <-x.server.slow }()
		over <- do(ctx)
	})
	timer := time.NewTimer(x.server.TaskAfter)
	defer timer.Stop()
	for {
		select {
		case err := <-over:
			return err
		case <-timer.C:
		}
		if record, err := x.record(triggerID); err == nil && record.State != query.StateConfirming {
			return errSlow
		}
		timer.Reset(storedSoon) // nothing is stored yet: Redis takes its time, and not the endpoint
	}
}

// storedSoon is the pause before it is looked again whether a trigger is stored.
const storedSoon = 20 * time.Millisecond

// progress says how far a pending call is: which attempt is under way, or when the next one is due.
func (x tasks) progress(record query.Record) string {
	if record.Call == nil || record.Call.State != query.StatePending {
		return ""
	}
	next, err := x.server.Engine.NextAttempt(x.ctx(), record)
	switch {
	case err != nil || next.Number == 0:
		return "" // the status says that it is pending, and this is a comfort
	case next.UnderWay:
		return fmt.Sprintf("attempt %d is under way", next.Number)
	}
	return fmt.Sprintf("attempt %d %s; attempt %d is due at %s", next.Number-1, ended(record), next.Number, next.Due.UTC().Format(time.RFC3339))
}

// ended says how the last attempt at a call ended.
func ended(record query.Record) string {
	switch call := record.Call; {
	case call.Status != 0:
		return fmt.Sprintf("ended with status %d", call.Status)
	case call.Error != "":
		return "failed: " + call.Error
	}
	return "failed"
}
