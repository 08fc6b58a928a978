package repositories

import "encoding/json"

// CatchAll is the name of the tool that takes a message which nothing else matched.
const CatchAll = "collect-user-message"

// Tool is what a user's words can set off.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`

	// The parameters as they were given, in one of three languages; Params has
	// their one compiled form.
	Schema             json.RawMessage `json:"schema,omitempty"`
	Parameters         json.RawMessage `json:"parameters,omitempty"`
	TemplateParameters json.RawMessage `json:"templateParameters,omitempty"`

	// URL is called when the tool fires; empty for no call.
	URL     string   `json:"url,omitempty"`
	Request *Request `json:"request,omitempty"`
	// Emitter, as resource.scope, names a second subject for the event.
	Emitter string `json:"emitter,omitempty"`

	ReturnDirect bool     `json:"returnDirect,omitempty"`
	SkipResponse bool     `json:"skipResponse,omitempty"`
	Examples     []string `json:"examples,omitempty"`
	// AuthRequired lists authentication services of which one must be verified.
	AuthRequired []string `json:"authRequired,omitempty"`

	params *Parameters
}

// Params returns the compiled parameters. A tool that came from a decoder or a store
// has them; a tool made by hand has none.
func (t *Tool) Params() *Parameters {
	if t.params == nil {
		return &Parameters{}
	}
	return t.params
}

// Given returns the parameters as they were given, for the events: a list, or an
// object where they are a JSON Schema.
func (t *Tool) Given() json.RawMessage {
	switch {
	case t.Schema != nil:
		return t.Schema
	case t.Parameters != nil:
		return t.Parameters
	default:
		return json.RawMessage("[]")
	}
}
