package mcp

import (
	"context"
	"errors"
	"time"

	"earshot/api/auth"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/trigger"
	"earshot/trigger/effect"
	"earshot/trigger/pendingcalls"
	"earshot/trigger/query"
)

// taskStatus is how far a task is (SEP-2663). None fails as the protocol has it: what an endpoint
// refuses, or does not answer, is a result that says so, for the model to read.
type taskStatus string

const (
	taskWorking       taskStatus = "working"
	taskInputRequired taskStatus = "input_required"
	taskCompleted     taskStatus = "completed"
	taskCancelled     taskStatus = "cancelled"
)

func (s taskStatus) ended() bool { return s == taskCompleted || s == taskCancelled }

// pollInterval is how often a client that does not subscribe may ask, in ms.
const pollInterval = 1000

// task is a trigger, or a call that lacks values and becomes one, as a client sees it.
type task struct {
	ResultType    string                  `json:"resultType,omitempty"`
	Meta          any                     `json:"_meta,omitempty"`
	ID            string                  `json:"taskId"`
	Status        taskStatus              `json:"status"`
	StatusMessage string                  `json:"statusMessage,omitempty"`
	CreatedAt     time.Time               `json:"createdAt"`
	UpdatedAt     time.Time               `json:"lastUpdatedAt"`
	Life          int64                   `json:"ttlMs"`
	PollInterval  int64                   `json:"pollIntervalMs,omitempty"`
	InputRequests map[string]inputRequest `json:"inputRequests,omitempty"`
	Result        *callResult             `json:"result,omitempty"`
}

// beginTask answers a call with the task that it has become.
func (x tasks) beginTask(id string) error {
	t, err := x.task(id)
	if err != nil {
		return x.reply(nil, err)
	}
	t.ResultType, t.InputRequests, t.Result = "task", nil, nil
	return x.reply(t, nil)
}

// getTask answers tasks/get.
func (x tasks) getTask() error {
	if err := x.taskAsked(); err != nil {
		return x.fail(err)
	}
	t, err := x.task(x.request.Params.TaskID)
	return x.reply(t, err)
}

// taskAsked checks what all methods of tasks need.
func (x tasks) taskAsked() error {
	id := x.request.Params.TaskID
	switch {
	case !x.request.tasks():
		return needsTasks()
	case x.c.Request().Header.Get(nameHeader) != id:
		return &rpcError{Code: codeHeaderMismatch, Message: "the header " + nameHeader + " is to be the taskId of the body"}
	case repositories.CheckID("taskId", id) != nil:
		return noTask()
	}
	return nil
}

func noTask() error { return invalid("no task of that id is known here, or its time is over") }

// task reads a task: the trigger, or what is asked for before it is one.
func (x tasks) task(id string) (task, error) {
	record, call, err := x.look(id)
	switch {
	case err != nil:
		return task{}, err
	case call == nil:
		return x.taskOf(record)
	case len(call.Missing) == 0 && !call.Over():
		return x.fireTask(id, *call)
	}
	return x.taskAskedFor(id, *call)
}

// look looks a task up: the call is nil where it is a trigger. Somebody else may fire the call
// between two looks, so that a trigger is looked for once more.
func (x tasks) look(id string) (record query.Record, call *pendingcalls.Call, err error) {
	if record, err = x.record(id); !errors.Is(err, query.ErrNotFound) || x.server.Asked == nil {
		return record, nil, unknownTask(err)
	}
	waits, err := x.server.Asked.Get(x.ctx(), x.scope(), id)
	if errors.Is(err, pendingcalls.ErrNone) {
		record, err = x.record(id)
		return record, nil, unknownTask(err)
	}
	return record, &waits, err
}

// unknownTask is the error of a task that is not there; others stay as they are.
func unknownTask(err error) error {
	if errors.Is(err, query.ErrNotFound) || errors.Is(err, pendingcalls.ErrNone) {
		return noTask()
	}
	return err
}

// record reads a trigger of the scope: of the session in the URL, or of any of the app.
func (x tasks) record(id string) (query.Record, error) {
	record, err := x.server.Engine.Trigger(x.ctx(), x.scope().AppID, id)
	if err == nil && x.scope().SessionID != "" && record.SessionID != x.scope().SessionID {
		return record, query.ErrNotFound
	}
	return record, err
}

// taskOf is the task of a trigger.
func (x tasks) taskOf(record query.Record) (task, error) {
	t := x.newTask(record.TriggerID, record.Time, updated(record))
	t.Status = standing(record.Match)
	switch t.Status {
	case taskWorking:
		t.StatusMessage = x.progress(record)
	case taskInputRequired:
		t.StatusMessage = record.Question
		if !x.request.elicits() {
			t.Status = taskWorking // somebody else may say yes
			break
		}
		t.InputRequests = map[string]inputRequest{confirmKey: confirmation(record.Match)}
	case taskCompleted:
		text, err := exactjson.Encode(record.Match)
		if err != nil {
			return t, err
		}
		result := x.outcome(record.Match, text)
		result.done = done{}
		t.Result = &result
	}
	return t, nil
}

func (x tasks) newTask(id string, began, moved time.Time) task {
	return task{
		ResultType: "complete", Meta: identified, ID: id, CreatedAt: began.UTC(), UpdatedAt: moved.UTC(),
		Life: x.server.Kept.Milliseconds(), PollInterval: pollInterval,
	}
}

// updated is when something happened to a trigger last.
func updated(record query.Record) time.Time {
	last := record.Time
	for _, attempt := range record.Attempts {
		last = latest(last, attempt.Time)
	}
	for _, moved := range record.Moves {
		last = latest(last, moved.Time)
	}
	return last
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// taskAskedFor is the task of a call that waits for values, or was ended.
func (x tasks) taskAskedFor(id string, call pendingcalls.Call) (task, error) {
	t := x.newTask(id, call.Began, call.Changed)
	t.Life = pendingcalls.Life.Milliseconds()
	switch {
	case call.Cancelled:
		t.Status = taskCancelled
		return t, nil
	case call.Failed != "":
		result := x.faulty(call.Failed)
		result.done = done{}
		t.Status, t.Result = taskCompleted, &result
		return t, nil
	}
	t.Status, t.StatusMessage = taskInputRequired, "values are needed"
	if !x.request.elicits() {
		return t, nil
	}
	of, err := x.find(call.Name, call.RepositoryID)
	if err != nil {
		return x.unfiredTask(id, err)
	}
	t.InputRequests = valueRequests(of, call.Missing)
	return t, nil
}

// updateTask answers tasks/update: what a user has said to what the task asks. Whatever comes of
// it is told by tasks/get.
func (x tasks) updateTask() error {
	err := x.taskAsked()
	if err == nil {
		err = x.update(x.request.Params.TaskID)
	}
	return x.reply(x.complete(), err)
}

func (x tasks) update(id string) error {
	responses, err := readResponses(x.request.Params.InputResponses)
	if err != nil {
		return err
	}
	record, call, err := x.look(id)
	switch {
	case err != nil:
		return err
	case call == nil:
		return x.confirm(record.Match, responses)
	case call.Over():
		return nil
	}
	return x.give(id, *call, responses)
}

// confirm says yes or no to a trigger that asks whether it may; nothing to any other.
func (x tasks) confirm(match query.Match, responses map[string]response) error {
	said, is := responses[confirmKey]
	if !is || match.State != query.StateConfirming {
		return nil
	}
	do := x.server.Engine.Deny
	switch {
	case said.Action == actionCancel:
		return nil // the user has closed the form, and may be asked again
	case said.agrees():
		do = x.server.Engine.Confirm
	}
	move := func(ctx context.Context) error {
		_, err := do(ctx, x.scope().AppID, match.TriggerID, match.Digest, x.by())
		return err
	}
	err := error(nil)
	if x.request.tasks() {
		err = x.within(match.TriggerID, move)
	} else {
		err = move(x.ctx())
	}
	if errors.Is(err, query.ErrEnded) || errors.Is(err, errSlow) {
		return nil // somebody else was first, or the call goes on
	}
	return err
}

// by is how a record names who has moved its trigger.
func (x tasks) by() string {
	if who := auth.PrincipalOf(x.c); !who.FrontEnd() {
		return who.Name()
	}
	return "session"
}

// give gives values to a call that waits for them, and fires it when it has all.
func (x tasks) give(id string, call pendingcalls.Call, responses map[string]response) error {
	of, err := x.find(call.Name, call.RepositoryID)
	if err != nil {
		_, err = x.unfiredTask(id, err)
		return err
	}
	values, declined := valuesOf(of, call.Missing, responses)
	call, err = x.server.Asked.Change(x.ctx(), x.scope(), id, func(c *pendingcalls.Call) {
		c.Cancelled = declined
		c.Give(values)
	})
	switch {
	case errors.Is(err, pendingcalls.ErrNone):
		return nil // somebody else has given the rest
	case errors.Is(err, pendingcalls.ErrLong):
		return invalid(err.Error())
	case err != nil || len(call.Missing) > 0 || call.Over():
		return err
	}
	_, err = x.fireTask(id, call)
	return err
}

// fireTask fires a call that has all its values, and returns the task. It does no harm to do so
// twice: the trigger has the id of the task.
func (x tasks) fireTask(id string, call pendingcalls.Call) (task, error) {
	d := x.direct()
	d.Name, d.RepositoryID, d.Values, d.Metadata, d.TriggerID, d.Unawaited, d.Counted = call.Name, call.RepositoryID, call.Values, call.Metadata, id, true, true
	err := x.within(id, func(ctx context.Context) error {
		_, err := x.server.Engine.Fire(ctx, d)
		return err
	})
	if err != nil && !errors.Is(err, errSlow) {
		return x.unfiredTask(id, err)
	}
	record, err := x.record(id)
	if err != nil {
		return task{}, unknownTask(err)
	}
	if err := x.server.Asked.End(x.ctx(), x.scope(), id); err != nil {
		return task{}, err
	}
	return x.taskOf(record)
}

// unfiredTask ends a task whose values do not do after all, or whose tool is gone. What will pass
// leaves it as it is.
func (x tasks) unfiredTask(id string, fault error) (task, error) {
	values, lacks, gone := (*trigger.ValuesError)(nil), (*repositories.Unverified)(nil), (*rpcError)(nil)
	text := fault.Error()
	switch {
	case errors.As(fault, &values):
		text = faultsOf(values)
	case errors.As(fault, &lacks):
		text = x.user.Explained(fault).Error()
	case !errors.Is(fault, trigger.ErrNotInScope) && !errors.As(fault, &gone):
		return task{}, fault
	}
	call, err := x.server.Asked.Change(x.ctx(), x.scope(), id, func(c *pendingcalls.Call) { c.Failed = text })
	switch {
	case errors.Is(err, pendingcalls.ErrNone): // somebody else has fired it since
		return x.task(id)
	case err != nil:
		return task{}, err
	}
	return x.taskAskedFor(id, call)
}

// cancelTask answers tasks/cancel: it ends what waits, as long as no answer is there.
func (x tasks) cancelTask() error {
	err := x.taskAsked()
	if err == nil {
		err = x.cancel(x.ctx(), x.request.Params.TaskID)
	}
	return x.reply(x.complete(), err)
}

func (x tasks) cancel(ctx context.Context, id string) error {
	record, call, err := x.look(id)
	if err != nil {
		return err
	}
	if call != nil {
		if _, err = x.server.Asked.Change(ctx, x.scope(), id, func(c *pendingcalls.Call) { c.Cancelled = true }); !errors.Is(err, pendingcalls.ErrNone) {
			return err
		}
		if record, err = x.record(id); err != nil { // somebody else has fired it since
			return unknownTask(err)
		}
	}
	if record.State != query.StatePending && record.State != query.StateConfirming {
		return nil
	}
	_, err = x.server.Engine.Cancel(ctx, x.scope().AppID, id, x.by())
	if errors.Is(err, query.ErrEnded) { // its event is out: what is waited for is an answer
		_, err = x.server.Engine.Answer(ctx, x.scope().AppID, id, effect.Answer{Cancelled: true, Error: "cancelled by " + x.by()})
	}
	if errors.Is(err, query.ErrEnded) || errors.Is(err, query.ErrNotAsked) {
		return nil
	}
	return err
}
