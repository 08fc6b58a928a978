package apitest

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/repositories/fault"
)

// Description is an OpenAPI or AsyncAPI document with a validator of its schemas.
type Description struct {
	Document map[string]any
	compiler *jsonschema.Compiler
	one      *sync.Mutex // the compiler serves one goroutine at a time
}

const openAPI = "earshot:///openapi.json"

// descriptions are those that were read, by their text, since compiling the schemas takes longer than most tests.
var descriptions sync.Map

func describe(t testing.TB, url string) Description {
	response := testbed.Got(http.Get(url + "/openapi.json"))(t)
	defer response.Body.Close()
	text := testbed.Got(io.ReadAll(response.Body))(t)
	if known, is := descriptions.Load(string(text)); is {
		return known.(Description)
	}
	read := testbed.Got(jsonschema.UnmarshalJSON(bytes.NewReader(text)))(t)
	known, _ := descriptions.LoadOrStore(string(text), NewDescription(t, strict(read.(map[string]any))))
	return known.(Description)
}

// NewDescription makes the validator of a document.
func NewDescription(t testing.TB, document map[string]any) Description {
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource(openAPI, any(document)))
	return Description{document, compiler, new(sync.Mutex)}
}

// strict allows no field in an answer that is not described. Clients must allow it, so that a service can add fields.
func strict(document map[string]any) map[string]any {
	Walk("", document, func(pointer string, value map[string]any) {
		if value["properties"] != nil && value["additionalProperties"] == nil && !strings.HasSuffix(pointer, "/properties") {
			value["unevaluatedProperties"] = false
		}
	})
	return document
}

// Walk shows all objects of a document but examples and conditions, each with its JSON Pointer.
func Walk(pointer string, value any, show func(pointer string, value map[string]any)) {
	switch value := value.(type) {
	case map[string]any:
		show(pointer, value)
		for key, part := range value {
			if !slices.Contains([]string{"example", "examples", "if"}, key) {
				Walk(pointer+"/"+Escape(key), part, show)
			}
		}
	case []any:
		for i, part := range value {
			Walk(pointer+"/"+strconv.Itoa(i), part, show)
		}
	}
}

// foresees checks the status, type, body and headers of an answer by the description of its route.
func (d Description) foresees(t testing.TB, method, path string, got Answer) {
	operation := "/paths/" + Escape(d.template(path)) + "/" + strings.ToLower(method)
	if d.At(operation) == nil {
		return // HEAD, OPTIONS and what is not there
	}
	response := operation + "/responses/" + strconv.Itoa(got.StatusCode)
	of := d.At(response)
	require.NotNil(t, of, "%s %s answered %d, which is not described: %s", method, path, got.StatusCode, got.Body)
	for _, name := range []string{"Location", "Retry-After", "WWW-Authenticate", "Preference-Applied"} {
		headers, _ := of["headers"].(map[string]any)
		require.True(t, got.Header.Get(name) == "" || headers[name] != nil, "%s %s answered %d with %s, which is not described", method, path, got.StatusCode, name)
	}
	kind, _, _ := strings.Cut(got.Header.Get("Content-Type"), ";")
	if len(got.Body) > 0 {
		d.fits(t, response, kind, got)
	}
}

func (d Description) fits(t testing.TB, response, kind string, got Answer) {
	content := d.At(response)["content"].(map[string]any)
	require.Contains(t, content, kind, response)
	if !strings.HasSuffix(kind, "json") || kind == "application/x-ndjson" { // which is many values
		return
	}
	value := testbed.Got(jsonschema.UnmarshalJSON(bytes.NewReader(got.Body)))(t)
	schema := d.Compile(t, d.place(response)+"/content/"+Escape(kind)+"/schema")
	require.NoError(t, schema.Validate(value), "%s: %s", response, got.Body)
}

// template finds the described path with the fewest variables that a path matches.
func (d Description) template(path string) string {
	best, open := "", 99
	for template := range d.Document["paths"].(map[string]any) {
		if free, ok := matches(strings.Split(template, "/"), strings.Split(path, "/")); ok && free < open {
			best, open = template, free
		}
	}
	return best
}

// Channel is the name of the channel of events, or requests over NATS, that a subject is of.
func (d Description) Channel(t testing.TB, subject string) string {
	for name := range d.At("/channels") {
		address, _ := d.At("/channels/" + name)["address"].(string) // that of replies is any
		pattern := regexp.MustCompile(`\\\{\w+\\\}`).ReplaceAllString(regexp.QuoteMeta(address), `[^.]+`)
		if regexp.MustCompile("^" + pattern + "$").MatchString(subject) {
			return name
		}
	}
	require.Fail(t, "the subject "+subject+" is in no channel")
	return ""
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

// Compile returns the schema at a JSON Pointer.
func (d Description) Compile(t testing.TB, pointer string) *jsonschema.Schema {
	d.one.Lock()
	defer d.one.Unlock()
	return testbed.Got(d.compiler.Compile(openAPI + "#" + strings.NewReplacer("{", "%7B", "}", "%7D").Replace(pointer)))(t)
}

func (d Description) place(pointer string) string {
	if to, ok := d.raw(pointer)["$ref"].(string); ok {
		return d.place(strings.TrimPrefix(to, "#"))
	}
	return pointer
}

// At returns the object at a JSON Pointer, behind its reference; nil for nothing.
func (d Description) At(pointer string) map[string]any { return d.raw(d.place(pointer)) }

func (d Description) raw(pointer string) map[string]any {
	found := d.Document
	for _, token := range fault.Tokens(pointer) {
		found, _ = found[token].(map[string]any)
	}
	return found
}

// Escape escapes a token of a JSON Pointer.
func Escape(token string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(token) }
