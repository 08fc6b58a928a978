package repositories_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/repositories/secret"
)

func TestSQLTool(t *testing.T) {
	const sql = `"type":"postgres-sql","source":"pg","statement":"SELECT $1"`
	const country = `"parameters":[{"name":"country","type":"string","description":"d"}]`
	const table = `"templateParameters":[{"name":"tableName","type":"string","description":"d"}]`
	toolFaults(t, map[string]string{
		sql:                 ``,
		sql + `,` + country: ``,
		sql + `,"schema":[{"parameter":"country","type":"string"}]`:                                          ``,
		sql + `,"request":{"timeout":"5s","retryFor":"1h","idempotent":false}`:                               ``,
		sql + `,"emitter":"a.b","returnDirect":true`:                                                         ``,
		`"type":"sqlite-sql","source":"s","statement":"SELECT 1"`:                                            ``,
		`"type":"postgres-sql","statement":"SELECT 1"`:                                                       `/source: is missing: postgres-sql needs it`,
		`"type":"postgres-sql","source":"pg"`:                                                                `/statement: is missing: postgres-sql needs it`,
		`"type":"postgres-sql","source":"pg","statement":""`:                                                 `/statement: is missing: postgres-sql needs it`,
		`"type":"mysql-sql","source":"my","statement":"SELECT 1","readOnly":true`:                            ``,
		`"type":"mysql-sql","source":"my","statement":"SELECT {{.country}}",` + country:                      `/statement: pastes "country", which is a parameter that is bound: write ? for it, or move it to templateParameters`,
		`"type":"postgres-execute-sql","source":"pg","readOnly":false`:                                       ``,
		`"type":"sqlite-execute-sql","source":"s","statement":"SELECT 1"`:                                    `/statement: is not for tools of type sqlite-execute-sql; they have one parameter, sql`,
		`"type":"mysql-list-tables","source":"my"`:                                                           ``,
		`"type":"mysql-list-tables","source":"my","readOnly":true`:                                           `/readOnly: is not for tools of type mysql-list-tables; they change nothing`,
		`"type":"mysql-list-tables","source":"my",` + country:                                                `/parameters: is not for tools of type mysql-list-tables; they have the parameters table_names and output_format`,
		`"type":"http","source":"api","method":"GET","path":"/x","readOnly":true`:                            `/readOnly: is not for tools of type http`,
		sql + `,"url":"https://h/"`:                                                                          `/url: is not for tools of type postgres-sql; what they reach is their source`,
		sql + `,"path":"/x"`:                                                                                 `/path: is not for tools of type postgres-sql`,
		sql + `,"bodyParams":[]`:                                                                             `/bodyParams: is not for tools of type postgres-sql`,
		sql + `,"request":{"auth":"module","moduleId":"m"}`:                                                  `/request/auth: is for calls of a url; the source of a statement has the credentials`,
		sql + `,"request":{"body":{"a":1}}`:                                                                  `/request/body: is for calls of a url; of a tool with a source it stands on the tool, as requestBody`,
		`"type":"postgres-sql","source":"pg","statement":"SELECT * FROM {{.tableName}}",` + table:            ``,
		`"type":"postgres-sql","source":"pg","statement":"SELECT * FROM {{.tableNam}}",` + table:             `/statement: pastes "tableNam", which is none of the templateParameters; did you mean "tableName"?`,
		`"type":"postgres-sql","source":"pg","statement":"SELECT * FROM {{.tableName}}"`:                     `/statement: pastes "tableName", which is none of the templateParameters`,
		`"type":"postgres-sql","source":"pg","statement":"SELECT {{.country}}",` + country:                   `/statement: pastes "country", which is a parameter that is bound: write $1 for it, or move it to templateParameters`,
		`"type":"postgres-sql","source":"pg","statement":"SELECT {{printf .tableName}}",` + table:            `/statement: {{printf .tableName}}: there is no function printf; there are index, and, or, not, eq, ne, array`,
		`"type":"postgres-sql","source":"pg","statement":"SELECT '{{1,2},{3,4}}'::int[]"`:                    ``,
		`"type":"postgres-sql","source":"pg","statement":"SELECT 1","parameters":{"type":"object"},` + table: `/templateParameters: stands beside a JSON Schema: give parameters as a list`,
		sql + `,` + country + `,"templateParameters":[{"name":"country","type":"string","description":"d"}]`: `/templateParameters/0/name: "country" is the name of another parameter as well`,
	})
}

func TestHTTPTool(t *testing.T) {
	const head = `"type":"http","source":"api","method":"GET",`
	const path = head + `"path":"/search"`
	one := func(name, kind string) string {
		return `[{"name":"` + name + `","type":"` + kind + `","description":"d"}]`
	}
	toolFaults(t, map[string]string{
		path: ``,
		path + `,"request":{"timeout":"5s","auth":"module","moduleId":"m"}`:                                        ``,
		`"type":"http","source":"api","path":"/x"`:                                                                 `/method: is missing: http needs it`,
		`"type":"http","source":"api","method":"FETCH","path":"/x"`:                                                `/method: "FETCH" is not a method of a call: GET, POST, PUT, PATCH or DELETE`,
		`"type":"http","source":"api","method":"GET"`:                                                              `/path: is missing: http needs it`,
		path + `,"parameters":` + one("a", "string"):                                                               `/parameters: is not for tools of type http; they have pathParams, queryParams, bodyParams and headerParams`,
		path + `,"request":{"headers":{"X-A":"b"}}`:                                                                `/request/headers: is for calls of a url; of a tool with a source it stands on the tool`,
		path + `,"headers":{"Host":"b"}`:                                                                           `/headers/Host: the header Host belongs to the connection and cannot be set`,
		path + `,"headerParams":` + one("X-User", "string"):                                                        ``,
		path + `,"headerParams":` + one("X-User", "integer"):                                                       `/headerParams/0/type: is integer: headers are strings`,
		path + `,"headerParams":` + one("X User", "string"):                                                        `/headerParams/0/name: "X User" is not the name of a header`,
		path + `,"headerParams":` + one("content-type", "string"):                                                  `/headerParams/0/name: is the type of the body, by which its values are escaped: it stands in headers`,
		head + `"path":"/u/{{.id}}","pathParams":` + one("id", "integer"):                                          ``,
		head + `"path":"/u/{{pathEscape .id}}?x={{queryEscape .id}}","pathParams":` + one("id", "integer"):         ``,
		head + `"path":"/u/{{.id}}"`:                                                                               `/path: pastes "id", which is none of the pathParams`,
		head + `"path":"/u/{{.id}","pathParams":` + one("id", "string"):                                            `/path: is no template: 1: bad character U+007D '}'`,
		head + `"path":"/u/{{.id}}","pathParams":` + one("id", "map"):                                              `/pathParams/0/type: is map: a path takes a text, a number or a boolean`,
		head + `"path":"//evil.example/x"`:                                                                         `/path: names a scheme or a host; a path is resolved against the source's baseUrl`,
		head + `"path":"https://evil.example/x"`:                                                                   `/path: names a scheme or a host; a path is resolved against the source's baseUrl`,
		head + `"path":"/a/../b"`:                                                                                  `/path: holds a segment ".."; write the path that is meant`,
		head + `"path":"/a/%2e%2e/b"`:                                                                              `/path: holds a segment ".."; write the path that is meant`,
		head + `"path":"/a/%2e%2e%2fb"`:                                                                            `/path: holds a segment ".."; write the path that is meant`,
		path + `,"bodyParams":` + one("a", "string"):                                                               `/requestBody: is missing: bodyParams are pasted into it`,
		path + `,"requestBody":"{{json .a}}","bodyParams":` + one("a", "array"):                                    `/bodyParams/0/items: is missing: an array says what its members are`,
		path + `,"requestBody":"{{json .a}}","bodyParams":` + one("a", "map"):                                      ``,
		path + `,"requestBody":"{{.b}}","bodyParams":` + one("a", "string"):                                        `/requestBody: pastes "b", which is none of the bodyParams`,
		path + `,"requestBody":"{{array .a}}","bodyParams":` + one("a", "string"):                                  `/requestBody: {{array .a}}: there is no function array; there are index, and, or, not, eq, ne, json`,
		path + `,"requestBody":"{{.a}}","headers":{"Content-Type":"text/yaml"},"bodyParams":` + one("a", "string"): `/headers/Content-Type: is no type that values can be escaped for: JSON, application/x-www-form-urlencoded, XML or text/plain`,
		path + `,"queryParams":` + one("a", "string") + `,"headerParams":` + one("a", "string"):                    `/headerParams/0/name: "a" is the name of another parameter as well`,
	})
}

func TestParametersOfAllListsAreOneFlatList(t *testing.T) {
	tool, faults := decodeTool(t, `{"name":"t","type":"http","source":"api","method":"post","path":"/{{.id}}","requestBody":"{{json .note}}",
	  "pathParams":[{"name":"id","type":"integer","description":"d"}],
	  "queryParams":[{"name":"q","type":"string","description":"d","required":false}],
	  "bodyParams":[{"name":"note","type":"string","description":"d"}],
	  "headerParams":[{"name":"X-User","type":"string","description":"d","default":"me"}]}`)
	require.Empty(t, faults)
	require.Equal(t, "POST", tool.Method)
	require.Equal(t, []string{"id", "q", "note", "X-User"}, tool.Params().Names())
	values, flaws := tool.Params().Check(map[string]any{"id": json.Number("7"), "note": "n"})
	require.Empty(t, flaws)
	require.Equal(t, map[string]any{"id": json.Number("7"), "note": "n", "X-User": "me"}, values)
	var given []struct{ Name string }
	require.NoError(t, json.Unmarshal(tool.Given(), &given))
	require.Len(t, given, 4)
	require.Equal(t, "note", given[2].Name)
}

func TestNamesAreThoseOfTheListInItsOrder(t *testing.T) {
	for raw, want := range map[string][]string{
		`[{"name":"b"},{"parameter":"a"}]`:                      {"b", "a"},
		`{"type":"object","properties":{"z":{},"a":{},"m":{}}}`: {"z", "a", "m"},
		`{"type":"object"}`:                                     nil,
		`5`:                                                     nil,
		``:                                                      nil,
	} {
		require.Equal(t, want, repositories.ParameterNames(json.RawMessage(raw)), raw)
	}
}

func TestBodyTypeIsThatOfTheContentType(t *testing.T) {
	for content, want := range map[string]string{
		"": repositories.BodyJSON, "application/json; charset=utf-8": repositories.BodyJSON, "application/vnd.api+json": repositories.BodyJSON,
		"application/x-www-form-urlencoded": repositories.BodyForm, "text/xml": repositories.BodyXML, "application/soap+xml": repositories.BodyXML,
		"text/plain": repositories.BodyText, "text/html": "", "nonsense/": "",
	} {
		given := repositories.Headers{"content-type": secret.New(content)}
		require.Equal(t, want, repositories.BodyType(repositories.Headers{}, given), content)
		require.Equal(t, repositories.BodyText, repositories.BodyType(given, repositories.Headers{"Content-Type": secret.New("text/plain")}))
	}
}

func TestCheckFindsSourcesThatTheAppLacks(t *testing.T) {
	r, err := repositories.DecodeRepository(clinic, "r", []byte(`{"tools":[
	  {"name":"a","type":"postgres-sql","source":"pgg","statement":"SELECT 1"},
	  {"name":"b","type":"postgres-sql","source":"api","statement":"SELECT 1"},
	  {"name":"c","type":"http","source":"api","method":"GET","path":"v1/x"},
	  {"name":"d","type":"http","source":"api","method":"GET","path":"/search"},
	  {"name":"e","type":"http","source":"bare","method":"GET","path":"/search"}]}`))
	require.NoError(t, err)
	app := &repositories.App{Sources: []repositories.Source{
		{Name: "pg", Type: "postgres"}, {Name: "api", Type: "http", BaseURL: "https://h/data/"}, {Name: "bare", Type: "http", BaseURL: "https://h"},
	}}
	require.Equal(t, []string{
		`/tools/0/source: the app has no source "pgg"; did you mean "pg"?`,
		`/tools/1/source: "api" is of type http; a tool of type postgres-sql needs one of type postgres`,
		`/tools/3/path: leads to "/search", which is not under "/data/" of the source's baseUrl; end the baseUrl with a slash and begin the path without one`,
	}, faultsOf(t, r.Check(app)))
	require.Contains(t, faultsOf(t, r.Check(&repositories.App{}))[0], "it has none at all")
}

func TestResolveKeepsToTheBase(t *testing.T) {
	for _, c := range []struct{ base, path, want, fault string }{
		{"https://h", "/a", "https://h/a", ""},
		{"https://h", "a", "https://h/a", ""},
		{"https://h/", "a?b=c#d", "https://h/a?b=c", ""},
		{"https://h/v1/", "a/b", "https://h/v1/a/b", ""},
		{"https://h/v1/", "/v1/a", "https://h/v1/a", ""},
		{"https://h/v1", "?x=1", "https://h/v1?x=1", ""},
		{"https://h/v1", "v1/x", "https://h/v1/x", ""},
		{"https://h/v1/", "a%2Fb", "https://h/v1/a%2Fb", ""},
		{"https://h/v1", "x", "", "not under"},
		{"https://h/v1/", "/v2", "", "not under"},
		{"https://h/v1/", "/v10", "", "not under"},
		{"https://h/v1/", "../v2", "", `segment ".."`},
		{"https://h/v1/", "a/%2E%2e/b", "", `segment ".."`},
		{"https://h/v1/", `a\..\b`, "", `segment ".."`},
		{"https://h/v1/", "./a", "", `segment "."`},
		{"https://h/", "//other/a", "", "scheme or a host"},
		{"https://h/", "http:a", "", "scheme or a host"},
		{"https://h/", "%zz", "", "not well written"},
		{"nonsense", "a", "", "baseUrl"},
	} {
		got, err := repositories.Resolve(c.base, c.path)
		if c.fault != "" {
			require.ErrorContains(t, err, c.fault, "%s + %s", c.base, c.path)
			continue
		}
		require.NoError(t, err, "%s + %s", c.base, c.path)
		require.Equal(t, c.want, got.String())
	}
}
