package main

import (
	"bytes"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"

	"earshot/api/docs"
	"earshot/deploy/testbed"
)

func TestReferenceOfFieldsIsUpToDate(t *testing.T) {
	made := testbed.Got(write("../.."))(t)
	require.Len(t, made, 2)
	for path, want := range made {
		testbed.Kept(t, false, path, string(want), "go run ./deploy/fields")
	}
}

// A field without rules of its own needs its schema, and a line in its struct to be used.
func TestANewFieldIsDescribedByItsSchemaAlone(t *testing.T) {
	schema := testbed.Got(os.ReadFile("../../" + definitionsFile))(t)
	schema = bytes.Replace(schema, []byte(`"cancelOnNext": {`), []byte(`"madeUp": {"type": "string", "enum": ["yes", "no"], "default": "no",
	 "description": "Whether it is made up.", "x-doc": "Whether it is [made up](#tool)."}, "cancelOnNext": {`), 1)
	definitions := testbed.Got(read(schema))(t)

	client := testbed.Got(goTypes(definitions))(t)
	require.Regexp(t, "\tMadeUp +string +`json:\"madeUp,omitempty\"` +// Whether it is made up. Default: no.\n", string(client))
	bodies := testbed.Got(os.ReadFile("../../" + bodiesFile))(t)
	others := testbed.Got(read(bodies))(t)
	document := testbed.Got(page(append(definitions, others...)))(t)
	require.Contains(t, string(document), "\n| `madeUp` | text | `no` | Whether it is [made up](#tool). One of `yes`, `no`. |\n")
	_, err := page(append(definitions, append(others, &field{name: "New"})...))
	require.EqualError(t, err, "no chapter has the fields of New")
	require.Equal(t, "[a](#tool), [b](../tools.md#notes), [c](../calls.md#x), [d](https://e.example)", linked("[a](#tool), [b](#notes), [c](calls.md#x), [d](https://e.example)"))

	var described docs.Documents
	require.NoError(t, described.Build(nil, schema))
	answer := httptest.NewRecorder()
	require.NoError(t, described.ServeOpenAPI(echo.New().NewContext(httptest.NewRequest("GET", "/openapi.json", nil), answer)))
	require.Contains(t, answer.Body.String(), `"madeUp":{"description":"Whether it is made up. Default: no.","enum":["yes","no"],"type":"string"}`)
	require.NotContains(t, answer.Body.String(), "x-doc")
}
