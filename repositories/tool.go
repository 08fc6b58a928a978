package repositories

import (
	"cmp"
	"encoding/json"
)

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

	// Type says what the tool does with its source, one of the constants below. A tool
	// without a type fires an event and calls its URL.
	Type   string `json:"type,omitempty"`
	Source string `json:"source,omitempty"` // name of one of the app's sources
	// Statement of a SQL tool: one statement, to which the parameters are bound, and
	// into which the template parameters are pasted.
	Statement string `json:"statement,omitempty"`

	// Of an http tool: Path and RequestBody are templates of their parameters.
	Method       string          `json:"method,omitempty"`
	Path         string          `json:"path,omitempty"`
	Headers      Headers         `json:"headers,omitempty"`
	RequestBody  string          `json:"requestBody,omitempty"`
	PathParams   json.RawMessage `json:"pathParams,omitempty"`
	QueryParams  json.RawMessage `json:"queryParams,omitempty"`
	BodyParams   json.RawMessage `json:"bodyParams,omitempty"`
	HeaderParams json.RawMessage `json:"headerParams,omitempty"`

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

// Types of tools.
const (
	ToolPostgres = "postgres-sql"
	ToolSQLite   = "sqlite-sql"
	ToolHTTP     = "http"
)

// RunsStatement reports whether the tool is a SQL tool.
func (t *Tool) RunsStatement() bool { return t.Type == ToolPostgres || t.Type == ToolSQLite }

// Calls reports whether the tool does something that has a result when it fires, beside
// its events: a call of a URL, a request to an http source, a statement.
func (t *Tool) Calls() bool { return t.URL != "" || t.Type != "" }

// lists are the tool's lists of parameters, in the order in which they make one flat
// list. Parameters may be a JSON Schema instead.
func (t *Tool) lists() []list {
	return []list{
		{sermas, t.Schema}, {toolbox, t.Parameters}, {toolboxTemplate, t.TemplateParameters},
		{pathList, t.PathParams}, {queryList, t.QueryParams}, {bodyList, t.BodyParams}, {headerList, t.HeaderParams},
	}
}

// Given returns the parameters as they were given, for the events: a list, or an
// object where they are a JSON Schema. Several lists come out as one.
func (t *Tool) Given() json.RawMessage {
	var members []json.RawMessage
	var only json.RawMessage
	lists := 0
	for _, in := range t.lists() {
		if !given(in.raw) {
			continue
		}
		only = in.raw
		lists++
		var list []json.RawMessage
		if json.Unmarshal(in.raw, &list) == nil {
			members = append(members, list...)
		}
	}
	switch {
	case lists == 1:
		return only
	case len(members) == 0:
		return json.RawMessage("[]")
	}
	joined, err := Encode(members)
	if err != nil {
		return json.RawMessage("[]")
	}
	return joined
}

// BoundNames returns the names of the parameters that are bound to the statement, in
// the order of their numbers.
func (t *Tool) BoundNames() []string {
	if given(t.Schema) {
		return ParameterNames(t.Schema)
	}
	return ParameterNames(t.Parameters)
}

// ParameterNames returns the names of the parameters of one list, or of a JSON Schema,
// in the order in which they stand there. It needs no compiled tool.
func ParameterNames(raw json.RawMessage) []string {
	var members []struct{ Parameter, Name string }
	var object struct{ Properties json.RawMessage }
	if json.Unmarshal(raw, &members) != nil {
		if json.Unmarshal(raw, &object) != nil {
			return nil
		}
		names, _ := objectKeys(object.Properties) // it was compiled, hence it is an object
		return names
	}
	names := make([]string, len(members))
	for i, member := range members {
		names[i] = cmp.Or(member.Name, member.Parameter)
	}
	return names
}
