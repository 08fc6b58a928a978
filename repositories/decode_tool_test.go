package repositories_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/repositories/secret"
)

// toolFaults decodes tools with the given fields, and compares the one fault of each; empty for none.
func toolFaults(t *testing.T, cases map[string]string) {
	t.Helper()
	for fields, want := range cases {
		_, faults := decodeTool(t, `{"name":"t",`+fields+`}`)
		if want == "" {
			require.Empty(t, faults, fields)
			continue
		}
		require.Equal(t, []string{"/tools/0" + want}, faults, fields)
	}
}

func TestToolFields(t *testing.T) {
	toolFaults(t, map[string]string{
		`"description":"d"`:                 ``,
		`"emitter":"a.b"`:                   ``,
		`"emitter":"a.b.c"`:                 `/emitter: "a.b.c" is not resource.scope: two words of A-Z a-z 0-9 _ - with a dot between them`,
		`"emitter":"a.>"`:                   `/emitter: "a.>" is not resource.scope: two words of A-Z a-z 0-9 _ - with a dot between them`,
		`"emitter":"a."`:                    `/emitter: "a." is not resource.scope: two words of A-Z a-z 0-9 _ - with a dot between them`,
		`"emitter":5`:                       `/emitter: is a number, not a string`,
		`"examples":["a",5]`:                `/examples/1: is a number, not a string`,
		`"authRequired":["a b"]`:            `/authRequired/0: the id "a b" is not an id: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit`,
		`"returnDirect":"yes"`:              `/returnDirect: is a string, not a boolean`,
		`"returndirect":true`:               `/returndirect: unknown field "returndirect"; did you mean "returnDirect"?`,
		`"type":"neo4j-cypher"`:             `/type: "neo4j-cypher" is not a supported type of tool: http, mcp, postgres-sql, mysql-sql, sqlite-sql, postgres-execute-sql, mysql-execute-sql, sqlite-execute-sql, postgres-list-tables or mysql-list-tables; a tool without a type fires an event and calls its url`,
		`"source":"pg"`:                     `/source: is for tools of type http, mcp, postgres-sql, mysql-sql, sqlite-sql, postgres-execute-sql, mysql-execute-sql, sqlite-execute-sql, postgres-list-tables or mysql-list-tables`,
		`"statement":"SELECT 1"`:            `/statement: is for tools of type postgres-sql, mysql-sql or sqlite-sql`,
		`"pathParams":[]`:                   `/pathParams: is for tools of type http`,
		`"method":"GET"`:                    `/method: is for tools of type http; of a tool without a type it stands in its request`,
		`"scopesRequired":["a"]`:            `/scopesRequired: "scopesRequired" is not supported yet by this version; list authentication services in authRequired`,
		`"annotations":{"readOnlyHint":1}`:  ``,
		`"templateParameters":[]`:           ``,
		`"request":{"auth":"none"}`:         `/url: is missing: request says how to call, and there is nothing to call`,
		`"request":{"url":"https://h/"}`:    ``,
		`"url":"https://h:99999/x"`:         `/url: "99999" is not a port: 1 to 65535`,
		`"request":{"url":"nonsense"}`:      `/request/url: "nonsense" is not an absolute URL, as https://example.org/path`,
		`"url":"https://h/","request":{}`:   ``,
		`"url":"https://h/","request":null`: ``,
		`"url":"https://h/","request":{"url":"https://h/","description":"x"}`: ``,
		`"url":"2 kg","request":{"url":"https://h/"}`:                         `/url: "2 kg" is not an absolute URL, as https://example.org/path`,
		`"url":"https://h/a","request":{"url":"https://h/b"}`:                 `/request/url: differs from the tool's url, which is also given; give one of them`,
	})
}

func TestToolURL(t *testing.T) {
	const date = `"schema":[{"parameter":"date","type":"string"},{"parameter":"day-of","type":"string"}]`
	toolFaults(t, map[string]string{
		`"url":"https://example.org:8443/a?b=c"`:         ``,
		`"url":"http://[::1]:8080/a"`:                    ``,
		`"url":"HTTPS://example.org"`:                    ``,
		`"url":"/relative"`:                              `/url: "/relative" is not an absolute URL, as https://example.org/path`,
		`"url":"example.org/a"`:                          `/url: "example.org/a" is not an absolute URL, as https://example.org/path`,
		`"url":""`:                                       ``,
		`"url":"ftp://example.org"`:                      `/url: "ftp" is not a supported scheme: http or https`,
		`"url":"javascript:alert(1)"`:                    `/url: "javascript" is not a supported scheme: http or https`,
		`"url":"https:///path"`:                          `/url: "https:///path" names no host`,
		`"url":"https://user:pw@example.org/"`:           `/url: a URL does not carry credentials; use auth basic`,
		`"url":"https://token@example.org/"`:             `/url: a URL does not carry credentials; use auth basic`,
		`"url":"https://:date/",` + date:                 `/url: :date is in the scheme, host or port, which must not depend on a value`,
		`"url":"https://example.org::date/",` + date:     `/url: :date is in the scheme, host or port, which must not depend on a value`,
		`"url":":date://example.org/",` + date:           `/url: :date is in the scheme, host or port, which must not depend on a value`,
		`"url":"https://h/:date/:appId?d=:date",` + date: ``,
		`"url":"https://h/:date-:day-of",` + date:        ``,
		`"url":"https://h/:dates",` + date:               `/url: :dates is not a parameter of the tool; did you mean "date"?`,
		`"url":"https://h/v1/models:predict"`:            `/url: :predict is not a parameter of the tool; write %3A for a colon that is meant as it is`,
		`"url":"https://h/at/10:30"`:                     ``,
		`"url":"https://h/?q=:other",` + date:            `/url: :other is not a parameter of the tool; write %3A for a colon that is meant as it is`,
		`"url":"https://h/:id","parameters":{"type":"object","properties":{"id":{"type":"string"}}}`: ``,
	})
}

func TestToolURLFaultsHideCredentials(t *testing.T) {
	_, faults := decodeTool(t, `{"name":"t","url":"https://user:hunter2@exa mple.org/%zz"}`)
	require.Len(t, faults, 1)
	require.NotContains(t, faults[0], "hunter2")
}

// call returns the fields of a tool with a URL and the given request.
func call(request string) string { return `"url":"https://h/","request":` + request }

func TestRequestAuth(t *testing.T) {
	const basic = `"basic":{"username":"u","password":"p"}`
	const client = `"tokenUrl":"https://id/token","clientId":"c","clientSecret":"s"`
	toolFaults(t, map[string]string{
		call(`{"auth":"basic",` + basic + `}`):                                                                              ``,
		call(`{"auth":"basic"}`):                                                                                            `/request/basic: is missing: auth is basic, which needs a username and a password`,
		call(`{"auth":"basic","basic":{"username":"u"}}`):                                                                   `/request/basic/password: is missing`,
		call(`{"auth":"basic","basic":{"username":"u","password":""}}`):                                                     `/request/basic/password: is empty; leave it out, or send *** to keep what is stored`,
		call(`{"auth":"bearer","bearer":{` + client + `}}`):                                                                 ``,
		call(`{"auth":"bearer"}`):                                                                                           `/request/bearer: is missing: auth is bearer, which needs a tokenUrl, a clientId and a clientSecret`,
		call(`{"auth":"bearer","bearer":{"clientId":"c","clientSecret":"s"}}`):                                              `/request/bearer/tokenUrl: is missing`,
		call(`{"auth":"bearer","bearer":{"tokenUrl":"https://id/","clientId":"c"}}`):                                        `/request/bearer/clientSecret: is missing: client_credentials needs it`,
		call(`{"auth":"bearer","bearer":{"tokenUrl":"id/token","clientId":"c","clientSecret":"s"}}`):                        `/request/bearer/tokenUrl: "id/token" is not an absolute URL, as https://example.org/path`,
		call(`{"auth":"bearer","bearer":{` + client + `,"refreshUrl":"ftp://id/"}}`):                                        `/request/bearer/refreshUrl: "ftp" is not a supported scheme: http or https`,
		call(`{"auth":"bearer","bearer":{` + client + `,"clientType":"implicit"}}`):                                         `/request/bearer/clientType: "implicit" is not one of "client_credentials", "password"`,
		call(`{"auth":"bearer","bearer":{"clientType":"password","tokenUrl":"https://id/","username":"u","password":"p"}}`): ``,
		call(`{"auth":"bearer","bearer":{"clientType":"password","tokenUrl":"https://id/","username":"u"}}`):                `/request/bearer/password: is missing: the password grant needs it`,
		call(`{"auth":"bearer","bearer":{` + client + `,"scopes":["a b"]}}`):                                                `/request/bearer/scopes/0: "a b" is not a scope: printable ASCII without spaces, quotes and backslashes`,
		call(`{"auth":"module","moduleId":"m"}`):                                                                            ``,
		call(`{"auth":"module"}`):                                                                                           `/request/moduleId: is missing: auth is module, which needs one of the app's modules`,
		call(`{"auth":"none"}`):                                                                                             ``,
		call(`{"auth":"digest"}`):                                                                                           `/request/auth: "digest" is not one of "none", "basic", "bearer", "module"`,
		call(`{` + basic + `,"moduleId":"m"}`):                                                                              `/request/auth: is missing, and the credentials of several ways are given; say which is meant: basic, bearer or module`,
	})
}

func TestRequestAuthIsInferredFromTheCredentials(t *testing.T) {
	for request, want := range map[string]string{
		`{"basic":{"username":"u","password":"p"}}`:                               repositories.AuthBasic,
		`{"bearer":{"tokenUrl":"https://id/","clientId":"c","clientSecret":"s"}}`: repositories.AuthBearer,
		`{"moduleId":"m"}`: repositories.AuthModule,
		`{}`:               repositories.AuthNone,
		`{"headers":{}}`:   repositories.AuthNone,
	} {
		tool, faults := decodeTool(t, `{"name":"t",`+call(request)+`}`)
		require.Empty(t, faults, request)
		require.Equal(t, want, tool.Request.Auth, request)
	}
}

func TestBearerGrantIsInferredFromTheCredentials(t *testing.T) {
	for bearer, want := range map[string]string{
		`"clientId":"c","clientSecret":"s"`:                               repositories.GrantClientCredentials,
		`"username":"u","password":"p"`:                                   repositories.GrantPassword,
		`"username":"u","password":"p","clientId":"c"`:                    repositories.GrantPassword,
		`"clientId":"c","clientSecret":"s","username":"u","password":"p"`: repositories.GrantClientCredentials,
	} {
		tool, faults := decodeTool(t, `{"name":"t",`+call(`{"bearer":{"tokenUrl":"https://id/",`+bearer+`}}`)+`}`)
		require.Empty(t, faults, bearer)
		require.Equal(t, want, tool.Request.Bearer.ClientType, bearer)
	}
}

func TestRequestLimits(t *testing.T) {
	toolFaults(t, map[string]string{
		call(`{"timeout":"10s"}`):        ``,
		call(`{"timeout":"60s"}`):        ``,
		call(`{"timeout":"61s"}`):        `/request/timeout: "61s" is out of range: more than 0 and at most 1m`,
		call(`{"timeout":"0s"}`):         `/request/timeout: "0s" is out of range: more than 0 and at most 1m`,
		call(`{"timeout":"-1s"}`):        `/request/timeout: "-1s" is out of range: more than 0 and at most 1m`,
		call(`{"timeout":"10"}`):         `/request/timeout: "10" is not a duration as "10s": a number with a unit, of ms, s, m and h`,
		call(`{"timeout":10}`):           `/request/timeout: is a number, not a string; it is a text, as "10s"`,
		call(`{"retryFor":"24h"}`):       ``,
		call(`{"retryFor":"24h1s"}`):     `/request/retryFor: "24h1s" is out of range: more than 0 and at most 24h`,
		call(`{"retryFor":"0s"}`):        `/request/retryFor: "0s" is out of range: more than 0 and at most 24h`,
		call(`{"method":"get"}`):         ``,
		call(`{"method":"CONNECT"}`):     `/request/method: "CONNECT" is not a method of a call: GET, POST, PUT, PATCH or DELETE`,
		call(`{"idempotent":false}`):     ``,
		call(`{"idempotent":"no"}`):      `/request/idempotent: is a string, not a boolean`,
		call(`{"body":{"a":[":date"]}}`): ``,
		call(`{"header":{"X-A":"a"}}`):   `/request/header: unknown field "header"; did you mean "headers"?`,
	})
	tool, faults := decodeTool(t, `{"name":"t",`+call(`{"method":"get","timeout":"1.5s","retryFor":"1h","idempotent":false}`)+`}`)
	require.Empty(t, faults)
	require.Equal(t, "GET", tool.Request.Method)
	require.Equal(t, 1500*time.Millisecond, tool.Request.AttemptTimeout())
	require.Equal(t, time.Hour, tool.Request.GiveUpAfter())
	require.False(t, tool.Request.Repeatable())
}

func TestRequestHeaders(t *testing.T) {
	toolFaults(t, map[string]string{
		call(`{"headers":{"X-Desk":"A","Authorization":"Bearer x"}}`): ``,
		call(`{"headers":{"X Desk":"A"}}`):                            `/request/headers/X Desk: "X Desk" is not the name of a header`,
		call(`{"headers":{"":"A"}}`):                                  `/request/headers/: "" is not the name of a header`,
		call(`{"headers":{"X":"a\u0000"}}`):                           `/request/headers/X: the value of a header cannot hold line breaks or NUL`,
		call(`{"headers":{"X":"a\nb"}}`):                              `/request/headers/X: the value of a header cannot hold line breaks or NUL`,
		call(`{"headers":{"X":"a\u0001"}}`):                           `/request/headers/X: the value of a header cannot hold control characters`,
		call(`{"headers":{"X":5}}`):                                   `/request/headers/X: is a number, not a string`,
		call(`{"headers":{"X-A":"1","x-a":"2"}}`):                     `/request/headers/x-a: repeats the header X-A`,
		call(`{"headers":{"content-length":"5"}}`):                    `/request/headers/content-length: the header content-length belongs to the connection and cannot be set`,
		call(`{"headers":{"Transfer-Encoding":"x"}}`):                 `/request/headers/Transfer-Encoding: the header Transfer-Encoding belongs to the connection and cannot be set`,
		call(`{"headers":{"Idempotency-Key":"1"}}`):                   `/request/headers/Idempotency-Key: the header Idempotency-Key is set by each attempt at the call and cannot be set here; leave it out`,
		call(`{"headers":{"webhook-ID":"1"}}`):                        `/request/headers/webhook-ID: the header webhook-ID is set by each attempt at the call and cannot be set here; leave it out`,
		call(`{"headers":{"Connection":"close"}}`):                    `/request/headers/Connection: the header Connection belongs to the connection and cannot be set`,
	})
}

func TestHeadersThatNameACredentialAreMasked(t *testing.T) {
	for _, name := range []string{
		"Authorization", "X-Auth", "Cookie", "X-Session-Id", "X-Signature", "X-Credential", "Passwd", "X-Passphrase", "x-passcode",
		"X-Bearer", "X-Jwt", "X-JWT-Assertion", "X-Pass", "X-Password", "X-Pin", "X-Otp", "userPin", "user_pwd", "apiPass", "X-Pass2", "sig",
	} {
		headers := repositories.Headers{name: secret.New("7301-abc")}
		require.Equal(t, map[string]string{name: secret.Masked}, headers.Shown())
		require.Len(t, headers.Credentials(), 1)
	}
	for _, name := range []string{"X-Passenger", "X-Pinned", "X-Desk", "X-Compass", "X-Opinion", "X-Signed-By", "Content-Type", "X-Spin"} {
		headers := repositories.Headers{name: secret.New("7301-abc")}
		require.Equal(t, map[string]string{name: "7301-abc"}, headers.Shown())
		require.Empty(t, headers.Credentials())
	}
}

func TestMaskedCredentialsStayInPlace(t *testing.T) {
	tool, faults := decodeTool(t, `{"name":"t",`+call(`{"basic":{"username":"u","password":"***"},"headers":{"X-Key":"***"}}`)+`}`)
	require.Empty(t, faults)
	require.True(t, tool.Request.Basic.Password.IsMasked())
	require.True(t, tool.Request.Headers["X-Key"].IsMasked())
}

func TestFaultsNeverShowCredentials(t *testing.T) {
	for _, fields := range []string{
		call(`{"basic":{"username":"u","password":["hunter2"]}}`),
		call(`{"basic":{"username":"u","password":{"a":"hunter2"}}}`),
		call(`{"headers":{"X":"hunter2\n"}}`),
		call(`{"headers":{"Authorization":["hunter2"]}}`),
		call(`{"basic":"u:hunter2"}`),
		call(`{"bearer":["hunter2"]}`),
		call(`{"headers":"Authorization: hunter2"}`),
		`"request":"https://u:hunter2@h/"`,
	} {
		_, faults := decodeTool(t, `{"name":"t",`+fields+`}`)
		require.NotEmpty(t, faults, fields)
		require.NotContains(t, faults[0], "hunter2", fields)
	}
}

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
		`"type":"mysql-sql","source":"my","statement":"SELECT {{.country}}",` + country:                      `/statement: pastes "country", which is in parameters: write ? to bind it, or move it to templateParameters`,
		`"type":"postgres-execute-sql","source":"pg","readOnly":false`:                                       ``,
		`"type":"sqlite-execute-sql","source":"s","statement":"SELECT 1"`:                                    `/statement: is not for tools of type sqlite-execute-sql; they have one parameter, sql`,
		`"type":"mysql-list-tables","source":"my"`:                                                           ``,
		`"type":"mysql-list-tables","source":"my","readOnly":true`:                                           `/readOnly: is not for tools of type mysql-list-tables; they change nothing`,
		`"type":"mysql-list-tables","source":"my",` + country:                                                `/parameters: is not for tools of type mysql-list-tables; they have the parameters table_names and output_format`,
		`"type":"http","source":"api","method":"POST","path":"/x","readOnly":true`:                           ``,
		`"type":"mcp","source":"crm","readOnly":false`:                                                       ``,
		`"url":"https://h/","readOnly":true`:                                                                 ``,
		sql + `,"url":"https://h/"`:                                                                          `/url: is not for tools of type postgres-sql; what they reach is their source`,
		sql + `,"path":"/x"`:                                                                                 `/path: is not for tools of type postgres-sql`,
		sql + `,"bodyParams":[]`:                                                                             `/bodyParams: is not for tools of type postgres-sql`,
		sql + `,"request":{"auth":"module","moduleId":"m"}`:                                                  `/request/auth: is only for calls of a url; the source of a statement has the credentials`,
		sql + `,"request":{"body":{"a":1}}`:                                                                  `/request/body: is only for calls of a url; of a tool with a source it stands on the tool, as requestBody`,
		`"type":"postgres-sql","source":"pg","statement":"SELECT * FROM {{.tableName}}",` + table:            ``,
		`"type":"postgres-sql","source":"pg","statement":"SELECT * FROM {{.tableNam}}",` + table:             `/statement: pastes "tableNam", which is not in templateParameters; did you mean "tableName"?`,
		`"type":"postgres-sql","source":"pg","statement":"SELECT * FROM {{.tableName}}"`:                     `/statement: pastes "tableName", which is not in templateParameters`,
		`"type":"postgres-sql","source":"pg","statement":"SELECT {{.country}}",` + country:                   `/statement: pastes "country", which is in parameters: write $1 to bind it, or move it to templateParameters`,
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
		`"type":"http","source":"api","method":"FETCH","path":"/x"`:                                                `/method: "FETCH" is not a method of a call: GET, POST, PUT, PATCH or DELETE; did you mean "PATCH"?`,
		`"type":"http","source":"api","method":"GET"`:                                                              `/path: is missing: http needs it`,
		path + `,"parameters":` + one("a", "string"):                                                               `/parameters: is not for tools of type http; they have pathParams, queryParams, bodyParams and headerParams`,
		path + `,"request":{"headers":{"X-A":"b"}}`:                                                                `/request/headers: is only for calls of a url; of a tool with a source it stands on the tool`,
		path + `,"headers":{"Host":"b"}`:                                                                           `/headers/Host: the header Host belongs to the connection and cannot be set`,
		path + `,"headerParams":` + one("X-User", "string"):                                                        ``,
		path + `,"headerParams":` + one("X-User", "integer"):                                                       `/headerParams/0/type: is integer; a header must be a string`,
		path + `,"headerParams":` + one("X User", "string"):                                                        `/headerParams/0/name: "X User" is not the name of a header`,
		path + `,"headerParams":` + one("content-type", "string"):                                                  `/headerParams/0/name: decides how values in the body are escaped: put it into headers`,
		head + `"path":"/u/{{.id}}","pathParams":` + one("id", "integer"):                                          ``,
		head + `"path":"/u/{{pathEscape .id}}?x={{queryEscape .id}}","pathParams":` + one("id", "integer"):         ``,
		head + `"path":"/u/{{.id}}"`:                                                                               `/path: pastes "id", which is not in pathParams`,
		head + `"path":"/u/{{.id}","pathParams":` + one("id", "string"):                                            `/path: is not a valid template: 1: bad character U+007D '}'`,
		head + `"path":"/u/{{.id}}","pathParams":` + one("id", "map"):                                              `/pathParams/0/type: is map; a parameter of a path must be a string, a number or a boolean`,
		head + `"path":"//evil.example/x"`:                                                                         `/path: names a scheme or a host; a path is resolved against the source's baseUrl`,
		head + `"path":"https://evil.example/x"`:                                                                   `/path: names a scheme or a host; a path is resolved against the source's baseUrl`,
		head + `"path":"/a/../b"`:                                                                                  `/path: has a segment ".."; write the path without it`,
		head + `"path":"/a/%2e%2e/b"`:                                                                              `/path: has a segment ".."; write the path without it`,
		head + `"path":"/a/%2e%2e%2fb"`:                                                                            `/path: has a segment ".."; write the path without it`,
		path + `,"bodyParams":` + one("a", "string"):                                                               `/requestBody: is missing: bodyParams are pasted into it`,
		path + `,"requestBody":"{{json .a}}","bodyParams":` + one("a", "array"):                                    `/bodyParams/0/items: is missing: an array says what its members are`,
		path + `,"requestBody":"{{json .a}}","bodyParams":` + one("a", "map"):                                      ``,
		path + `,"requestBody":"{{.b}}","bodyParams":` + one("a", "string"):                                        `/requestBody: pastes "b", which is not in bodyParams`,
		path + `,"requestBody":"{{array .a}}","bodyParams":` + one("a", "string"):                                  `/requestBody: {{array .a}}: there is no function array; there are index, and, or, not, eq, ne, json`,
		path + `,"requestBody":"{{.a}}","headers":{"Content-Type":"text/yaml"},"bodyParams":` + one("a", "string"): `/headers/Content-Type: is not supported with values in the body: use JSON, application/x-www-form-urlencoded, XML or text/plain`,
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
	require.Contains(t, faultsOf(t, r.Check(&repositories.App{}))[0], "it has none: add one to the sources of the app")
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
		{"https://h/", "%zz", "", "not a valid path"},
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

func TestHeldToolFields(t *testing.T) {
	const order = `"schema":[{"parameter":"order_id","type":"string"},{"parameter":"amount","type":"number"}],`
	const beside = ": with answer, a subscriber answers and nothing is called; leave out one of them (request.timeout may stay: it is how long a message waits)"
	toolFaults(t, map[string]string{
		`"settle":"800ms"`:                                   ``,
		`"settle":"60s","cancelOnNext":true`:                 ``,
		`"settle":"61s"`:                                     `/settle: "61s" is out of range: more than 0 and at most 1m`,
		`"settle":"0s"`:                                      `/settle: "0s" is out of range: more than 0 and at most 1m`,
		`"settle":"-1s"`:                                     `/settle: "-1s" is out of range: more than 0 and at most 1m`,
		`"settle":"soon"`:                                    `/settle: "soon" is not a duration as "800ms": a number with a unit, of ms, s, m and h`,
		`"settle":800`:                                       `/settle: is a number, not a string; it is a text, as "800ms"`,
		`"settle":"2m","cancelOnNext":true`:                  `/settle: "2m" is out of range: more than 0 and at most 1m`,
		`"setle":"1s"`:                                       `/setle: unknown field "setle"; did you mean "settle"?`,
		`"cancelOnNext":false`:                               ``,
		`"cancelOnNext":true`:                                `/cancelOnNext: needs settle, the time in which a next message can cancel, as "800ms"`,
		`"confirm":"always"`:                                 ``,
		`"confirm":"never"`:                                  ``,
		`"confirm":"allways"`:                                `/confirm: "allways" is not one of "always", "once", "never"; did you mean "always"?`,
		`"confirm":true`:                                     `/confirm: is a boolean, not a string; it is "always", "once" or "never"`,
		`"dedupe":{"within":"168h"}`:                         ``,
		`"dedupe":{"within":"169h"}`:                         `/dedupe/within: "169h" is out of range: more than 0 and at most 168h`,
		`"dedupe":{}`:                                        `/dedupe/within: is missing`,
		`"dedupe":{"within":"1s","scop":"app"}`:              `/dedupe/scop: unknown field "scop"; did you mean "scope"?`,
		`"dedupe":{"within":"1s","scope":"user"}`:            `/dedupe/scope: "user" is not one of "session", "app"`,
		order + `"dedupe":{"within":"1s","by":["order_id"]}`: ``,
		order + `"dedupe":{"within":"1s","by":["amount","orderid"]}`:        `/dedupe/by/1: "orderid" is not a parameter of the tool; did you mean "order_id"?`,
		`"dedupe":{"within":"1s","by":[]}`:                                  `/dedupe/by: is too short: 0 of at least 1 items`,
		`"answer":{"within":"24h"}`:                                         ``,
		`"answer":{}`:                                                       `/answer/within: is missing`,
		`"answer":{"within":"25h"}`:                                         `/answer/within: "25h" is out of range: more than 0 and at most 24h`,
		`"answer":{"within":"1s"},"request":{"timeout":"5s"}`:               ``,
		`"answer":{"within":"1s"},"request":{"auth":"none","timeout":"5s"}`: ``,
		`"answer":{"within":"1s"},"url":"https://h/"`:                       `/answer: excludes url` + beside,
		`"answer":{"within":"1s"},"request":{"url":"https://h/","retryFor":"5s","idempotent":true,"headers":{"a":"b"}}`: `/answer: excludes url, request.headers, request.retryFor, request.idempotent` + beside,
		`"answer":{"within":"1s"},"request":{"auth":"basic","basic":{"username":"u","password":"p"}}`:                   `/answer: excludes request.auth, request.basic` + beside,
		`"answer":{"within":"1s"},"type":"sqlite-sql","source":"s","statement":"SELECT 1"`:                              `/answer: excludes type` + beside,
	})
}

func TestHeldToolIsReadAndWritten(t *testing.T) {
	const held = `{"name":"refund","schema":[{"parameter":"n","type":"number"}],"settle":"800ms","cancelOnNext":true,"confirm":"once",` +
		`"dedupe":{"by":["n"],"within":"10m"},"answer":{"within":"100us"},"request":{"timeout":"5s"}}`
	tool, faults := decodeTool(t, held)
	require.Empty(t, faults)
	require.Equal(t, repositories.Duration(800*time.Millisecond), tool.Settle)
	require.True(t, tool.CancelOnNext && tool.Calls() && !tool.RunsStatement())
	require.Equal(t, repositories.ConfirmOnce, tool.Confirm)
	require.Equal(t, &repositories.Dedupe{By: []string{"n"}, Within: repositories.Duration(10 * time.Minute), Scope: repositories.DedupeSession}, tool.Dedupe)
	require.Equal(t, repositories.Duration(time.Millisecond), tool.Answer.Within, "rounded up")
	stored := marshalled(t, tool)
	again, faults := decodeTool(t, stored)
	require.Empty(t, faults, "what is returned can be sent back")
	restored := marshalled(t, again)
	require.JSONEq(t, stored, restored)
}

// weather is a JSON Schema with unsorted fields.
const weather = `{"type":"object","properties":{"unit":{"type":"string","enum":["fahrenheit","celsius"]},"location":{"type":"string","description":"The city and state"}},"required":["location"],"additionalProperties":false}`

func TestToolsComeAsOthersDefineThem(t *testing.T) {
	for _, tool := range []string{
		`{"type":"function","function":{"name":"weather","description":"d","parameters":` + weather + `}}`,
		`{"type":"function","function":{"name":"weather","description":"d","parameters":` + weather + `,"strict":true},"schema":null}`,
		`{"function":{"name":"weather","description":"d","parameters":` + weather + `,"strict":null}}`,
		`{"name":"","description":"","type":"function","function":{"name":"weather","description":"d","parameters":` + weather + `}}`,
		`{"name":"weather","type":"function","function":{"name":"weather","description":"d","parameters":` + weather + `}}`,
		`{"type":"function","name":"weather","description":"d","strict":false,"parameters":` + weather + `}`,
		`{"name":"weather","description":"d","inputSchema":` + weather + `}`,
		`{"name":"weather","description":"d","input_schema":` + weather + `,"parameters":null}`,
		`{"name":"weather","description":"d","schema":` + weather + `}`,
		`{"name":"weather","description":"d","parameters":` + weather + `,"inputSchema":` + weather + `}`,
	} {
		got, faults := decodeTool(t, tool)
		require.Empty(t, faults, tool)
		text := marshalled(t, got)
		require.Equal(t, `{"name":"weather","description":"d","parameters":`+weather+`}`, text, tool)
		require.Equal(t, []string{"unit", "location"}, got.Params().Names(), tool)
	}
}

func TestWhatOnlyEarshotKnowsStandsBesideAFunction(t *testing.T) {
	got, faults := decodeTool(t, `{"type":"function","url":"https://h/:city","emitter":"a.b","returnDirect":true,"examples":["x"],
		"function":{"name":"f","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}`)
	require.Empty(t, faults)
	require.Equal(t, "https://h/:city", got.URL)
	require.Equal(t, "a.b", got.Emitter)
	require.True(t, got.ReturnDirect)
	got, faults = decodeTool(t, `{"type":"function","function":{"name":"ping","parameters":null}}`)
	require.Empty(t, faults)
	require.Empty(t, got.Params().Names())
}

func TestFaultsOfAFunctionStandWhereItWasGiven(t *testing.T) {
	for tool, want := range map[string]string{
		`{"type":"function"}`:                                                                           `/name: is missing`,
		`{"type":"function","function":{}}`:                                                             `/function/name: is missing`,
		`{"name":"t","function":5}`:                                                                     `/function: is a number, not null or an object; its fields are description, name, parameters, strict`,
		`{"function":{"name":"a b"}}`:                                                                   `/function/name: name "a b" is not a tool name: 1 to 64 of A-Z a-z 0-9 _ -`,
		`{"function":{"name":5}}`:                                                                       `/function/name: is a number, not a string`,
		`{"function":{"name":"t","strict":"no"}}`:                                                       `/function/strict: is a string, not a boolean or null`,
		`{"function":{"name":"t","parametres":1}}`:                                                      `/function/parametres: unknown field "parametres"; did you mean "parameters"?`,
		`{"function":{"name":"t","url":"https://h/"}}`:                                                  `/function/url: belongs beside function, not in it`,
		`{"name":"u","function":{"name":"t"}}`:                                                          `/function/name: differs from the tool's name, which is also given; give one of them`,
		`{"name":"t","inputSchema":[]}`:                                                                 `/inputSchema: is an array, not null or an object`,
		`{"name":"t","input_schema":{"type":"string"}}`:                                                 `/input_schema/type: is "string"; it must be "object", which holds the values of a tool`,
		`{"name":"t","schema":{"Properties":{}}}`:                                                       `/schema/Properties: is not a keyword of JSON Schema; did you mean "properties"?`,
		`{"name":"t","parameters":{},"schema":{"a":1}}`:                                                 `/schema: differs from the tool's parameters, which is also given; give one of them`,
		`{"name":"t","inputSchema":{"a":1},"input_schema":{"a":2}}`:                                     `/input_schema: differs from that of inputSchema, which is also given; give one of them`,
		`{"function":{"name":"t","parameters":{"properties":{"x":{"type":"strin"}}}}}`:                  `/function/parameters/properties/x/type: is not JSON Schema: "strin" is not one of "array", "boolean", "integer", "null", "number", "object", "string"`,
		`{"url":"https://h/:y","function":{"name":"t","parameters":{"properties":{"x":{}},"a":"b:y"}}}`: `/url: :y is not a parameter of the tool; write %3A for a colon that is meant as it is`,
	} {
		_, faults := decodeTool(t, tool)
		require.Equal(t, []string{"/tools/0" + want}, faults, tool)
	}
}

func TestFaultsOfManyFormsKeepTheirPlaces(t *testing.T) {
	_, err := repositories.DecodePatch(clinic, "r", fmt.Appendf(nil, `{"tools":[%s,%s,%s]}`,
		`{"name":"a","inputSchema":{"type":"array"}}`, `{"name":"b","parameters":{"type":"array"}}`, `{"function":{"name":"a","parameters":{"type":"array"}}}`))
	require.Equal(t, []string{
		`/tools/0/inputSchema/type: is "array"; it must be "object", which holds the values of a tool`,
		`/tools/1/parameters/type: is "array"; it must be "object", which holds the values of a tool`,
		`/tools/2/function/name: "a" is the name of tool 0 as well; each has its own`,
		`/tools/2/function/parameters/type: is "array"; it must be "object", which holds the values of a tool`,
	}, faultsOf(t, err))
}
