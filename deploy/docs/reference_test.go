package docs_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/api/answer"
	"earshot/deploy/testbed"
	"earshot/deploy/testbed/apitest"
	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
	"earshot/repositories/lists"
	"earshot/trigger/state"
)

// update writes the pages that follow from the API. cmd/earshot and deploy/fields write the others.
var update = flag.Bool("update", false, "write the reference of codes, routes and fields of events")

func requirePage(t *testing.T, name, text string) {
	t.Helper()
	testbed.Kept(t, *update, filepath.Join("reference", name), text, "go test ./deploy/docs -run Reference -update")
}

func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", `\<`, "*", `\*`, "\n", " ").Replace(text)
}

func TestReferenceOfCodesIsUpToDate(t *testing.T) {
	var text strings.Builder
	text.WriteString("# Codes\n\nAll error codes. This page is generated from the service: do not edit it. [Errors](../errors.md) says where they appear.\n")
	text.WriteString("\n## Codes of problems\n\n| code | status | meaning | what to do |\n| --- | --- | --- | --- |\n")
	for _, one := range answer.Codes {
		fmt.Fprintf(&text, "| `%s` | %d | %s | %s |\n", one.Code, one.Status, one.When, one.Do)
	}
	text.WriteString("\n## Codes of faults\n\n`errors` has one for each error in a body.\n\n| code | meaning |\n| --- | --- |\n")
	for _, one := range fault.Codes {
		fmt.Fprintf(&text, "| `%s` | %s |\n", one.Code, one.When)
	}
	requirePage(t, "codes.md", text.String())
}

func TestReferenceOfRoutesIsUpToDate(t *testing.T) {
	described := testbed.Got(os.ReadFile("../../api/docs/openapi.json"))(t)
	var order struct {
		Paths json.RawMessage
		Tags  []struct{ Name, Description string }
	}
	require.NoError(t, json.Unmarshal(described, &order))
	paths := testbed.Got(exactjson.Keys(order.Paths))(t)
	served := apitest.Serve(t).Document("/openapi.json")
	var text strings.Builder
	text.WriteString(`# Routes

All operations of the API. This page is generated from its description: do not edit it. A running service shows them with bodies,
answers and a form to try each, at ` + "`/docs/reference/api`; `/openapi.json` is for programs." + `

The last column says which key may call. A read scope, as ` + "`triggers:read`" + `, is enough where nothing is changed.
The admin's key may call all of them.
`)
	listed := 0
	for _, tag := range order.Tags {
		var rows strings.Builder
		for _, path := range paths {
			item := served["paths"].(map[string]any)[path].(map[string]any)
			for _, method := range []string{"get", "post", "put", "patch", "delete"} {
				if one, is := item[method].(map[string]any); is && slices.Contains(one["tags"].([]any), any(tag.Name)) {
					listed++
					fmt.Fprintf(&rows, "| `%s` | `%s` | %s | %s | %s |\n", strings.ToUpper(method), path, cell(one["summary"].(string)), cmp.Or(queryOf(served, one), "none"), needs(path, one))
				}
			}
		}
		if rows.Len() > 0 {
			fmt.Fprintf(&text, "\n## %s\n\n%s\n\n| method | path | does | query | key |\n| --- | --- | --- | --- | --- |\n%s", tag.Name, cell(tag.Description), rows.String())
		}
	}
	require.GreaterOrEqual(t, listed, len(paths), "each path has an operation with a tag")
	requirePage(t, "routes.md", text.String())
}

func queryOf(document, operation map[string]any) string {
	known := document["components"].(map[string]any)["parameters"].(map[string]any)
	var names []string
	parameters, _ := operation["parameters"].([]any)
	for _, one := range parameters {
		parameter := one.(map[string]any)
		if reference, is := parameter["$ref"].(string); is {
			parameter = known[reference[strings.LastIndexByte(reference, '/')+1:]].(map[string]any)
		}
		if parameter["in"] == "query" {
			names = append(names, fmt.Sprintf("`%s`", parameter["name"]))
		}
	}
	return strings.Join(names, ", ")
}

// needs says whose keys are good for an operation.
func needs(path string, operation map[string]any) string {
	security := operation["security"].([]any)
	switch {
	case len(security) == 0:
		return "none is needed"
	case path == "/v1/whoami":
		return "any key or token"
	}
	var words []string
	for _, role := range security[0].(map[string]any)["key"].([]any) {
		switch name := role.(string); {
		case name == "session":
			words = append(words, "the session's token")
		case !strings.HasSuffix(name, ":read"):
			words = append(words, "`"+name+"`")
		}
	}
	return cmp.Or(strings.Join(words, ", "), "the admin's alone")
}

// schema is a part of the description of events, as far as its page needs it.
type schema struct {
	Ref         string `json:"$ref"`
	Type        any
	Description string
	Enum        []any
	Const       any
	Format      string
	Required    []string
	Properties  json.RawMessage
	Items       *schema
}

func TestReferenceOfEventFieldsIsUpToDate(t *testing.T) {
	described := testbed.Got(os.ReadFile("../../api/docs/asyncapi.json"))(t)
	var document struct {
		Channels   json.RawMessage
		Components struct {
			Messages map[string]struct{ Payload schema }
			Schemas  map[string]*schema
		}
	}
	require.NoError(t, json.Unmarshal(described, &document))
	names := testbed.Got(exactjson.Keys(document.Channels))(t)
	var channels map[string]struct {
		Address, Description string
		Messages             map[string]struct{}
	}
	require.NoError(t, json.Unmarshal(document.Channels, &channels))
	var text strings.Builder
	text.WriteString("# Subjects and fields of events\n\nEvents that are published on NATS. This page is generated from `/asyncapi.json`: do not edit it.\n[Events](../events.md) explains them, with examples.\n")
	table := func(rows []string) {
		text.WriteString("\n| field | type | always | meaning |\n| --- | --- | --- | --- |\n" + strings.Join(rows, ""))
	}
	rows, payloads := map[string][]string{}, map[string]int{}
	for name, message := range document.Components.Messages {
		rows[name] = rowsOf(t, document.Components.Schemas, resolved(document.Components.Schemas, &message.Payload), "")
		for _, row := range rows[name] {
			payloads[row]++
		}
	}
	common := func(row string) bool { return payloads[row] >= mostEvents }
	text.WriteString("\n## Common fields\n\nMost events have these. The table of an event has its other fields.\n")
	table(slices.DeleteFunc(slices.Clone(rows["fired"]), func(row string) bool { return !common(row) }))
	shown := map[string]string{}
	for _, name := range names {
		one := channels[name]
		fmt.Fprintf(&text, "\n## %s\n\nSubject: `%s`. %s\n", name, one.Address, cell(one.Description))
		for message := range one.Messages {
			if first := shown[message]; first != "" {
				fmt.Fprintf(&text, "\nIts fields are those of [%s](#%s).\n", first, strings.ToLower(first))
				continue
			}
			shown[message] = name
			var names []string
			for _, row := range rows[message] {
				if common(row) {
					names = append(names, strings.Fields(row)[1])
				}
			}
			if names != nil {
				fmt.Fprintf(&text, "\nIt has the [common fields](#common-fields) %s.\n", strings.Join(names, ", "))
			}
			if own := slices.DeleteFunc(slices.Clone(rows[message]), common); len(own) > 0 {
				table(own)
			}
		}
	}
	text.WriteString("\n## Headers\n\nAll events have these.\n")
	table(rowsOf(t, document.Components.Schemas, document.Components.Schemas["Headers"], ""))
	requirePage(t, "event-fields.md", text.String())
}

func resolved(schemas map[string]*schema, one *schema) *schema {
	if one.Ref == "" {
		return one
	}
	found := *schemas[one.Ref[strings.LastIndexByte(one.Ref, '/')+1:]]
	found.Description = cmp.Or(one.Description, found.Description)
	return &found
}

// mostEvents is how many events a field has to be in to stand once for all of them.
const mostEvents = 5

// rowsOf are the rows for the fields of an object, below each those of an object in it.
func rowsOf(t *testing.T, schemas map[string]*schema, of *schema, within string) (rows []string) {
	if of.Properties == nil {
		return nil
	}
	names := testbed.Got(exactjson.Keys(of.Properties))(t)
	var fields map[string]*schema
	require.NoError(t, json.Unmarshal(of.Properties, &fields))
	for _, name := range names {
		field := resolved(schemas, fields[name])
		always := "no"
		if slices.Contains(of.Required, name) {
			always = "yes"
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s | %s |\n", within+name, field.kind(), always, cell(field.meaning())))
		rows = append(rows, rowsOf(t, schemas, field, within+name+".")...)
		if field.Items != nil {
			rows = append(rows, rowsOf(t, schemas, resolved(schemas, field.Items), within+name+"[].")...)
		}
	}
	return rows
}

func (s *schema) kind() string {
	switch kind := s.Type.(type) {
	case string:
		if s.Format == "date-time" {
			return "time"
		}
		return strings.NewReplacer("string", "text", "array", "list").Replace(kind)
	case []any:
		var words []string
		for _, one := range kind {
			words = append(words, strings.Replace(fmt.Sprint(one), "string", "text", 1))
		}
		return strings.Join(words, " or ")
	}
	return "any"
}

func (s *schema) meaning() string {
	words := lists.Map(s.Enum, func(one any) string { return fmt.Sprintf("`%v`", one) })
	if s.Const != nil {
		words = []string{fmt.Sprintf("`%v`", s.Const)}
	}
	switch len(words) {
	case 0:
		return s.Description
	case 1:
		return s.Description + " Always " + words[0] + "."
	}
	return s.Description + " One of " + strings.Join(words, ", ") + "."
}

func TestStatesAreDrawnAsTheyAre(t *testing.T) {
	require.Contains(t, testbed.Read(t, "turns.md"), "```mermaid\n"+state.Diagram()+"```")
}
