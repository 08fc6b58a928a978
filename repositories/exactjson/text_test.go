package exactjson_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/exactjson"
)

func TestTextFlawNamesWhatADecoderWouldReplace(t *testing.T) {
	t.Parallel()
	for text, flaw := range map[string]string{
		``: "", `"é\u00e9\ud7ff"`: "", `"\ud83d\ude00\uD83D\uDE00"`: "", `"\\ud800"`: "", `"\\\\ud800 \ufffd"`: "", "\"\ufffd\"": "",
		"\"caf\xe9\"": "byte 5 is 0xe9", "\xff": "byte 1 is 0xff", "\"\xed\xa0\x80\"": "byte 2 is 0xed",
		`"\ud800"`: `has \ud800`, `"\uDfff"`: `has \uDfff`, `"\\\ud800"`: `has \ud800`, `"\ud83d\ud83d\ude00"`: `has \ud83d`,
		`"\ude00\ud83d"`: `has \ude00`, `"\ud83dx\ude00"`: `has \ud83d`, `"\ud83d\\ude00"`: `has \ud83d`, `"\ud83d\u`: `has \ud83d`, `\ud8`: "",
	} {
		got := exactjson.TextFlaw([]byte(text))
		require.Equal(t, flaw == "", got == "", "%q: %s", text, got)
		require.Contains(t, got, flaw, text)
	}
}

// FuzzFlawlessTextsStayAsTheyAre decodes texts: only those with a flaw get another U+FFFD.
func FuzzFlawlessTextsStayAsTheyAre(f *testing.F) {
	f.Add([]byte(`"\ud83d\ude00\\ud800"`))
	f.Add([]byte(`"\ud83d\ud83d\ude00"`))
	f.Add([]byte("\"\xe9\""))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return
		}
		sent := strings.Count(string(raw), "\ufffd") + strings.Count(strings.ToLower(strings.ReplaceAll(string(raw), `\\`, "")), `\ufffd`)
		require.Equal(t, exactjson.TextFlaw(raw) == "", strings.Count(text, "\ufffd") == sent, "%q", raw)
	})
}
