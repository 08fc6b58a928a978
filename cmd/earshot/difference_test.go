package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDifferencesNameFieldsAndMembers(t *testing.T) {
	for name, test := range map[string]struct {
		before, after string
		want          []string
	}{
		"nothing":                {`{"a":[1,{"b":2}]}`, `{"a":[1,{"b":2}]}`, nil},
		"digits":                 {`{"a":9007199254740992}`, `{"a":9007199254740993}`, []string{`a: 9007199254740992 → 9007199254740993`}},
		"fields":                 {`{"a":1,"b":{"c":true}}`, `{"b":{"c":false},"d":null,"e":"x"}`, []string{`a: 1 is gone`, `b/c: true → false`, `e: "x" is new`}},
		"lists without names":    {`{"a":[1,2]}`, `{"a":[2,1]}`, []string{`a: [1,2] → [2,1]`}},
		"members":                {`{"t":[{"name":"a","x":1},{"name":"b"}]}`, `{"t":[{"name":"c"},{"name":"a","x":2}]}`, []string{`t/b is gone`, `t/c is new`, `t/a/x: 1 → 2`}},
		"their order":            {`{"t":[{"name":"a"},{"name":"b"}]}`, `{"t":[{"name":"b"},{"name":"a"}]}`, []string{`t: the order is another`}},
		"a list that is new":     {`{}`, `{"t":[{"name":"a"}]}`, []string{`t/a is new`}},
		"names that are not one": {`{"t":[{"name":"a"},{"name":"a"}]}`, `{"t":[]}`, []string{`t: [{"name":"a"},{"name":"a"}] → []`}},
		"a credential":           {`{"p":"***"}`, `{"p":"hunter2"}`, []string{`p: a credential is another`}},
		"one that is new":        {`{}`, `{"p":"***"}`, []string{`p: a credential is another`}},
	} {
		var before, after any
		require.NoError(t, decodeJSON([]byte(test.before), &before))
		require.NoError(t, decodeJSON([]byte(test.after), &after))
		require.Equal(t, test.want, differences("", before, after), name)
	}
}

func TestUnifiedDiffShowsEveryLineOnce(t *testing.T) {
	require.Equal(t, "--- f\n+++ f\n@@ -1,3 +1,3 @@\n a\n-b\n c\n+d\n", unifiedDiff("f", "a\nb\nc\n", "a\nc\nd\n"))
	require.Equal(t, "--- f\n+++ f\n@@ -1,1 +1,1 @@\n-a\n+b\n", unifiedDiff("f", "a", "b"))
}
