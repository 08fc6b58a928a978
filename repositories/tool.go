package repositories

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"earshot/repositories/annotations"
	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
	"earshot/repositories/lists"
	"earshot/repositories/parameters"
	"earshot/repositories/plaintext"
	"earshot/repositories/template"
)

// CatchAll is the name of the tool that fires when nothing else matches a message.
const CatchAll = "collect-user-message"

// Tool is an action that a user's words can trigger: an event, and optionally a call or an SQL statement.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`

	// The parameters as given, in one of three forms; see Params.
	Schema             json.RawMessage `json:"schema,omitempty"`
	Parameters         json.RawMessage `json:"parameters,omitempty"`
	TemplateParameters json.RawMessage `json:"templateParameters,omitempty"`

	// Type is one of the constants below. A tool without a type fires an event and calls its URL.
	Type       string `json:"type,omitempty"`
	Source     string `json:"source,omitempty"`
	RemoteName string `json:"remoteName,omitempty"`
	Statement  string `json:"statement,omitempty"`
	ReadOnly   *bool  `json:"readOnly,omitempty"` // see App.ReadOnly and App.QueriesAlone

	// Of an http tool: Path and RequestBody are templates of their parameters.
	Method       string          `json:"method,omitempty"`
	Path         string          `json:"path,omitempty"`
	Headers      Headers         `json:"headers,omitempty"`
	RequestBody  string          `json:"requestBody,omitempty"`
	PathParams   json.RawMessage `json:"pathParams,omitempty"`
	QueryParams  json.RawMessage `json:"queryParams,omitempty"`
	BodyParams   json.RawMessage `json:"bodyParams,omitempty"`
	HeaderParams json.RawMessage `json:"headerParams,omitempty"`

	URL     string   `json:"url,omitempty"`
	Request *Request `json:"request,omitempty"`
	Emitter string   `json:"emitter,omitempty"`

	ReturnDirect bool     `json:"returnDirect,omitempty"`
	SkipResponse bool     `json:"skipResponse,omitempty"`
	Examples     []string `json:"examples,omitempty"`
	AuthRequired []string `json:"authRequired,omitempty"`

	Settle       Duration `json:"settle,omitzero"`
	CancelOnNext bool     `json:"cancelOnNext,omitempty"`
	Confirm      string   `json:"confirm,omitempty"` // one of the constants below; empty is ConfirmNever
	Dedupe       *Dedupe  `json:"dedupe,omitempty"`
	Answer       *Answer  `json:"answer,omitempty"`

	params *parameters.Parameters
	plain  []string              // nil if Examples are plain themselves
	marked []annotations.Example // those of Examples that mark values
}

// Types of tools. SQL tools run their own statement, a parameter's, or one that lists tables.
const (
	ToolPostgres        = "postgres-sql"
	ToolPostgresExecute = "postgres-execute-sql"
	ToolPostgresTables  = "postgres-list-tables"
	ToolMySQL           = "mysql-sql"
	ToolMySQLExecute    = "mysql-execute-sql"
	ToolMySQLTables     = "mysql-list-tables"
	ToolSQLite          = "sqlite-sql"
	ToolSQLiteExecute   = "sqlite-execute-sql"
	ToolHTTP            = "http"
	ToolMCP             = "mcp"
)

var (
	statementTypes = []string{ToolPostgres, ToolMySQL, ToolSQLite}
	executeTypes   = []string{ToolPostgresExecute, ToolMySQLExecute, ToolSQLiteExecute}
	tablesTypes    = []string{ToolPostgresTables, ToolMySQLTables}
	sqlTypes       = slices.Concat(statementTypes, executeTypes, tablesTypes)
	toolTypes      = slices.Concat([]string{ToolHTTP, ToolMCP}, sqlTypes)
)

// ToolTypes lists the types that a tool may have.
func ToolTypes() []string { return slices.Clone(toolTypes) }

// When a user is asked before a trigger takes effect.
const (
	ConfirmAlways = "always" // each time
	ConfirmOnce   = "once"   // once in a session for the same values
	ConfirmNever  = "never"
	// ConfirmIrreversible, a setting of apps, is ConfirmAlways for irreversible tools.
	ConfirmIrreversible = "irreversible"
)

// The scopes of Dedupe: which triggers are compared.
const (
	DedupeSession = "session"
	DedupeApp     = "app"
)

// Dedupe suppresses all but one of the triggers with equal values.
type Dedupe struct {
	By     []string `json:"by,omitempty"` // names of parameters; empty compares all
	Within Duration `json:"within"`
	Scope  string   `json:"scope,omitempty"` // one of the constants above; a decoder fills in DedupeSession
}

// Answer means that a subscriber to the tool's event answers in place of a call.
type Answer struct {
	Within Duration `json:"within"`
}

// SourceType is the type of the tool's source; empty for a tool without a type.
func (t *Tool) SourceType() string {
	source, _, _ := strings.Cut(t.Type, "-")
	return source
}

// RunsStatement reports whether the tool is a SQL tool.
func (t *Tool) RunsStatement() bool { return slices.Contains(sqlTypes, t.Type) }

// Executes reports whether the tool's statement is its parameter SQLParameter.
func (t *Tool) Executes() bool { return slices.Contains(executeTypes, t.Type) }

// ListsTables reports whether the tool lists the tables of its database.
func (t *Tool) ListsTables() bool { return slices.Contains(tablesTypes, t.Type) }

// Calls reports whether firing the tool has a result: from a call, a statement, or a subscriber.
func (t *Tool) Calls() bool { return t.URL != "" || t.Type != "" || t.Answer != nil }

// Shown returns the description for models and people, without invisible characters.
func (t *Tool) Shown() string { return plaintext.Text(t.Description) }

// Params returns the compiled parameters; none for a tool that was not decoded.
func (t *Tool) Params() *parameters.Parameters {
	if t.params == nil {
		return &parameters.Parameters{}
	}
	return t.params
}

// Parameters of the SQL tools without their own statement.
const (
	SQLParameter    = "sql"
	TablesParameter = "table_names"
	FormatParameter = "output_format"
)

// Formats of a tool that lists tables.
const (
	TablesSimple   = "simple"   // names only
	tablesDetailed = "detailed" // also columns, constraints, indexes and triggers
)

var (
	executeParameters = json.RawMessage(`[{"name":"` + SQLParameter + `","type":"string","description":"The sql to execute."}]`)
	tablesParameters  = json.RawMessage(`[{"name":"` + TablesParameter + `","type":"string","default":"","description":"Names of tables with commas between them; all tables where it is empty."},` +
		`{"name":"` + FormatParameter + `","type":"string","default":"` + tablesDetailed + `","allowedValues":["` + TablesSimple + `","` + tablesDetailed + `"],"description":"simple for the names alone, detailed for columns, constraints, indexes and triggers as well."}]`)
)

// lists returns the tool's lists of parameters in order; Parameters may be a JSON Schema.
func (t *Tool) lists() []parameters.List {
	switch {
	case t.Executes():
		return []parameters.List{parameters.Toolbox.Of(executeParameters)}
	case t.ListsTables():
		return []parameters.List{parameters.Toolbox.Of(tablesParameters)}
	}
	return []parameters.List{
		parameters.SERMAS.Of(t.Schema), parameters.Toolbox.Of(t.Parameters), parameters.Template.Of(t.TemplateParameters),
		parameters.PathList.Of(t.PathParams), parameters.QueryList.Of(t.QueryParams), parameters.BodyList.Of(t.BodyParams), parameters.HeaderList.Of(t.HeaderParams),
	}
}

// Given returns the parameters for events: one list, or an object if they are a JSON Schema.
func (t *Tool) Given() json.RawMessage {
	given := slices.DeleteFunc(t.lists(), func(l parameters.List) bool { return !parameters.Present(l.Raw) })
	if len(given) == 1 {
		return given[0].Raw
	}
	members := []json.RawMessage{}
	for _, in := range given {
		var list []json.RawMessage
		if json.Unmarshal(in.Raw, &list) == nil {
			members = append(members, list...)
		}
	}
	joined, err := exactjson.Encode(members)
	if err != nil {
		return json.RawMessage("[]")
	}
	return joined
}

// BoundNames returns the names of the parameters bound to the statement, in order of their numbers.
func (t *Tool) BoundNames() []string {
	return t.Params().Derived(boundForm{}, func() any {
		if given := t.lists(); len(given) == 1 || parameters.Present(t.Schema) {
			return ParameterNames(given[0].Raw)
		}
		return ParameterNames(t.Parameters)
	}).([]string)
}

// DateTimes returns the names of the parameters of format date-time. It works on uncompiled tools.
func (t *Tool) DateTimes() []string {
	return t.Params().Derived(dateTimeForm{}, func() any {
		type formatted struct {
			Parameter, Name string
			Format          parameters.Format
		}
		var names []string
		for _, list := range t.lists() {
			var members []formatted
			var object struct{ Properties map[string]formatted }
			_ = json.Unmarshal(list.Raw, &members) // one of the two
			_ = json.Unmarshal(list.Raw, &object)
			for _, one := range members {
				if one.Format == parameters.DateTime {
					names = append(names, cmp.Or(one.Name, one.Parameter))
				}
			}
			for name, one := range object.Properties {
				if one.Format == parameters.DateTime {
					names = append(names, name)
				}
			}
		}
		return names
	}).([]string)
}

// The keys for what is derived from a tool's lists: the names of its bound parameters, those of format date-time,
// and the lists with escapes.
type (
	boundForm    struct{}
	dateTimeForm struct{}
	escapingForm struct{}
)

// Escaped returns the values between the delimiters that their parameters declare. It works on uncompiled tools.
func (t *Tool) Escaped(values map[string]any) map[string]any {
	escaping := t.Params().Derived(escapingForm{}, func() any {
		return slices.DeleteFunc(t.lists(), func(l parameters.List) bool { return !l.Escapes() })
	})
	for _, list := range escaping.([]parameters.List) {
		values = list.Escaped(values, t.SourceType() == SourceMySQL)
	}
	return values
}

// ParameterNames returns the names of one list, or of a JSON Schema, in order. It works on uncompiled tools.
func ParameterNames(raw json.RawMessage) []string {
	var members []struct{ Parameter, Name string }
	var object struct{ Properties json.RawMessage }
	if json.Unmarshal(raw, &members) != nil {
		if json.Unmarshal(raw, &object) != nil {
			return nil
		}
		names, _ := exactjson.Keys(object.Properties) // an object: it was compiled
		return names
	}
	return lists.Map(members, func(one struct{ Parameter, Name string }) string { return cmp.Or(one.Name, one.Parameter) })
}

// NeedsBody reports whether a parameter is required in the body: then a body without values is not sent.
func NeedsBody(bodyParams json.RawMessage) bool {
	var members []struct{ RequiredInBody bool }
	_ = json.Unmarshal(bodyParams, &members) // none if it is not a list
	return slices.ContainsFunc(members, func(one struct{ RequiredInBody bool }) bool { return one.RequiredInBody })
}

// Compile compiles the parameters of all tools of a stored repository, as a decoder does. It returns a fault.List
// if an earlier version accepted parameters that are invalid now.
func (r *Repository) Compile() error {
	var faults fault.List
	with := &parameters.Budget{}
	for i := range r.Tools {
		_, found := r.Tools[i].compile(with)
		for _, one := range found {
			faults.Add(fault.Point("tools", i)+one.Pointer, "%s", one)
		}
	}
	return faults.Err()
}

// compile compiles the parameters. With faults the result may be nil, and is only good for names.
func (t *Tool) compile(with *parameters.Budget) (*parameters.Parameters, fault.List) {
	compiled, faults := parameters.Compile(t.lists(), with, t.inPath()...)
	if len(faults) == 0 {
		t.params = compiled
	}
	t.readMarks(compiled, len(faults) == 0)
	return compiled, faults
}

// inPath returns the parameters in the path of the tool's address. It works on uncompiled tools.
func (t *Tool) inPath() []string {
	if t.Type == ToolHTTP {
		path, _, _ := strings.Cut(t.Path, "?")
		parsed, err := template.Parse(path, template.PathEscape, template.QueryEscape)
		if err != nil {
			return nil // a fault, reported by the check of the path
		}
		return parsed.Names()
	}
	path := pathAndQuery(t.URL)
	if end := strings.IndexAny(path, "?#"); end >= 0 {
		path = path[:end]
	}
	if !strings.Contains(path, ":") {
		return nil
	}
	var known, names []string
	for _, in := range t.lists() {
		known = append(known, ParameterNames(in.Raw)...)
	}
	for _, found := range pathParameter.FindAllString(path, -1) {
		if name := parameterNamed(found[1:], known); name != "" && name != "appId" { // appId is always known
			names = append(names, name)
		}
	}
	return names
}

// maxMarks bounds the marked values of one tool that are checked against its rules.
const maxMarks = 1000

// readMarks reads the marks of the examples. An invalid mark in a record of an earlier version stays in the text.
// If the rules have faults, values are not checked.
func (t *Tool) readMarks(rules *parameters.Parameters, sound bool) {
	t.plain, t.marked = nil, nil
	left := maxMarks
	for i, given := range t.Examples {
		one := annotations.Parse(given, func(parameter, words string) (any, bool) {
			if left--; rules == nil || !sound || left < 0 || words == "" {
				return nil, false
			}
			value, why, known := rules.Said(parameter, words)
			return value, known && why == ""
		})
		if one.Text != given {
			if t.plain == nil {
				t.plain = slices.Clone(t.Examples)
			}
			t.plain[i] = one.Text
		}
		if len(one.Marks) > 0 {
			t.marked = append(t.marked, one)
		}
	}
}

// Spoken returns the examples in order without marks. The caller must not modify them. A tool that was not decoded
// returns its Examples.
func (t *Tool) Spoken() []string {
	if t.plain != nil {
		return t.plain
	}
	return t.Examples
}

// Marked returns the examples with marks, in order, each with the marked values.
func (t *Tool) Marked() []annotations.Example { return t.marked }

// Unverified is the error for a tool that needs a verified user.
type Unverified struct {
	Tool     string
	Services []string                // one must be verified; empty if one is
	Faults   []parameters.ValueFault // the authenticated parameters that cannot be filled
}

// Error names the services and how to send their tokens, or the first parameter.
func (u *Unverified) Error() string {
	if len(u.Services) > 0 {
		headers := strings.Join(u.Services, TokenHeaderEnd+" or ") + TokenHeaderEnd
		return fmt.Sprintf("tool %q requires a verified user: send an ID token of %s as the header %s",
			u.Tool, strings.Join(u.Services, " or "), headers)
	}
	return fmt.Sprintf("tool %q requires a verified user: %s %s", u.Tool, u.Faults[0].Parameter, u.Faults[0].Detail)
}

// TokenHeader names the header for a service's ID token.
func TokenHeader(service string) string { return service + TokenHeaderEnd }

// TokenHeaderEnd is the suffix of these headers' names.
const TokenHeaderEnd = "_token"

// AsksForUser reports whether only verified users can use the tool.
func (t *Tool) AsksForUser() bool { return len(t.AuthRequired) > 0 || t.Params().Authenticated() }

// For returns the tool for a user with claims: they fill its authenticated parameters, with the precedence of
// static values. The error is an *Unverified if the tool cannot be used. A tool that needs no verified user is
// returned unchanged.
func (t *Tool) For(claims parameters.Claims) (*Tool, error) {
	if !t.AsksForUser() {
		return t, nil
	}
	lacks := &Unverified{Tool: t.Name}
	if len(t.AuthRequired) > 0 && !slices.ContainsFunc(t.AuthRequired, claims.Verified) {
		lacks.Services = t.AuthRequired
	}
	filled, faults := t.Params().Authenticate(claims)
	if lacks.Faults = faults; len(lacks.Services)+len(faults) > 0 {
		return nil, lacks
	}
	next := *t
	next.params = filled
	return &next, nil
}

// NeededClaims returns only the claims that the repositories' tools use: no others may be stored.
func NeededClaims(c parameters.Claims, by []*Repository) parameters.Claims {
	needed := parameters.Claims{}
	for _, repository := range by {
		for i := range repository.Tools {
			tool := &repository.Tools[i]
			for _, service := range tool.AuthRequired {
				c.Keep(service, "", needed)
			}
			tool.Params().KeepClaims(c, needed)
		}
	}
	return needed
}

// Unfilled names the verified services that lack a claim which a parameter of the repositories' tools needs.
func Unfilled(c parameters.Claims, by []*Repository) map[string]bool {
	services := map[string]bool{}
	for _, repository := range by {
		for i := range repository.Tools {
			repository.Tools[i].Params().Unfilled(c, services)
		}
	}
	return services
}
