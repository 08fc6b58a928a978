package parameters_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/repositories/parameters"
)

func pastingTool(t *testing.T, parameters string) (*repositories.Tool, error) {
	t.Helper()
	r, err := repositories.DecodeRepository(repositories.Scope{AppID: "clinic"}, "r", []byte(`{"tools":[{"name":"t","type":"sqlite-sql","source":"db",
	  "statement":"select * from t where {{.p}}","templateParameters":[`+parameters+`]}]}`))
	if err != nil {
		return nil, err
	}
	return &r.Tools[0], nil
}

func TestControlCharactersArePastedNowhere(t *testing.T) {
	for _, c := range []struct{ fields, value, want string }{
		{`"type":"string"`, `"t\u0000"`, `"t\u0000" has the control character U+0000, which is never pasted into a statement`},
		{`"type":"string","allowedValues":[".*","(?s).*"],"escape":"double-quotes"`, `"a\nb"`, `"a\nb" has the control character U+000A, which is never pasted into a statement`},
		{`"type":"string"`, `"\u007f"`, "\"\u007f\" has the control character U+007F, which is never pasted into a statement"},
		{`"type":"string"`, `"\u0085"`, "\"\u0085\" has the control character U+0085, which is never pasted into a statement"},
		{`"type":"array","items":{"name":"i","type":"string","description":"d"}`, `["a","b\u0000"]`, `p[1]: "b\u0000" has the control character U+0000, which is never pasted into a statement`},
		{`"type":"map"`, `{"a":{"b":"\t"}}`, `p.a.b: "\t" has the control character U+0009, which is never pasted into a statement`},
		{`"type":"map"`, `{"a\u0000":1}`, `"a\u0000" has the control character U+0000, which is never pasted into a statement`},
		{`"type":"string","escape":"single-quotes"`, `"größer; 日本"`, ``},
	} {
		tool, err := pastingTool(t, `{"name":"p","description":"d",`+c.fields+`}`)
		require.NoError(t, err)
		values, err := parameters.DecodeValues([]byte(`{"p":` + c.value + `}`))
		require.NoError(t, err)
		var want []parameters.ValueFault
		if c.want != "" {
			want = []parameters.ValueFault{{Parameter: "p", Detail: c.want}}
		}
		_, faults := tool.Params().Check(values)
		require.Equal(t, want, faults, "a program's %s", c.value)
		require.Equal(t, want, tool.Params().Read(values).Errors, "a model's %s", c.value)
		_, err = pastingTool(t, `{"name":"p","description":"d","value":`+c.value+`,`+c.fields+`}`)
		require.Equal(t, c.want == "", err == nil, "a static %s: %v", c.value, err)
	}
	_, err := repositories.DecodeRepository(repositories.Scope{AppID: "clinic"}, "r", []byte(`{"tools":[{"name":"t","type":"sqlite-sql","source":"db","statement":"select 1 \u0000 from x"}]}`))
	require.ErrorContains(t, err, "/tools/0/statement: has a zero byte")
}

func TestWhatIsBoundMayHaveControlCharacters(t *testing.T) {
	_, faults := checked(t, only(t, `"type":"string"`), `"two\nlines"`)
	require.Empty(t, faults)
}
