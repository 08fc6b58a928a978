package files_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/files"
)

// imported makes files of a document, and reads them as apply does.
func imported(t testing.TB, document string, options files.OpenAPIOptions) (*files.OpenAPI, *files.Set) {
	t.Helper()
	options.Stdin = strings.NewReader(document)
	made, err := files.FromOpenAPI(files.Stdin, options)
	require.NoError(t, err)
	return made, readBack(t, made)
}

// readBack reads the file with its variables set.
func readBack(t testing.TB, made *files.OpenAPI) *files.Set {
	t.Helper()
	set := map[string]string{}
	for _, name := range made.Variables {
		set[name] = "https://set.example"
	}
	path := filepath.Join(t.TempDir(), "made.yaml")
	require.NoError(t, os.WriteFile(path, []byte(made.Text), 0o600))
	got, err := files.Read([]string{path}, files.Options{AppID: "app", Lookup: func(name string) (string, bool) {
		value, is := set[name]
		return value, is
	}})
	require.NoError(t, err, made.Text)
	require.NoError(t, got.Check(), made.Text)
	require.Empty(t, got.Notes, made.Text)
	return got
}

// toolsOf are the tools of the files, by their names.
func toolsOf(t testing.TB, set *files.Set) map[string]map[string]any {
	t.Helper()
	tools := map[string]map[string]any{}
	for _, one := range set.Repositories {
		var body struct{ Tools []map[string]any }
		require.NoError(t, json.Unmarshal(one.Body(), &body))
		for _, tool := range body.Tools {
			tools[tool["name"].(string)] = tool
		}
	}
	return tools
}

func TestOpenAPIDocumentBecomesASourceAndTools(t *testing.T) {
	text, err := os.ReadFile("testdata/openapi/pets.yaml")
	require.NoError(t, err)
	made, set := imported(t, string(text), files.OpenAPIOptions{})
	golden := "testdata/openapi/pets.golden"
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(made.Text), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), made.Text)
	require.Equal(t, []string{"PET_STORE_CLIENT_ID", "PET_STORE_CLIENT_SECRET", "PET_STORE_KEY"}, made.Variables)
	require.Equal(t, 6, made.Tools)
	require.Equal(t, 6, made.Operations)
	require.Len(t, toolsOf(t, set), 6)
	require.Contains(t, string(set.App.Body()), `"baseUrl":"https://eu.api.example/v1/"`)
	notes := fmt.Sprint(made.Notes)
	for _, note := range []string{`-:15:9: GET /pets: the query parameter "sort" is left out`, "-:16:9: GET /pets: the cookie", "-:27:7: POST /pets: its callbacks are left out", "multipart/form-data"} {
		require.Contains(t, notes, note)
	}
}

// api is a document with these paths and schemas.
func api(paths, schemas string) string {
	return `{"openapi":"3.0.3","info":{"title":"T"},"servers":[{"url":"https://api.example"}],"paths":{` + paths + `},"components":{"schemas":{` + schemas + `}}}`
}

// posting is an operation that is sent a body of the schema.
func posting(schema string) string {
	return `"/x":{"post":{"operationId":"x","requestBody":{"required":true,"content":{"application/json":{"schema":` + schema + `}}}}}`
}

func TestSchemasOfADocumentBecomeParameters(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"a":{"type":"string","enum":["x","y",null],"nullable":true,"default":"x"}}}`:                                          `[{"name":"a","type":"string","description":"a","allowedValues":["x","y"],"default":"x","required":false}]`,
		`{"type":"object","properties":{"a":{"type":"integer","minimum":0,"exclusiveMinimum":true,"maximum":9}}}`:                                             `[{"name":"a","type":"integer","description":"a","minValue":1,"maxValue":9,"required":false}]`,
		`{"type":"object","required":["a"],"properties":{"a":{"oneOf":[{"type":"null"},{"type":"boolean","description":"whether"}]}}}`:                        `[{"name":"a","type":"boolean","description":"whether"}]`,
		`{"type":"object","required":["a"],"properties":{"a":{"oneOf":[{"const":"on"},{"const":"off"}]}}}`:                                                    `[{"name":"a","type":"string","description":"a","allowedValues":["on","off"]}]`,
		`{"type":"object","required":["a"],"properties":{"a":{"anyOf":[{"type":"string","maxLength":3},{"type":"integer"}]}}}`:                                `[{"name":"a","type":"string","description":"a (at most 3 characters, or of 1 other form)"}]`,
		`{"type":"object","required":["a"],"properties":{"a":{"type":"array","items":{"type":"array","items":{"type":"integer","minimum":1}}}}}`:              `[{"name":"a","type":"array","description":"a","items":{"type":"array","description":"a member","items":{"type":"integer","description":"a member","minValue":1}}}]`,
		`{"type":"object","required":["a"],"properties":{"a":{"type":"object","required":["b"],"properties":{"b":{"type":"string"},"c":{"type":"number"}}}}}`: `[{"name":"a","type":"object","description":"a (an object with b string, required; c number)"}]`,
		`{"type":"array","items":{"type":"string"}}`:                                                         `[{"name":"body","type":"array","description":"the body of the request","items":{"type":"string","description":"a member"}}]`,
		`{"type":"object","additionalProperties":{"type":"string"}}`:                                         `[{"name":"body","type":"object","description":"the body of the request"}]`,
		`{"type":"string","pattern":"^x"}`:                                                                   `[{"name":"body","type":"string","description":"the body of the request (matches ^x)"}]`,
		`{"type":"object","required":["a"],"properties":{"a":{"type":"string","default":"z","enum":["x"]}}}`: `[{"name":"a","type":"string","description":"a"}]`,
	} {
		_, set := imported(t, api(posting(schema), ""), files.OpenAPIOptions{})
		got, err := json.Marshal(toolsOf(t, set)["x"]["bodyParams"])
		require.NoError(t, err)
		require.JSONEq(t, want, string(got), schema)
	}
}

func TestOperationsAreNamedSoThatToolsMayBe(t *testing.T) {
	_, set := imported(t, api(`"/":{"get":{}},"/a/{b}":{"get":{"parameters":[{"name":"b","in":"path","required":true,"schema":{"type":"string"}},{"name":"b","in":"query","schema":{"type":"string"}}]},
		"delete":{"operationId":"Öl & Gas"},"post":{"operationId":"same"},"put":{"operationId":"same"},"patch":{"operationId":"collect-user-message"}},
		"/long":{"get":{"operationId":"`+strings.Repeat("x", 99)+`"},"head":{}}`, ""), files.OpenAPIOptions{})
	tools := toolsOf(t, set)
	for _, name := range []string{"get", "get_a_b", "l_Gas", "same", "same_2", "collect-user-message_2", strings.Repeat("x", 60)} {
		require.Contains(t, tools, name)
	}
	require.Equal(t, "/", tools["get"]["path"])
	require.Equal(t, "a/{{.path_b}}", tools["get_a_b"]["path"], "the query has a parameter of that name")
}

func TestPathKeepsItsPlacesWhereTheRulesOfValuesAreLeftOut(t *testing.T) {
	_, set := imported(t, api(`"/a/{b}":{"get":{"operationId":"x","parameters":[{"name":"b","in":"path","required":true,"schema":{"type":"string"}},
		{"name":"b","in":"query","schema":{"type":"string","default":"z","enum":["x"]}}]}}`, ""), files.OpenAPIOptions{})
	require.Equal(t, "a/{{.path_b}}", toolsOf(t, set)["x"]["path"])
}

func TestWhatCannotBeCarriedOverIsSaid(t *testing.T) {
	made, set := imported(t, `{"openapi":"3.1.0","info":{},"webhooks":{"w":{}},"servers":[{"url":"/v2"}],"paths":{
		"/a":{"servers":[],"get":{"security":[{"mutual":[]}],"responses":{"200":{"links":{"l":{}}}}},
			"post":{"requestBody":{"required":true,"content":{"text/csv":{}}}},
			"put":{"parameters":[{"name":"f","in":"query","required":true,"schema":{"type":"object"}}]},
			"patch":{"parameters":[{"name":"Host","in":"header","schema":{"type":"string"}}]},
			"trace":{}}},
		"components":{"securitySchemes":{"mutual":{"type":"mutualTLS"}}}}`, files.OpenAPIOptions{Name: "crm"})
	require.Equal(t, []string{"CRM_URL"}, made.Variables)
	require.Contains(t, string(set.App.Body()), `"baseUrl":"https://set.example/v2/"`)
	require.Len(t, toolsOf(t, set), 1)
	notes := fmt.Sprint(made.Notes)
	for _, note := range []string{
		"webhooks are left out", "set the variable in ${CRM_URL}/v2", "the servers of this path are left out", "asks for mutual, which cannot be carried over",
		"the links of its answers", "POST /a is left out: its body is text/csv", `PUT /a is left out: its query parameter "f" is an object`,
		"PATCH /a is left out: /tools/0/headerParams/0/name", "TRACE /a is left out",
	} {
		require.Contains(t, notes, note)
	}
}

func TestFaultsOfADocumentHaveTheirPlaces(t *testing.T) {
	for document, want := range map[string]string{
		"":               "-:1:1: is no OpenAPI document",
		"[1]":            "-:1:1: is no OpenAPI document",
		"a: 1\nb: [":     "-:2:",
		"swagger: '2.0'": "-:1:1: is Swagger 2.0",
		"openapi: 4.0.0": `has openapi "4.0.0"; versions 3.0, 3.1 and 3.2 are read`,
		"openapi: 3.0.0": "has no paths",
		"openapi: 3.0.0\npaths:\n  /a: {head: {}}":                                                                    "-:3:3: has no operation that can be a tool",
		"openapi: 3.0.0\npaths:\n  /a:\n    get:\n      parameters:\n      - $ref: '#/components/parameters/x'":       `-:6:15: refers to "#/components/parameters/x", and there is no "components"`,
		"openapi: 3.0.0\npaths:\n  /a:\n    $ref: https://evil.example/a.yaml":                                        `-:4:11: refers to another document, "https://evil.example/a.yaml"; none is read`,
		"openapi: 3.0.0\npaths:\n  /a:\n    $ref: ../../etc/passwd":                                                   "refers to another document",
		"openapi: 3.0.0\npaths:\n  /a: {$ref: '#/paths/~1b'}\n  /b: {$ref: '#/paths/~1a'}":                            "or to itself",
		"openapi: 3.0.0\npaths:\n  /a: {get: {requestBody: {$ref: '#x'}}}\n  /b: {post: {requestBody: {$ref: '#x'}}}": "which is no place in the document",
	} {
		_, err := files.FromOpenAPI(files.Stdin, files.OpenAPIOptions{Stdin: strings.NewReader(document)})
		require.ErrorContains(t, err, want, document)
	}
	_, err := files.FromOpenAPI("not-there.yaml", files.OpenAPIOptions{})
	require.ErrorContains(t, err, "not-there.yaml: no such file")
	_, err = files.FromOpenAPI(files.Stdin, files.OpenAPIOptions{Stdin: strings.NewReader(strings.Repeat("#", 17<<20))})
	require.ErrorContains(t, err, "is longer than")
}

func TestSchemasThatContainThemselvesAreReadAllTheSame(t *testing.T) {
	_, set := imported(t, api(posting(`{"$ref":"#/components/schemas/Tree"}`),
		`"Tree":{"allOf":[{"$ref":"#/components/schemas/Tree"}],"type":"object","properties":{"left":{"$ref":"#/components/schemas/Tree"},"leaves":{"type":"array","items":{"$ref":"#/components/schemas/Tree"}}}}`), files.OpenAPIOptions{})
	require.Len(t, toolsOf(t, set)["x"]["bodyParams"], 2)

	var schemas []string // each is two of the next
	for i := range 40 {
		schemas = append(schemas, fmt.Sprintf(`"S%d":{"allOf":[{"$ref":"#/components/schemas/S%d"},{"$ref":"#/components/schemas/S%d"}]}`, i, i+1, i+1))
	}
	schemas = append(schemas, `"S40":{"type":"object"}`)
	document := api(strings.Join([]string{posting(`{"$ref":"#/components/schemas/S0"}`), strings.ReplaceAll(posting(`{"$ref":"#/components/schemas/S0"}`), "/x", "/y"),
		strings.ReplaceAll(posting(`{"type":"object","properties":{"a":{"$ref":"#/components/schemas/S0"},"b":{"$ref":"#/components/schemas/S0"},"c":{"$ref":"#/components/schemas/S0"}}}`), "/x", "/z")}, ","), strings.Join(schemas, ","))
	_, err := files.FromOpenAPI(files.Stdin, files.OpenAPIOptions{Stdin: strings.NewReader(document)})
	require.ErrorContains(t, err, "refers to its parts so often")
}

func TestDocumentOfMoreToolsThanAFileHasIsTakenInParts(t *testing.T) {
	var paths []string
	var parameters []string
	for i := range 9 {
		parameters = append(parameters, fmt.Sprintf(`{"name":"q%d","in":"query","description":%q,"schema":{"type":"string"}}`, i, strings.Repeat("word ", 390)))
	}
	for i := range 66 {
		paths = append(paths, fmt.Sprintf(`"/p%d":{"get":{"parameters":[%s]}}`, i, strings.Join(parameters, ",")))
	}
	document := api(strings.Join(paths, ","), "")
	_, err := files.FromOpenAPI(files.Stdin, files.OpenAPIOptions{Stdin: strings.NewReader(document)})
	require.ErrorContains(t, err, "has 66 operations, which make a file of")
	made, set := imported(t, document, files.OpenAPIOptions{Paths: []string{"/p12", "/p5"}})
	require.Equal(t, 12, made.Tools)
	require.Len(t, toolsOf(t, set), made.Tools)
}

func FuzzFromOpenAPI(f *testing.F) {
	text, err := os.ReadFile("testdata/openapi/pets.yaml")
	require.NoError(f, err)
	f.Add(string(text))
	f.Add(api(posting(`{"type":"object","properties":{"a b":{"type":"string","enum":["${X}","[a"]}}}`), ""))
	f.Fuzz(func(t *testing.T, document string) {
		made, err := files.FromOpenAPI(files.Stdin, files.OpenAPIOptions{Stdin: strings.NewReader(document)})
		if err != nil {
			require.IsType(t, files.Faults{}, err)
			return
		}
		set := map[string]bool{}
		for _, name := range made.Variables {
			set[name] = true
		}
		_, err = files.Read([]string{files.Stdin}, files.Options{AppID: "app", Stdin: strings.NewReader(made.Text), Lookup: func(name string) (string, bool) {
			return "https://set.example", set[name]
		}})
		require.NoError(t, err, made.Text)
	})
}
