package console

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"earshot/repositories/exactjson"
	"earshot/repositories/lists"
)

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
	given := valueAt(tool, []string{f.Field})
	if other := valueAt(tool, []string{"parameters"}); len(given) == 0 && len(other) > 0 {
		f, given = parameterForm{Field: "parameters", name: "name", required: true}, other
	}
	if strings.HasPrefix(strings.TrimSpace(string(given)), "{") {
		f.schema, f.name = true, ""
		var required []string
		_ = json.Unmarshal(valueAt(given, []string{"required"}), &required) // an invalid list requires none
		names, properties, _ := membersOf(valueAt(given, []string{"properties"}))
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
		if required := valueAt(one, []string{"required"}); len(required) > 0 {
			row.Required = string(required) == "true"
		}
		f.Rows = append(f.Rows, row)
	}
	return f
}

func newRow(raw json.RawMessage, allowed string) parameterRow {
	row := parameterRow{raw: raw, Type: textAt(raw, "type"), Format: textAt(raw, "format"), Description: textAt(raw, "description"), Ask: textAt(raw, "ask")}
	var lines []string
	for _, one := range membersOfList(valueAt(raw, []string{allowed})) {
		lines = append(lines, unquoted(string(one)))
	}
	row.Allowed = strings.Join(lines, "\n")
	return row
}

func textAt(object json.RawMessage, name string) string {
	return unquoted(string(valueAt(object, []string{name})))
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

// filled returns the row with the form's values.
func (r parameterRow) filled(form url.Values, at string) parameterRow {
	read := func(into *string, name string) {
		if form.Has(at + name) {
			*into = strings.ReplaceAll(form.Get(at+name), "\r\n", "\n")
		}
	}
	read(&r.Name, "name")
	read(&r.Type, "type")
	read(&r.Format, "format")
	read(&r.Description, "description")
	read(&r.Allowed, "allowed")
	read(&r.Ask, "ask")
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
