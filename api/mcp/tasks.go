package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/repositories"
	"earshot/repositories/audit"
	"earshot/repositories/exactjson"
	"earshot/trigger"
	"earshot/trigger/effect"
	"earshot/trigger/pendingcalls"
	"earshot/trigger/query"
)

// task is a client's view of a trigger, or of a call that lacks values.
type task struct {
	ResultType    string                  `json:"resultType,omitempty"`
	Meta          any                     `json:"_meta,omitempty"`
	ID            string                  `json:"taskId"`
	Status        taskStatus              `json:"status"`
	StatusMessage string                  `json:"statusMessage,omitempty"`
	CreatedAt     time.Time               `json:"createdAt"`
	UpdatedAt     time.Time               `json:"lastUpdatedAt"`
	TTL           int64                   `json:"ttlMs"`
	PollInterval  int64                   `json:"pollIntervalMs,omitempty"`
	InputRequests map[string]inputRequest `json:"inputRequests,omitempty"`
	Result        *callResult             `json:"result,omitempty"`
}

// pollInterval is the polling interval without a subscription, in ms.
const pollInterval = 1000

func (x *rpcCall) getTask() (any, error) {
	if err := x.checkTask(); err != nil {
		return nil, err
	}
	return x.task(x.request.Params.TaskID)
}

// updateTask answers tasks/update with a user's answers. tasks/get shows the effect.
func (x *rpcCall) updateTask() (any, error) {
	if err := x.checkTask(); err != nil {
		return nil, err
	}
	responses, err := readResponses(x.request.Params.InputResponses)
	if err != nil {
		return nil, err
	}
	id := x.request.Params.TaskID
	record, call, err := x.findTask(id)
	switch {
	case err != nil:
	case call == nil:
		err = x.confirm(record.Match, responses)
	case !call.Ended():
		err = x.giveValues(id, *call, responses)
	}
	return x.head("complete"), err
}

// cancelTask answers tasks/cancel: it ends a waiting task unless an answer has arrived.
func (x *rpcCall) cancelTask() (any, error) {
	if err := x.checkTask(); err != nil {
		return nil, err
	}
	id, empty := x.request.Params.TaskID, x.head("complete")
	record, call, err := x.findTask(id)
	if err != nil {
		return nil, err
	}
	if call != nil {
		if _, err = x.server.PendingCalls.Change(x.ctx(), x.Scope, id, func(c *pendingcalls.Call) { c.Cancelled = true }); !errors.Is(err, pendingcalls.ErrNotFound) {
			return empty, err
		}
		if record, err = x.record(id); err != nil { // another client has fired it
			return nil, unknownTask(err)
		}
	}
	if record.State != query.StatePending && record.State != query.StateConfirming {
		return empty, nil
	}
	err = x.server.WithAudit(x.ctx(), x.c, audit.Cancel, id, func() (query.Record, error) {
		record, err := x.server.Engine.Cancel(x.ctx(), x.AppID, id, auth.PrincipalOf(x.c).Author())
		if errors.Is(err, query.ErrEnded) { // its event is published, and the trigger waits for an answer
			record, err = x.server.Engine.Answer(x.ctx(), x.AppID, id, effect.Answer{Cancelled: true, Error: "cancelled by " + auth.PrincipalOf(x.c).Author()})
		}
		return record, err
	})
	if errors.Is(err, query.ErrEnded) || errors.Is(err, query.ErrNotAsked) {
		return empty, nil
	}
	return empty, err
}

func (x *rpcCall) checkTask() error {
	id := x.request.Params.TaskID
	switch {
	case !x.request.supportsTasks():
		return &rpcError{Code: codeMissingCapability, Message: "this needs a client that declares the extension " + tasksExtension,
			Data: errorData{answer.CapabilityMissing, map[string]any{"extensions": map[string]any{tasksExtension: map[string]any{}}}}}
	case x.c.Request().Header.Get(nameHeader) != id:
		return &rpcError{Code: codeHeaderMismatch, Message: "the header " + nameHeader + " is to be the taskId of the body", Data: errorData{Code: answer.InvalidHeader}}
	case repositories.CheckID("taskId", id) != nil:
		return unknownTask(query.ErrNotFound)
	}
	return nil
}

// unknownTask maps the errors of a missing task; others are unchanged.
func unknownTask(err error) error {
	if errors.Is(err, query.ErrNotFound) || errors.Is(err, pendingcalls.ErrNotFound) {
		return invalid(answer.UnknownTrigger, "no task of that id is known here, or its time is over")
	}
	return err
}

func (x *rpcCall) beginTask(id string) (any, error) {
	t, err := x.task(id)
	t.ResultType, t.InputRequests, t.Result = "task", nil, nil
	return t, err
}

// task reads a trigger or a call that lacks values.
func (x *rpcCall) task(id string) (task, error) {
	record, call, err := x.findTask(id)
	switch {
	case err != nil:
		return task{}, err
	case call == nil:
		return x.triggerTask(record)
	case len(call.Missing) == 0 && !call.Ended():
		return x.fireTask(id, *call)
	}
	return x.pendingTask(id, *call)
}

// findTask reads a task: call is nil for a trigger. Another client may fire the call in between, so findTask then reads
// the trigger again.
func (x *rpcCall) findTask(id string) (record query.Record, call *pendingcalls.Call, err error) {
	if !owns(x, id) {
		return record, nil, unknownTask(query.ErrNotFound)
	}
	if record, err = x.record(id); !errors.Is(err, query.ErrNotFound) || x.server.PendingCalls == nil {
		return record, nil, unknownTask(err)
	}
	pending, err := x.server.PendingCalls.Get(x.ctx(), x.Scope, id)
	if errors.Is(err, pendingcalls.ErrNotFound) {
		record, err = x.record(id)
		return record, nil, unknownTask(err)
	}
	return record, &pending, err
}

// record reads a trigger of the scope: of the URL's session, or of any session of the app. A session's token has those
// of the session's present life.
func (x *rpcCall) record(id string) (query.Record, error) {
	if !owns(x, id) {
		return query.Record{}, query.ErrNotFound
	}
	record, err := x.server.Engine.Trigger(x.ctx(), x.AppID, id)
	if err == nil && x.SessionID != "" && record.SessionID != x.SessionID {
		return record, query.ErrNotFound
	}
	if who := auth.PrincipalOf(x.c); err == nil && who.FrontEnd() {
		if fired, err := x.server.Engine.FiredInSession(x.ctx(), x.AppID, who.SessionID, id); err != nil || !fired {
			return query.Record{}, cmp.Or(err, query.ErrNotFound)
		}
	}
	return record, err
}

func (x *rpcCall) newTask(id string, began, changed time.Time, ttl time.Duration) task {
	return task{
		ResultType: "complete", Meta: serverMeta, ID: id, CreatedAt: began.UTC(), UpdatedAt: changed.UTC(),
		TTL: ttl.Milliseconds(), PollInterval: pollInterval,
	}
}

func (x *rpcCall) triggerTask(record query.Record) (task, error) {
	changed := record.Time
	for _, attempt := range record.Attempts {
		if attempt.Time.After(changed) {
			changed = attempt.Time
		}
	}
	for _, move := range record.Moves {
		if move.Time.After(changed) {
			changed = move.Time
		}
	}
	t := x.newTask(record.TriggerID, record.Time, changed, x.server.Retention)
	t.Status = statusOf(record.Match)
	switch t.Status {
	case taskWorking:
		t.StatusMessage = x.progress(record)
	case taskInputRequired:
		t.StatusMessage = record.Question
		if !x.request.supportsElicitation() {
			t.Status = taskWorking // another client may confirm it
			break
		}
		t.InputRequests = map[string]inputRequest{confirmKey: confirmation(record.Match)}
	case taskCompleted:
		text, err := exactjson.Encode(record.Match)
		if err != nil {
			return t, err
		}
		t.Result = x.outcome(record.Match, text).forTask()
	}
	return t, nil
}

// progress describes a pending call: the running attempt, or when the next is due.
func (x *rpcCall) progress(record query.Record) string {
	call, next := record.Call, record.Next
	switch {
	case next == nil:
		return "" // the status already says pending
	case next.UnderWay:
		return fmt.Sprintf("attempt %d is under way", next.Number)
	}
	ended := "failed"
	if call.Status != 0 {
		ended = fmt.Sprintf("ended with status %d", call.Status)
	} else if call.Error != "" {
		ended = "failed: " + call.Error
	}
	return fmt.Sprintf("attempt %d %s; attempt %d is due at %s", next.Number-1, ended, next.Number, next.Due.UTC().Format(time.RFC3339))
}

// pendingTask is the task of a call that waits for values, or was ended.
func (x *rpcCall) pendingTask(id string, call pendingcalls.Call) (task, error) {
	t := x.newTask(id, call.Began, call.Changed, pendingcalls.TTL)
	switch {
	case call.Cancelled:
		t.Status = taskCancelled
		return t, nil
	case call.Failed != "":
		t.Status, t.Result = taskCompleted, x.toolError(call.Failed).forTask()
		return t, nil
	}
	t.Status, t.StatusMessage = taskInputRequired, "values are needed"
	if !x.request.supportsElicitation() {
		return t, nil
	}
	definition, err := x.findTool(call.Name, call.RepositoryID)
	if err != nil {
		return x.failTask(id, err)
	}
	t.InputRequests = valueRequests(definition, call.Missing)
	return t, nil
}

// confirm confirms or denies a waiting trigger; other triggers are unchanged.
func (x *rpcCall) confirm(match query.Match, responses map[string]response) error {
	reply, ok := responses[confirmKey]
	if !ok || match.State != query.StateConfirming || reply.Action == actionCancel { // a closed form may be shown again
		return nil
	}
	decide, action := x.server.Engine.Deny, audit.Deny
	if reply.Action == actionAccept {
		yes, isBool := reply.Content[confirmKey].(bool)
		if !isBool {
			return nil // nobody has said yes or no: the form is shown again
		}
		if yes {
			decide, action = x.server.Engine.Confirm, audit.Confirm
		}
	}
	err := x.runReporting(match.TriggerID, func(ctx context.Context) error {
		return x.server.WithAudit(ctx, x.c, action, match.TriggerID, func() (query.Record, error) {
			return decide(ctx, x.AppID, match.TriggerID, match.Digest, auth.PrincipalOf(x.c).Author())
		})
	})
	if errors.Is(err, query.ErrEnded) || errors.Is(err, errBecameTask) {
		return nil // another client was first, or the call continues
	}
	return err
}

// giveValues adds values to a waiting call, and fires it when it is complete.
func (x *rpcCall) giveValues(id string, call pendingcalls.Call, responses map[string]response) error {
	definition, err := x.findTool(call.Name, call.RepositoryID)
	if err != nil {
		_, err = x.failTask(id, err)
		return err
	}
	values, declined := valuesOf(definition, call.Missing, responses)
	call, err = x.server.PendingCalls.Change(x.ctx(), x.Scope, id, func(c *pendingcalls.Call) {
		c.Cancelled = declined
		c.AddValues(values)
	})
	switch {
	case errors.Is(err, pendingcalls.ErrNotFound):
		return nil // another client has given the rest
	case errors.Is(err, pendingcalls.ErrTooLong):
		return invalid(answer.InvalidBody, err.Error())
	case err != nil || len(call.Missing) > 0 || call.Ended():
		return err
	}
	_, err = x.fireTask(id, call)
	return err
}

// fireTask fires a complete call, and returns the task. Repeats are harmless: the trigger has the task's id.
func (x *rpcCall) fireTask(id string, call pendingcalls.Call) (task, error) {
	d := x.direct()
	d.Name, d.RepositoryID, d.Values, d.Metadata, d.TriggerID, d.Unawaited, d.Counted = call.Name, call.RepositoryID, call.Values, call.Metadata, id, true, true
	err := x.runReporting(id, func(ctx context.Context) error {
		_, err := x.server.Engine.Fire(ctx, d)
		return err
	})
	if err != nil && !errors.Is(err, errBecameTask) {
		return x.failTask(id, err)
	}
	record, err := x.record(id)
	if err != nil {
		return task{}, unknownTask(err)
	}
	if err := x.server.PendingCalls.End(x.ctx(), x.Scope, id); err != nil {
		return task{}, err
	}
	return x.triggerTask(record)
}

// failTask ends a task whose values do not fit, or whose tool is gone. Other errors leave it unchanged.
func (x *rpcCall) failTask(id string, err error) (task, error) {
	text := x.valueFault(err)
	if rpcErr := (*rpcError)(nil); text == "" && (errors.Is(err, trigger.ErrNotInScope) || errors.As(err, &rpcErr)) {
		text = err.Error()
	}
	if text == "" {
		return task{}, err
	}
	call, err := x.server.PendingCalls.Change(x.ctx(), x.Scope, id, func(c *pendingcalls.Call) { c.Failed = text })
	switch {
	case errors.Is(err, pendingcalls.ErrNotFound): // another client has fired it
		return x.task(id)
	case err != nil:
		return task{}, err
	}
	return x.pendingTask(id, call)
}

func (x *rpcCall) idOf(d trigger.Direct) string {
	id := d.TriggerID
	if id == "" {
		id = x.server.NewID()
	}
	switch owner := ownerOf(x); {
	case d.FrontEnd:
		id = trigger.OwnID(d.Life, id)
	case owner != "":
		id = trigger.OwnID(owner, id)
	}
	return id
}

// ownerOf returns the issuer's user that trigger ids must contain: at the app's URL, such users see only their
// own triggers. It is empty if the key or the URL's session limits what is visible.
func ownerOf(x *rpcCall) string {
	if x.SessionID != "" {
		return ""
	}
	return auth.PrincipalOf(x.c).Bearer()
}

func owns(x *rpcCall, id string) bool {
	owner := ownerOf(x)
	return owner == "" || trigger.OwnID(owner, id) == id
}

// errBecameTask means that a call continues as a task.
var errBecameTask = errors.New("the call continues as a task")

// storeRetry is the pause before runReporting checks again whether a trigger is stored.
const storeRetry = 20 * time.Millisecond

// errPanic is the error of a function that panicked.
var errPanic = errors.New("it failed inside Earshot")

// runReporting runs run, which ends with the perhaps long first attempt at a trigger's call, and reports its progress
// if requested. For a client with tasks it returns errBecameTask once TaskAfter is over and the trigger is stored and
// awaits no confirmation: the call continues.
func (x *rpcCall) runReporting(triggerID string, run func(context.Context) error) error {
	tasks, reportsProgress := x.request.supportsTasks(), x.request.wantsProgress()
	if !tasks && !reportsProgress {
		return run(x.ctx())
	}
	select {
	case x.server.background <- struct{}{}:
	default:
		return run(x.ctx())
	}
	done, ctx := make(chan error, 1), x.ctx()
	progress := reporter{rpcCall: x}
	var reports, becomeTask <-chan time.Time
	if reportsProgress {
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		reports = ticker.C
	}
	timer := time.NewTimer(x.server.TaskAfter)
	defer timer.Stop()
	if tasks {
		ctx, becomeTask = context.WithoutCancel(ctx), timer.C
	}
	x.server.Engine.Background(func(context.Context) {
		err := errPanic
		defer func() {
			<-x.server.background
			done <- err
		}()
		err = run(ctx)
	})
	for {
		select {
		case err := <-done:
			return err
		case <-reports:
			progress.report(triggerID)
			continue
		case <-becomeTask:
		}
		if record, err := x.record(triggerID); err == nil && record.State != query.StateConfirming {
			return errBecameTask
		}
		timer.Reset(storeRetry) // nothing is stored yet: Redis is slow, not the endpoint
	}
}
