package console

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/lists"
)

// The form of a tool edits the same definition that the editor shows as JSON. Unchanged fields and unknown
// members keep their text.

// Paths of the form's fields, in order: for most tools, for tools with a type, and the rest.
var (
	optionFields = []string{"options.exclusive", "options.triggerOnce", "options.template"}
	mainFields   = []string{"name", "description", "examples", "url", "request.method"}
	typedFields  = []string{"type", "source", "remoteName", "method", "path", "requestBody", "statement"}
	moreFields   = []string{
		"confirm", "settle", "cancelOnNext", "dedupe.within", "dedupe.by", "dedupe.scope", "answer.within", "request.auth", "request.moduleId",
		"request.timeout", "request.retryFor", "request.idempotent", "emitter", "readOnly", "returnDirect", "skipResponse", "authRequired",
	}
	longFields = []string{"description", "requestBody", "statement"}
	methods    = []string{"GET", "POST", "PUT", "PATCH", "DELETE"}
)

type formField struct {
	Path    string // member names, separated by dots
	Doc     string
	Kind    string   // line, text, lines, words or choice
	Options []string // of a choice, besides none
	Default string   // the meaning of none, if it is a single value
	Text    string   // as filled in
	Locked  bool     // only JSON can show the value
	Fault   string
}

// schemaEntry is a field in the schema of definitions.
type schemaEntry struct {
	Ref         string                     `json:"$ref"`
	Type        any                        `json:"type"`
	Description string                     `json:"description"`
	Enum        []string                   `json:"enum"`
	Default     json.RawMessage            `json:"default"`
	Properties  map[string]json.RawMessage `json:"properties"`
}

var definitions = sync.OnceValue(func() map[string]schemaEntry {
	var schema struct {
		Defs map[string]schemaEntry `json:"$defs"`
	}
	_ = json.Unmarshal(repositories.DefinitionSchema(), &schema) // embedded
	return schema.Defs
})

// described returns the schema entry of a field; empty if unknown.
func described(of, path string) schemaEntry {
	at := definitions()[of]
	for _, name := range pathOf(path) {
		var next schemaEntry
		_ = json.Unmarshal(at.Properties[name], &next) // true and false have no entry
		if next.Ref != "" {
			doc := next.Description
			next = definitions()[strings.TrimPrefix(next.Ref, "#/$defs/")]
			next.Description = doc
		}
		at = next
	}
	return at
}

func newField(of, path string, definition json.RawMessage) formField {
	about := described(of, path)
	f := formField{Path: path, Doc: about.Description, Kind: "line", Options: about.Enum, Default: unquoted(string(about.Default))}
	switch {
	case strings.HasSuffix(path, "method"):
		f.Kind, f.Options = "choice", methods
	case about.Type == "boolean":
		f.Kind, f.Options = "choice", []string{"true", "false"}
	case len(about.Enum) > 0:
		f.Kind = "choice"
	case path == "examples":
		f.Kind = "lines"
	case slices.Contains(longFields, path):
		f.Kind = "text"
	default:
		if kinds, is := about.Type.([]any); about.Type == "array" || is && slices.Contains(kinds, any("array")) {
			f.Kind = "words"
		}
	}
	value := valueAt(definition, pathOf(path)...)
	f.Text, f.Locked = f.read(value)
	if f.Kind == "choice" && f.Text != "" && !slices.Contains(f.Options, f.Text) {
		f.Options = append(slices.Clone(f.Options), f.Text)
	}
	return f
}

// read returns a value as form text. A value that the form cannot show is locked.
func (f formField) read(value json.RawMessage) (text string, locked bool) {
	if len(value) == 0 || string(value) == "null" {
		return "", false
	}
	if f.Kind == "lines" || f.Kind == "words" {
		var texts []string
		if json.Unmarshal(value, &texts) != nil || strings.Contains(strings.Join(texts, ""), f.between()[:1]) {
			return string(value), true
		}
		return strings.Join(texts, f.between()), false
	}
	if text := unquoted(string(value)); f.Kind == "choice" || strings.HasPrefix(string(value), `"`) && (f.Kind == "text" || !strings.Contains(text, "\n")) {
		return text, false
	}
	return string(value), true
}

// write returns the value of form text; nil for none.
func (f formField) write(text string) json.RawMessage {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	var value any = text
	switch {
	case f.Kind == "lines" || f.Kind == "words":
		texts := []string{}
		for _, one := range strings.Split(text, f.between()[:1]) {
			if one = strings.TrimSpace(one); one != "" {
				texts = append(texts, one)
			}
		}
		value = texts
	case f.Kind == "choice" && (text == "true" || text == "false"):
		return json.RawMessage(text)
	case f.Kind == "line":
		value = strings.TrimSpace(text)
	}
	written, _ := exactjson.Encode(value) // strings always encode
	return written
}

func (f formField) between() string {
	if f.Kind == "words" {
		return ", "
	}
	return "\n"
}

// into writes the field's form value into the definition if it has changed.
func (f formField) into(definition json.RawMessage, form url.Values, name string) json.RawMessage {
	given, has := form[name]
	if !has || f.Locked {
		return definition
	}
	text := strings.ReplaceAll(given[0], "\r\n", "\n")
	if text == f.Text {
		return definition
	}
	return with(definition, f.write(text), pathOf(f.Path)...)
}

type toolForm struct {
	Index             int
	Name              string
	Main, Typed, More []formField
	Given             int // how many of More have a value
	Parameters        parameterForm
	Other             []string // unknown members, which are kept
	Types, Forms      []string // allowed for parameters
}

func newToolForm(index int, tool json.RawMessage) *toolForm {
	names, _, _ := membersOf(tool)
	f := &toolForm{Index: index, Name: textAt(tool, "name"), Parameters: newParameterForm(tool),
		Types: described("Parameter", "type").Enum, Forms: described("Parameter", "format").Enum}
	known := []string{f.Parameters.Field}
	typed := slices.Contains(names, "type")
	for _, path := range mainFields {
		if !typed || !slices.Contains([]string{"url", "request.method"}, path) {
			f.Main = append(f.Main, newField("Tool", path, tool))
		}
	}
	if typed {
		for _, path := range typedFields {
			f.Typed = append(f.Typed, newField("Tool", path, tool))
		}
	}
	for _, path := range moreFields {
		one := newField("Tool", path, tool)
		if one.Text != "" {
			f.Given++
		}
		f.More = append(f.More, one)
	}
	for _, one := range f.fields() {
		front, _, _ := strings.Cut(one.Path, ".")
		known = append(known, front)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			f.Other = append(f.Other, name)
		}
	}
	return f
}

func (f *toolForm) fields() []formField { return slices.Concat(f.Main, f.Typed, f.More) }

func (f *toolForm) into(tool json.RawMessage, form url.Values) json.RawMessage {
	for _, one := range f.fields() {
		tool = one.into(tool, form, "f."+one.Path)
	}
	return f.Parameters.into(tool, form)
}

// addFaults puts faults on the fields that they are about.
func (f *toolForm) addFaults(flaws []flaw) {
	at := "/tools/" + strconv.Itoa(f.Index) + "/"
	add := func(to *string, path string) {
		for _, one := range flaws {
			if strings.HasPrefix(one.Pointer+"/", path+"/") {
				*to = strings.TrimPrefix(*to+"; "+one.Detail, "; ")
			}
		}
	}
	for _, group := range [][]formField{f.Main, f.Typed, f.More} {
		for i := range group {
			add(&group[i].Fault, at+strings.ReplaceAll(group[i].Path, ".", "/"))
		}
	}
	for i := range f.Parameters.Rows {
		row := &f.Parameters.Rows[i]
		path := at + f.Parameters.Field + "/" + strconv.Itoa(i)
		if f.Parameters.schema {
			path = at + f.Parameters.Field + "/properties/" + row.Name
		}
		add(&row.Fault, path)
	}
}

func pathOf(path string) []string { return strings.Split(path, ".") }

// valueAt returns the value at a path of names; nil for none.
func valueAt(object json.RawMessage, names ...string) json.RawMessage {
	for _, name := range names {
		_, members, err := membersOf(object)
		if err != nil {
			return nil
		}
		object = members[name]
	}
	return object
}

// with returns object with value at a path, or without it if value is nil. Other members keep their text
// and order; emptied objects are removed.
func with(object, value json.RawMessage, path ...string) json.RawMessage {
	names, members, err := membersOf(object)
	if err != nil || members == nil { // a value that is no object is replaced
		names, members = nil, map[string]json.RawMessage{}
	}
	name := path[0]
	if len(path) > 1 {
		value = with(members[name], value, path[1:]...)
		if string(value) == "{}" {
			value = nil
		}
	}
	if _, has := members[name]; !has && value != nil {
		names = append(names, name)
	}
	if value == nil {
		names = slices.DeleteFunc(names, func(one string) bool { return one == name })
	}
	members[name] = value
	return objectOf(names, members)
}

func objectOf(names []string, members map[string]json.RawMessage) json.RawMessage {
	parts := make([]string, len(names))
	for i, name := range names {
		quoted, _ := json.Marshal(name) // a text
		parts[i] = string(quoted) + ":" + string(members[name])
	}
	return json.RawMessage("{" + strings.Join(parts, ",") + "}")
}

func listOf(members []json.RawMessage) json.RawMessage {
	parts := lists.Map(members, func(one json.RawMessage) string { return string(one) })
	return json.RawMessage("[" + strings.Join(parts, ",") + "]")
}

// membersOfList returns the elements of a list; none if value is no list.
func membersOfList(value json.RawMessage) (members []json.RawMessage) {
	_ = json.Unmarshal(value, &members)
	return members
}

// parameterForm holds the parameters of a tool as a table. They are a SERMAS list, a Toolbox list or a JSON
// Schema.
type parameterForm struct {
	Field    string // "schema" or "parameters"
	Rows     []parameterRow
	schema   bool   // a JSON Schema
	name     string // the list member with the parameter's name
	required bool   // list entries are required by default
}

type parameterRow struct {
	Name, Type, Format, Description, Allowed, Ask string
	Required                                      bool
	Fault                                         string
	raw                                           json.RawMessage
}

func newParameterForm(tool json.RawMessage) parameterForm {
	f := parameterForm{Field: "schema", name: "parameter"}
	given := valueAt(tool, f.Field)
	if other := valueAt(tool, "parameters"); len(given) == 0 && len(other) > 0 {
		f, given = parameterForm{Field: "parameters", name: "name", required: true}, other
	}
	if strings.HasPrefix(strings.TrimSpace(string(given)), "{") {
		f.schema, f.name = true, ""
		var required []string
		_ = json.Unmarshal(valueAt(given, "required"), &required) // an invalid list requires none
		names, properties, _ := membersOf(valueAt(given, "properties"))
		for _, name := range names {
			row := newRow(properties[name], "enum")
			row.Name, row.Required = name, slices.Contains(required, name)
			f.Rows = append(f.Rows, row)
		}
		return f
	}
	for _, one := range membersOfList(given) {
		row := newRow(one, "allowedValues")
		row.Name = textAt(one, f.name)
		row.Required = f.required
		if required := valueAt(one, "required"); len(required) > 0 {
			row.Required = string(required) == "true"
		}
		f.Rows = append(f.Rows, row)
	}
	return f
}

func newRow(raw json.RawMessage, allowed string) parameterRow {
	row := parameterRow{raw: raw, Type: textAt(raw, "type"), Format: textAt(raw, "format"), Description: textAt(raw, "description"), Ask: textAt(raw, "ask")}
	lines := lists.Map(membersOfList(valueAt(raw, allowed)), func(one json.RawMessage) string { return unquoted(string(one)) })
	row.Allowed = strings.Join(lines, "\n")
	return row
}

func textAt(object json.RawMessage, name string) string {
	return unquoted(string(valueAt(object, name)))
}

// into writes the rows of a form into the tool. Rows past the tool's are new, new rows without a name are
// skipped, and drop removes one.
func (f parameterForm) into(tool json.RawMessage, form url.Values) json.RawMessage {
	var rows []parameterRow
	changed := false
	for i := 0; form.Has("p." + strconv.Itoa(i) + ".name"); i++ {
		row, was := parameterRow{raw: json.RawMessage("{}"), Required: f.required}, parameterRow{}
		if i < len(f.Rows) {
			row = f.Rows[i]
			was = row
		}
		next := row.filled(form, "p."+strconv.Itoa(i)+".")
		if form.Get("do") == "drop:"+strconv.Itoa(i) || i >= len(f.Rows) && next.Name == "" {
			changed = changed || i < len(f.Rows)
			continue
		}
		if next.text() != was.text() {
			next.raw, changed = f.written(row, next), true
		}
		rows = append(rows, next)
	}
	if !changed {
		return tool
	}
	if !f.schema {
		members := lists.Map(rows, func(row parameterRow) json.RawMessage { return row.raw })
		return with(tool, listOf(members), f.Field)
	}
	var names, required []string
	properties := map[string]json.RawMessage{}
	for _, row := range rows {
		names, properties[row.Name] = append(names, row.Name), row.raw
		if row.Required {
			required = append(required, row.Name)
		}
	}
	tool = with(tool, objectOf(names, properties), f.Field, "properties")
	listed, _ := exactjson.Encode(required) // strings always encode
	if required == nil {
		listed = nil
	}
	return with(tool, listed, f.Field, "required")
}

func (r parameterRow) filled(form url.Values, at string) parameterRow {
	for name, into := range map[string]*string{
		"name": &r.Name, "type": &r.Type, "format": &r.Format, "description": &r.Description, "allowed": &r.Allowed, "ask": &r.Ask,
	} {
		if form.Has(at + name) {
			*into = strings.ReplaceAll(form.Get(at+name), "\r\n", "\n")
		}
	}
	r.Name, r.Required = strings.TrimSpace(r.Name), form.Has(at+"required")
	return r
}

// text joins all that the form shows of the row, for comparison.
func (r parameterRow) text() string {
	return strings.Join([]string{r.Name, r.Type, r.Format, r.Description, r.Allowed, r.Ask, strconv.FormatBool(r.Required)}, "\x00")
}

// written applies the changes between two rows to the definition of a parameter.
func (f parameterForm) written(was, now parameterRow) json.RawMessage {
	raw := now.raw
	text := func(name, before, after string) {
		if before != after {
			raw = with(raw, formField{Kind: "text"}.write(after), name)
		}
	}
	if !f.schema {
		text(f.name, was.Name, now.Name)
	}
	text("type", was.Type, now.Type)
	text("format", was.Format, now.Format)
	text("description", was.Description, now.Description)
	text("ask", was.Ask, now.Ask)
	if !f.schema && was.Required != now.Required {
		var value json.RawMessage
		if now.Required != f.required {
			value = json.RawMessage(strconv.FormatBool(now.Required))
		}
		raw = with(raw, value, "required")
	}
	if was.Allowed == now.Allowed {
		return raw
	}
	name := "allowedValues"
	if f.schema {
		name = "enum"
	}
	var values []json.RawMessage
	for _, line := range strings.Split(now.Allowed, "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if now.Type == "string" || !json.Valid([]byte(line)) {
			quoted, _ := exactjson.Encode(line) // a text
			line = string(quoted)
		}
		values = append(values, json.RawMessage(line))
	}
	if values == nil {
		return with(raw, nil, name)
	}
	return with(raw, listOf(values), name)
}
