package sqlquery

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/stretchr/testify/require"
)

func TestArrayTextIsReadAsItWasWritten(t *testing.T) {
	for _, list := range []string{`[]`, `["a","b"]`, `["a\"b","c\\d","{e,f}",""," g ","NULL",null]`, `[["a","b"],["c","d"]]`, `["é","a\nb","'"]`} {
		var members []any
		require.NoError(t, json.Unmarshal([]byte(list), &members))
		read, ok := readArray([]byte(arrayText(members, pgtype.TextArrayOID)), pgtype.TextArrayOID)
		require.True(t, ok, list)
		require.JSONEq(t, list, string(read))
	}
}

func FuzzArray(f *testing.F) {
	for _, seed := range []string{`{a,b}`, `{"a\"b",NULL}`, `{{1,2},{3,4}}`, `[0:1]={1,2}`, `{`, `{"`, `{,}`, `{{{{{{{1}}}}}}}`, `[1:-1][1:-1]={1}`, `[1:1][1:0]={}`, "\xb2,"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, given string) {
		if read, ok := readArray([]byte(given), pgtype.TextArrayOID); ok {
			require.True(t, json.Valid(read), "%q became %q", given, read)
		}
		list := []any{given, nil, given}
		read, ok := readArray([]byte(arrayText(list, pgtype.TextArrayOID)), pgtype.TextArrayOID)
		require.True(t, ok, "%q", given)
		require.JSONEq(t, "["+string(text(given))+",null,"+string(text(given))+"]", string(read))
	})
}

func FuzzOneStatement(f *testing.F) {
	for _, seed := range []string{"select 1", "select ';'", "a;b", "/*;*/", "--;\n;x", `";"`, "[;]", "';"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		if !strings.Contains(sql, ";") {
			require.True(t, oneStatement(sql))
		}
		quoted := "select '" + strings.ReplaceAll(sql, "'", "''") + "'"
		require.True(t, oneStatement(quoted), "%q", quoted)
		require.False(t, oneStatement(quoted+"; x"), "%q", quoted)
	})
}
