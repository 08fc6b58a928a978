package mcp

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"

	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/parameters"
	"earshot/repositories/plaintext"
	"earshot/trigger/query"
)

// What a user is asked for is a form with one field, which the client shows (elicitation, mode
// form): a value that a call lacks, or whether it may be made at all. A form holds a text, a
// number, a yes or no, or a choice, so that other values are not asked for.

// inputRequest is what a client is to ask its user.
type inputRequest struct {
	Method string      `json:"method"`
	Params elicitation `json:"params"`
}

type elicitation struct {
	Mode    string `json:"mode"`
	Message string `json:"message"`
	Schema  any    `json:"requestedSchema"`
}

// confirmKey names the question whether a call may be made. A value is asked for under the name of
// its parameter.
const confirmKey = "confirm"

func ask(message, field string, property map[string]any) inputRequest {
	return inputRequest{"elicitation/create", elicitation{"form", message, map[string]any{
		"type": "object", "properties": map[string]any{field: property}, "required": []string{field},
	}}}
}

// confirmation asks whether a trigger may take effect.
func confirmation(match query.Match) inputRequest {
	return ask(match.Question, confirmKey, map[string]any{"type": "boolean", "title": match.Name})
}

// valueRequests ask for values, each by itself.
func valueRequests(of *repositories.Tool, names []string) map[string]inputRequest {
	requests := map[string]inputRequest{}
	for _, parameter := range of.Params().List() {
		if !slices.Contains(names, parameter.Name) {
			continue
		}
		message := cmp.Or(of.Params().Ask(parameter.Name), parameter.Description, plaintext.Text(parameter.Name))
		requests[parameter.Name] = ask(message, parameter.Name, fieldOf(parameter))
	}
	return requests
}

// fieldOf is the field of a form for a parameter.
func fieldOf(p parameters.Parameter) map[string]any {
	field := map[string]any{"type": p.Type, "title": plaintext.Text(p.Name)}
	if p.Description != "" {
		field["description"] = p.Description
	}
	if len(p.Allowed) > 0 && p.Type == "string" {
		field["enum"] = plaintext.Texts(p.Allowed)
	}
	if p.Min != "" {
		field["minimum"] = p.Min
	}
	if p.Max != "" {
		field["maximum"] = p.Max
	}
	return field
}

// formTypes are the types of values that a form can hold.
var formTypes = []string{"string", "number", "integer", "boolean"}

// missingOf lists the values that a call lacks, where they are all that is wrong with it and a form
// can ask for each.
func missingOf(of *repositories.Tool, values map[string]any) []string {
	var missing []string
	for _, parameter := range of.Params().List() {
		if !parameter.Required || parameter.Hidden || values[parameter.Name] != nil {
			continue
		}
		if !slices.Contains(formTypes, parameter.Type) {
			return nil
		}
		missing = append(missing, parameter.Name)
	}
	_, faults := of.Params().Check(values)
	for _, fault := range faults {
		if !slices.Contains(missing, fault.Parameter) {
			return nil
		}
	}
	return missing
}

// inputRequired is the answer to a call that needs its user first (SEP-2322): the client asks, and
// makes the call again with what was said.
type inputRequired struct {
	done
	InputRequests map[string]inputRequest `json:"inputRequests"`
	RequestState  string                  `json:"requestState,omitempty"`
}

// requestState is what the client brings back with the call: nothing of it is kept here. It grants
// nothing that the call's key or token does not, so that it needs no seal.
type requestState struct {
	// Trigger is the one that is to be confirmed, Arguments a digest of those that it was called
	// with.
	Trigger   string `json:"trigger,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	// Values are those that the user has given before.
	Values map[string]any `json:"values,omitempty"`
}

// text is the state behind a checksum: one that was damaged on the way is noticed.
func (s requestState) text() string {
	text := exactjson.EncodeOrNull(s)
	return base64.RawURLEncoding.EncodeToString(append(checksum(text), text...))
}

const checksumSize = 8

func checksum(text []byte) []byte {
	sum := sha256.Sum256(text)
	return sum[:checksumSize]
}

func readState(text string) (requestState, error) {
	state := requestState{}
	if text == "" {
		return state, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	whole := err == nil && len(raw) > checksumSize && bytes.Equal(raw[:checksumSize], checksum(raw[checksumSize:]))
	if !whole || exactjson.Unmarshal(raw[checksumSize:], &state) != nil {
		return state, invalid("requestState is none that was given here: send it back as it came")
	}
	return state, nil
}

// digestOf stands for the arguments of a call.
func digestOf(arguments map[string]any) string {
	sum := sha256.Sum256(exactjson.EncodeOrNull(arguments))
	return hex.EncodeToString(sum[:16])
}

// asksToConfirm asks in the answer to a call whether it may be made.
func (x *exchange) asksToConfirm(match query.Match) inputRequired {
	state := requestState{Trigger: match.TriggerID, Arguments: digestOf(x.request.Params.Arguments)}
	return x.requires(map[string]inputRequest{confirmKey: confirmation(match)}, state.text())
}

// asksForValues asks in the answer to a call for values.
func (x toolCall) asksForValues(of *repositories.Tool, missing []string, had map[string]any) inputRequired {
	return x.requires(valueRequests(of, missing), requestState{Values: had}.text())
}

func (x *exchange) requires(requests map[string]inputRequest, state string) inputRequired {
	head := x.complete()
	head.ResultType = "input_required"
	return inputRequired{done: head, InputRequests: requests, RequestState: state}
}

// Actions of a user who was shown a form; the third is decline.
const (
	actionAccept = "accept"
	actionCancel = "cancel"
)

// response is what a user has done with a form.
type response struct {
	Action  string         `json:"action"`
	Content map[string]any `json:"content"`
}

// agrees reports whether it says yes: a form that was sent off, and did not say no.
func (r response) agrees() bool {
	said, has := r.Content[confirmKey]
	return r.Action == actionAccept && (!has || said == true)
}

// readResponses reads what a client brings. An object that is no response to a form may be for
// somebody else, and is left alone: what it should have answered is asked again.
func readResponses(given map[string]json.RawMessage) (map[string]response, error) {
	responses := map[string]response{}
	for key, text := range given {
		one := response{}
		if err := exactjson.Unmarshal(text, &one); err != nil {
			return nil, invalid("inputResponses " + exactQuote(key) + ` is no response: {"action":"accept"|"decline"|"cancel","content"}`)
		}
		if one.Action != "" {
			responses[key] = one
		}
	}
	return responses, nil
}

// valuesOf are the values that a user has given of those that were asked for, as far as they fit;
// declined says that one was refused.
func valuesOf(of *repositories.Tool, asked []string, responses map[string]response) (values map[string]any, declined bool) {
	values = map[string]any{}
	for _, name := range asked {
		said, has := responses[name]
		switch {
		case !has || said.Action == actionCancel:
			continue
		case said.Action != actionAccept:
			return nil, true
		}
		if value := said.field(name); value != nil && fits(of, name, value) {
			values[name] = value
		}
	}
	return values, false
}

// field is what stands in the one field of a form, also where a client calls it otherwise.
func (r response) field(name string) any {
	value, has := r.Content[name]
	for _, only := range r.Content {
		if !has && len(r.Content) == 1 {
			value = only
		}
	}
	return value
}

func fits(of *repositories.Tool, name string, value any) bool {
	_, faults := of.Params().Check(map[string]any{name: value})
	return !slices.ContainsFunc(faults, func(f parameters.ValueFault) bool { return f.Parameter == name })
}
