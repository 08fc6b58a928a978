package eval_test

import (
	_ "embed"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/cmd/earshot/eval"
	"earshot/cmd/earshot/terminal"
	"earshot/matcher/chain"
	"earshot/matcher/llm"
	"earshot/repositories/files"
	"earshot/trigger/trial"
)

// lamps is what the tests of the command are about as well.
//
//go:embed testdata/lamps.yaml
var lamps string

// evaluate runs the tests of a file, and returns the output and the failures.
func evaluate(t *testing.T, text string, of llm.Options) (printed, failures string) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("home.yaml", []byte(text), 0o600))
	set, err := files.Read([]string{"home.yaml"}, files.Options{Lookup: os.LookupEnv, Tests: true})
	require.NoError(t, set.JoinCheck(err))
	process, err := trial.InProcess(set, chain.New(of), llm.DefaultHistory, time.Now)
	require.NoError(t, err)
	report := trial.Run(t.Context(), set.Tests, process)
	var out strings.Builder
	eval.Print(&out, report, terminal.Style{}, 0)
	return out.String(), report.Failures()
}

func TestConversationsAreHeldAndWhatCameIsCompared(t *testing.T) {
	for name, test := range map[string]struct {
		text     string
		of       llm.Options
		failures string
		printed  []string
	}{
		"of several messages": {lamps + `---
kind: test
name: a room that is asked for
chat:
  - user: turn on the light
  - expect: {rejected: light-on, missing: [room]}
  - agent: In which room?
  - user: the office
  - expect: {tool: light-on, values: {room: office}}
  - user: thanks
  - expect: {none: true}
`, llm.Options{}, "", []string{
			"1 of 1 tests passed; of 3 messages with an expectation 3 came out right",
			"light-on  100 % (1 of 1)  100 % (1 of 1)  100 % (1 of 1)",
		}},
		"with wrong effects": {lamps + `---
kind: test
name: the wrong room
chat:
  - user: turn on the light in the kitchen
  - expect: {tool: light-on, values: {room: office}}
---
kind: test
name: a radio that nobody expected
chat:
  - user: turn on the radio
  - expect: {none: true}
  - user: good morning
  - expect: {tool: radio-on}
`, llm.Options{}, "2 of 2 tests failed", []string{
			"FAIL the wrong room home.yaml:17",
			`    expected light-on {"room":"office"}` + "\n    came     light-on {\"room\":\"kitchen\"} (wrong)\n    why      Fired default/light-on.",
			"    expected nothing\n    came     radio-on (wrong)",
			"    expected radio-on\n    came     nothing (silent)\n    why      Nothing fired: ",
			"0 of 2 tests passed; of 3 messages with an expectation 0 came out right, 2 had a wrong effect, 1 had none",
		}},
		"with a model that is down, whose silence is no answer": {lamps + `---
kind: test
name: by a model
chat:
  - user: open the window
  - expect: {none: true}
`, llm.Options{BaseURL: "http://127.0.0.1:1/v1"}, "1 of 1 test failed", []string{"FAIL by a model", "was not decided: the LLM is not available"}},
	} {
		t.Run(name, func(t *testing.T) {
			printed, failures := evaluate(t, test.text, test.of)
			require.Equal(t, test.failures, failures)
			for _, want := range test.printed {
				require.Contains(t, printed, want)
			}
		})
	}
}
