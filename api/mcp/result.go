package mcp

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"earshot/repositories"
	"earshot/trigger"
	"earshot/trigger/effect"
	"earshot/trigger/query"
)

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
	length := len(r.Content[0].Text)
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
	return x.toolError(cmp.Or(call.Error, "the call has failed: "+string(call.Reason)))
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
