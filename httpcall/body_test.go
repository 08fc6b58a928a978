package httpcall_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/trigger/effect"
)

func TestBodyTemplateKeepsTypesAndInjectsNothing(t *testing.T) {
	e := newEndpoint(t, nil)
	r := newRig(t)
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
		before := len(e.requests())
		outcome := r.call(e.URL, &repositories.Request{Body: json.RawMessage(template)}, values)
		require.Equal(t, effect.Done, outcome.Verdict, "%s: %s", template, outcome.Error)
		require.Equal(t, want, e.requests()[before].body, template)
	}
}

func TestBodyThatCannotBeMadeIsRefused(t *testing.T) {
	e := newEndpoint(t, nil)
	r := newRig(t)
	big := strings.Repeat("x", 300_000)
	for name, template := range map[string]string{
		"no JSON":         `{"a":`,
		"two values":      `{} {}`,
		"grows in text":   `"a:big :big :big :big"`,
		"grows in values": `[":big",":big",":big",":big"]`,
	} {
		outcome := r.call(e.URL, &repositories.Request{Body: json.RawMessage(template)}, map[string]any{"big": big})
		require.Equal(t, effect.Dead, outcome.Verdict, name)
		require.Equal(t, effect.ReasonRequest, outcome.Reason, name)
		require.Contains(t, outcome.Error, "body", name)
	}
	require.Empty(t, e.requests())
}
