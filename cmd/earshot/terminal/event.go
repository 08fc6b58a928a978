package terminal

import (
	"encoding/json"
	"fmt"
	"strings"

	"earshot/repositories/exactjson"
)

// Event is the displayed part of a stream event.
type Event struct {
	Kind    string // trigger, emitter, result, rejected, …
	App     string
	Session string // empty for none
	Name    string // of the tool, or of the changed repository
	Says    string // its content, in a few words
	Code    string // its colour
}

// eventPayload has the displayed fields of all payloads.
type eventPayload struct {
	SessionID, Name, Operation, RepositoryID string
	Values                                   map[string]any
	OK                                       *bool
	Status                                   int
	Result                                   json.RawMessage
	Reason, Error                            string
	Errors                                   []struct{ Parameter, Detail string }
	Tools                                    []string
	ToolsTotal                               int
	Question, Of                             string
	MessageID, Actor, Text                   string
	Record                                   struct{ Tools []json.RawMessage }
}

// EventOf reads an event. Unknown events are shown by subject and data.
func EventOf(subject string, data []byte) Event {
	words := strings.Split(subject, ".")
	var payload eventPayload
	if exactjson.Unmarshal(data, &payload) != nil || len(words) < 4 {
		return Event{Kind: OneLine(subject), Says: OneLine(string(Compact(data)))}
	}
	e := Event{Kind: words[1], App: words[2], Session: payload.SessionID, Name: payload.Name}
	if words[0] == "chat" {
		e.Kind, e.Name = "chat", payload.Actor
		if e.Says = OneLine(payload.Text); words[1] == "failed" {
			e.Says, e.Code = OneLine("message "+payload.MessageID+" is not decided: "+payload.Reason), Red
		}
		return e
	}
	if words[0] == "app" {
		e.Kind, e.App, e.Code = "emitter", words[1], Cyan
		e.Says = strings.Join(words[2:], ".") + " " + valuesText(payload.Values)
		return e
	}
	switch e.Kind {
	case "trigger":
		e.Says, e.Code = valuesText(payload.Values), Green
	case "result":
		if payload.OK == nil || !*payload.OK {
			e.Says, e.Code = OneLine("failed ("+payload.Reason+"): "+payload.Error), Red
			break
		}
		if payload.Status != 0 {
			e.Says = fmt.Sprint(payload.Status, " ")
		}
		e.Says, e.Code = e.Says+fit(OneLine(string(Compact(payload.Result))), maxValue), Green
	case "rejected":
		var faults []string
		for _, fault := range payload.Errors {
			faults = append(faults, fault.Parameter+" "+fault.Detail)
		}
		e.Says, e.Code = OneLine(strings.Join(faults, ", ")), Yellow
	case "notmatching":
		e.Says, e.Code = OneLine("none of "+strings.Join(payload.Tools, ", ")), Yellow
		if more := payload.ToolsTotal - len(payload.Tools); more > 0 {
			e.Says += fmt.Sprintf(" and %d more", more)
		}
	case "confirm":
		e.Says, e.Code = OneLine(payload.Question), Yellow
	case "cancelled":
		e.Says, e.Code = strings.TrimSpace(OneLine(payload.Reason)+" "+valuesText(payload.Values)), Yellow
	case "duplicate":
		e.Says, e.Code = OneLine("of "+payload.Of), Yellow
	case "changed":
		e.Name, e.Says = payload.RepositoryID, payload.Operation
		if n := len(payload.Record.Tools); n > 0 {
			e.Says += fmt.Sprintf(", tools: %d", n)
		}
	default:
		e.Says = OneLine(string(Compact(data)))
	}
	return e
}

// Column widths of an event's line. Longer cells shift the rest.
const (
	kindColumns    = 11
	sessionColumns = 8
)

// Line formats an event as a line of that many columns, prefixed by a mark such as the time.
func (e Event) Line(style Style, mark string, columns int) string {
	where := e.App
	if e.Session != "" {
		where += "/" + e.Session
	}
	before := mark + "  " + pad(e.Kind, kindColumns) + "  "
	if columns > 0 {
		columns = max(1, columns-columnsOfText(before))
	}
	rest := fit(strings.TrimRight(pad(where, sessionColumns)+"  "+strings.TrimSpace(e.Name+"  "+e.Says), " "), columns)
	return style.Paint(Faint, mark) + "  " + style.Paint(e.Code, pad(e.Kind, kindColumns)) + "  " + rest
}
