package mcp

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	"earshot/api/auth"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/tracing"
	"earshot/trigger"
	"earshot/trigger/effect"
	"earshot/trigger/query"

	"go.opentelemetry.io/otel/trace"
)

// content is a part of a result.
type content struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// callResult is what came of a call.
type callResult struct {
	done
	Content    []content       `json:"content"`
	Structured json.RawMessage `json:"structuredContent,omitempty"`
	IsError    bool            `json:"isError,omitempty"`
}

// callTool answers tools/call.
func (x toolCall) callTool() error {
	defer x.traced()()
	if x.searches() {
		switch x.request.Params.Name {
		case searchTool:
			return x.search()
		case callTool:
			if fault := x.unwrap(); fault != "" {
				return x.reply(x.faulty(fault), nil)
			}
		}
	}
	if resumed, err := x.resume(); resumed || err != nil {
		return err
	}
	return x.fire(x.direct())
}

// direct is the call as a direct trigger.
func (x *exchange) direct() trigger.Direct {
	scope, p := x.scope(), x.request.Params
	values := p.Arguments
	if x.values != nil {
		values = x.values
	}
	return trigger.Direct{
		AppID: scope.AppID, SessionID: scope.SessionID, RepositoryID: x.c.Param("repositoryId"), Name: p.Name, Values: values,
		Source: query.SourceAgent, TriggerID: p.Meta.TriggerID, Metadata: p.Meta.Metadata, Claims: x.user.Claims,
		FrontEnd: auth.PrincipalOf(x.c).FrontEnd(), TraceParent: x.trace, Unawaited: x.request.tasks(), Vet: x.vetHeaders,
	}
}

// fire fires the tool, and answers with what came of it.
func (x toolCall) fire(d trigger.Direct) error {
	if err := x.checkKeys(d); err != nil {
		return x.fail(err)
	}
	answered, err := x.fireWithin(d)
	switch {
	case err != nil:
		return x.unfired(d, err)
	case answered == nil:
		return nil // it was answered with a task
	}
	match := query.Match{}
	if err := exactjson.Unmarshal(answered, &match); err != nil {
		return err
	}
	return x.matched(match, answered)
}

// checkKeys looks at what the client has chosen for the trigger.
func (x toolCall) checkKeys(d trigger.Direct) error {
	if d.TriggerID != "" && repositories.CheckID("earshot/triggerId", d.TriggerID) != nil {
		return invalid(`_meta "earshot/triggerId" is no id: letters, digits, - and _, 128 at most`)
	}
	if err := repositories.CheckMetadata(d.Metadata); err != nil {
		return invalid(`_meta "earshot/metadata": ` + err.Error())
	}
	return nil
}

// unfired answers a call that has fired nothing. What the model can mend by itself is a result
// that says so.
func (x toolCall) unfired(d trigger.Direct, err error) error {
	values, lacks := (*trigger.ValuesError)(nil), (*repositories.Unverified)(nil)
	switch {
	case errors.As(err, &values):
		if asks, err := x.askFor(d); asks || err != nil {
			return err
		}
		return x.reply(x.faulty(faultsOf(values)), nil)
	case errors.As(err, &lacks):
		return x.reply(x.faulty(x.user.Explained(err).Error()), nil)
	case errors.Is(err, trigger.ErrNotInScope):
		return x.fail(invalid("unknown tool " + exactQuote(d.Name) + ": it is not in scope here, or was just taken; list the tools again"))
	}
	return x.fail(err)
}

func exactQuote(text string) string { return string(exactjson.EncodeOrNull(text)) }

// faultsOf are the faults of values, each in a line.
func faultsOf(values *trigger.ValuesError) string {
	lines := []string{"nothing was called, the values do not fit " + values.Name + ":"}
	for _, fault := range values.Faults {
		lines = append(lines, fault.Parameter+": "+fault.Detail)
	}
	return strings.Join(lines, "\n")
}

// faulty is the result of a call that went wrong in a way that the model should read.
func (x *exchange) faulty(text string) callResult {
	return callResult{done: x.complete(), Content: []content{{"text", text}}, IsError: true}
}

// resultOf is the result of a call whose outcome is that JSON: a text as it is, anything else as
// JSON and as structured content. Before revision only an object can be that.
func (x *exchange) resultOf(outcome json.RawMessage) callResult {
	r := callResult{done: x.complete()}
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

// matched answers with what has become of a trigger.
func (x toolCall) matched(match query.Match, answered json.RawMessage) error {
	s := standing(match)
	switch {
	case s.ended():
		return x.reply(x.outcome(match, answered), nil)
	case x.request.tasks():
		return x.beginTask(match.TriggerID)
	case match.State == query.StateConfirming && x.request.elicits():
		return x.reply(x.asksToConfirm(match), nil)
	}
	return x.reply(x.resultOf(answered), nil) // it says that it is pending, and for what
}

// outcome is the result of a trigger that has come to its end.
func (x *exchange) outcome(match query.Match, answered json.RawMessage) callResult {
	call := match.Call
	switch {
	case call == nil && match.Event != nil && match.Event.State == query.StateFailed:
		return x.faulty(cmp.Or(match.Event.Error, "its event could not be published"))
	case call == nil || call.State == query.StateDelivered && len(call.Result) == 0:
		return x.resultOf(answered) // there is nothing else to say than that it was done
	case call.State == query.StateDelivered:
		return x.resultOf(call.Result)
	}
	return x.faulty(cmp.Or(call.Error, "the call has failed: "+string(call.Reason)))
}

// standing is how far a trigger is, as a task says it.
func standing(m query.Match) taskStatus {
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

// traced begins the span of a call, below the one that its _meta names, with a link to the HTTP
// request that has brought it, or else below that request. It returns what ends the span.
func (x toolCall) traced() (end func()) {
	below := trace.SpanContextFromContext(x.ctx())
	x.trace = tracing.Of(x.ctx())
	if _, named := tracing.Read(x.request.Params.Meta.TraceParent); named {
		x.trace = x.request.Params.Meta.TraceParent
	}
	if x.server.Tracer == nil {
		return func() {}
	}
	name := "tools/call"
	if repositories.CheckID("name", x.request.Params.Name) == nil { // no more than it may be: the name of a tool
		name += " " + x.request.Params.Name
	}
	_, span := x.server.Tracer.Below(x.ctx(), x.trace, name, trace.SpanKindServer)
	if span.IsRecording() {
		span.SetAttributes(tracing.MCPMethod.String("tools/call"), tracing.App.String(x.scope().AppID))
		if x.trace == x.request.Params.Meta.TraceParent && below.IsValid() {
			span.AddLink(trace.Link{SpanContext: below})
		}
	}
	x.trace = tracing.Parent(span, x.trace)
	return func() { span.End() }
}
