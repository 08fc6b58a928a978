package httpcall_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/httpcall"
	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
	"earshot/trigger/effect"
	"earshot/trigger/effect/effecttest"
)

// toolRig is a rig whose app has an http source, "api".
func toolRig(t *testing.T, source repositories.Source, change ...func(*httpcall.Options)) *rig {
	r := newRig(t, change...)
	source.Name, source.Type = "api", repositories.SourceHTTP
	r.apps["clinic"].Sources = []repositories.Source{source}
	return r
}

// tool delivers an http tool, given by its fields besides name, type and source, with a program's values.
func (r *rig) tool(fields, values string) effect.Outcome {
	r.t.Helper()
	tool := effecttest.Tool(r.t, `"type":"http","source":"api",`+fields)
	return r.Deliver(r.t.Context(), effecttest.Fired(r.t, tool, values))
}

// list is a list of parameters, each name:type.
func list(field string, members ...[2]string) string {
	var all []map[string]any
	for _, member := range members {
		p := map[string]any{"name": member[0], "type": member[1], "description": "d", "required": false}
		if member[1] == "array" {
			p["items"] = map[string]any{"name": "x", "type": "string", "description": "d"}
		}
		all = append(all, p)
	}
	return `,"` + field + `":` + quoted(all)
}

func TestToolReachesItsSourceWithAllItsParameters(t *testing.T) {
	e := newEndpoint(t, says(200, `{"found":[1,12345678901234567890]}`))
	r := toolRig(t, repositories.Source{
		BaseURL: e.URL + "/v1/", Headers: repositories.Headers{"X-Desk": credential("A"), "X-Both": credential("source"), "Authorization": credential("ApiKey hunter2")},
		QueryParams: repositories.Headers{"lang": credential("en")},
	})
	outcome := r.tool(`"method":"POST","path":"users/{{.id}}/notes?fixed=1&u={{.id}}","headers":{"X-Both":"tool","X-Also":"tool"},
	  "requestBody":"{\"note\": \"{{.note}}\", \"tags\": {{json .tags}}, \"n\": {{.n}}}"`+
		list("pathParams", [2]string{"id", "string"})+list("queryParams", [2]string{"q", "string"}, [2]string{"tag", "array"}, [2]string{"none", "string"}, [2]string{"big", "integer"})+
		list("bodyParams", [2]string{"note", "string"}, [2]string{"tags", "array"}, [2]string{"n", "float"})+
		list("headerParams", [2]string{"X-Also", "string"}, [2]string{"X-None", "string"}),
		`{"id":"a/b c?d","q":"x&y=z","tag":["1","2 3"],"big":9007199254740993,"note":"say \"hi\"","tags":["a"],"n":1.50,"X-Also":"parameter"}`)
	require.Equal(t, effect.Done, outcome.Verdict, outcome.Error)
	require.Equal(t, `{"found":[1,12345678901234567890]}`, string(outcome.Result))
	got := e.only(t)
	require.Equal(t, "POST", got.method)
	require.Equal(t, "/v1/users/a%2Fb%20c%3Fd/notes?fixed=1&u=a%2Fb+c%3Fd&big=9007199254740993&lang=en&q=x%26y%3Dz&tag=1&tag=2+3", got.uri)
	require.Equal(t, `{"note": "say \"hi\"", "tags": ["a"], "n": 1.50}`, got.body)
	require.Equal(t, "A", got.header.Get("X-Desk"))
	require.Equal(t, "tool", got.header.Get("X-Both"))
	require.Equal(t, "parameter", got.header.Get("X-Also"))
	require.Equal(t, "ApiKey hunter2", got.header.Get("Authorization"))
	require.NotContains(t, got.header, "X-None")
	require.Equal(t, "application/json", got.header.Get("Content-Type"))
	require.Equal(t, "t1", got.header.Get("Webhook-Id"), "an attempt is known as those of other calls")
}

func TestToolWithoutABodySendsNone(t *testing.T) {
	e := newEndpoint(t, says(200, "plain text"))
	require.Equal(t, `"plain text"`, string(toolRig(t, repositories.Source{BaseURL: e.URL}).tool(`"method":"POST","path":"/x"`, "").Result))
	require.Empty(t, e.only(t).body+e.only(t).header.Get("Content-Type"))
}

func TestPathOfAToolStaysUnderItsSource(t *testing.T) {
	e := newEndpoint(t, nil)
	r := toolRig(t, repositories.Source{BaseURL: e.URL + "/v1/"})
	for _, value := range []string{"..", ".", "../../admin", `..\..\admin`, "a/../../b"} {
		outcome := r.tool(`"method":"GET","path":"users/{{.id}}"`+list("pathParams", [2]string{"id", "string"}), `{"id":`+quoted(value)+`}`)
		effecttest.Ended(t, outcome, effect.Dead, effect.ReasonRequest)
	}
	fired := effecttest.Tool(t, `"type":"http","source":"api","method":"GET","path":"users/{{.id}}"`+list("pathParams", [2]string{"id", "string"}))
	outcome := r.Deliver(t.Context(), effecttest.Call(effect.CallOf(fired, map[string]any{"id": ""}, nil)))
	require.Contains(t, outcome.Error, "the parameter has no value, and the path needs one", "of a trigger that is older than the rule")
	outcome = r.tool(`"method":"GET","path":"/v2/x"`, "")
	require.Contains(t, outcome.Error, `leads to "/v2/x", which is not under "/v1/"`)
	require.Empty(t, e.requests())

	for value, want := range map[string]string{
		"%2e%2e": "/v1/%252e%252e", "//evil.example": "/v1/%2F%2Fevil.example", "http://evil.example": "/v1/http%3A%2F%2Fevil.example",
		"a#b?c": "/v1/a%23b%3Fc", "a;b,c": "/v1/a%3Bb%2Cc", "é\r\n": "/v1/%C3%A9%0D%0A", "@host:80": "/v1/@host%3A80",
	} {
		outcome := r.tool(`"method":"GET","path":"{{.id}}"`+list("pathParams", [2]string{"id", "string"}), `{"id":`+quoted(value)+`}`)
		require.Equal(t, effect.Done, outcome.Verdict, "%q: %s", value, outcome.Error)
		all := e.requests()
		require.Equal(t, want, all[len(all)-1].uri, "%q", value)
	}
}

func TestValuesStayWhereTheyStandInABody(t *testing.T) {
	const attack = `x", "admin": true, "y": "<&'`
	for _, c := range []struct{ content, template, want string }{
		{"", `{"a": "{{.v}}"}`, `{"a": "x\", \"admin\": true, \"y\": \"<&'"}`},
		{"", `{"a": {{.v}}}`, `{"a": "x\", \"admin\": true, \"y\": \"<&'"}`},
		{"", `{"a": {{json .v}}}`, `{"a": "x\", \"admin\": true, \"y\": \"<&'"}`},
		{"", `{"a": "{{json .v}}"}`, `{"a": "\"x\\\", \\\"admin\\\": true, \\\"y\\\": \\\"<&'\""}`},
		{"", `{"{{.v}}": 1}`, `{"x\", \"admin\": true, \"y\": \"<&'": 1}`},
		{"", `{"q\"": "\\{{.v}}"}`, `{"q\"": "\\x\", \"admin\": true, \"y\": \"<&'"}`},
		{"application/x-www-form-urlencoded", `a={{.v}}&b=1`, `a=x%22%2C+%22admin%22%3A+true%2C+%22y%22%3A+%22%3C%26%27&b=1`},
		{"application/xml", `<a b="{{.v}}"/>`, `<a b="x&#34;, &#34;admin&#34;: true, &#34;y&#34;: &#34;&lt;&amp;&#39;"/>`},
		{"text/plain", `say {{.v}}`, `say ` + attack},
	} {
		e := newEndpoint(t, nil)
		headers := ""
		if c.content != "" {
			headers = `,"headers":{"content-type":"` + c.content + `"}`
		}
		outcome := toolRig(t, repositories.Source{BaseURL: e.URL}).tool(
			`"method":"POST","path":"/x","requestBody":`+quoted(c.template)+headers+list("bodyParams", [2]string{"v", "string"}), `{"v":`+quoted(attack)+`}`)
		require.Equal(t, effect.Done, outcome.Verdict, "%s: %s", c.template, outcome.Error)
		require.Equal(t, c.want, e.only(t).body)
	}
}

func TestMissingValuesOfABody(t *testing.T) {
	e := newEndpoint(t, nil)
	r := toolRig(t, repositories.Source{BaseURL: e.URL})
	outcome := r.tool(`"method":"PUT","path":"/x","requestBody":"{\"a\": {{.v}}, \"b\": \"{{.v}}\"{{if .w}}, \"c\": {{.w}}{{end}}}"`+
		list("bodyParams", [2]string{"v", "string"}, [2]string{"w", "map"}), `{}`)
	require.Equal(t, effect.Done, outcome.Verdict, outcome.Error)
	require.Equal(t, `{"a": null, "b": ""}`, e.only(t).body)
	outcome = r.tool(`"method":"PUT","path":"/{{.p}}","requestBody":"{{json .}}"`+list("pathParams", [2]string{"p", "string"})+
		list("bodyParams", [2]string{"a-b", "string"}, [2]string{"v", "boolean"}, [2]string{"w", "map"}), `{"p":"x","a-b":"\"","v":false}`)
	require.Equal(t, effect.Done, outcome.Verdict, outcome.Error)
	require.Equal(t, `{"a-b":"\"","v":false}`, e.requests()[1].body, "a body of all parameters has those with a value")
}

func TestWhatAToolCannotSendIsNotSent(t *testing.T) {
	e := newEndpoint(t, nil)
	r := toolRig(t, repositories.Source{BaseURL: e.URL})
	for _, template := range []string{`note: {{.v}}`, `{"a": {{.v}}`, `{"a": "\{{.v}}"}`} { // none of them is JSON
		outcome := r.tool(`"method":"POST","path":"/x","requestBody":`+quoted(template)+list("bodyParams", [2]string{"v", "string"}), `{"v":"x"}`)
		require.Equal(t, effect.Dead, outcome.Verdict, template)
	}
	for _, value := range []string{"a\r\nX-Admin: 1", "a\nb", "a\x00b"} { // each would start another header
		outcome := r.tool(`"method":"GET","path":"/x"`+list("headerParams", [2]string{"X-User", "string"}), `{"X-User":`+quoted(value)+`}`)
		effecttest.Ended(t, outcome, effect.Dead, effect.ReasonRequest, `"X-User"`)
	}
	require.Empty(t, e.requests())
	gone := newRig(t).tool(`"method":"GET","path":"/x"`, "")
	require.Equal(t, `app "clinic" has no http source "api", which the tool names`, gone.Error)
	require.Equal(t, effect.Dead, gone.Verdict)
}

func TestAnswersOfASourceAreJudgedAsOthers(t *testing.T) {
	e := newEndpoint(t, says(503, "hunter2-query is wrong"))
	source := repositories.Source{BaseURL: e.URL, QueryParams: repositories.Headers{"api-key": credential("hunter2-query")}}
	outcome := toolRig(t, source).tool(`"method":"GET","path":"/x"`, "")
	require.Equal(t, effect.Retry, outcome.Verdict)
	require.Equal(t, 503, outcome.Status)
	require.Empty(t, outcome.Result, "the body of a refusal is the source's own business")

	source.ReturnFullError = true
	outcome = toolRig(t, source).tool(`"method":"GET","path":"/x"`, "")
	require.Equal(t, `"*** is wrong"`, string(outcome.Result), "and without its credentials")

	outcome = toolRig(t, source, func(o *httpcall.Options) { o.Policy = policy(t, "deny") }).tool(`"method":"GET","path":"/x"`, "")
	effecttest.Ended(t, outcome, effect.Dead, effect.ReasonBlocked)
}

func TestToolMayAuthenticateAsOtherCalls(t *testing.T) {
	e := newEndpoint(t, nil)
	r := toolRig(t, repositories.Source{BaseURL: e.URL})
	r.store(`{"tools":[{"name":"t","type":"http","source":"api","method":"GET","path":"/x","headers":{"X-Api-Key":"hunter3"},
		"request":{"auth":"basic","basic":{"username":"ann","password":"hunter2"},"timeout":"5s"}}]}`)
	outcome := r.stored()
	require.Equal(t, effect.Done, outcome.Verdict, outcome.Error)
	user, password, ok := basicOf(e.only(t))
	require.True(t, ok)
	require.Equal(t, "ann hunter2", user+" "+password)

	elsewhere := newEndpoint(t, nil)
	r.apps["clinic"].Sources[0].BaseURL = elsewhere.URL
	outcome = r.stored()
	effecttest.Ended(t, outcome, effect.Dead, effect.ReasonAuth, `baseUrl of the source "api" has changed; give the credential again`)
	require.Empty(t, elsewhere.requests(), "what was given for one place is not shown to another")
}

// store stores a repository of the rig's app, as a service does.
func (r *rig) store(body string) {
	r.t.Helper()
	client := redis.NewClient(&redis.Options{Addr: redistest.Mini(r.t).Addr()})
	r.t.Cleanup(func() { _ = client.Close() })
	sealer, err := store.NewSealer(bytes.Repeat([]byte("k"), store.KeySize))
	require.NoError(r.t, err)
	r.kept = store.New(&keyspace.DB{UniversalClient: client, Embedded: true}, store.Options{Sealer: sealer, SessionTTL: time.Hour})
	_, err = r.kept.PutApp(r.t.Context(), r.apps["clinic"])
	require.NoError(r.t, err)
	repository, err := repositories.DecodeRepository(repositories.Scope{AppID: "clinic"}, "r", []byte(body))
	require.NoError(r.t, err)
	_, err = r.kept.PutRepository(r.t.Context(), repository)
	require.NoError(r.t, err)
}

// stored delivers the first stored tool.
func (r *rig) stored() effect.Outcome {
	r.t.Helper()
	repository, err := r.kept.Repository(r.t.Context(), repositories.Scope{AppID: "clinic"}, "r")
	require.NoError(r.t, err)
	return r.Deliver(r.t.Context(), effecttest.Call(effect.CallOf(&repository.Tools[0], nil, nil)))
}

func quoted(value any) string {
	out, _ := json.Marshal(value)
	return string(out)
}
