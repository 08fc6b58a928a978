package mcp

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/trigger"
	"earshot/trigger/ledger"
	"earshot/trigger/pendingcalls"
	"earshot/trigger/query"
)

// find returns the tool that a call names, as it is for the user.
func (x *exchange) find(name, repositoryID string) (*repositories.Tool, error) {
	catalog, err := x.server.Engine.Catalog(x.ctx(), x.scope().AppID, x.scope().SessionID)
	if err != nil {
		return nil, err
	}
	candidate, is := catalog.Find(name, repositoryID)
	if !is {
		return nil, invalid("unknown tool " + exactQuote(name))
	}
	return candidate.Tool.For(x.user.Claims)
}

// askFor asks the user for values that a call lacks, where that is all that is wrong with it and
// the client can ask. One value is asked for in the answer to the call. Several may be given one
// after the other, by whoever knows them, which takes a task.
func (x toolCall) askFor(d trigger.Direct) (asks bool, err error) {
	if !x.request.elicits() {
		return false, nil
	}
	of, err := x.find(d.Name, d.RepositoryID)
	if err != nil {
		return false, err
	}
	missing := missingOf(of, d.Values)
	switch {
	case len(missing) == 0:
		return false, nil
	case len(missing) > 1 && x.request.tasks() && x.server.Asked != nil:
		return true, x.askByTask(d, missing)
	}
	return true, x.reply(x.asksForValues(of, missing, d.Values), nil)
}

func (x toolCall) askByTask(d trigger.Direct, missing []string) error {
	id := x.idOf(d)
	call := pendingcalls.Call{Name: d.Name, RepositoryID: d.RepositoryID, Values: maps.Clone(d.Values), Metadata: d.Metadata, Missing: slices.Clone(missing)}
	use := ledger.Use{Triggers: 1, Bytes: call.Size(), FrontEnd: d.FrontEnd}
	if d.FrontEnd {
		use.Messages = 1 // as a trigger of a session's token does
	}
	if err := x.server.Engine.Count(x.ctx(), x.scope().AppID, x.scope().SessionID, use); err != nil {
		return x.fail(err)
	}
	err := x.server.Asked.Begin(x.ctx(), x.scope(), id, call)
	if errors.Is(err, pendingcalls.ErrMany) || errors.Is(err, pendingcalls.ErrLong) {
		return x.reply(x.faulty(err.Error()), nil)
	}
	if err != nil {
		return x.fail(err)
	}
	return x.beginTask(id)
}

// resume goes on with a call that was answered with questions. It is false where the call is to be
// made as it stands, with the values that were given.
func (x toolCall) resume() (bool, error) {
	p := &x.request.Params
	if p.InputResponses == nil && p.RequestState == "" {
		return false, nil
	}
	responses, err := readResponses(p.InputResponses)
	if err != nil {
		return true, x.fail(err)
	}
	state, err := readState(p.RequestState)
	if err != nil {
		return true, x.fail(err)
	}
	if state.Trigger != "" {
		return x.resumeConfirming(state, responses)
	}
	of, err := x.find(p.Name, x.c.Param("repositoryId"))
	if err != nil {
		return true, x.fail(err)
	}
	merged := map[string]any{}
	maps.Copy(merged, state.Values)
	maps.Copy(merged, p.Arguments)
	values, declined := valuesOf(of, missingOf(of, merged), responses)
	if declined {
		return true, x.reply(x.faulty("nothing was called: the user has declined to give the values"), nil)
	}
	maps.Copy(merged, values)
	x.values = merged
	return false, nil
}

// resumeConfirming answers a call that was asked whether it may. A call with other arguments is
// another one, and is asked anew.
func (x toolCall) resumeConfirming(state requestState, responses map[string]response) (bool, error) {
	record, err := x.record(state.Trigger)
	if errors.Is(err, query.ErrNotFound) || err == nil && (record.Name != x.request.Params.Name || state.Arguments != digestOf(x.request.Params.Arguments)) {
		return false, nil
	}
	if err != nil {
		return true, x.fail(err)
	}
	if err := x.confirm(record.Match, responses); err != nil {
		return true, x.fail(err)
	}
	if record, err = x.record(state.Trigger); err != nil {
		return true, x.fail(err)
	}
	if record.Match.State == query.StateCancelled {
		return true, x.reply(x.faulty("nothing was called: the user has said no"), nil)
	}
	text, err := exactjson.Encode(record.Match)
	if err != nil {
		return true, err
	}
	return true, x.matched(record.Match, json.RawMessage(text))
}
