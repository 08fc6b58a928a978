package httpcall_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/trigger/effect"
)

func TestResultIsJSONOrAStringOfTheText(t *testing.T) {
	for name, test := range map[string]struct{ body, want string }{
		"object, compacted":          {" { \"a\" : [ 1 , 2 ] }\n", `{"a":[1,2]}`},
		"numbers as written":         {`{"n":9007199254740993,"m":1.10,"e":1E400}`, `{"n":9007199254740993,"m":1.10,"e":1E400}`},
		"members in their order":     {`{"b":1,"a":2,"b":3}`, `{"b":1,"a":2,"b":3}`},
		"no HTML escapes":            {`{"a":"<&>"}`, `{"a":"<&>"}`},
		"a scalar":                   {"42", "42"},
		"a byte order mark":          {"\ufeff{\"a\":1}", `{"a":1}`},
		"text":                       {"thank <you>\n", `"thank <you>\n"`},
		"half a JSON":                {`{"a":`, `"{\"a\":"`},
		"two JSONs":                  {`{} {}`, `"{} {}"`},
		"bytes that are no UTF-8":    {"a\xff\xfeb", `"a�b"`},
		"JSON with bytes of no code": {"\"a\xff\"", `"a�"`},
		"nothing":                    {"", ""},
		"white space":                {" \n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t, says(200, test.body))
			outcome := newRig(t).call(e.URL, nil, nil)
			require.Equal(t, effect.Done, outcome.Verdict)
			require.Equal(t, test.want, string(outcome.Result))
			require.Equal(t, test.want == "", outcome.Result == nil)
			require.False(t, outcome.Truncated)
		})
	}
}

func TestResultIsCutAt64KiBOnACharacter(t *testing.T) {
	const most = 64 << 10
	for name, test := range map[string]struct {
		body string
		cut  bool
		keep int
	}{
		"just fits":              {strings.Repeat("a", most), false, most},
		"one too many":           {strings.Repeat("a", most+1), true, most},
		"cut within a character": {strings.Repeat("a", most-1) + "ü", true, most - 1},
		"two at the end":         {strings.Repeat("a", most-2) + "ü", false, most},
		"JSON too long is text":  {`["` + strings.Repeat("a", most) + `"]`, true, most},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t, says(200, test.body))
			outcome := newRig(t).call(e.URL, nil, nil)
			require.Equal(t, effect.Done, outcome.Verdict)
			require.Equal(t, test.cut, outcome.Truncated)
			var text string
			require.NoError(t, json.Unmarshal(outcome.Result, &text))
			require.Equal(t, test.body[:test.keep], text)
		})
	}
}

func TestCompressedAnswerIsReadAndStillCut(t *testing.T) {
	e := newEndpoint(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		zipped := gzip.NewWriter(w)
		defer zipped.Close()
		_, _ = io.WriteString(zipped, strings.Repeat("a", 1<<20))
	})
	outcome := newRig(t).call(e.URL, nil, nil)
	require.True(t, outcome.Truncated)
	require.Len(t, outcome.Result, 64<<10+2)
}

func TestRefusalKeepsItsBody(t *testing.T) {
	e := newEndpoint(t, says(422, `{"detail":"closed on Sundays"}`))
	outcome := newRig(t).call(e.URL, nil, nil)
	require.Equal(t, effect.Dead, outcome.Verdict)
	require.JSONEq(t, `{"detail":"closed on Sundays"}`, string(outcome.Result))
}
