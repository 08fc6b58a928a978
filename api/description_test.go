package api_test

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

// description is what the service says of itself at /openapi.json.
type description struct {
	document map[string]any
	compiler *jsonschema.Compiler
	one      *sync.Mutex // the compiler is for one at a time, and calls are sent side by side
}

func describe(t testing.TB, url string) description {
	response, err := http.Get(url + "/openapi.json")
	require.NoError(t, err)
	defer response.Body.Close()
	document, err := jsonschema.UnmarshalJSON(response.Body)
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("earshot:///openapi.json", document))
	return description{document.(map[string]any), compiler, new(sync.Mutex)}
}

// foresees checks an answer against the description: its status, its type, its body.
func (d description) foresees(t testing.TB, method, path string, got answer) {
	t.Helper()
	at := "/paths/" + escape(templateOf(path)) + "/" + strings.ToLower(method)
	if d.at(at) == nil {
		return // HEAD, OPTIONS and what is not there
	}
	if len(got.body) == 0 {
		require.NotNil(t, d.at(at+"/responses/"+strconv.Itoa(got.StatusCode)), "status %d is not foreseen", got.StatusCode)
		return
	}
	kind, _, _ := strings.Cut(got.Header.Get("Content-Type"), ";")
	schema := d.schema(t, at+"/responses/"+strconv.Itoa(got.StatusCode), kind)
	if !strings.HasSuffix(kind, "json") {
		return
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(got.body))
	require.NoError(t, err)
	require.NoError(t, schema.Validate(value), "%s %s answered %d %s", method, path, got.StatusCode, got.body)
}

// schema compiles the schema of an answer. A status that is not foreseen by itself
// must be the problem that stands for all others.
func (d description) schema(t testing.TB, response, kind string) *jsonschema.Schema {
	t.Helper()
	if d.at(response) == nil {
		require.Equal(t, "application/problem+json", kind, "%s is not foreseen", response)
		response = "/components/responses/Problem"
	}
	schema, _ := d.at(response)["content"].(map[string]any)[kind].(map[string]any)["schema"].(map[string]any)
	require.NotNil(t, schema, "%s as %s is not foreseen", response, kind)
	if to, ok := schema["$ref"].(string); ok {
		return d.compile(t, strings.TrimPrefix(to, "#"))
	}
	return d.compile(t, response+"/content/"+escape(kind)+"/schema")
}

func (d description) compile(t testing.TB, pointer string) *jsonschema.Schema {
	t.Helper()
	d.one.Lock()
	defer d.one.Unlock()
	compiled, err := d.compiler.Compile("earshot:///openapi.json#" + strings.NewReplacer("{", "%7B", "}", "%7D").Replace(pointer))
	require.NoError(t, err)
	return compiled
}

// at follows a JSON Pointer and the reference that it leads to; nil for nothing.
func (d description) at(pointer string) map[string]any {
	found := d.document
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		found, _ = found[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)].(map[string]any)
	}
	if to, ok := found["$ref"].(string); ok {
		return d.at(strings.TrimPrefix(to, "#"))
	}
	return found
}

func escape(token string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(token) }

// templateOf writes a path with its ids replaced by their names.
func templateOf(path string) string {
	names := map[string]string{"apps": "{appId}", "sessions": "{sessionId}", "repositories": "{repositoryId}", "triggers": "{triggerId}", "keys": "{keyId}"}
	parts := strings.Split(path, "/")
	for i := 3; i < len(parts); i += 2 {
		parts[i] = names[parts[i-1]]
	}
	return strings.Join(parts, "/")
}
