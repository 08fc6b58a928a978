package httpcall_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/trigger/effect"
	"earshot/trigger/effect/effecttest"
)

func TestURLIsFilledAndEscapedForWhereItStands(t *testing.T) {
	e, r := newEndpoint(t, nil), newRig(t)
	values := map[string]any{
		"id": "7", "idCard": "C9", "date": "2026-12-01", "evil": "../../admin?x=1#y&z=/\\", "dollar": "$&$1",
		"n": json.Number("9007199254740993"), "f": json.Number("1.10"), "yes": true,
		"list": []any{"a", json.Number("1"), "<"}, "map": map[string]any{"k": nil},
		"empty": "", "null": nil, "umlaut": "Zürich West", "pct": "50%25", "12": "dozen",
		"id_long": "L", "a-b": "AB", "recursive": ":id", "appId": "forged", "crlf": "a\r\nHost: b",
	}
	for template, want := range map[string]string{
		"/book/:date":                 "/book/2026-12-01",
		"/:id/:idCard/:id_long":       "/7/C9/L",
		"/:idCard:id":                 "/C97",
		"/x:id-:idCard.json":          "/x7-C9.json",
		"/:id-x/:a-b/:a-b-c":          "/7-x/AB/AB-c",
		"/:appId/x?app=:appId":        "/clinic/x?app=clinic",
		"/p/:evil":                    "/p/..%2F..%2Fadmin%3Fx=1%23y&z=%2F%5C",
		"/p?q=:evil":                  "/p?q=..%2F..%2Fadmin%3Fx%3D1%23y%26z%3D%2F%5C",
		"/p/:dollar?d=:dollar":        "/p/$&$1?d=%24%26%241",
		"/n/:n/:f/:yes":               "/n/9007199254740993/1.10/true",
		"/j?l=:list&m=:map":           "/j?l=%5B%22a%22%2C1%2C%22%3C%22%5D&m=%7B%22k%22%3Anull%7D",
		"/z/:umlaut?u=:umlaut":        "/z/Z%C3%BCrich%20West?u=Z%C3%BCrich+West",
		"/pct/:pct?p=:pct":            "/pct/50%2525?p=50%2525",
		"/q?a=:null&b=:missing&c=:id": "/q?a=&b=&c=7",
		"/q?a=:empty&x":               "/q?a=&x",
		"/at/12:30/:8080?t=9:15":      "/at/12:30/:8080?t=9:15",
		"/digits/:12":                 "/digits/dozen",
		"/q?filter=status:open":       "/q?filter=status:open",
		"/q?to=https://a.b/c:":        "/q?to=https://a.b/c:",
		"/r/:recursive":               "/r/:id",
		"/l/%3Aid/a%2Fb":              "/l/%3Aid/a%2Fb",
		"/h/:crlf?c=:crlf":            "/h/a%0D%0AHost:%20b?c=a%0D%0AHost%3A+b",
		"/frag/:id#:date":             "/frag/7",
		"?only=:id":                   "/?only=7",
		"":                            "/",
	} {
		require.Equal(t, want, r.sent(e, e.URL+template, nil, values).uri, template)
	}
}

func TestPathNeedsItsValues(t *testing.T) {
	e, r := newEndpoint(t, nil), newRig(t)
	values := map[string]any{
		"id": "7", "null": nil, "empty": "", "dot": ".", "dots": "..", "e": "%2e", "long": strings.Repeat("x", 20_000),
	}
	for template, named := range map[string]string{
		"/book/:date":      `"date"`,
		"/book/:null":      `"null"`,
		"/book/:idCard":    `"idCard"`,
		"/models/x:run":    `"run"`,
		"/a/:empty/b":      `"empty"`,
		"/a/:dot/b":        `"dot"`,
		"/a/:dots":         `"dots"`,
		"/a/.:dot":         `"dot"`,
		"/a/:dot:dot/b":    `"dot"`,
		"/a/%2e:dot":       `"dot"`,
		"/a/:long":         "bytes",
		"/a?q=:long":       "bytes",
		"/a/:id/:id/:date": `"date"`,
	} {
		outcome := r.call(e.URL+template, nil, values)
		effecttest.Ended(t, outcome, effect.Dead, effect.ReasonRequest, named)
	}
	require.Empty(t, e.requests())
}

func TestDeclaredParameterWithoutValueIsNotEatenByAShorterName(t *testing.T) {
	e, r := newEndpoint(t, nil), newRig(t)
	for _, schema := range []string{
		`[{"parameter":"id"},{"parameter":"id-card"}]`,
		`[{"name":"id"},{"name":"id-card"}]`,
		`{"type":"object","properties":{"id":{},"id-card":{}}}`,
	} {
		delivery := effectOf(e.URL+"/x/:id-card", nil, map[string]any{"id": "7"})
		delivery.Call.Event = json.RawMessage(`{"schema":` + schema + `}`)
		outcome := r.Deliver(t.Context(), delivery)
		require.Equal(t, effect.Dead, outcome.Verdict, schema)
		require.Contains(t, outcome.Error, `"id-card"`)

		delivery.Call.URL = e.URL + "/x?q=a:id-card"
		before := len(e.requests())
		require.Equal(t, effect.Done, r.Deliver(t.Context(), delivery).Verdict)
		require.Equal(t, "/x?q=a", e.requests()[before].uri)
	}
}

func TestSchemeHostPortAndUserAreNeverFilled(t *testing.T) {
	e, r := newEndpoint(t, nil), newRig(t)
	values := map[string]any{"host": "127.0.0.1", "port": "80", "scheme": "http", "user": "root", "u": e.URL, "appId": "x"}
	for _, template := range []string{
		"http://:host/x", "http://127.0.0.1::port/x", ":scheme://127.0.0.1/x", ":u", ":u/x", "//127.0.0.1/x", "/x", "",
		"ftp://127.0.0.1/x", "file:///etc/passwd", "http:127.0.0.1", "http://", "http:///x", "http://a b/", "http://[::1", "javascript:1",
	} {
		outcome := r.call(template, nil, values)
		effecttest.Ended(t, outcome, effect.Dead, effect.ReasonRequest)
	}
	host := strings.TrimPrefix(e.URL, "http://")
	require.Equal(t, effect.Done, r.call("http://:user@"+host+"/x", nil, values).Verdict)
	user, password, _ := basicOf(e.only(t))
	require.Equal(t, []string{"", "user"}, []string{user, password}, "the user part is literal")
}

func TestBodyTemplateKeepsTypesAndInjectsNothing(t *testing.T) {
	e, r := newEndpoint(t, nil), newRig(t)
	values := map[string]any{
		"n": json.Number("9007199254740993"), "s": "a", "yes": true, "null": nil, "quote": `","admin":true,"x":"`,
		"list": []any{json.Number("1.10"), "<"}, "map": map[string]any{":s": ":s"}, "id": "7", "idCard": "C9", "again": ":s",
	}
	for template, want := range map[string]string{
		`{"n":":n","s":":s","yes":":yes"}`:             `{"n":9007199254740993,"s":"a","yes":true}`,
		`{"list":":list","map":":map"}`:                `{"list":[1.10,"<"],"map":{":s":":s"}}`,
		`{"t":"n is :n, list is :list"}`:               `{"t":"n is 9007199254740993, list is [1.10,\"<\"]"}`,
		`{"q":":quote","t":"x:quote"}`:                 `{"q":"\",\"admin\":true,\"x\":\"","t":"x\",\"admin\":true,\"x\":\""}`,
		`{"a":":null","b":":missing","c":"<:null>"}`:   `{"a":null,"b":null,"c":"<>"}`,
		`{":s":[":s",{"deep":":id/:idCard"}]}`:         `{":s":["a",{"deep":"7/C9"}]}`,
		`":s"`:                                         `"a"`,
		`":again"`:                                     `":s"`,
		`{"n":12345678901234567890,"t":true,"z":null}`: `{"n":12345678901234567890,"t":true,"z":null}`,
		`{"t":"at 12:30, status:open :-) :8080"}`:      `{"t":"at 12:30, status:open :-) :8080"}`,
		`{"app":":appId"}`:                             `{"app":"clinic"}`,
	} {
		require.Equal(t, want, r.sent(e, e.URL, &repositories.Request{Body: json.RawMessage(template)}, values).body, template)
	}
}

func TestBodyThatCannotBeMadeIsRefused(t *testing.T) {
	e, r := newEndpoint(t, nil), newRig(t)
	big := strings.Repeat("x", 300_000)
	for _, template := range []string{`{"a":`, `{} {}`, `"a:big :big :big :big"`, `[":big",":big",":big",":big"]`} {
		outcome := r.call(e.URL, &repositories.Request{Body: json.RawMessage(template)}, map[string]any{"big": big})
		effecttest.Ended(t, outcome, effect.Dead, effect.ReasonRequest, "body")
	}
	require.Empty(t, e.requests())
}
