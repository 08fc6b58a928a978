package effect_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/fault"
	"earshot/trigger/effect"
)

func TestAnAnswerSaysOneThing(t *testing.T) {
	for body, want := range map[string]effect.Answer{
		`{"ok":true}`: {OK: true},
		`{"ok":true,"result":{"n":9007199254740993}}`: {OK: true, Result: json.RawMessage(`{"n":9007199254740993}`)},
		`{"ok":true,"result":"page 8","error":null}`:  {OK: true, Result: json.RawMessage(`"page 8"`)},
		`{"ok":false,"error":"closed"}`:               {Error: "closed"},
	} {
		given, err := effect.ReadAnswer([]byte(body))
		require.NoError(t, err, body)
		require.Equal(t, want, given, body)
	}
	for body, place := range map[string]string{
		``: "", `yes`: "", `[]`: "", `{}`: "/ok", `{"ok":"true"}`: "/ok", `{"OK":true}`: "/OK",
		`{"ok":false}`: "/error", `{"ok":false,"error":7}`: "/error", `{"ok":true,"error":"it broke"}`: "/error",
		`{"ok":true,"ok":false,"error":"z"}`: "/ok", `{"ok":false,"error":"e","result":1}`: "/result",
		`{"ok":true,"x":1}`: "/x", `{"ok":true,"cancelled":true}`: "/cancelled", `{"ok":true,"truncated":true}`: "/truncated",
		"{\"ok\":true,\"result\":\"\xff\"}": "", `{"ok":true} {}`: "",
	} {
		_, err := effect.ReadAnswer([]byte(body))
		var faults fault.List
		require.ErrorAs(t, err, &faults, body)
		require.Equal(t, place, faults[0].Pointer, body)
	}
}
