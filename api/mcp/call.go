package mcp

import (
	"cmp"
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
	"earshot/trigger/effect"
	"earshot/trigger/ledger"
	"earshot/trigger/pendingcalls"
	"earshot/trigger/query"
)

func (x *rpcCall) callTool() (any, error) {
	defer x.beginSpan()()
	p := &x.request.Params
	if x.inSearchMode() {
		switch p.Name {
		case searchTool:
			return x.search()
		case callTool:
			name, _ := p.Arguments["name"].(string)
			given := p.Arguments["arguments"]
			arguments, isObject := given.(map[string]any)
			if repositories.CheckToolName(name) != nil {
				return x.toolError("name: is required, the name of a tool that search_tools has found"), nil
			}
			if given != nil && !isObject {
				return x.toolError("arguments: is not an object"), nil
			}
			p.Name, p.Arguments, x.viaCallTool = name, arguments, true
		}
	}
	if result, err := x.resumeInput(); result != nil || err != nil {
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
		if asks, err := x.requestValues(d); asks != nil || err != nil {
			return asks, err
		}
	}
	if fault := x.valueFault(err); fault != "" { // the model can correct it
		return x.toolError(fault), nil
	}
	if errors.Is(err, trigger.ErrNotInScope) {
		hint := ""
		if unknown, is := errors.AsType[*trigger.UnknownToolError](err); is {
			hint = unknown.Meant.String()
		}
		return nil, invalid(answer.UnknownTool, "unknown tool "+exactQuote(d.Name)+": it is not in scope here, or was just taken"+cmp.Or(hint, "; list the tools again"))
	}
	return result, err
}

// beginSpan starts the span of a call and returns its end. Its parent is the span in _meta, with a link to the
// HTTP request, or else that request.
func (x *rpcCall) beginSpan() (end func()) {
	request, parent := trace.SpanContextFromContext(x.ctx()), x.request.Params.Meta.TraceParent
	x.trace = tracing.Of(x.ctx())
	if _, valid := tracing.Read(parent); valid {
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

// resumeInput continues a call that was answered with questions. It returns nil if the call should be made, with the
// given values.
func (x *rpcCall) resumeInput() (any, error) {
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
		return x.resumeConfirmation(state, responses)
	}

	t, err := x.findTool(p.Name, x.c.Param("repositoryId"))
	if err != nil {
		return nil, err
	}
	merged := map[string]any{}
	maps.Copy(merged, state.Values)
	maps.Copy(merged, p.Arguments)
	values, declined := valuesOf(t, missingOf(t, merged), responses)
	if declined {
		return x.toolError("nothing was called: the user has declined to give the values"), nil
	}
	maps.Copy(merged, values)
	x.values = merged
	return nil, nil
}

// resumeConfirmation answers a call that awaited a confirmation. A call with other arguments is a new one, and
// asks again.
func (x *rpcCall) resumeConfirmation(state requestState, responses map[string]response) (any, error) {
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
		return x.toolError("nothing was called: the user has said no"), nil
	}
	text, err := exactjson.Encode(record.Match)
	if err != nil {
		return nil, err
	}
	return x.matchResult(record.Match, text)
}

func (x *rpcCall) direct() trigger.Direct {
	p := x.request.Params
	values := p.Arguments
	if x.values != nil {
		values = x.values
	}
	return trigger.Direct{
		AppID: x.AppID, SessionID: x.SessionID, RepositoryID: x.c.Param("repositoryId"), Name: p.Name, Values: values,
		Source: query.SourceAgent, FromAgent: true, TriggerID: p.Meta.TriggerID, Metadata: p.Meta.Metadata, Claims: x.user.Claims,
		FrontEnd: auth.PrincipalOf(x.c).FrontEnd(), Life: auth.PrincipalOf(x.c).Life(), TraceParent: x.trace, Unawaited: x.request.supportsTasks(), Check: x.vetHeaders,
	}
}

// fire fires a tool and returns the outcome. For a client with tasks it waits at most TaskAfter, and then
// returns the task while the first attempt continues here. If this replica fails, another makes the next
// attempt, and the client has the id.
func (x *rpcCall) fire(d trigger.Direct) (any, error) {
	var stored json.RawMessage
	run := func(ctx context.Context) (err error) {
		stored, err = x.server.Engine.Fire(ctx, d)
		return err
	}
	hasID, needsID := d.TriggerID != "", x.request.supportsTasks() || x.request.wantsProgress() || ownerOf(x) != ""
	if needsID {
		d.TriggerID, d.New = x.idOf(d), !hasID // the id is known before the call ends
	}
	err := x.runReporting(d.TriggerID, run)
	switch {
	case errors.Is(err, errBecameTask):
		return x.beginTask(d.TriggerID)
	case needsID && !hasID && errors.Is(err, query.ErrNotFound) && !errors.Is(err, repositories.ErrNotFound):
		return nil, fmt.Errorf("tool %q: %w", d.Name, trigger.ErrNotInScope) // another client has just deleted the repository
	case err != nil:
		return nil, err
	}
	match := query.Match{}
	if err := exactjson.Unmarshal(stored, &match); err != nil {
		return nil, err
	}
	return x.matchResult(match, stored)
}

func (x *rpcCall) matchResult(match query.Match, text json.RawMessage) (any, error) {
	switch status := statusOf(match); {
	case status == taskCompleted || status == taskCancelled:
		return x.outcome(match, text), nil
	case x.request.supportsTasks():
		return x.beginTask(match.TriggerID)
	case match.State == query.StateConfirming && x.request.supportsElicitation():
		state := requestState{Trigger: match.TriggerID, Arguments: digestOf(x.request.Params.Arguments)}
		return inputRequired{x.head("input_required"), map[string]inputRequest{confirmKey: confirmation(match)}, state.text()}, nil
	}
	return x.resultOf(text), nil // the outcome says that it is pending, and why
}

// requestValues asks the user for missing values, if nothing else is wrong with the call and the client can ask;
// otherwise it returns nil. One value is asked for in the answer. Several become a task, in which different
// users may give them one by one.
func (x *rpcCall) requestValues(d trigger.Direct) (any, error) {
	if !x.request.supportsElicitation() {
		return nil, nil
	}
	t, err := x.findTool(d.Name, d.RepositoryID)
	if err != nil {
		return nil, err
	}
	missing := missingOf(t, d.Values)
	switch {
	case len(missing) == 0:
		return nil, nil
	case len(missing) == 1 || !x.request.supportsTasks() || x.server.PendingCalls == nil:
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
	err = x.server.PendingCalls.Begin(x.ctx(), x.Scope, id, call)
	if errors.Is(err, pendingcalls.ErrTooMany) || errors.Is(err, pendingcalls.ErrTooLong) {
		return x.toolError(err.Error()), nil
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

type headerParameter struct {
	path   []string // of the value in the arguments
	header string
}

// headerParametersKey is the key for the derived headerParameters of a tool's parameters.
type headerParametersKey struct{}

func (x *rpcCall) vetHeaders(definition *repositories.Tool) error {
	if !x.request.modern || x.viaCallTool {
		return nil
	}
	headers := definition.Params().Derived(headerParametersKey{}, func() any {
		schema := definition.Params().ModelSchema()
		if !strings.Contains(string(schema), headerKeyword) {
			return []headerParameter(nil)
		}
		return headerParametersIn(schema, nil)
	}).([]headerParameter)
	for _, m := range headers {
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

func headerParametersIn(schema json.RawMessage, path []string) (list []headerParameter) {
	var object struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &object) != nil {
		return nil
	}
	for name, property := range object.Properties {
		valuePath := append(slices.Clone(path), name)
		var annotation struct {
			Header string `json:"x-mcp-header"`
		}
		if json.Unmarshal(property, &annotation) == nil && annotation.Header != "" {
			list = append(list, headerParameter{valuePath, headerPrefix + annotation.Header})
		}
		list = append(list, headerParametersIn(property, valuePath)...)
	}
	return list
}

// headerFault describes how a header differs from its value; empty if it does not.
func headerFault(header http.Header, name string, value any) string {
	values, isSent := header[http.CanonicalHeaderKey(name)]
	switch {
	case value == nil && isSent:
		return "is there, and there is no"
	case value == nil:
		return ""
	case len(values) != 1 || values[0] == "":
		return "is missing, which is to repeat"
	}
	text := values[0]
	if encoded, isEncoded := strings.CutPrefix(text, "=?base64?"); isEncoded && strings.HasSuffix(encoded, "?=") { // it is not valid in a header
		raw, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(encoded, "?="))
		if err != nil {
			return "is no good Base64 of"
		}
		text = string(raw)
	}
	equal := false
	switch value := value.(type) {
	case string:
		equal = text == value
	case bool:
		equal = text == fmt.Sprint(value)
	case json.Number:
		values, isNumber := exactjson.ParseDecimal(text)
		isEncoded, _ := exactjson.ParseDecimal(value.String())
		equal = isNumber && values.Whole() && values.Compare(isEncoded) == 0
	}
	if !equal {
		return "says something else than"
	}
	return ""
}

type content struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type callResult struct {
	resultHead
	Content    []content       `json:"content"`
	Structured json.RawMessage `json:"structuredContent,omitempty"`
	IsError    bool            `json:"isError,omitempty"`
	// truncated reports that the result goes on beyond its content.
	truncated bool
}

// toolError is the result of a failed call, whose text the model should read.
func (x *rpcCall) toolError(text string) callResult {
	return callResult{resultHead: x.head("complete"), Content: []content{{"text", text}}, IsError: true}
}

// valueFault describes a fault that the model or its user can correct; empty for other errors.
func (x *rpcCall) valueFault(err error) string {
	values, unverified := (*trigger.ValuesError)(nil), (*repositories.Unverified)(nil)
	switch {
	case errors.As(err, &values):
		lines := []string{"nothing was called, the values do not fit " + values.Name + ":"}
		for _, fault := range values.Faults {
			lines = append(lines, strings.TrimPrefix(fault.Parameter+": "+fault.Detail, ": "))
		}
		return strings.Join(lines, "\n")
	case errors.As(err, &unverified):
		return x.user.Explain(err).Error()
	}
	return ""
}

// resultOf is the result of a call with this JSON outcome: a string as text, other values as JSON and as
// structured content. Before revision, only objects may be structured.
func (x *rpcCall) resultOf(outcome json.RawMessage) callResult {
	r := callResult{resultHead: x.head("complete")}
	var text string
	if json.Unmarshal(outcome, &text) == nil && string(outcome) != "null" {
		r.Content = []content{{"text", text}}
		return r
	}
	r.Content = []content{{"text", string(outcome)}}
	if x.request.modern || strings.HasPrefix(string(outcome), "{") {
		r.Structured = outcome
	}
	return r
}

// truncatedKey in a result's metadata says that the result goes on, as truncated does over REST.
const truncatedKey = "earshot/truncated"

// markTruncated says of a result that it is the beginning of a longer one. A model reads the text, a program the metadata.
func (r callResult) markTruncated() callResult {
	length := len(r.Content[len(r.Content)-1].Text)
	r.Content = append(r.Content, content{"text", fmt.Sprintf("This is not the whole result: it was cut after %d bytes. Ask for less, or for the rest of it.", length)})
	meta := map[string]any{truncatedKey: true}
	if existing, ok := r.Meta.(map[string]any); ok {
		maps.Copy(meta, existing)
	}
	r.Meta, r.truncated = meta, true
	return r
}

// forTask is the result as a part of its task, whose head is that of the answer.
func (r callResult) forTask() *callResult {
	r.resultHead = resultHead{}
	if r.truncated {
		r.Meta = map[string]any{truncatedKey: true}
	}
	return &r
}

// outcome is the result of an ended trigger; text is the JSON of its match.
func (x *rpcCall) outcome(match query.Match, text json.RawMessage) callResult {
	call := match.Call
	switch {
	case call == nil && match.Event != nil && match.Event.State == query.StateFailed:
		return x.toolError(cmp.Or(match.Event.Error, "its event could not be published"))
	case call == nil || call.State == query.StateDelivered && len(call.Result) == 0:
		return x.resultOf(text) // there is no other result
	case call.State == query.StateDelivered && call.Truncated:
		return x.resultOf(call.Result).markTruncated()
	case call.State == query.StateDelivered:
		return x.resultOf(call.Result)
	}
	failed := x.toolError(cmp.Or(call.Error, "the call has failed: "+string(call.Reason)))
	if len(call.Result) == 0 {
		return failed
	}
	failed.Content = append(failed.Content, x.resultOf(call.Result).Content...) // often says what to do
	if call.Truncated {
		return failed.markTruncated()
	}
	return failed
}

// taskStatus is the status of a task (SEP-2663). The status failed is not used: a refused or unanswered call
// has a result that says so, for the model.
type taskStatus string

const (
	taskWorking       taskStatus = "working"
	taskInputRequired taskStatus = "input_required"
	taskCompleted     taskStatus = "completed"
	taskCancelled     taskStatus = "cancelled"
)

func statusOf(m query.Match) taskStatus {
	switch {
	case m.State == query.StateConfirming:
		return taskInputRequired
	case m.State == query.StateCancelled:
		return taskCancelled
	case m.Call == nil && m.DueAt != nil, m.Call != nil && m.Call.State == query.StatePending:
		return taskWorking
	case m.Call != nil && m.Call.Reason == effect.ReasonCancelled:
		return taskCancelled
	}
	return taskCompleted
}
