package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher/llm/llmtest"
)

// faultyExamples has examples that fire their own tool, and some that do not.
const faultyExamples = `kind: tool
name: book
description: Book an appointment
schema:
- {parameter: day, type: string, required: true, allowedValues: [Monday, Tuesday]}
- {parameter: minutes, type: integer, minValue: 10}
examples:
- book me for [Monday](day)
- I want an appointment
- I cannot make it
- book me 5 minutes on Tuesday
---
kind: tool
name: cancel
description: Cancel an appointment
schema: [{parameter: name, type: string, required: true, ask: What is your name?}]
examples: [call off my appointment, i cannot make it]
---
kind: tool
name: move
description: Move an appointment
examples: [move my appointment]
`

const notedInFiles = `note: clinic.yaml:9:3: tool "book": examples/1: "I want an appointment" does not fire it without a model: it needs a value for day: say and mark one, as in [Monday](day), or give the parameter an ask, so that the user is asked for it
note: clinic.yaml:10:3: tool "book": examples/2: "I cannot make it" does not fire it without a model: "cancel" has the same example; leave it with one of them
note: clinic.yaml:11:3: tool "book": examples/3: "book me 5 minutes on Tuesday" does not fire it without a model: minutes: 5 is under the minimum of 10
note: clinic.yaml:17:37: tool "cancel": examples/1: "i cannot make it" does not fire it without a model: "book" has the same example; leave it with one of them
`

func TestValidateNotesExamplesThatDoNotFireTheirTool(t *testing.T) {
	inFolder(t)
	write(t, "clinic.yaml", faultyExamples)
	r := command(t, nil, "validate", "clinic.yaml")
	require.Equal(t, commandResult{0, "1 file, app clinic, 1 repository: no faults\n", notedInFiles}, r)
}

func TestApplyNotesExamplesBesideWhatStays(t *testing.T) {
	w := devInFolder(t)
	write(t, "clinic.yaml", faultyExamples)
	w.put("/v1/apps/clinic", "{}")
	w.put("/v1/apps/clinic/repositories/other", `{"tools":[{"name":"move-appointment","description":"Move my appointment","examples":["Move my appointment"]}]}`)
	w.put("/v1/apps/clinic/repositories/blank", `{"options":{"template":true},"tools":[{"name":"call-off","description":"Call off my appointment","examples":["call off my appointment"]}]}`)
	const same = `examples/0%s "move my appointment" fires "move-appointment" of repository "other" and not it without a model: both have this example; leave it with one of them`
	dry := w.run("apply", "clinic.yaml", "--dry-run")
	require.Zero(t, dry.code, dry.err)
	require.Equal(t, notedInFiles+fmt.Sprintf("note: clinic.yaml:22:12: tool \"move\": "+same+"\n", ":"), dry.err)
	require.Contains(t, w.ok("apply", "clinic.yaml"), fmt.Sprintf("note: repository default: tool \"move\": "+same+"\n", ""))
	require.NotContains(t, w.run("apply", "clinic.yaml", "--dry-run", "--prune").err, "move my appointment")
}

// noting writes a repository, and returns the notes of the answer.
func (w *world) noting(path, body string) []string {
	w.t.Helper()
	got := w.ask(w.replicas[0], "PUT", path, body)
	require.NoError(w.t, got.Err)
	require.Less(w.t, got.Status, 300, "%s", got.Body)
	return read[struct{ Notes []string }](w.t, got).Notes
}

func TestAWriteNotesExamplesThatDoNotFireTheirTool(t *testing.T) {
	t.Parallel()
	w := atDev(t, nil)
	w.put("/v1/apps/clinic", "{}")
	const app, session = "/v1/apps/clinic/repositories/", "/v1/apps/clinic/sessions/s/repositories/"
	require.Empty(t, w.noting(app+"r", `{"tools":[{"name":"book","description":"Book an appointment","examples":["book me for [Monday](day)","I want an appointment"],
		"schema":[{"parameter":"day","type":"string","required":true,"ask":"Which day?"}]}]}`), "the user is asked for what an example lacks")
	require.Equal(t, []string{
		`tool "down": examples/0 "sit down on Monday" fires "sit" and not it without a model: both have this example; leave it with one of them`,
		`tool "book" of repository "r": examples/0 "book me for Monday" fires "down" of repository "s" and not it without a model: both have this example; leave it with one of them`,
	}, w.noting(app+"s", `{"tools":[
		{"name":"sit","description":"Sit","examples":["let me sit","sit down on Monday"],"schema":[{"parameter":"chairs","type":"integer","required":true,"ask":"How many chairs?"}]},
		{"name":"down","description":"Down","examples":["sit down on Monday","book me for Monday"]}]}`))
	require.Equal(t, []string{
		`tool "lie": examples/0 "let me sit" fires "sit" of the app's repository "s" and not it without a model: both have this example; leave it with one of them`,
	}, w.noting(session+"mine", `{"tools":[{"name":"lie","description":"Lie down","examples":["let me sit","lie down"]}]}`))
	require.Empty(t, w.noting(app+"t", `{"options":{"template":true},"tools":[{"name":"lay","description":"Lay","examples":["let me sit"]}]}`), "a template is in no scope")
	w.put("/v1/apps/clinic", `{"authServices":[{"name":"google","type":"oidc","issuer":"https://login.example","audience":"clinic"}]}`)
	require.Empty(t, w.noting(app+"v", `{"tools":[{"name":"mine","description":"Show what is mine","authRequired":["google"],"examples":["show what is mine"],
		"schema":[{"parameter":"user","type":"string","required":true,"authServices":[{"name":"google","field":"sub"}]}]}]}`), "a token has the user")
	require.Empty(t, w.noting(app+"u", `{"tools":[{"name":"collect-user-message","examples":["let me sit"]}]}`), "it takes what nothing else does")
}

// TestAWriteDoesNotWaitForManyExamples has more than are said, in any time.
func TestAWriteDoesNotWaitForManyExamples(t *testing.T) {
	t.Parallel()
	w := atDev(t, nil)
	w.put("/v1/apps/clinic", "{}")
	many := func(tools int, of, examples string) string {
		list := make([]string, tools)
		for i := range list {
			list[i] = fmt.Sprintf(`{"name":"%s%d","examples":[%s]}`, of, i, strings.ReplaceAll(examples, "N", fmt.Sprint(of, i)))
		}
		return `{"tools":[` + strings.Join(list, ",") + `]}`
	}
	notes := w.noting("/v1/apps/clinic/repositories/r", many(201, "red", `"open N","shut N","paint N","clean N","sell N"`))
	require.Regexp(t, `^\d+ examples were not tried, as that takes long: earshot eval --examples tries all of them$`, notes[len(notes)-1])
	notes = w.noting("/v1/apps/clinic/repositories/s", many(1800, "blue", ``))
	require.Equal(t, []string{"examples are not tried among 2001 tools, as that takes long: earshot eval --examples does"}, notes)
}

func TestAWriteNotesNoExamplesWhereAModelDecides(t *testing.T) {
	t.Parallel()
	model := llmtest.New(t)
	w := atDev(t, map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": model.URL()})
	w.put("/v1/apps/clinic", "{}")
	require.Empty(t, w.noting("/v1/apps/clinic/repositories/r", `{"tools":[{"name":"a","examples":["go"]},{"name":"b","examples":["go"]}]}`))
	require.Zero(t, model.Count(), "nobody is asked")
}

func TestEvalTriesTheExamplesOfTools(t *testing.T) {
	w := devInFolder(t)
	write(t, "clinic.yaml", faultyExamples+`---
kind: authService
name: google
type: oidc
issuer: https://login.example
audience: clinic
---
kind: tool
name: mine
description: Show what is mine
authRequired: [google]
examples: [show what is mine]
`)
	r := command(t, nil, "eval", "--examples", "clinic.yaml", "--junit", "report.xml")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.err, "note: 1 example of tools that ask for a verified user are not tried\n")
	require.Contains(t, r.err, "earshot: 4 of 7 tests failed\n")
	require.Equal(t, `FAIL book: I want an appointment clinic.yaml:9
  line 9: "I want an appointment"
    expected book
    came     book without day (silent)
    why      Nothing fired: default/book was called for, and its values do not do.
`, r.out[:strings.Index(r.out, "FAIL book: I cannot")])
	require.Contains(t, r.out, "3 of 7 tests passed; of 7 messages with an expectation 3 came out right, 0 had a wrong effect, 4 had none\n")
	require.Contains(t, fileContent(t, "report.xml"), `<testcase name="book: book me for Monday" classname="clinic.yaml"></testcase>`)

	write(t, "clinic.yaml", strings.Replace(strings.Replace(faultyExamples, "- I want an appointment\n- I cannot make it\n- book me 5 minutes on Tuesday\n", "", 1), "call off my appointment", "call off", 1))
	r = command(t, nil, "eval", "--examples", "clinic.yaml")
	require.Zero(t, r.code, r.out)
	require.Contains(t, r.out, "4 of 4 tests passed;")
	w.ok("apply", "clinic.yaml")
	there := w.run("eval", "--examples", "--server", w.env["EARSHOT_URL"])
	require.Zero(t, there.code, there.out+there.err)
	require.Equal(t, r.out, there.out)

	w.put("/v1/apps/clinic/repositories/other", `{"tools":[{"name":"move-appointment","description":"Move my appointment","examples":["Move my appointment"]}]}`)
	there = w.run("eval", "--examples", "--server", w.env["EARSHOT_URL"])
	require.Equal(t, 1, there.code)
	require.Contains(t, there.out, "FAIL move: move my appointment\n  \"move my appointment\"\n    expected move\n    came     move-appointment (wrong)\n")
	require.Equal(t, 1, command(t, nil, "eval", "--examples").code, "no files and no service")
	write(t, "none.yaml", "kind: tool\nname: book\ndescription: Book\n")
	require.Contains(t, command(t, nil, "eval", "--examples", "none.yaml").err, "no tool has an example that can be tried")
}
