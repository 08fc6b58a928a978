package console_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/secret"
)

const editorText = "#definition"

func TestSomebodyWritesAToolAndTriesIt(t *testing.T) {
	s := startWith(t, secret.Secret{})
	s.rest("PUT", "/v1/apps/clinic", `{}`, nil)
	b := s.open(t)
	b.visit("/console/apps/clinic/tools")
	b.reads("main", "No tool yet")
	b.fill("#open", "desk")
	b.click(".panel button")
	b.reads("h1", "desk")

	b.fill(editorText, "{\"tools\": [{\n  \"name\": \"book a desk\",\n  \"schema\": [{\"parameter\": \"desk\", \"type\": \"strng\"}]}]}")
	b.click("#editor button.main")
	b.reads(".fault", "is no tool name", `did you mean "string"?`, "line 2", "line 3")
	b.click(".fault li:nth-child(2) .to")
	require.Equal(t, `"strng"`, evaluated[string](b, `(t => t.value.slice(t.selectionStart, t.selectionEnd))(document.querySelector("#definition"))`))

	b.fill(editorText, "{\"tools\": [{\"name\": \"book\",\n  \"cancelOnNext\": true, \"confirm\": \"allways\",\n  \"dedupe\": {\"by\": [\"desk\"]},\n  \"url\": \"https://h/\", \"answer\": {\"within\": \"30s\"}}]}")
	b.click("#editor button.main")
	b.reads(".fault", "needs settle", `did you mean "always"?`, "is missing", "is no parameter of the tool", "is given beside url", "line 2", "line 3", "line 4")

	b.fill(editorText, `{"tools": [{"name": "book", "url": "`+s.endpoint.URL+`", "schema": [{"parameter": "desk", "type": "string", "allowedValues": ["A", "B"], "required": true},
		{"parameter": "people", "type": "integer", "minValue": 1}, {"parameter": "notes", "type": "array", "items": {"type": "string"}}, {"parameter": "key", "type": "string", "value": "fixed"}]}]}`)
	b.click("#editor button.main")
	b.reads("[role=status]", "saved")
	b.click("main p .tool")
	b.reads("h1", "book")
	require.Equal(t, []string{"desk", "people", "notes"}, evaluated[[]string](b, `[...document.querySelectorAll(".field label b")].map(e => e.innerText)`), "what is fixed is not asked for")

	b.fill("#f1", "two")
	b.click("#form button.main")
	b.reads("#fault0", "is required")
	b.reads("#fault1", `"two" is not an integer`)
	b.fill("#f0", `"B"`)
	b.fill("#f1", "2")
	b.fill("#f2", `["window"]`)
	b.click("#form button.main")
	b.reads("#outcome", "It fired", "delivered")
	var found struct {
		Items []struct{ Values json.RawMessage }
	}
	s.rest("GET", "/v1/apps/clinic/triggers?name=book", "", &found)
	require.Len(t, found.Items, 1)
	require.JSONEq(t, `{"desk":"B","people":2,"notes":["window"],"key":"fixed"}`, string(found.Items[0].Values))
}

func TestWhatSomebodyElseHasChangedIsNotWrittenOverUnseen(t *testing.T) {
	s := startWith(t, secret.Secret{})
	s.clinic()
	b := s.open(t)
	b.visit("/console/apps/clinic/tools/desk")
	s.rest("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"other"}]}`, nil)
	b.fill(editorText, `{"tools":[{"name":"mine"}]}`)
	b.click("#editor button.main")
	b.reads(".fault", "Somebody changed it meanwhile")
	require.Equal(t, []string{"other"}, s.names("desk"))
	b.click("#editor button.main")
	b.reads("[role=status]", "saved")
	require.Equal(t, []string{"mine"}, s.names("desk"))
	b.click("summary")
	b.click(".remove button")
	b.reads("main", "No tool yet")
}

func (s *service) names(repository string) (names []string) {
	s.t.Helper()
	var found struct{ Tools []struct{ Name string } }
	s.rest("GET", "/v1/apps/clinic/repositories/"+repository, "", &found)
	for _, one := range found.Tools {
		names = append(names, one.Name)
	}
	return names
}
