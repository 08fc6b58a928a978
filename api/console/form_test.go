package console

import (
	"encoding/json"
	"net/url"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// everything is a tool with all fields of the form and many others, in an unusual layout.
const everything = `{"x-note":"kept","name":"book","description":"Books\na table","request":{"method":"PUT","headers":{"X-Api-Key":"***"},"auth":"basic","moduleId":"m",
	"basic":{"username":"u","password":"***"},"timeout":"5s","retryFor":"1h","idempotent":false,"body":{"n":1.50}},"url":"https://h/:day","confirm":"once","settle":"5s","cancelOnNext":true,
	"dedupe":{"within":"10m","by":["day","people"],"scope":"app"},"answer":{"within":"30s"},"emitter":"a.b","readOnly":false,"returnDirect":false,"skipResponse":true,
	"authRequired":["idp"],"examples":["a table","a table for [two](people)"],
	"schema":[{"parameter":"day","type":"string","format":"date","required":true,"aliases":{"Friday":["Freitag"]},"ask":"Which day?","allowedValues":["Monday","Friday"]},
		{"minValue":1,"maxValue":1e2,"parameter":"people","type":"integer","allowedValues":[1,2.0,"3"],"required":false},
		{"parameter":"tags","type":"array","items":{"type":"string"},"default":null}]}`

// filledAs returns what a browser sends of an unchanged form.
func filledAs(f *toolForm) url.Values {
	form := url.Values{}
	for _, one := range f.fields() {
		if !one.Locked {
			form.Set("f."+one.Path, one.Text)
		}
	}
	for i, row := range f.Parameters.Rows {
		at := "p." + strconv.Itoa(i) + "."
		for name, text := range map[string]string{"name": row.Name, "type": row.Type, "format": row.Format, "description": row.Description, "allowed": row.Allowed, "ask": row.Ask} {
			form.Set(at+name, text)
		}
		if row.Required {
			form.Set(at+"required", "true")
		}
	}
	return form
}

func compact(t *testing.T, text string) string {
	t.Helper()
	return onOneLine(json.RawMessage(text))
}

var forms = map[string]string{
	"everything": everything,
	"Toolbox":    `{"name":"t","parameters":[{"name":"day","type":"string","description":"d","requiredInBody":true},{"name":"n","type":"float","description":"n","required":false}]}`,
	"JSON Schema": `{"name":"t","parameters":{"$defs":{"x":{}},"type":"object","required":["b"],"properties":{"b":{"type":["string","null"],"enum":["x",null,7]},"a":{"type":"integer","minimum":2}},
		"additionalProperties":false}}`,
	"a type":         `{"name":"t","type":"http","source":"api","method":"POST","path":"/x","requestBody":"a\nb","bodyParams":[{"name":"a","type":"string","description":"d"}],"headers":{"A":"b"}}`,
	"odd values":     `{"name":7,"description":null,"examples":["one\ntwo",3],"dedupe":"soon","url":["x"],"schema":[7,{"parameter":{"a":1}}]}`,
	"no parameters":  `{"name":"t","schema":[]}`,
	"another object": `{"name":"t","schema":{"type":"object","properties":{"a":true}}}`,
}

func TestFormThatNobodyHasChangedLeavesTheDefinition(t *testing.T) {
	for name, text := range forms {
		f := newToolForm(0, json.RawMessage(text))
		require.Equal(t, compact(t, text), compact(t, string(f.into(json.RawMessage(text), filledAs(f)))), name)
	}
}

func TestFormChangesOneFieldAndNothingElse(t *testing.T) {
	for _, one := range []struct{ of, field, text, path, want string }{
		{"everything", "f.url", "https://other/", "url", `"https://other/"`},
		{"everything", "f.request.timeout", " 7s ", "request.timeout", `"7s"`},
		{"everything", "f.request.method", "", "request.method", ``},
		{"everything", "f.examples", "one\r\n\r\n two \r\n", "examples", `["one","two"]`},
		{"everything", "f.dedupe.by", "day , people,name", "dedupe.by", `["day","people","name"]`},
		{"everything", "f.answer.within", "", "answer", ``},
		{"everything", "f.readOnly", "true", "readOnly", `true`},
		{"everything", "f.description", "Books\r\nmore", "description", `"Books\nmore"`},
		{"no parameters", "f.confirm", "always", "confirm", `"always"`},
	} {
		text := forms[one.of]
		f := newToolForm(0, json.RawMessage(text))
		form := filledAs(f)
		form.Set(one.field, one.text)
		got := f.into(json.RawMessage(text), form)
		require.Equal(t, one.want, string(valueAt(got, pathOf(one.path)...)), one.field)
		require.JSONEq(t, string(with(json.RawMessage(text), nil, pathOf(one.path)...)), string(with(got, nil, pathOf(one.path)...)), one.field)
	}
}

func TestFormChangesParametersInTheFormThatTheyHave(t *testing.T) {
	for _, one := range []struct {
		of      string
		changes map[string]string
		at      string
		want    string
	}{
		{"everything", map[string]string{"p.1.allowed": "4\r\nsix"}, "schema", `[{"parameter":"day","type":"string","format":"date","required":true,"aliases":{"Friday":["Freitag"]},"ask":"Which day?","allowedValues":["Monday","Friday"]},
			{"minValue":1,"maxValue":1e2,"parameter":"people","type":"integer","allowedValues":[4,"six"],"required":false},{"parameter":"tags","type":"array","items":{"type":"string"},"default":null}]`},
		{"everything", map[string]string{"do": "drop:0", "p.1.required": "true", "p.1.name": "guests"}, "schema", `[
			{"minValue":1,"maxValue":1e2,"parameter":"guests","type":"integer","allowedValues":[1,2.0,"3"],"required":true},{"parameter":"tags","type":"array","items":{"type":"string"},"default":null}]`},
		{"no parameters", map[string]string{"p.0.name": " day ", "p.0.type": "string", "p.0.required": "true", "p.0.allowed": "1", "p.1.name": ""}, "schema",
			`[{"parameter":"day","type":"string","required":true,"allowedValues":["1"]}]`},
		{"Toolbox", map[string]string{"p.0.required": "", "p.1.required": "true", "p.2.name": "c", "p.2.required": "true"}, "parameters",
			`[{"name":"day","type":"string","description":"d","requiredInBody":true,"required":false},{"name":"n","type":"float","description":"n"},{"name":"c"}]`},
		{"JSON Schema", map[string]string{"p.0.name": "c", "p.1.required": "true", "p.1.allowed": "3\n4", "p.2.name": "z", "p.2.type": "string"}, "parameters",
			`{"$defs":{"x":{}},"type":"object","required":["c","a"],"properties":{"c":{"type":["string","null"],"enum":["x",null,7]},"a":{"type":"integer","minimum":2,"enum":[3,4]},"z":{"type":"string"}},
				"additionalProperties":false}`},
	} {
		text := forms[one.of]
		f := newToolForm(0, json.RawMessage(text))
		form := filledAs(f)
		for name, value := range one.changes {
			if form.Set(name, value); value == "" && name != "p.1.name" {
				form.Del(name)
			}
		}
		got := f.into(json.RawMessage(text), form)
		require.Equal(t, compact(t, one.want), compact(t, string(valueAt(got, one.at))), "%s %v", one.of, one.changes)
	}
}

func TestFieldsOfAFormAreExplainedByTheSchema(t *testing.T) {
	f := newToolForm(0, json.RawMessage(forms["a type"]))
	for _, one := range append(f.fields(), newToolForm(0, json.RawMessage(everything)).fields()...) {
		require.NotEmpty(t, one.Doc, one.Path)
	}
	for _, path := range optionFields {
		require.NotEmpty(t, newField("Repository", path, nil).Doc, path)
	}
	require.Contains(t, f.Types, "integer")
	require.Contains(t, f.Forms, "date-time")
}

func TestFaultsStandBesideTheirFields(t *testing.T) {
	f := newToolForm(2, json.RawMessage(everything))
	f.addFaults([]flaw{{"/tools/2/url", "is bad"}, {"/tools/2/dedupe/by/0", "is no parameter"}, {"/tools/2/schema/1/type", "is wrong"}, {"/tools/1/name", "of another"}, {"/tools/2/schema/2", "is odd"}, {"/tools/2/schema/10", "of none"}})
	faults := map[string]string{}
	for _, one := range f.fields() {
		if one.Fault != "" {
			faults[one.Path] = one.Fault
		}
	}
	require.Equal(t, map[string]string{"url": "is bad", "dedupe.by": "is no parameter"}, faults)
	require.Empty(t, f.Parameters.Rows[0].Fault)
	require.Equal(t, "is wrong", f.Parameters.Rows[1].Fault)
	require.Equal(t, "is odd", f.Parameters.Rows[2].Fault)
}

// TestTheDocumentsKnowEachReasonThatThereIsAdviceOn compares the advice with the documented table.
func TestTheDocumentsKnowEachReasonThatThereIsAdviceOn(t *testing.T) {
	page, err := os.ReadFile("../../deploy/docs/why.md")
	require.NoError(t, err)
	for _, one := range advice {
		require.Contains(t, string(page), one.says)
	}
}
