package plan

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/cmd/earshot/client"
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
		require.NoError(t, client.Decode([]byte(test.before), &before))
		require.NoError(t, client.Decode([]byte(test.after), &after))
		require.Equal(t, test.want, differences("", before, after), name)
	}
}
