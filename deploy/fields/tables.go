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

// places say where a definition is described, and what several of it are called.
var places = map[string]struct{ several, anchor string }{
	"Tool": {"tools", "tool"}, "Options": {"", "options"}, "Request": {"", "request"}, "Basic": {"", "basic"}, "Bearer": {"", "bearer"},
	"Parameter": {"parameters", "parameter"}, "ToolboxParameter": {"parameters", "parameter"}, "Items": {"", "items"}, "Claim": {"claims", "claim"},
	"Module": {"modules", "module"}, "AuthService": {"services", "authentication-service"}, "Source": {"sources", "source"}, "Webhook": {"", "webhook"},
	"SourceAuth": {"", "authentication-of-a-source"}, "Settings": {"", "settings"}, "Earlier": {"messages", "earlier-message"},
}

// chapters are the headings of the page, each with the definitions whose fields are below it.
var chapters = []struct{ heading, definitions string }{
	{"Repository", "Repository Patch"}, {"Options", "Options"}, {"Tool", "Tool"},
	{"Request", "Request"}, {"Basic", "Basic"}, {"Bearer", "Bearer"},
	{"Parameter", "Parameter ToolboxParameter"}, {"Items", "Items"}, {"Claim", "Claim"},
	{"App", "App"}, {"Module", "Module"}, {"Authentication service", "AuthService"},
	{"Source", "Source"}, {"Authentication of a source", "SourceAuth"}, {"Settings", "Settings"},
	{"Webhook", "Webhook"}, {"Sending again", "Resend"},
	{"Session", "SessionRequest"}, {"Message", "Message"}, {"Earlier message", "Earlier"},
	{"Direct trigger", "Direct"}, {"Finding tools", "ToolSearch"}, {"Answer to a trigger", "Given"},
	{"Yes, no or stop", "Confirmation Denial"}, {"Key", "KeyRequest"}, {"Session token", "TokenRequest"}, {"Request over a socket", "SocketRequest"},
	{"Rehearsal", "Rehearsal"}, {"Repository in a rehearsal", "RehearsedRepository"}, {"Test", "Test"}, {"Turn of a test", "TestTurn"},
}

const pageHead = `# Fields

Each field that a body or a file may have. This page is generated from the schema of the service: do not edit it.
[Tools and parameters](../tools.md) explains the fields, with examples.

An id is 1 to 128 of ` + "`A-Z a-z 0-9 _ -`" + `, and begins with a letter or digit. The ids of the path may be left out.
A credential is never returned: it reads as ` + "`***`, and `***`" + ` sent back keeps what is stored. A limit is at most 1,000,000,000.
`

// page writes the page of all fields. Each definition has to be below a heading.
func page(definitions []*field) ([]byte, error) {
	var text strings.Builder
	text.WriteString(pageHead)
	var described []string
	for _, chapter := range chapters {
		fmt.Fprintf(&text, "\n## %s\n\n| field | type | default | meaning |\n| --- | --- | --- | --- |\n", chapter.heading)
		seen := map[string]bool{}
		for name := range strings.FieldsSeq(chapter.definitions) {
			described = append(described, name)
			definition := find(definitions, name)
			if definition == nil {
				return nil, fmt.Errorf("there is no definition %s", name)
			}
			for _, one := range rowsOf(definition, "") {
				if !seen[one.name] {
					seen[one.name] = true
					fmt.Fprintf(&text, "| `%s` | %s | %s | %s |\n", one.name, one.kind, one.absent, linked(one.meaning))
				}
			}
		}
	}
	for _, definition := range definitions {
		if !slices.Contains(described, definition.name) {
			return nil, fmt.Errorf("no chapter has the fields of %s", definition.name)
		}
	}
	return []byte(text.String()), nil
}

// target is where a link of a description leads, which is written as from a page of deploy/docs.
var target = regexp.MustCompile(`\]\(([^)]+)\)`)

func linked(meaning string) string {
	return target.ReplaceAllStringFunc(meaning, func(link string) string {
		to := target.FindStringSubmatch(link)[1]
		anchor, here := strings.CutPrefix(to, "#")
		switch {
		case here && slices.ContainsFunc(chapters, func(one struct{ heading, definitions string }) bool {
			return strings.ReplaceAll(strings.ToLower(one.heading), " ", "-") == anchor
		}), strings.Contains(to, "://"):
			return link
		case here:
			return "](../tools.md" + to + ")"
		}
		return "](../" + to + ")"
	})
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

func (f *field) kind() string {
	place, known := places[f.Ref]
	switch {
	case known:
		return "[object](#" + place.anchor + ")"
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
	if of := places[f.Items.Ref]; of.several != "" {
		list = "list of [" + of.several + "](#" + of.anchor + ")"
	} else if members := f.Items.kind(); members == "text" || members == "id" {
		list = "list of " + members + "s"
	}
	if slices.Contains(f.types, "object") {
		list += ", or object"
	}
	return list
}

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

// mostOfLimits is the greatest value of a limit, which the head of the page names.
const mostOfLimits = 1_000_000_000

// saidOnce is what descriptions repeat, with what is left of it: the page and the package of the client say it once.
var saidOnce = strings.NewReplacer(
	" As in the path, or left out: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit.", "",
	": 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit.", ".",
	" As in the path, or left out.", "",
	" A credential. Never returned: reads as ***; *** sent back keeps what is stored.", "",
	"A credential. Never returned: reads as ***; *** sent back keeps what is stored.", "The password.",
)

func once(description string) string { return saidOnce.Replace(description) }

// meaning describes a field, with the words and bounds of its schema that its description does not name.
func (f *field) meaning() string {
	text := cmp.Or(f.Doc, strings.ReplaceAll(once(strings.TrimSuffix(f.Description, ".")+"."), "***", "`***`"))
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
		if n, err := bound.at.Int64(); err == nil && n > 0 && n < mostOfLimits && !strings.Contains(text, humanize.Comma(n)) {
			text += fmt.Sprintf(bound.format, humanize.Comma(n))
		}
	}
	return text
}
