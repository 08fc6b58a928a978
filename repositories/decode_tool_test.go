package repositories_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
)

// toolFaults runs tools, each given as the fields beside its name, and compares the
// one fault of each; an empty one means none.
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
		`"request":{"url":"nonsense"}`:      `/request/url: "nonsense" is not an absolute URL, as https://example.org/path`,
		`"url":"https://h/","request":{}`:   ``,
		`"url":"https://h/","request":null`: ``,
		`"url":"https://h/","request":{"url":"https://h/","description":"x"}`: ``,
		`"url":"2 kg","request":{"url":"https://h/"}`:                         `/url: "2 kg" is not an absolute URL, as https://example.org/path`,
		`"url":"https://h/a","request":{"url":"https://h/b"}`:                 `/request/url: is not the tool's url, which is given as well; one is enough`,
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
		`"url":"ftp://example.org"`:                      `/url: "ftp" is not a scheme that can be called: http or https`,
		`"url":"javascript:alert(1)"`:                    `/url: "javascript" is not a scheme that can be called: http or https`,
		`"url":"https:///path"`:                          `/url: "https:///path" names no host`,
		`"url":"https://user:pw@example.org/"`:           `/url: a URL does not carry credentials; use auth basic`,
		`"url":"https://token@example.org/"`:             `/url: a URL does not carry credentials; use auth basic`,
		`"url":"https://:date/",` + date:                 `/url: :date stands in the scheme, host or port, which no value may fill`,
		`"url":"https://example.org::date/",` + date:     `/url: :date stands in the scheme, host or port, which no value may fill`,
		`"url":":date://example.org/",` + date:           `/url: :date stands in the scheme, host or port, which no value may fill`,
		`"url":"https://h/:date/:appId?d=:date",` + date: ``,
		`"url":"https://h/:date-:day-of",` + date:        ``,
		`"url":"https://h/:dates",` + date:               `/url: :dates names no parameter of the tool; did you mean "date"?`,
		`"url":"https://h/v1/models:predict"`:            `/url: :predict names no parameter of the tool; write %3A for a colon that is meant as it is`,
		`"url":"https://h/at/10:30"`:                     ``,
		`"url":"https://h/?q=:other",` + date:            `/url: :other names no parameter of the tool; write %3A for a colon that is meant as it is`,
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
		call(`{"auth":"basic"}`):                                                                                            `/request/basic: is missing: auth is basic`,
		call(`{"auth":"basic","basic":{"username":"u"}}`):                                                                   `/request/basic/password: is missing`,
		call(`{"auth":"basic","basic":{"username":"u","password":""}}`):                                                     `/request/basic/password: is empty; leave it out, or send *** to keep what is stored`,
		call(`{"auth":"bearer","bearer":{` + client + `}}`):                                                                 ``,
		call(`{"auth":"bearer"}`):                                                                                           `/request/bearer: is missing: auth is bearer`,
		call(`{"auth":"bearer","bearer":{"clientId":"c","clientSecret":"s"}}`):                                              `/request/bearer/tokenUrl: is missing`,
		call(`{"auth":"bearer","bearer":{"tokenUrl":"https://id/","clientId":"c"}}`):                                        `/request/bearer/clientSecret: is missing: client_credentials needs it`,
		call(`{"auth":"bearer","bearer":{"tokenUrl":"id/token","clientId":"c","clientSecret":"s"}}`):                        `/request/bearer/tokenUrl: "id/token" is not an absolute URL, as https://example.org/path`,
		call(`{"auth":"bearer","bearer":{` + client + `,"refreshUrl":"ftp://id/"}}`):                                        `/request/bearer/refreshUrl: "ftp" is not a scheme that can be called: http or https`,
		call(`{"auth":"bearer","bearer":{` + client + `,"clientType":"implicit"}}`):                                         `/request/bearer/clientType: "implicit" is not one of "client_credentials", "password"`,
		call(`{"auth":"bearer","bearer":{"clientType":"password","tokenUrl":"https://id/","username":"u","password":"p"}}`): ``,
		call(`{"auth":"bearer","bearer":{"clientType":"password","tokenUrl":"https://id/","username":"u"}}`):                `/request/bearer/password: is missing: the password grant needs it`,
		call(`{"auth":"bearer","bearer":{` + client + `,"scopes":["a b"]}}`):                                                `/request/bearer/scopes/0: "a b" is not a scope: printable ASCII without spaces, quotes and backslashes`,
		call(`{"auth":"module","moduleId":"m"}`):                                                                            ``,
		call(`{"auth":"module"}`):                                                                                           `/request/moduleId: is missing: auth is module`,
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
		call(`{"timeout":"10"}`):         `/request/timeout: "10" is not a duration as "10s"`,
		call(`{"timeout":10}`):           `/request/timeout: is a number, not a string`,
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
		call(`{"headers":{"X-A":"1","x-a":"2"}}`):                     `/request/headers/x-a: is the same header as X-A`,
		call(`{"headers":{"content-length":"5"}}`):                    `/request/headers/content-length: the header content-length belongs to the connection and cannot be set`,
		call(`{"headers":{"Transfer-Encoding":"x"}}`):                 `/request/headers/Transfer-Encoding: the header Transfer-Encoding belongs to the connection and cannot be set`,
		call(`{"headers":{"Connection":"close"}}`):                    `/request/headers/Connection: the header Connection belongs to the connection and cannot be set`,
	})
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
