package api_test

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

// description is what the service says of itself at /openapi.json. OpenAPI 3.1 is JSON
// Schema, so that the validator of the service's own bodies does for its answers as well.
type description struct {
	document map[string]any
	compiler *jsonschema.Compiler
	one      *sync.Mutex // the compiler is for one at a time, and calls are sent side by side
}

const openAPI = "earshot:///openapi.json"

// descriptions are those that were read, by their text: all services of these tests
// have the same, and its schemas take longer to compile than most tests.
var descriptions sync.Map

func describe(t testing.TB, url string) description {
	response, err := http.Get(url + "/openapi.json")
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	if known, is := descriptions.Load(string(text)); is {
		return known.(description)
	}
	read, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	known, _ := descriptions.LoadOrStore(string(text), newDescription(t, strict(read.(map[string]any))))
	return known.(description)
}

// newDescription is a document with a validator of its schemas.
func newDescription(t testing.TB, document map[string]any) description {
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource(openAPI, any(document)))
	return description{document, compiler, new(sync.Mutex)}
}

// strict takes no field in an answer that is not described. A client has to take it: it is what
// lets a service learn more.
func strict(document map[string]any) map[string]any {
	walk("", document, func(pointer string, value map[string]any) {
		if value["properties"] != nil && value["additionalProperties"] == nil && !strings.HasSuffix(pointer, "/properties") {
			value["unevaluatedProperties"] = false
		}
	})
	return document
}

// walk shows all objects of a document but examples and conditions, each with its JSON
// Pointer.
func walk(pointer string, value any, show func(pointer string, value map[string]any)) {
	switch value := value.(type) {
	case map[string]any:
		show(pointer, value)
		for key, part := range value {
			if !slices.Contains([]string{"example", "examples", "if"}, key) {
				walk(pointer+"/"+escape(key), part, show)
			}
		}
	case []any:
		for i, part := range value {
			walk(pointer+"/"+strconv.Itoa(i), part, show)
		}
	}
}

// foresees checks an answer against the description of its route: its status, its type, its
// body, its headers.
func (d description) foresees(t testing.TB, method, path string, got answer) {
	t.Helper()
	operation := "/paths/" + escape(d.template(path)) + "/" + strings.ToLower(method)
	if d.at(operation) == nil {
		return // HEAD, OPTIONS and what is not there
	}
	response := operation + "/responses/" + strconv.Itoa(got.StatusCode)
	of := d.at(response)
	require.NotNil(t, of, "%s %s answered %d, which is not described: %s", method, path, got.StatusCode, got.body)
	for _, name := range []string{"Location", "Retry-After", "WWW-Authenticate", "Preference-Applied"} {
		headers, _ := of["headers"].(map[string]any)
		require.True(t, got.Header.Get(name) == "" || headers[name] != nil, "%s %s answered %d with %s, which is not described", method, path, got.StatusCode, name)
	}
	kind, _, _ := strings.Cut(got.Header.Get("Content-Type"), ";")
	if len(got.body) > 0 {
		d.fits(t, response, kind, got)
	}
}

// fits checks the body of an answer.
func (d description) fits(t testing.TB, response, kind string, got answer) {
	t.Helper()
	content := d.at(response)["content"].(map[string]any)
	require.Contains(t, content, kind, response)
	if !strings.HasSuffix(kind, "json") || kind == "application/x-ndjson" { // which is many values
		return
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(got.body))
	require.NoError(t, err)
	schema := d.compile(t, d.place(response)+"/content/"+escape(kind)+"/schema")
	require.NoError(t, schema.Validate(value), "%s: %s", response, got.body)
}

// template finds the path of the description that a path is one of: the one with the
// fewest words left open.
func (d description) template(path string) string {
	best, open := "", 99
	for template := range d.document["paths"].(map[string]any) {
		if free, ok := matches(strings.Split(template, "/"), strings.Split(path, "/")); ok && free < open {
			best, open = template, free
		}
	}
	return best
}

func matches(template, path []string) (open int, ok bool) {
	if len(template) != len(path) {
		return 0, false
	}
	for i, word := range template {
		if strings.HasPrefix(word, "{") {
			open++
		} else if word != path[i] {
			return 0, false
		}
	}
	return open, true
}

func (d description) compile(t testing.TB, pointer string) *jsonschema.Schema {
	t.Helper()
	d.one.Lock()
	defer d.one.Unlock()
	compiled, err := d.compiler.Compile(openAPI + "#" + strings.NewReplacer("{", "%7B", "}", "%7D").Replace(pointer))
	require.NoError(t, err)
	return compiled
}

// place is a JSON Pointer, behind the reference that it leads to.
func (d description) place(pointer string) string {
	if to, ok := d.raw(pointer)["$ref"].(string); ok {
		return d.place(strings.TrimPrefix(to, "#"))
	}
	return pointer
}

// at follows a JSON Pointer and the reference that it leads to; nil for nothing.
func (d description) at(pointer string) map[string]any { return d.raw(d.place(pointer)) }

func (d description) raw(pointer string) map[string]any {
	found := d.document
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		found, _ = found[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)].(map[string]any)
	}
	return found
}

func escape(token string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(token) }
