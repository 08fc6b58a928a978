package mcp

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"

	"earshot/api/answer"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
	"earshot/repositories/parameters"
	"earshot/repositories/plaintext"
	"earshot/trigger/query"
)

// inputRequest is a form with one field, which a client shows its user (elicitation, mode form): for
// a value that a call lacks, or for whether it may be made. A form holds a text, a number, a yes or
// no, or a choice; other values are not asked for.
type inputRequest struct {
	Method string `json:"method"`
	Params struct {
		Mode    string `json:"mode"`
		Message string `json:"message"`
		Schema  any    `json:"requestedSchema"`
	} `json:"params"`
}

// confirmKey names the question whether a call may be made. The question for a value has the name of its parameter.
const confirmKey = "confirm"

func ask(message, field string, property map[string]any) inputRequest {
	request := inputRequest{Method: "elicitation/create"}
	request.Params.Mode, request.Params.Message = "form", message
	request.Params.Schema = map[string]any{"type": "object", "properties": map[string]any{field: property}, "required": []string{field}}
	return request
}

func confirmation(match query.Match) inputRequest {
	return ask(match.Question, confirmKey, map[string]any{"type": "boolean", "title": match.Name})
}

// valueRequests ask for values, each by itself.
func valueRequests(of *repositories.Tool, names []string) map[string]inputRequest {
	requests := map[string]inputRequest{}
	for _, p := range of.Params().List() {
		if !slices.Contains(names, p.Name) {
			continue
		}
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
		message := cmp.Or(of.Params().Ask(p.Name), p.Description, plaintext.Text(p.Name))
		requests[p.Name] = ask(message, p.Name, field)
	}
	return requests
}

var formTypes = []string{"string", "number", "integer", "boolean"}

// missingOf lists the values that a call lacks, if they are all that is wrong with it and a form
// can ask for each.
func missingOf(of *repositories.Tool, values map[string]any) []string {
	_, faults := of.Params().Check(values)
	isLacking := func(name string) bool {
		return slices.ContainsFunc(faults, func(f parameters.ValueFault) bool { return f.Parameter == name && f.Meant.Code == fault.Missing })
	}
	var missing []string
	for _, parameter := range of.Params().List() {
		if !parameter.Required && !isLacking(parameter.Name) || parameter.Hidden || values[parameter.Name] != nil {
			continue
		}
		if !slices.Contains(formTypes, parameter.Type) {
			return nil
		}
		missing = append(missing, parameter.Name)
	}
	for _, found := range faults {
		if !slices.Contains(missing, found.Parameter) {
			return nil
		}
	}
	return missing
}

// inputRequired is the answer to a call that needs its user first (SEP-2322): the client asks, and
// makes the call again with the answer.
type inputRequired struct {
	resultHead
	InputRequests map[string]inputRequest `json:"inputRequests"`
	RequestState  string                  `json:"requestState,omitempty"`
}

// requestState comes back with the client's next call: it is not kept here. It grants nothing that
// the call's key or token does not, so that it needs no seal.
type requestState struct {
	// Trigger is the one to be confirmed, Arguments a digest of those that it was called with.
	Trigger   string `json:"trigger,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	// Values were given before.
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
		return state, invalid(answer.InvalidBody, "requestState is none that was given here: send it back as it came")
	}
	return state, nil
}

func digestOf(arguments map[string]any) string {
	sum := sha256.Sum256(exactjson.EncodeOrNull(arguments))
	return hex.EncodeToString(sum[:16])
}

// Actions of a user who was shown a form; the third is decline.
const (
	actionAccept = "accept"
	actionCancel = "cancel"
)

type response struct {
	Action  string         `json:"action"`
	Content map[string]any `json:"content"`
}

// readResponses reads the responses of a client. An object that is no response to a form may be for
// another reader, and is ignored: its question is asked again.
func readResponses(given map[string]json.RawMessage) (map[string]response, error) {
	responses := map[string]response{}
	for key, text := range given {
		one := response{}
		if err := exactjson.Unmarshal(text, &one); err != nil {
			return nil, invalid(answer.InvalidBody, "inputResponses "+exactQuote(key)+` is no response: {"action":"accept"|"decline"|"cancel","content"}`)
		}
		if one.Action != "" {
			responses[key] = one
		}
	}
	return responses, nil
}

// valuesOf are the values that a user has given of those that were asked for, if they fit; declined
// says that one was refused.
func valuesOf(of *repositories.Tool, names []string, responses map[string]response) (values map[string]any, declined bool) {
	values = map[string]any{}
	for _, name := range names {
		given, has := responses[name]
		switch {
		case !has || given.Action == actionCancel:
			continue
		case given.Action != actionAccept:
			return nil, true
		}
		value, has := given.Content[name]
		if !has && len(given.Content) == 1 { // the client may give the one field another name
			for _, value = range given.Content {
			}
		}
		_, faults := of.Params().Check(map[string]any{name: value})
		if value != nil && !slices.ContainsFunc(faults, func(f parameters.ValueFault) bool { return f.Parameter == name }) {
			values[name] = value
		}
	}
	return values, false
}
