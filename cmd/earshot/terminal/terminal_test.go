package terminal_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/cmd/earshot/terminal"
)

func TestOnlyATerminalGetsColours(t *testing.T) {
	lookup := func(string) (string, bool) { return "", false }
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer file.Close()
	require.Equal(t, "text", terminal.StyleOf(file, lookup).Paint(terminal.Red, "text"))
	require.Equal(t, "text", terminal.StyleOf(&strings.Builder{}, lookup).Paint(terminal.Bold, "text"))
}

func TestWhatOthersHaveWrittenDoesNotSteerTheTerminal(t *testing.T) {
	require.Equal(t, "a�[31mred\n\tb�", terminal.Printable("a\x1b[31mred\n\tb\x07"))
	require.Equal(t, "a b c�", terminal.OneLine(" a\n\tb\nc\u009b"))
	require.Equal(t, "a�b�c�א\u200f", terminal.Printable("a\u202eb\u2066c\u2069א\u200f"), "a mark changes the place of no other text")
}

func TestValuesStayInALine(t *testing.T) {
	require.Equal(t, `{"a":[1,2]}`, terminal.Value(map[string]any{"a": []int{1, 2}}))
	require.Equal(t, "?", terminal.Value(func() {}))
	long := terminal.Value(strings.Repeat("é", 200))
	require.Equal(t, `"`+strings.Repeat("é", 98)+"…", long)
	require.Equal(t, `{"a":1}`, string(terminal.Compact([]byte("{ \"a\":\n1 }"))))
	require.Equal(t, "no JSON", string(terminal.Compact([]byte("no\nJSON"))))
}

func none(string) (string, bool) { return "", false }

func TestEventsAreShownInAFewWords(t *testing.T) {
	var plain terminal.Style
	for _, test := range []struct{ subject, data, want string }{
		{"tool.trigger.clinic.s1.book", `{"sessionId":"s1","name":"book","values":{"day":"Friday","n":12345678901234567890,"who":"Mr X"}}`,
			`12:00  trigger      clinic/s1  book  day=Friday n=12345678901234567890 who="Mr X"`},
		{"tool.trigger.clinic.s1.note", `{"sessionId":"s1","name":"note","values":{"a":"","b":"x=y","c":"\"","d":"é"}}`,
			`12:00  trigger      clinic/s1  note  a="" b="x=y" c="\"" d=é`},
		{"tool.trigger", `{"name":"book"}`, `12:00  tool.trigger            {"name":"book"}`},
		{"app.clinic.calendar.request", `{"name":"book","values":{}}`, "12:00  emitter      clinic    book  calendar.request"},
		{"tool.result.clinic._.book", `{"name":"book","ok":true,"status":200,"result":{"a": [1]}}`, `12:00  result       clinic    book  200 {"a":[1]}`},
		{"tool.result.clinic._.book", `{"name":"book","ok":false,"reason":"auth","error":"no\ntoken"}`, "12:00  result       clinic    book  failed (auth): no token"},
		{"tool.rejected.clinic.s1.book", `{"sessionId":"s1","name":"book","errors":[{"parameter":"day","detail":"is required"}]}`, "12:00  rejected     clinic/s1  book  day is required"},
		{"chat.message.clinic.s1", `{"sessionId":"s1","messageId":"m1","actor":"agent","text":"Hello\n"}`, "12:00  chat         clinic/s1  agent  Hello"},
		{"chat.failed.clinic.s1", `{"sessionId":"s1","messageId":"m1","reason":"the model is away"}`, "12:00  chat         clinic/s1  message m1 is not decided: the model is away"},
		{"tool.notmatching.clinic.s1", `{"sessionId":"s1","tools":["a","b"]}`, "12:00  notmatching  clinic/s1  none of a, b"},
		{"tool.notmatching.clinic.s1", `{"sessionId":"s1","tools":["a","b"],"toolsTotal":2}`, "12:00  notmatching  clinic/s1  none of a, b"},
		{"tool.notmatching.clinic.s1", `{"sessionId":"s1","tools":["a","b"],"toolsTotal":9}`, "12:00  notmatching  clinic/s1  none of a, b and 7 more"},
		{"tool.changed.clinic.desk", `{"repositoryId":"desk","operation":"updated","record":{"tools":[{},{}]}}`, "12:00  changed      clinic    desk  updated, tools: 2"},
		{"tool.later.clinic.s1.x", `{"sessionId":"s1", "name":"x"}`, `12:00  later        clinic/s1  x  {"sessionId":"s1","name":"x"}`},
		{"tool.trigger.clinic.s1.book", "no JSON\x1b[31m", "12:00  tool.trigger.clinic.s1.book            no JSON\uFFFD[31m"},
	} {
		require.Equal(t, test.want, terminal.EventOf(test.subject, []byte(test.data)).Line(plain, "12:00", 0))
	}
	cut := terminal.EventOf("tool.trigger.clinic.s1.book", []byte(`{"sessionId":"s1","name":"预订","values":{"who":"一二三四五六七八九十一二三四五六七八九十"}}`))
	require.Equal(t, "12:00  trigger      clinic/s1  预订  who=一二三四…", cut.Line(plain, "12:00", 50))
}

func TestATableTakesTwoLinesWhereOneIsTooLong(t *testing.T) {
	rows := [][]string{{"STATE", "TOOL", "ID"}, {"failed", "a-tool-with-a-long-name", "0123456789"}}
	show := func(columns int) string {
		var out strings.Builder
		terminal.Table{Columns: columns, Below: 2}.Print(&out, rows, func(string) string { return terminal.Red })
		return out.String()
	}
	require.Equal(t, "STATE   TOOL                     ID\nfailed  a-tool-with-a-long-name  0123456789\n", show(0))
	require.Equal(t, show(0), show(43))
	require.Equal(t, "STATE   TOOL\n  ID\nfailed  a-tool-with-a-long-name\n  0123456789\n", show(42))
	require.Equal(t, "STATE   TOOL\n  ID\nfailed  a-tool-with…\n  0123456789\n", show(20))

	var whole strings.Builder
	terminal.Table{Columns: 20, Below: 3}.Print(&whole, rows, func(string) string { return "" })
	require.Equal(t, "STATE   TOOL      ID\nfailed  a-tool-…  0123456…\n", whole.String(), "nothing is beneath")
}

func TestTheScreenIsAsWideAsColumnsSays(t *testing.T) {
	require.Zero(t, terminal.Width(&strings.Builder{}, none))
	require.Equal(t, 60, terminal.Width(&strings.Builder{}, func(string) (string, bool) { return "60", true }))
	require.Equal(t, "one two\nthree\n\nfour", terminal.Wrap("one\ntwo three\n\nfour", 8))
	require.Equal(t, "one two\nthree", terminal.Wrap("one two\nthree", 0))
}
