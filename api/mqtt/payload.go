package mqtt

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/plaintext"
	"earshot/trigger/effect"
)

type event struct {
	ID           string                `json:"id,omitempty"`
	Time         string                `json:"ts,omitempty"`
	MessageID    string                `json:"messageId,omitempty"`
	AppID        string                `json:"appId"`
	SessionID    string                `json:"sessionId,omitempty"`
	RepositoryID string                `json:"repositoryId,omitempty"`
	Source       string                `json:"source,omitempty"`
	Name         string                `json:"name,omitempty"`
	Metadata     repositories.Metadata `json:"metadata,omitempty"`
	Schema       json.RawMessage       `json:"schema,omitempty"`
	Values       map[string]any        `json:"values"`
	Omitted      []string              `json:"omitted,omitempty"`
}

// triggered is the payload of SERMAS's tool event, with the additional fields of its manual.
type triggered struct {
	event
	Tool tool `json:"tool"`
}

// tool is a tool in SERMAS's format, without its request, which contains credentials.
type tool struct {
	Name         string      `json:"name"`
	Description  string      `json:"description,omitempty"`
	Schema       []parameter `json:"schema"`
	Emitter      string      `json:"emitter,omitempty"`
	ReturnDirect bool        `json:"returnDirect,omitempty"`
	SkipResponse bool        `json:"skipResponse,omitempty"`
}

// parameter is a parameter of a tool, with its value if the tool has fired.
type parameter struct {
	Name        string `json:"parameter"`
	Type        string `json:"type,omitempty"`
	Description string `json:"description,omitempty"`
	Value       any    `json:"value,omitempty"`
}

type changed struct {
	AppID     string          `json:"appId"`
	SessionID string          `json:"sessionId,omitempty"`
	Operation string          `json:"operation"`
	Record    json.RawMessage `json:"record"`
	Time      string          `json:"ts"`
	Omitted   []string        `json:"omitted,omitempty"`
}

// notMatching is the payload of the event for a message that matched no tool.
type notMatching struct {
	AppID        string   `json:"appId"`
	SessionID    string   `json:"sessionId"`
	MessageID    string   `json:"messageId,omitempty"`
	Repositories []string `json:"repositories"`
	Tools        []tool   `json:"tools"`
	Time         string   `json:"ts"`
}

// messageOf converts an event to SERMAS's format, with its topic below app/{appId}/; no topic if clients do not
// get it, or it is invalid.
func (s *Server) messageOf(ctx context.Context, of effect.Published) (topic string, payload []byte) {
	words := strings.SplitN(of.Subject, ".", 5)
	if len(words) < 4 || words[0] != "tool" {
		return "", nil
	}
	var content any
	var err error
	switch words[1] {
	case "trigger":
		topic = "dialogue/tool/" + words[len(words)-1]
		var made triggered
		if err = decode(of.Data, &made.event); err != nil {
			return "", nil
		}
		if made.Values == nil {
			made.Values = map[string]any{}
		}
		made.Tool = s.describer(ctx, made.event)(made.Name)
		made.Tool.Schema = filled(made.Schema, made.Values)
		content = made
	case "changed":
		topic = "dialogue/tool/changed/" + words[3]
		var about changed
		err, content = decode(of.Data, &about), &about
	case "notmatching":
		topic = "dialogue/tool/not-matching"
		var about struct {
			event
			Repositories []string `json:"repositories"`
			Tools        []string `json:"tools"`
		}
		if err = decode(of.Data, &about); err != nil {
			return "", nil
		}
		made := notMatching{about.AppID, about.SessionID, about.MessageID, about.Repositories, []tool{}, about.Time}
		describe := s.describer(ctx, about.event)
		for _, name := range about.Tools {
			made.Tools = append(made.Tools, describe(name))
		}
		content = made
	default:
		return "", nil
	}
	if err == nil {
		payload, err = exactjson.Encode(content)
	}
	if err != nil {
		return "", nil
	}
	return topic, payload
}

// decode keeps the digits of numbers.
func decode(data []byte, into any) error {
	reading := json.NewDecoder(bytes.NewReader(data))
	reading.UseNumber()
	return reading.Decode(into)
}

// describer describes the tools in the scope of an event. A deleted tool, such as one that fires once, has only
// its name.
func (s *Server) describer(ctx context.Context, of event) func(name string) tool {
	catalog, err := s.Engine.Catalog(ctx, of.AppID, of.SessionID)
	return func(name string) tool {
		if err == nil {
			if found, there := catalog.Find(name, of.RepositoryID); there {
				known := found.Tool
				return tool{known.Name, known.Shown(), filled(known.Given(), nil), known.Emitter, known.ReturnDirect, known.SkipResponse}
			}
		}
		return tool{Name: name, Schema: []parameter{}}
	}
}

// filled lists a tool's parameters in SERMAS's format with their values, and then the values without a
// parameter.
func filled(given json.RawMessage, values map[string]any) []parameter {
	rest, all := maps.Clone(values), []parameter{}
	for _, one := range parametersIn(given) {
		one.Value = values[one.Name]
		delete(rest, one.Name)
		all = append(all, one)
	}
	for _, name := range slices.Sorted(maps.Keys(rest)) {
		all = append(all, parameter{Name: name, Value: rest[name]})
	}
	return all
}

// parametersIn reads the names, types and descriptions of parameters from a SERMAS or Toolbox list, or a JSON
// Schema.
func parametersIn(given json.RawMessage) (all []parameter) {
	var list []struct {
		parameter
		Toolbox string `json:"name"`
	}
	if json.Unmarshal(given, &list) == nil {
		for _, one := range list {
			one.Name, one.Value, one.Description = cmp.Or(one.Name, one.Toolbox), nil, plaintext.Text(one.Description)
			all = append(all, one.parameter)
		}
		return all
	}
	var schema struct {
		Properties map[string]struct {
			Type        any    `json:"type"` // a name, or a list of names
			Description string `json:"description"`
		} `json:"properties"`
	}
	_ = json.Unmarshal(given, &schema) // an unreadable schema has none
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		of := schema.Properties[name]
		kind, _ := of.Type.(string)
		all = append(all, parameter{Name: name, Type: kind, Description: plaintext.Text(of.Description)})
	}
	return all
}
