package files_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/files"
)

// imported converts a document to files, and reads them like apply.
func imported(t testing.TB, document string, options files.OpenAPIOptions) (*files.OpenAPI, *files.Set) {
	t.Helper()
	options.Stdin = strings.NewReader(document)
	made, err := files.FromOpenAPI(files.Stdin, options)
	require.NoError(t, err)
	return made, readBack(t, made, func(string) string { return "https://set.example" })
}

// readBack reads the file with its variables set.
func readBack(t testing.TB, made *files.OpenAPI, valueOf func(variable string) string) *files.Set {
	t.Helper()
	got, err := files.Read([]string{files.Stdin}, files.Options{AppID: "app", Stdin: strings.NewReader(made.Text), Lookup: func(name string) (string, bool) {
		return valueOf(name), slices.Contains(made.Variables, name)
	}})
	require.NoError(t, err, made.Text)
	require.NoError(t, got.Check(), made.Text)
	require.Empty(t, got.Notes, made.Text)
	return got
}

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
	isGolden(t, "testdata/openapi/pets.golden", made.Text)
	require.Equal(t, []string{"PET_STORE_CLIENT_ID", "PET_STORE_CLIENT_SECRET", "PET_STORE_KEY"}, made.Variables)
	require.Equal(t, 5, made.Tools, "what is sent a file is no tool")
	require.Equal(t, 6, made.Operations)
	require.Len(t, toolsOf(t, set), 5)
	require.Contains(t, string(set.App.Body()), `"baseUrl":"https://eu.api.example/v1/"`)
	notes := fmt.Sprint(made.Notes)
	for _, note := range []string{`-:15:9: GET /pets: the query parameter "sort" is left out`, "-:16:9: GET /pets: the cookie", "-:27:7: POST /pets: its callbacks are left out", "PUT /pets/{pet-id} is left out: its body is multipart/form-data, and JSON and forms are sent"} {
		require.Contains(t, notes, note)
	}
}

// api returns a document with these paths and schemas.
func api(paths, schemas string) string {
	return `{"openapi":"3.0.3","info":{"title":"T"},"servers":[{"url":"https://api.example"}],"paths":{` + paths + `},"components":{"schemas":{` + schemas + `}}}`
}

// posting returns an operation with a body of the schema.
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
		`{"type":"object","required":["a"],"properties":{"a":{"type":["integer","string","null"],"description":"who"}}}`:                                      `[{"name":"a","type":"integer","description":"who (or of 1 other form)"}]`,
		`{"type":"object","required":["a"],"properties":{"a":{"enum":[1,"x",null,true]}}}`:                                                                    `[{"name":"a","type":"number","description":"a (or of 2 other forms)","allowedValues":[1]}]`,
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

func TestHeadersThatACallHasOfItsOwnAreNoParameters(t *testing.T) {
	_, set := imported(t, api(`"/a":{"post":{"operationId":"x","parameters":[{"name":"idempotency-key","in":"header","required":true,"schema":{"type":"string"}},
		{"name":"Accept-Encoding","in":"header","schema":{"type":"string"}},{"name":"X-Desk","in":"header","schema":{"type":"string"}}]}}`, ""), files.OpenAPIOptions{})
	require.Len(t, toolsOf(t, set)["x"]["headerParams"], 1)
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
		"":               "-:1:1: is not an OpenAPI document",
		"[1]":            "-:1:1: is not an OpenAPI document",
		"a: 1\nb: [":     "-:2:",
		"swagger: '2.0'": "-:1:1: is Swagger 2.0",
		"sources: {}":    "-:1:1: is not an OpenAPI document: it has no field openapi, as openapi: 3.1.0",
		"openapi: 4.0.0": `has openapi "4.0.0"; supported are 3.0, 3.1 and 3.2`,
		"openapi: 3.0.0": "has no paths",
		"openapi: 3.0.0\npaths:\n  /a: {head: {}}":                                                                    "-:3:3: has no operation that can be a tool",
		"openapi: 3.0.0\npaths:\n  /a:\n    get:\n      parameters:\n      - $ref: '#/components/parameters/x'":       `-:6:15: refers to "#/components/parameters/x", and there is no "components"`,
		"openapi: 3.0.0\npaths:\n  /a:\n    $ref: https://evil.example/a.yaml":                                        `-:4:11: refers to another document, "https://evil.example/a.yaml"; none is read`,
		"openapi: 3.0.0\npaths:\n  /a:\n    $ref: ../../etc/passwd":                                                   "refers to another document",
		"openapi: 3.0.0\npaths:\n  /a: {$ref: '#/paths/~1b'}\n  /b: {$ref: '#/paths/~1a'}":                            "or to itself",
		"openapi: 3.0.0\npaths:\n  /a: {get: {requestBody: {$ref: '#x'}}}\n  /b: {post: {requestBody: {$ref: '#x'}}}": "which is not in the document",
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

	var schemas []string // each contains the next twice
	for i := range 40 {
		schemas = append(schemas, fmt.Sprintf(`"S%d":{"allOf":[{"$ref":"#/components/schemas/S%d"},{"$ref":"#/components/schemas/S%d"}]}`, i, i+1, i+1))
	}
	schemas = append(schemas, `"S40":{"type":"object"}`)
	document := api(strings.Join([]string{posting(`{"$ref":"#/components/schemas/S0"}`), strings.ReplaceAll(posting(`{"$ref":"#/components/schemas/S0"}`), "/x", "/y"),
		strings.ReplaceAll(posting(`{"type":"object","properties":{"a":{"$ref":"#/components/schemas/S0"},"b":{"$ref":"#/components/schemas/S0"},"c":{"$ref":"#/components/schemas/S0"}}}`), "/x", "/z")}, ","), strings.Join(schemas, ","))
	_, err := files.FromOpenAPI(files.Stdin, files.OpenAPIOptions{Stdin: strings.NewReader(document)})
	require.ErrorContains(t, err, "refers to its parts so often")
}

// Large APIs have hundreds of schemas, each of which names a dozen others.
func TestLargeDocumentIsRead(t *testing.T) {
	const count = 400
	var schemas, paths []string
	for i := range count {
		members := []string{fmt.Sprintf(`"own":{"type":"string","description":"of %d"}`, i)}
		for k := range 12 {
			members = append(members, fmt.Sprintf(`"r%d":{"$ref":"#/components/schemas/S%d"}`, k, (i*7+k*11+3)%count))
		}
		schemas = append(schemas, fmt.Sprintf(`"S%d":{"allOf":[{"$ref":"#/components/schemas/Base"},{"type":"object","properties":{%s}}]}`, i, strings.Join(members, ",")))
		paths = append(paths, strings.ReplaceAll(posting(fmt.Sprintf(`{"$ref":"#/components/schemas/S%d"}`, i)), `x"`, fmt.Sprintf(`x%d"`, i)))
	}
	document := api(strings.Join(paths, ","), `"Base":{"type":"object","properties":{"id":{"type":"string","readOnly":true}}},`+strings.Join(schemas, ","))
	_, err := files.FromOpenAPI(files.Stdin, files.OpenAPIOptions{Stdin: strings.NewReader(document), Paths: []string{"/x1"}})
	require.ErrorContains(t, err, "has 111 operations", "it is read, and is more than a file has")
	made, err := files.FromOpenAPI(files.Stdin, files.OpenAPIOptions{Stdin: strings.NewReader(document), Paths: []string{"/x11"}})
	require.NoError(t, err)
	require.Equal(t, 11, made.Tools)
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

// guarded returns a document with a default security, security schemes, and operations by name with their own
// security; "" for none.
func guarded(security, schemes string, operations map[string]string) string {
	var paths []string
	for _, name := range slices.Sorted(maps.Keys(operations)) {
		own := ""
		if operations[name] != "" {
			own = `,"security":` + operations[name]
		}
		paths = append(paths, fmt.Sprintf(`"/%s":{"get":{"operationId":%q%s}}`, name, name, own))
	}
	if security != "" {
		security = `"security":` + security + `,`
	}
	return `{"openapi":"3.1.0","info":{"title":"T"},"servers":[{"url":"https://api.example/v1"}],` + security +
		`"paths":{` + strings.Join(paths, ",") + `},"components":{"securitySchemes":{` + schemes + `}}}`
}

// sent summarizes the authentication of each imported tool: each credential is the name of its variable.
func sent(t testing.TB, made *files.OpenAPI) map[string]string {
	t.Helper()
	set := readBack(t, made, func(variable string) string { return "<" + variable + ">" })
	var app struct {
		Sources []struct {
			Name, BaseURL        string
			Headers, QueryParams map[string]string
		}
	}
	require.NoError(t, json.Unmarshal(set.App.Body(), &app))
	bySource := map[string][]string{}
	for _, source := range app.Sources {
		require.Equal(t, "https://api.example/v1/", source.BaseURL)
		bySource[source.Name] = []string{"source " + source.Name}
		for _, name := range slices.Sorted(maps.Keys(source.Headers)) {
			bySource[source.Name] = append(bySource[source.Name], "header "+name+": "+source.Headers[name])
		}
		for _, name := range slices.Sorted(maps.Keys(source.QueryParams)) {
			bySource[source.Name] = append(bySource[source.Name], "query "+name+"="+source.QueryParams[name])
		}
	}
	words := map[string]string{}
	used := map[string]bool{}
	for name, tool := range toolsOf(t, set) {
		parts := slices.Clone(bySource[tool["source"].(string)])
		require.NotEmpty(t, parts, "source of %s", name)
		used[tool["source"].(string)] = true
		request, _ := tool["request"].(map[string]any)
		if basic, ok := request["basic"].(map[string]any); ok {
			parts = append(parts, fmt.Sprintf("basic %s %s", basic["username"], basic["password"]))
		}
		if bearer, ok := request["bearer"].(map[string]any); ok {
			parts = append(parts, fmt.Sprintf("client %s %s %s %v", bearer["clientId"], bearer["clientSecret"], bearer["tokenUrl"], bearer["scopes"]))
		}
		words[name] = strings.Join(parts, ", ")
	}
	require.Len(t, used, len(bySource), "each source is used")
	return words
}

const allSchemes = `
	"key":{"type":"apiKey","in":"header","name":"X-Api-Key"},
	"same":{"type":"apiKey","in":"header","name":"x-api-key"},
	"desk":{"type":"apiKey","in":"query","name":"api_key"},
	"visit":{"type":"apiKey","in":"cookie","name":"sid"},
	"trust":{"type":"apiKey","in":"cookie","name":"device"},
	"user":{"type":"http","scheme":"bearer"},
	"admin":{"type":"http","scheme":"Bearer"},
	"login":{"type":"http","scheme":"basic"},
	"machine":{"type":"oauth2","flows":{"clientCredentials":{"tokenUrl":"https://login.example/token","scopes":{}}}},
	"person":{"type":"oauth2","flows":{"implicit":{"authorizationUrl":"https://login.example"}}},
	"open-id":{"type":"openIdConnect","openIdConnectUrl":"https://login.example"},
	"mutual":{"type":"mutualTLS"},
	"digest":{"type":"http","scheme":"digest"}`

func TestOperationIsSentTheCredentialsOfItsOwnSecurity(t *testing.T) {
	operations := map[string]string{
		"none":       `[]`,
		"anonymous":  `[{},{"key":[]}]`,
		"documents":  ``,
		"either":     `[{"desk":[]},{"key":[]}]`,
		"both":       `[{"user":[],"desk":[]}]`,
		"cookie":     `[{"visit":[]}]`,
		"cookies":    `[{"visit":[],"trust":[]}]`,
		"bearer":     `[{"user":[]}]`,
		"admins":     `[{"admin":[]}]`,
		"basic":      `[{"login":[]}]`,
		"basicToo":   `[{"login":[],"key":[]}]`,
		"client":     `[{"machine":["read"]}]`,
		"clientToo":  `[{"machine":["write"],"desk":[]}]`,
		"person":     `[{"person":["read"]}]`,
		"openId":     `[{"open-id":[]}]`,
		"later":      `[{"mutual":[]},{"key":[]}]`,
		"laterNone":  `[{"digest":[]},{}]`,
		"never":      `[{"mutual":[]}]`,
		"halfNever":  `[{"key":[],"mutual":[]}]`,
		"unknown":    `[{"kye":[]}]`,
		"twice":      `[{"user":[],"login":[]},{"login":[],"machine":[]},{"key":[],"same":[]},{"desk":[]}]`,
		"misshapen":  `["key"]`,
		"misshapen2": `{"key":[]}`,
	}
	made, _ := imported(t, guarded(`[{"key":[]}]`, allSchemes, operations), files.OpenAPIOptions{})
	require.Equal(t, map[string]string{
		"none":       "source t",
		"anonymous":  "source t",
		"documents":  "source t-key, header X-Api-Key: <T_KEY>",
		"either":     "source t-desk, query api_key=<T_DESK>",
		"both":       "source t-user-and-desk, header Authorization: Bearer <T_USER_TOKEN>, query api_key=<T_DESK>",
		"cookie":     "source t-visit, header Cookie: sid=<T_VISIT>",
		"cookies":    "source t-visit-and-trust, header Cookie: sid=<T_VISIT>; device=<T_TRUST>",
		"bearer":     "source t-user, header Authorization: Bearer <T_USER_TOKEN>",
		"admins":     "source t-admin, header Authorization: Bearer <T_ADMIN_TOKEN>",
		"basic":      "source t, basic <T_USERNAME> <T_PASSWORD>",
		"basicToo":   "source t-key, header X-Api-Key: <T_KEY>, basic <T_USERNAME> <T_PASSWORD>",
		"client":     "source t, client <T_CLIENT_ID> <T_CLIENT_SECRET> https://login.example/token [read]",
		"clientToo":  "source t-desk, query api_key=<T_DESK>, client <T_CLIENT_ID> <T_CLIENT_SECRET> https://login.example/token [write]",
		"person":     "source t-person, header Authorization: Bearer <T_PERSON_TOKEN>",
		"openId":     "source t-open-id, header Authorization: Bearer <T_OPEN_ID_TOKEN>",
		"later":      "source t-key, header X-Api-Key: <T_KEY>",
		"laterNone":  "source t",
		"never":      "source t",
		"halfNever":  "source t",
		"unknown":    "source t",
		"twice":      "source t-desk, query api_key=<T_DESK>",
		"misshapen":  "source t",
		"misshapen2": "source t",
	}, sent(t, made))
	notes := fmt.Sprint(made.Notes)
	for _, note := range []string{
		"asks for mutual, which cannot be carried over (it is mutualTLS): credentials of key, a later alternative, are sent",
		"asks for digest, which cannot be carried over (it is http with digest): calls are made without credentials, as a later alternative has it",
		"asks for mutual, which cannot be carried over (it is mutualTLS): calls are made without it",
		"asks for key and mutual, which cannot be carried over (it is mutualTLS): calls are made without it",
		"asks for kye, which cannot be carried over (the document has no such security scheme): calls are made without it",
		"asks for user and login, which cannot be carried over (two of its credentials are sent in the same place): credentials of desk, a later alternative, are sent",
		"asks for something that is not a map of schemes, which cannot be carried over (it is a text): calls are made without it",
		"security is a map and no list: calls are made without credentials",
		"person has no client_credentials", "open-id has no client_credentials",
	} {
		require.Contains(t, notes, note)
	}
	require.NotContains(t, notes, "which the service shows")
}

func TestOneSourceHasTheNameOfTheAPI(t *testing.T) {
	const bearer = `"auth":{"type":"http","scheme":"bearer"}`
	made, _ := imported(t, guarded(`[{"auth":[]}]`, bearer, map[string]string{"a": "", "b": ""}), files.OpenAPIOptions{})
	require.Equal(t, []string{"T_TOKEN"}, made.Variables)
	for _, words := range sent(t, made) {
		require.Equal(t, "source t, header Authorization: Bearer <T_TOKEN>", words)
	}
	made, _ = imported(t, guarded("", bearer, map[string]string{"a": "", "b": ""}), files.OpenAPIOptions{})
	require.Empty(t, made.Variables, "nothing asks for the scheme")
	require.Equal(t, map[string]string{"a": "source t", "b": "source t"}, sent(t, made))
}

// A variable set for one scheme must not be sent for another.
func TestNoTwoSchemesShareAVariable(t *testing.T) {
	operations := map[string]string{}
	var schemes []string
	for name, scheme := range map[string]string{
		"a-b": `{"type":"apiKey","in":"header","name":"X-Key-1"}`, "a_b": `{"type":"apiKey","in":"header","name":"X-Key-2"}`, "A_B": `{"type":"apiKey","in":"header","name":"X-Key-3"}`,
		"url": `{"type":"apiKey","in":"header","name":"X-Key-4"}`, "token": `{"type":"apiKey","in":"header","name":"X-Key-5"}`, "ключ": `{"type":"apiKey","in":"header","name":"X-Key-6"}`,
		"схема": `{"type":"apiKey","in":"header","name":"X-Key-7"}`, "bearer": `{"type":"http","scheme":"bearer"}`,
	} {
		operations[fmt.Sprintf("o%d", len(schemes))] = `[{"` + name + `":[]}]`
		schemes = append(schemes, `"`+name+`":`+scheme)
	}
	made, _ := imported(t, guarded("", strings.Join(schemes, ","), operations), files.OpenAPIOptions{})
	require.Len(t, made.Variables, len(schemes))
	require.NotContains(t, made.Variables, "T_URL", "the address of the API")
	credentials := map[string]bool{}
	for _, words := range sent(t, made) {
		source, value, _ := strings.Cut(words, ", header ")
		require.False(t, credentials[source] || credentials[value])
		credentials[source], credentials[value] = true, true
		_, variable, _ := strings.Cut(value, "<")
		require.False(t, credentials[variable], variable)
		credentials[variable] = true
	}
}

// A forbidden header, or a token that cannot be obtained, does not make the whole document invalid.
func TestSchemesThatTheServiceRefusesAreNotSent(t *testing.T) {
	made, _ := imported(t, guarded("", `"host":{"type":"apiKey","in":"header","name":"Host"},"gap":{"type":"apiKey","in":"cookie","name":"a b"},
		"machine":{"type":"oauth2","flows":{"clientCredentials":{"tokenUrl":"/token"}}},"scoped":{"type":"oauth2","flows":{"clientCredentials":{"tokenUrl":"https://login.example"}}},"plain":{"type":"apiKey","in":"query","name":"appid"}`,
		map[string]string{"a": `[{"host":[]}]`, "b": `[{"gap":[]}]`, "c": `[{"machine":[]}]`, "d": `[{"scoped":["a b"]}]`, "e": `[{"plain":[]}]`}), files.OpenAPIOptions{})
	require.Equal(t, map[string]string{"a": "source t", "b": "source t", "c": "source t-machine, header Authorization: Bearer <T_TOKEN>", "d": "source t", "e": "source t-plain, query appid=<T_PLAIN>"}, sent(t, made))
	notes := fmt.Sprint(made.Notes)
	for _, note := range []string{"the header Host belongs to the connection", "it has no name that a header, a query or a cookie can have", "machine has no client_credentials that can be asked for", `"a b" is not a scope`, `plain is sent in "appid", which the service shows to those who may read the app`} {
		require.Contains(t, notes, note)
	}
}

func TestOperationThatIsLeftOutAsksForNoCredentials(t *testing.T) {
	document := `{"openapi":"3.1.0","info":{"title":"T"},"servers":[{"url":"https://api.example/v1"}],"paths":{"/a":{"get":{}},
		"/b":{"patch":{"security":[{"key":[]}],"parameters":[{"name":"Host","in":"header","schema":{"type":"string"}}]}}},
		"components":{"securitySchemes":{"key":{"type":"apiKey","in":"header","name":"X-Api-Key"}}}}`
	made, _ := imported(t, document, files.OpenAPIOptions{})
	require.Equal(t, 1, made.Tools)
	require.Empty(t, made.Variables)
	require.Equal(t, map[string]string{"get_a": "source t"}, sent(t, made))
}

func TestADocumentSetsFieldsOfItsTools(t *testing.T) {
	document := `{"openapi": "3.1.0", "info": {"title": "Pets"}, "servers": [{"url": "https://pets.example"}],
		"components": {"securitySchemes": {"basic": {"type": "http", "scheme": "basic"}}}, "security": [{"basic": []}],
		"paths": {"/pets": {"x-earshot-settle": "5s", "x-earshot-confirm": "always",
			"get": {"operationId": "list", "x-earshot-confirm": "never", "x-earshot-examples": ["show ${HOME}"], "x-earshot-url": "https://evil.example"},
			"post": {"operationId": "add", "x-earshot-name": "adopt", "x-earshot-cancel-on-next": true, "x-earshot-request": {"idempotent": false, "auth": "module", "moduleId": "payments"}},
			"delete": {"operationId": "drop"}}}}`
	made, set := imported(t, document, files.OpenAPIOptions{})
	tools := toolsOf(t, set)
	require.Equal(t, []any{"never", "5s", []any{"show $ {HOME}"}}, []any{tools["list"]["confirm"], tools["list"]["settle"], tools["list"]["examples"]})
	require.Contains(t, fmt.Sprint(made.Notes), "x-earshot-url is left out")
	require.NotContains(t, made.Text, "evil")
	require.Contains(t, fmt.Sprint(made.Notes), "moduleId of x-earshot-request is left out")
	require.NotContains(t, made.Text, "payments", "it would get credentials of another API")
	adopt := tools["adopt"]
	require.Equal(t, []any{"always", true, false}, []any{adopt["confirm"], adopt["cancelOnNext"], adopt["request"].(map[string]any)["idempotent"]})
	require.Equal(t, tools["list"]["request"].(map[string]any)["auth"], adopt["request"].(map[string]any)["auth"], "beside the credentials")

	_, err := files.FromOpenAPI(files.Stdin, files.OpenAPIOptions{Stdin: strings.NewReader(strings.Replace(document, `"x-earshot-settle": "5s"`, `"x-earshot-setle": "5s"`, 1))})
	require.ErrorContains(t, err, "setle")
}

func TestWritesAskFirstWhereThatIsWanted(t *testing.T) {
	document := `{"openapi": "3.1.0", "info": {"title": "Pets"}, "servers": [{"url": "https://pets.example"}], "paths": {"/pets": {
		"get": {"operationId": "list"}, "post": {"operationId": "add"}, "delete": {"operationId": "drop", "x-earshot-confirm": "never"}}}}`
	_, set := imported(t, document, files.OpenAPIOptions{ConfirmWrites: true})
	tools := toolsOf(t, set)
	require.Equal(t, []any{nil, "always", "never"}, []any{tools["list"]["confirm"], tools["add"]["confirm"], tools["drop"]["confirm"]})
	_, set = imported(t, document, files.OpenAPIOptions{})
	require.Nil(t, toolsOf(t, set)["add"]["confirm"])
}

func TestImportingAgainTakesNoConfirmationAway(t *testing.T) {
	document := `{"openapi": "3.1.0", "info": {"title": "Pets"}, "servers": [{"url": "https://pets.example"}], "paths": {"/pets": {
		"get": {"operationId": "list", "x-earshot-confirm": "never"}, "post": {"operationId": "add"}}}}`
	first, _ := imported(t, document, files.OpenAPIOptions{ConfirmWrites: true})
	document = strings.Replace(document, `, "x-earshot-confirm": "never"`, "", 1)
	again := func(text string, writes bool) (*files.OpenAPI, []any) {
		made, set := imported(t, document, files.OpenAPIOptions{ConfirmWrites: writes, Into: &files.Imported{Path: "pets.yaml", Text: text}})
		tools := toolsOf(t, set)
		return made, []any{tools["list"]["confirm"], tools["add"]["confirm"]}
	}
	without, confirm := again(first.Text, false)
	require.Equal(t, []any{nil, "always"}, confirm)
	require.Contains(t, fmt.Sprint(without.Notes), "confirm of tool add is kept, though neither the document nor --confirm-writes sets it now")
	for _, writes := range []bool{false, true} {
		made, confirm := again(without.Text, writes)
		require.Equal(t, "always", confirm[1])
		require.Empty(t, made.Notes)
	}
	_, confirm = again(strings.Replace(without.Text, "confirm: always\n", "", 1), false)
	require.Nil(t, confirm[1], "the user has removed it")
}

// withoutTool removes the document of a tool, which is not the last.
func withoutTool(t *testing.T, text, name string) string {
	t.Helper()
	before, rest, found := strings.Cut(text, "kind: tool\nname: "+name+"\n")
	require.True(t, found, text)
	_, after, found := strings.Cut(rest, "---\n")
	require.True(t, found, text)
	return before + after
}

// TestImportingAgainKeepsWhatWasEdited edits a file, changes its document, and imports the document into the file.
func TestImportingAgainKeepsWhatWasEdited(t *testing.T) {
	document := func(paths string) string {
		return `{"openapi": "3.1.0", "info": {"title": "Pets"}, "servers": [{"url": "https://pets.example"}], "paths": {` + paths + `}}`
	}
	operation := func(id, says, more string) string {
		return `"/` + id + `": {"get": {"operationId": "` + id + `", "summary": "` + says + `"` + more + `}}`
	}
	first, _ := imported(t, document(operation("list", "Lists pets", "")+","+operation("show", "Shows a pet", "")+","+operation("gone", "Goes", "")+","+operation("kept", "Stays", "")+","+operation("out", "Not wanted", "")), files.OpenAPIOptions{})
	again := func(text, paths string) (*files.OpenAPI, map[string]map[string]any) {
		made, set := imported(t, document(paths), files.OpenAPIOptions{Into: &files.Imported{Path: "pets.yaml", Text: text}})
		return made, toolsOf(t, set)
	}
	paths := operation("list", "Lists all pets", "") + "," + operation("show", "Shows one pet", `, "parameters": [{"name": "id", "in": "query", "schema": {"type": "string"}}]`) + "," +
		operation("out", "Not wanted", "") + "," + operation("new", "Is new", "")
	edits := strings.NewReplacer(
		"description: Shows a pet", "description: Shows a pet of ours\nconfirm: always", // edited, and with a user's field
		"description: Stays", "description: Stays with us",
		"  - out\n", "", // removed from the repository
	).Replace(first.Text)
	edits = withoutTool(t, edits, "out") + "---\nkind: tool\nname: own\ndescription: Of their own\n"

	made, tools := again(edits, paths)
	require.ElementsMatch(t, []string{"list", "show", "kept", "new", "own"}, slices.Collect(maps.Keys(tools)))
	require.Equal(t, "Lists all pets", tools["list"]["description"], "nobody has edited it")
	require.Equal(t, []any{"Shows a pet of ours", "always"}, []any{tools["show"]["description"], tools["show"]["confirm"]})
	require.NotEmpty(t, tools["show"]["queryParams"], "what is new in the document comes along: %v", tools["show"])
	notes := fmt.Sprint(made.Notes)
	for _, note := range []string{
		`description of tool show was edited and has changed in the document as well: the edit is kept, and the document has "Shows one pet"`,
		"tool gone is not in the document any more, and is taken out", "tool kept is not in the document any more; it was edited, and is kept", "tool out was taken out of the file, and is left out",
	} {
		require.Contains(t, notes, note)
	}
	once, _ := again(made.Text, paths)
	require.Equal(t, made.Text, once.Text, "there is nothing more to do")

	_, err := files.FromOpenAPI(files.Stdin, files.OpenAPIOptions{Stdin: strings.NewReader(document(paths)), Into: &files.Imported{Path: "pets.yaml", Text: "kind: tool\nname: list\ndescription: x\n"}})
	require.ErrorContains(t, err, "does not say what it was imported with")
}

func TestNotesOfAnImportAreTrue(t *testing.T) {
	document := func(more string) string {
		return `{"openapi": "3.1.0", "info": {"title": "Pets"}, "servers": [{"url": "https://pets.example"}], "paths": {
			"/pets": {"get": {"operationId": "list"}, "head": {}, "delete": {"operationId": "drop"}}` + more + `}}`
	}
	first, _ := imported(t, document(""), files.OpenAPIOptions{})
	require.Equal(t, []int{2, 3}, []int{first.Tools, first.Operations}, "HEAD is an operation that is left out")

	edits := withoutTool(t, strings.Replace(first.Text, "  - drop\n", "", 1), "drop")
	into := &files.Imported{Path: "pets.yaml", Text: edits}
	made, set := imported(t, document(`, "/new": {"get": {"operationId": "new"}}`), files.OpenAPIOptions{Into: into})
	require.ElementsMatch(t, []string{"list", "new"}, slices.Collect(maps.Keys(toolsOf(t, set))))
	require.Contains(t, fmt.Sprint(made.Notes), "pets.yaml: tool drop was taken out of the file, and is left out", "it has no line there")
	require.NotContains(t, fmt.Sprint(made.Notes), "tools of repository", "new tools are added to the edited list")

	_, err := files.FromOpenAPI(files.Stdin, files.OpenAPIOptions{Stdin: strings.NewReader(document("")), Paths: []string{"/nope"}})
	require.ErrorContains(t, err, `has no operation whose path begins with "/nope": --path names the beginning of a path, as "/pets"`)
	_, err = files.FromOpenAPI(files.Stdin, files.OpenAPIOptions{Stdin: strings.NewReader(`{"openapi": "3.1.0", "paths": {"/pets": {}}}`), BaseURL: "https://pets.example"})
	require.ErrorContains(t, err, "has no operation, of which a tool could be made")
}
