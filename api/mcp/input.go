package mcp

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"

	"earshot/api/answer"
	"earshot/repositories"
	"earshot/repositories/bodies"
	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
	"earshot/repositories/parameters"
	"earshot/repositories/plaintext"
	"earshot/trigger/query"
)

// inputRequest is a form with one field for the client's user (elicitation, mode form): for a missing value, or
// for a confirmation. A field is a string, a number, a boolean or a choice; other values are not asked for.
type inputRequest struct {
	Method string `json:"method"`
	Params struct {
		Mode    string `json:"mode"`
		Message string `json:"message"`
		Schema  any    `json:"requestedSchema"`
	} `json:"params"`
}

// confirmKey names the confirmation. The question for a value has the name of its parameter.
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

// valueRequests returns one form per value.
func valueRequests(definition *repositories.Tool, names []string) map[string]inputRequest {
	requests := map[string]inputRequest{}
	for _, p := range definition.Params().List() {
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
		message := cmp.Or(definition.Params().Ask(p.Name), p.Description, plaintext.Text(p.Name))
		requests[p.Name] = ask(message, p.Name, field)
	}
	return requests
}

var formTypes = []string{"string", "number", "integer", "boolean"}

// missingOf lists the missing values of a call; nil if it has other faults, or a form cannot ask for all of
// them.
func missingOf(definition *repositories.Tool, values map[string]any) []string {
	_, faults := definition.Params().Check(values)
	isLacking := func(name string) bool {
		return slices.ContainsFunc(faults, func(f parameters.ValueFault) bool { return f.Parameter == name && f.Meant.Code == fault.Missing })
	}
	var missing []string
	for _, parameter := range definition.Params().List() {
		if !parameter.Required && !isLacking(parameter.Name) || parameter.Hidden || values[parameter.Name] != nil {
			continue
		}
		if !slices.Contains(formTypes, parameter.Type) {
			return nil
		}
		missing = append(missing, parameter.Name)
	}
	for _, reported := range faults {
		if !slices.Contains(missing, reported.Parameter) {
			return nil
		}
	}
	return missing
}

// inputRequired is the answer to a call that first needs its user (SEP-2322): the client asks, and repeats the
// call with the answer.
type inputRequired struct {
	resultHead
	InputRequests map[string]inputRequest `json:"inputRequests"`
	RequestState  string                  `json:"requestState,omitempty"`
}

// requestState is returned by the client's next call instead of being stored. It grants nothing beyond the
// call's key or token, so it is not signed.
type requestState struct {
	// Trigger awaits confirmation; Arguments is a digest of its call's arguments.
	Trigger   string `json:"trigger,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	// Values were given before.
	Values map[string]any `json:"values,omitempty"`
}

// text encodes the state with a checksum that detects damage.
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
	intact := err == nil && len(raw) > checksumSize && bytes.Equal(raw[:checksumSize], checksum(raw[checksumSize:]))
	if intact { // anybody can make the checksum, so the values are held to what they may be in a body
		_, err = bodies.Tree(raw[checksumSize:])
	}
	if !intact || err != nil || exactjson.Unmarshal(raw[checksumSize:], &state) != nil {
		return state, invalid(answer.InvalidBody, "requestState is none that was given here: send it back as it came")
	}
	return state, nil
}

func digestOf(arguments map[string]any) string {
	sum := sha256.Sum256(exactjson.EncodeOrNull(arguments))
	return hex.EncodeToString(sum[:16])
}

// Actions of a user on a form.
const (
	actionAccept  = "accept"
	actionDecline = "decline"
	actionCancel  = "cancel"
)

type response struct {
	Action  string         `json:"action"`
	Content map[string]any `json:"content"`
}

// readResponses parses a client's responses. An object without an action is ignored, and its question is asked
// again. An unknown action is a fault of the client: read as a decline, it would end the call for good.
func readResponses(texts map[string]json.RawMessage) (map[string]response, error) {
	responses := map[string]response{}
	for key, text := range texts {
		parsed := response{}
		if err := exactjson.Unmarshal(text, &parsed); err != nil {
			return nil, invalid(answer.InvalidBody, "inputResponses "+exactQuote(key)+` is not a response: {"action":"accept"|"decline"|"cancel","content"}`)
		}
		switch parsed.Action {
		case "":
		case actionAccept, actionDecline, actionCancel:
			responses[key] = parsed
		default:
			return nil, invalid(answer.InvalidBody, "inputResponses "+exactQuote(key)+": action "+exactQuote(parsed.Action)+` is not known; "accept", "decline" and "cancel" are`)
		}
	}
	return responses, nil
}

// valuesOf returns the values that a user gave for the names and that fit their forms. declined reports that the user refused one.
//
// A form for a value has one field, so its only value counts under any name: MCP's own conformance suite names it other
// than the form does. A confirmation counts under its own name only (see confirm).
func valuesOf(definition *repositories.Tool, names []string, responses map[string]response) (values map[string]any, declined bool) {
	values = map[string]any{}
	for _, name := range names {
		reply, isAnswered := responses[name]
		switch {
		case !isAnswered || reply.Action == actionCancel:
			continue
		case reply.Action == actionDecline:
			return nil, true
		}
		value, isNamed := reply.Content[name]
		if !isNamed && len(reply.Content) == 1 {
			value = slices.Collect(maps.Values(reply.Content))[0]
		}
		_, faults := definition.Params().Check(map[string]any{name: value})
		if value != nil && !slices.ContainsFunc(faults, func(f parameters.ValueFault) bool { return f.Parameter == name }) {
			values[name] = value
		}
	}
	return values, false
}
