package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/tracing"
	"earshot/trigger"
	"earshot/trigger/ledger"
	"earshot/trigger/pendingcalls"
	"earshot/trigger/query"
)

func (x *rpcCall) callTool() (any, error) {
	defer x.beginSpan()()
	p := &x.request.Params
	if x.searches() {
		switch p.Name {
		case searchTool:
			return x.search()
		case callTool:
			name, _ := p.Arguments["name"].(string)
			given := p.Arguments["arguments"]
			arguments, isObject := given.(map[string]any)
			if repositories.CheckToolName(name) != nil {
				return x.faulty("name: is required, the name of a tool that search_tools has found"), nil
			}
			if given != nil && !isObject {
				return x.faulty("arguments: is no object"), nil
			}
			p.Name, p.Arguments, x.wrapped = name, arguments, true
		}
	}
	if result, err := x.resume(); result != nil || err != nil {
		return result, err
	}

	d := x.direct()
	if d.TriggerID != "" && repositories.CheckID("earshot/triggerId", d.TriggerID) != nil {
		return nil, invalid(answer.InvalidBody, `_meta "earshot/triggerId" is no id: letters, digits, - and _, 128 at most`)
	}
	if err := repositories.CheckMetadata(d.Metadata); err != nil {
		return nil, invalid(answer.InvalidBody, `_meta "earshot/metadata": `+err.Error())
	}
	result, err := x.fire(d)
	if values := (*trigger.ValuesError)(nil); errors.As(err, &values) {
		if asks, err := x.askFor(d); asks != nil || err != nil {
			return asks, err
		}
	}
	if fault := x.fault(err); fault != "" { // the model can correct it
		return x.faulty(fault), nil
	}
	if errors.Is(err, trigger.ErrNotInScope) {
		return nil, invalid(answer.UnknownTool, "unknown tool "+exactQuote(d.Name)+": it is not in scope here, or was just taken; list the tools again")
	}
	return result, err
}

// beginSpan starts the span of a call and returns its end. Its parent is the span in _meta, with a link to the
// HTTP request, or else that request.
func (x *rpcCall) beginSpan() (end func()) {
	request, parent := trace.SpanContextFromContext(x.ctx()), x.request.Params.Meta.TraceParent
	x.trace = tracing.Of(x.ctx())
	if _, named := tracing.Read(parent); named {
		x.trace = parent
	}
	if x.server.Tracer == nil {
		return func() {}
	}
	name := "tools/call"
	if repositories.CheckID("name", x.request.Params.Name) == nil { // otherwise it may be any text
		name += " " + x.request.Params.Name
	}
	_, span := x.server.Tracer.Below(x.ctx(), x.trace, name, trace.SpanKindServer)
	if span.IsRecording() {
		span.SetAttributes(tracing.MCPMethod.String("tools/call"), tracing.App.String(x.AppID))
		if x.trace == parent && request.IsValid() {
			span.AddLink(trace.Link{SpanContext: request})
		}
	}
	x.trace = tracing.Parent(span, x.trace)
	return func() { span.End() }
}

// resume continues a call that was answered with questions. It returns nil if the call should be made, with the
// given values.
func (x *rpcCall) resume() (any, error) {
	p := &x.request.Params
	if p.InputResponses == nil && p.RequestState == "" {
		return nil, nil
	}
	responses, err := readResponses(p.InputResponses)
	if err != nil {
		return nil, err
	}
	state, err := readState(p.RequestState)
	if err != nil {
		return nil, err
	}
	if state.Trigger != "" {
		return x.resumeConfirming(state, responses)
	}

	t, err := x.find(p.Name, x.c.Param("repositoryId"))
	if err != nil {
		return nil, err
	}
	merged := map[string]any{}
	maps.Copy(merged, state.Values)
	maps.Copy(merged, p.Arguments)
	values, declined := valuesOf(t, missingOf(t, merged), responses)
	if declined {
		return x.faulty("nothing was called: the user has declined to give the values"), nil
	}
	maps.Copy(merged, values)
	x.values = merged
	return nil, nil
}

// resumeConfirming answers a call that awaited a confirmation. A call with other arguments is a new one, and
// asks again.
func (x *rpcCall) resumeConfirming(state requestState, responses map[string]response) (any, error) {
	record, err := x.record(state.Trigger)
	if errors.Is(err, query.ErrNotFound) || err == nil && (record.Name != x.request.Params.Name || state.Arguments != digestOf(x.request.Params.Arguments)) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := x.confirm(record.Match, responses); err != nil {
		return nil, err
	}
	if record, err = x.record(state.Trigger); err != nil {
		return nil, err
	}
	if record.Match.State == query.StateCancelled {
		return x.faulty("nothing was called: the user has said no"), nil
	}
	text, err := exactjson.Encode(record.Match)
	if err != nil {
		return nil, err
	}
	return x.matched(record.Match, text)
}

func (x *rpcCall) direct() trigger.Direct {
	p := x.request.Params
	values := p.Arguments
	if x.values != nil {
		values = x.values
	}
	return trigger.Direct{
		AppID: x.AppID, SessionID: x.SessionID, RepositoryID: x.c.Param("repositoryId"), Name: p.Name, Values: values,
		Source: query.SourceAgent, TriggerID: p.Meta.TriggerID, Metadata: p.Meta.Metadata, Claims: x.user.Claims,
		FrontEnd: auth.PrincipalOf(x.c).FrontEnd(), Life: auth.PrincipalOf(x.c).Life(), TraceParent: x.trace, Unawaited: x.request.tasks(), Vet: x.vetHeaders,
	}
}

// fire fires a tool and returns the outcome. For a client with tasks it waits at most TaskAfter, and then
// returns the task while the first attempt continues here. If this replica fails, another makes the next
// attempt, and the client has the id.
func (x *rpcCall) fire(d trigger.Direct) (any, error) {
	var answered json.RawMessage
	do := func(ctx context.Context) (err error) {
		answered, err = x.server.Engine.Fire(ctx, d)
		return err
	}
	chosen, followed := d.TriggerID != "", x.request.tasks() || x.request.notifies() || ownerOf(x) != ""
	if followed {
		d.TriggerID, d.New = x.idOf(d), !chosen // the id is known before the call ends
	}
	err := x.within(d.TriggerID, do)
	switch {
	case errors.Is(err, errSlow):
		return x.beginTask(d.TriggerID)
	case followed && !chosen && errors.Is(err, query.ErrNotFound) && !errors.Is(err, repositories.ErrNotFound):
		return nil, fmt.Errorf("tool %q: %w", d.Name, trigger.ErrNotInScope) // another client has just deleted the repository
	case err != nil:
		return nil, err
	}
	match := query.Match{}
	if err := exactjson.Unmarshal(answered, &match); err != nil {
		return nil, err
	}
	return x.matched(match, answered)
}

func (x *rpcCall) matched(match query.Match, text json.RawMessage) (any, error) {
	switch status := statusOf(match); {
	case status == taskCompleted || status == taskCancelled:
		return x.outcome(match, text), nil
	case x.request.tasks():
		return x.beginTask(match.TriggerID)
	case match.State == query.StateConfirming && x.request.elicits():
		state := requestState{Trigger: match.TriggerID, Arguments: digestOf(x.request.Params.Arguments)}
		return inputRequired{x.head("input_required"), map[string]inputRequest{confirmKey: confirmation(match)}, state.text()}, nil
	}
	return x.resultOf(text), nil // the outcome says that it is pending, and why
}

// askFor asks the user for missing values, if nothing else is wrong with the call and the client can ask;
// otherwise it returns nil. One value is asked for in the answer. Several become a task, in which different
// users may give them one by one.
func (x *rpcCall) askFor(d trigger.Direct) (any, error) {
	if !x.request.elicits() {
		return nil, nil
	}
	t, err := x.find(d.Name, d.RepositoryID)
	if err != nil {
		return nil, err
	}
	missing := missingOf(t, d.Values)
	switch {
	case len(missing) == 0:
		return nil, nil
	case len(missing) == 1 || !x.request.tasks() || x.server.Asked == nil:
		return inputRequired{x.head("input_required"), valueRequests(t, missing), requestState{Values: d.Values}.text()}, nil
	}

	id := x.idOf(d)
	call := pendingcalls.Call{Name: d.Name, RepositoryID: d.RepositoryID, Values: maps.Clone(d.Values), Metadata: d.Metadata, Missing: slices.Clone(missing)}
	use := ledger.Use{Triggers: 1, Bytes: call.Size(), FrontEnd: d.FrontEnd}
	if d.FrontEnd {
		use.Messages = 1 // as for a trigger of a session's token
	}
	if err := x.server.Engine.Count(x.ctx(), x.AppID, x.SessionID, use); err != nil {
		return nil, err
	}
	err = x.server.Asked.Begin(x.ctx(), x.Scope, id, call)
	if errors.Is(err, pendingcalls.ErrMany) || errors.Is(err, pendingcalls.ErrLong) {
		return x.faulty(err.Error()), nil
	}
	if err != nil {
		return nil, err
	}
	return x.beginTask(id)
}

// A property of a tool's JSON Schema may name a header by x-mcp-header, in which clients repeat its value for
// proxies (SEP-2243). Proxies must see what the tool gets, so a call is refused if the two differ.
const (
	headerKeyword = "x-mcp-header"
	headerPrefix  = "Mcp-Param-"
)

type mirrored struct {
	path   []string // of the value in the arguments
	header string
}

// mirroredForm is the key for the derived mirrored values of a tool's parameters.
type mirroredForm struct{}

func (x *rpcCall) vetHeaders(of *repositories.Tool) error {
	if !x.request.modern || x.wrapped {
		return nil
	}
	list := of.Params().Derived(mirroredForm{}, func() any {
		schema := of.Params().ModelSchema()
		if !strings.Contains(string(schema), headerKeyword) {
			return []mirrored(nil)
		}
		return mirroredIn(schema, nil)
	}).([]mirrored)
	for _, m := range list {
		value := any(x.request.Params.Arguments)
		for _, name := range m.path {
			object, _ := value.(map[string]any)
			value = object[name]
		}
		if fault := headerFault(x.c.Request().Header, m.header, value); fault != "" {
			return &rpcError{Code: codeHeaderMismatch, Message: fmt.Sprintf("the header %s %s argument %s", m.header, fault, strings.Join(m.path, ".")), Data: errorData{Code: answer.InvalidHeader}}
		}
	}
	return nil
}

func mirroredIn(schema json.RawMessage, path []string) (list []mirrored) {
	var object struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &object) != nil {
		return nil
	}
	for name, property := range object.Properties {
		at := append(slices.Clone(path), name)
		var named struct {
			Header string `json:"x-mcp-header"`
		}
		if json.Unmarshal(property, &named) == nil && named.Header != "" {
			list = append(list, mirrored{at, headerPrefix + named.Header})
		}
		list = append(list, mirroredIn(property, at)...)
	}
	return list
}

// headerFault describes how a header differs from its value; empty if it does not.
func headerFault(header http.Header, name string, value any) string {
	sent, has := header[http.CanonicalHeaderKey(name)]
	switch {
	case value == nil && has:
		return "is there, and there is no"
	case value == nil:
		return ""
	case len(sent) != 1 || sent[0] == "":
		return "is missing, which is to repeat"
	}
	text := sent[0]
	if coded, is := strings.CutPrefix(text, "=?base64?"); is && strings.HasSuffix(coded, "?=") { // it is not valid in a header
		raw, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(coded, "?="))
		if err != nil {
			return "is no good Base64 of"
		}
		text = string(raw)
	}
	same := false
	switch value := value.(type) {
	case string:
		same = text == value
	case bool:
		same = text == fmt.Sprint(value)
	case json.Number:
		sent, isNumber := exactjson.ParseDecimal(text)
		is, _ := exactjson.ParseDecimal(value.String())
		same = isNumber && sent.Whole() && sent.Compare(is) == 0
	}
	if !same {
		return "says something else than"
	}
	return ""
}
