package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
)

// refusals say of fields that are refused, which have no schema to say it, what there is instead.
var refusals = map[string]string{
	"scopesRequired": "Toolbox's scopes of access tokens have no counterpart here. Use `authRequired`.",
	"embeddedBy":     "Toolbox's embeddings have no counterpart.", "valueFromParam": "as Toolbox's embeddings are.", "secure": "as Toolbox's embeddings are.",
	"allowedIpRanges": "the operator's `EARSHOT_PRIVATE_URLS` says it.", "customBlockedIpRanges": "the operator's `EARSHOT_PRIVATE_URLS` says it.",
	"allowPrivateNetworks": "the operator's `EARSHOT_PRIVATE_URLS` says it.", "queryExecMode": "statements are described by the database and run with bound values.",
}

// sections are the places in tools.md that describe a definition, and what several of it are called.
var sections = map[string]struct{ several, anchor string }{
	"Tool": {"tools", "tool"}, "Options": {"", "options"}, "Request": {"", "request"}, "Basic": {"", "basic"}, "Bearer": {"", "bearer"},
	"Parameter": {"parameters", "parameter"}, "ToolboxParameter": {"parameters", "parameter"}, "Items": {"", "items"}, "Claim": {"claims", "claim"},
	"Module": {"modules", "module"}, "AuthService": {"services", "authentication-service"}, "Source": {"sources", "source"}, "Webhook": {"", "webhook"},
	"SourceAuth": {"", "authentication-of-a-source"}, "Settings": {"", "settings"}, "Earlier": {"messages", "earlier-message"},
}

// marked is a table between its markers, of which the first names the definitions of its fields.
var marked = regexp.MustCompile(`(?s)<!-- fields: ([\w ]+) -->\n.*?<!-- end of fields -->`)

// tables writes the tables of a document anew. Each definition has to be in one.
func tables(document string, definitions []*field) ([]byte, error) {
	var described []string
	var err error
	document = marked.ReplaceAllStringFunc(document, func(old string) string {
		names := marked.FindStringSubmatch(old)[1]
		var rows []string
		seen := map[string]bool{}
		for name := range strings.FieldsSeq(names) {
			described = append(described, name)
			definition := find(definitions, name)
			if definition == nil {
				err = fmt.Errorf("there is no definition %s", name)
				return old
			}
			for _, one := range rowsOf(definition, "") {
				if !seen[one.name] {
					seen[one.name] = true
					rows = append(rows, fmt.Sprintf("| `%s` | %s | %s | %s |", one.name, one.kind, one.absent, one.meaning))
				}
			}
		}
		return "<!-- fields: " + names + " -->\n| field | type | default | meaning |\n| --- | --- | --- | --- |\n" + strings.Join(rows, "\n") + "\n<!-- end of fields -->"
	})
	for _, definition := range definitions {
		if err == nil && !slices.Contains(described, definition.name) {
			err = fmt.Errorf("no table has the fields of %s", definition.name)
		}
	}
	return []byte(document), err
}

type row struct{ name, kind, absent, meaning string }

// rowsOf describes the fields of an object; those of objects in it are written as prompt.text.
func rowsOf(object *field, within string) []row {
	var rows []row
	for _, f := range object.fields {
		if len(f.fields) > 0 {
			rows = append(rows, rowsOf(f, within+f.name+".")...)
			continue
		}
		one := row{name: within + f.name, kind: f.kind(), absent: f.absent(), meaning: f.meaning()}
		if f.refused {
			one.kind, one.absent, one.meaning = "", "", "Refused: "+refusals[f.name]
		}
		rows = append(rows, one)
	}
	return rows
}

// kind is the type of a field, in the words of tools.md.
func (f *field) kind() string {
	section, linked := sections[f.Ref]
	switch {
	case linked:
		return "[object](#" + section.anchor + ")"
	case f.isDuration():
		return "duration"
	case f.Format == "earshot-id":
		return "id"
	case strings.HasSuffix(f.Format, "-url"):
		return "URL"
	case strings.HasSuffix(f.Format, "-secret"):
		return "credential"
	case f.ReadOnly && f.is("string"):
		return "time"
	case f.is("string") || f.Enum != nil:
		return "text"
	case f.is("object") && f.Values != nil && f.Values.is("string"):
		return "object of texts"
	case f.types == nil:
		return "any"
	case f.Items == nil:
		var kinds []string
		for _, name := range f.types {
			if name != "null" {
				kinds = append(kinds, strings.Replace(name, "string", "text", 1))
			}
		}
		return strings.Join(kinds, " or ")
	}

	list := "list"
	if of := sections[f.Items.Ref]; of.several != "" {
		list = "list of [" + of.several + "](#" + of.anchor + ")"
	} else if members := f.Items.kind(); members == "text" || members == "id" {
		list = "list of " + members + "s"
	}
	if slices.Contains(f.types, "object") {
		list += ", or object"
	}
	return list
}

// absent says what holds without the field.
func (f *field) absent() string {
	if f.Absent != "" {
		return f.Absent
	}
	switch value := f.Default.(type) {
	case string:
		return "`" + value + "`"
	case bool:
		return fmt.Sprintf("`%v`", value)
	case float64:
		return humanize.Comma(int64(value))
	}
	switch {
	case f.required:
		return "required"
	case f.ReadOnly:
		return ""
	default:
		return "none"
	}
}

// meaning describes a field, with the words and bounds of its schema that its description does not name.
func (f *field) meaning() string {
	text := cmp.Or(f.Doc, strings.ReplaceAll(strings.TrimSuffix(f.Description, ".")+".", "***", "`***`"))
	words := f.Enum
	if f.Items != nil && words == nil {
		words = f.Items.Enum
	}
	if slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, "`"+word+"`") }) {
		text += " One of `" + strings.Join(words, "`, `") + "`."
	}
	for _, bound := range []struct {
		at     json.Number
		format string
	}{{f.Minimum, " At least %s."}, {f.Maximum, " At most %s."}, {f.MaxLength, " Up to %s characters."}, {f.MaxItems, " At most %s members."}} {
		if n, err := bound.at.Int64(); err == nil && n > 0 && !strings.Contains(text, humanize.Comma(n)) {
			text += fmt.Sprintf(bound.format, humanize.Comma(n))
		}
	}
	return text
}
