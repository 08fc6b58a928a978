package main

import (
	"bytes"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"

	"earshot/api/docs"
)

func TestWhatFollowsFromTheSchemasIsUpToDate(t *testing.T) {
	made, err := write("../..")
	require.NoError(t, err)
	require.Len(t, made, 2)
	for path, want := range made {
		have, err := os.ReadFile(path)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, have), "%s is not what the schemas say: go run ./deploy/fields", path)
	}
}

// A field without rules of its own needs its schema, and a line in its struct to be used.
func TestANewFieldIsDescribedByItsSchemaAlone(t *testing.T) {
	schema, err := os.ReadFile("../../" + definitionsFile)
	require.NoError(t, err)
	schema = bytes.Replace(schema, []byte(`"cancelOnNext": {`), []byte(`"madeUp": {"type": "string", "enum": ["yes", "no"], "default": "no",
	 "description": "Whether it is made up.", "x-doc": "Whether it is [made up](#tool)."}, "cancelOnNext": {`), 1)
	definitions, err := read(schema)
	require.NoError(t, err)

	client, err := goTypes(definitions)
	require.NoError(t, err)
	require.Regexp(t, "\tMadeUp +string +`json:\"madeUp,omitempty\"` +// Whether it is made up. Default: no.\n", string(client))
	document, err := tables("<!-- fields: Tool -->\n<!-- end of fields -->", []*field{find(definitions, "Tool")})
	require.NoError(t, err)
	require.Contains(t, string(document), "\n| `madeUp` | text | `no` | Whether it is [made up](#tool). One of `yes`, `no`. |\n")
	_, err = tables(string(document), definitions)
	require.EqualError(t, err, "no table has the fields of App")

	var described docs.Documents
	require.NoError(t, described.Build(nil, schema))
	answer := httptest.NewRecorder()
	require.NoError(t, described.ServeOpenAPI(echo.New().NewContext(httptest.NewRequest("GET", "/openapi.json", nil), answer)))
	require.Contains(t, answer.Body.String(), `"madeUp":{"description":"Whether it is made up. Default: no.","enum":["yes","no"],"type":"string"}`)
	require.NotContains(t, answer.Body.String(), "x-doc")
}
