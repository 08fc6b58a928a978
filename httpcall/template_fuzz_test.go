package httpcall

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzURL looks for a value or a template that reaches a part of the URL that values
// must not reach.
func FuzzURL(f *testing.F) {
	f.Add("/book/:id", "x=:id", "2026-12-01", "7")
	f.Add("/:id/:idCard", "q=:idCard&:id", "../..", "a&b=c#d?e")
	f.Add("/a%2Fb/:id-x", "", "..", "$&")
	f.Fuzz(func(t *testing.T, path, query, id, card string) {
		if strings.ContainsAny(path, "?#") || strings.Contains(query, "#") {
			t.Skip("these end the part that is looked at")
		}
		template := "https://user:pw@host.example:8443/" + path + "?" + query
		given, err := url.Parse(template)
		if err != nil {
			t.Skip("no URL")
		}
		names := &variables{values: map[string]any{"id": id, "idCard": card, appIDName: "clinic"}}
		filled, err := fillURL(template, names)
		if err != nil {
			return
		}
		require.Equal(t, "https://user:pw@host.example:8443", filled.Scheme+"://"+filled.User.String()+"@"+filled.Host)
		require.Equal(t, strings.Count(given.EscapedPath(), "/"), strings.Count(filled.EscapedPath(), "/"), "a value added a segment")
		require.Equal(t, strings.Count(query, "&"), strings.Count(filled.RawQuery, "&"), "a value added a query parameter")
		require.NotContains(t, filled.EscapedPath(), "?")
		again, err := url.Parse(filled.String())
		require.NoError(t, err)
		require.Equal(t, filled.Host, again.Host)
		require.Equal(t, filled.EscapedPath(), again.EscapedPath())
	})
}

// FuzzBody looks for a value that changes the shape of a body.
func FuzzBody(f *testing.F) {
	f.Add(`{"a":":id","b":["x :idCard"]}`, `"`, "\\")
	f.Add(`":id"`, "\u2028", "\xff")
	f.Fuzz(func(t *testing.T, template, id, card string) {
		names := &variables{values: map[string]any{"id": id, "idCard": card}}
		filled, err := names.fillBody(json.RawMessage(template))
		if err != nil {
			return
		}
		var before, after any
		require.NoError(t, json.Unmarshal([]byte(template), &before))
		require.NoError(t, json.Unmarshal(filled, &after))
		require.Equal(t, shape(before), shape(after))
	})
}

// shape replaces all strings and nulls, which a placeholder may become, by one mark.
func shape(node any) any {
	switch node := node.(type) {
	case string, nil:
		return "·"
	case []any:
		for i := range node {
			node[i] = shape(node[i])
		}
	case map[string]any:
		for name := range node {
			node[name] = shape(node[name])
		}
	}
	return node
}
