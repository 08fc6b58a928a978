package main

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher/llm/llmtest"
)

const lamps = `kind: app
name: home
---
kind: tool
name: light-on
description: Switch a light on
schema:
  - {parameter: room, type: string, required: true, allowedValues: [kitchen, office]}
examples: ["turn on the light in the kitchen"]
---
kind: tool
name: radio-on
description: Play the radio
examples: ["turn on the radio", "radio on"]
`

const lampTests = `---
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
`

func TestEvalHoldsAConversationOfSeveralMessages(t *testing.T) {
	inFolder(t)
	write(t, "home.yaml", lamps+lampTests)
	r := command(t, nil, "eval", "-f", "home.yaml")
	require.Zero(t, r.code, r.out+r.err)
	require.Contains(t, r.out, "1 of 1 tests passed; of 3 messages with an expectation 3 came out right")
	require.Contains(t, r.out, "light-on  100 % (1 of 1)  100 % (1 of 1)  100 % (1 of 1)")
}

func TestEvalSaysWhatWasExpectedAndWhatCame(t *testing.T) {
	inFolder(t)
	write(t, "home.yaml", lamps+`---
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
`)
	r := command(t, nil, "eval", "home.yaml")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.err, "2 of 2 tests failed")
	require.Contains(t, r.out, "FAIL the wrong room home.yaml:17")
	require.Contains(t, r.out, `    expected light-on {"room":"office"}`+"\n    came     light-on {\"room\":\"kitchen\"} (wrong)\n    why      Fired default/light-on.")
	require.Contains(t, r.out, "    expected nothing\n    came     radio-on (wrong)")
	require.Contains(t, r.out, "    expected radio-on\n    came     nothing (silent)\n    why      Nothing fired: ")
	require.Contains(t, r.out, "0 of 2 tests passed; of 3 messages with an expectation 0 came out right, 2 had a wrong effect, 1 had none")
}

const doorTests = lamps + `---
kind: tool
name: open-door
description: Open the front door
confirm: once
examples: ["open the front door"]
---
kind: test
name: a door that is asked about
now: 2026-11-20T09:30:00+01:00
chat:
  - user: open the front door
  - expect: {tool: open-door}
  - user: "no"
  - expect: {none: true}
  - user: open the front door
  - user: "yes"
  - expect: {tool: open-door}
  - user: "yes"
  - expect: {none: true}
` + lampTests

// TestEvalOfAServiceComesOutAsInProcess holds the conversations by dry runs, which leave nothing
// behind.
func TestEvalOfAServiceComesOutAsInProcess(t *testing.T) {
	w := devInFolder(t)
	write(t, "home.yaml", doorTests)
	w.ok("apply", "home.yaml")
	here, there := command(t, nil, "eval", "home.yaml", "--json"), w.run("eval", "home.yaml", "--json", "--server", w.env["EARSHOT_URL"])
	require.Zero(t, here.code, here.err)
	require.Zero(t, there.code, there.err)
	var one, other map[string]any
	require.NoError(t, json.Unmarshal([]byte(here.out), &one))
	require.NoError(t, json.Unmarshal([]byte(there.out), &other))
	require.Equal(t, one["tools"], other["tools"])
	require.EqualValues(t, 7, other["right"])
	require.Equal(t, "there are none", strings.TrimSpace(w.ok("triggers")))
}

// bookings calls for a tool whatever the tests say.
const bookings = `kind: tool
name: book
description: Book a table
schema: [{parameter: day, type: string, required: true}]
---
kind: test
name: by a model
chat:
  - user: call book {"day":"monday"}
  - expect: {tool: book, values: {day: Monday}}
  - user: hello
  - expect: {none: true}
`

func TestEvalReplaysWhatItHasRecordedWithoutAKeyOrAClock(t *testing.T) {
	inFolder(t)
	write(t, "book.yaml", bookings)
	model := llmtest.New(t)
	model.Handle(obey)
	const key = "sk-planted-71f0c3"
	env := map[string]string{"OPENAI_API_KEY": key, "OPENAI_BASE_URL": model.URL(), "OPENAI_MODEL": "small"}
	r := command(t, env, "eval", "book.yaml", "--record", "answers.json")
	require.Zero(t, r.code, r.out+r.err)
	asked := model.Count()
	require.NotContains(t, fileContent(t, "answers.json"), key)
	require.NotContains(t, r.out+r.err, key)

	write(t, "book.yaml", strings.Replace(bookings, "name: by a model", "name: by a model\nnow: 2031-02-03T04:05:06Z\ntimeZone: Asia/Tokyo", 1))
	r = command(t, map[string]string{"OPENAI_MODEL": "other"}, "eval", "book.yaml", "--replay", "answers.json")
	require.Zero(t, r.code, r.out+r.err)
	require.Equal(t, asked, model.Count(), "nobody is asked")

	write(t, "book.yaml", strings.Replace(bookings, "user: hello", "user: something else", 1))
	r = command(t, nil, "eval", "book.yaml", "--replay", "answers.json", "--junit", "report.xml")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.out, `"something else" was not decided: `)
	require.Contains(t, r.out, "was not recorded")
	require.Contains(t, fileContent(t, "report.xml"), `<testsuite name="book.yaml" tests="1" failures="0" errors="1">`)
}

func TestEvalFailsWhereTheModelIsDown(t *testing.T) {
	inFolder(t)
	write(t, "book.yaml", strings.ReplaceAll(bookings, "expect: {tool: book, values: {day: Monday}}", "expect: {none: true}"))
	r := command(t, map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, "eval", "book.yaml")
	require.Equal(t, 1, r.code, "silence is no answer")
	require.Contains(t, r.out, "FAIL by a model")
	require.Contains(t, r.out, "was not decided: the LLM is not available")
}

func TestEvalReportsForContinuousIntegration(t *testing.T) {
	inFolder(t)
	write(t, "home.yaml", doorTests)
	r := command(t, nil, "eval", "home.yaml", "--json")
	require.Zero(t, r.code, r.err)
	write(t, "before.json", r.out)

	write(t, "home.yaml", strings.ReplaceAll(doorTests, "values: {room: office}", "values: {room: kitchen}"))
	r = command(t, nil, "eval", "home.yaml", "--junit", "report.xml", "--compare", "before.json")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.out, "worse: test a room that is asked for passed before: line ")
	require.Contains(t, r.out, "worse: tool light-on: values was 100 %, and is 0 %")
	require.NotContains(t, r.out, "worse: tool light-on: precision", "of tools alone")
	var suites struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Suites   []struct {
			Cases []struct {
				Name    string `xml:"name,attr"`
				Failure *struct {
					Message string `xml:"message,attr"`
				} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	require.NoError(t, xml.Unmarshal([]byte(fileContent(t, "report.xml")), &suites))
	require.Equal(t, 2, suites.Tests)
	require.Equal(t, 1, suites.Failures)
	require.Len(t, suites.Suites[0].Cases, 2)
	require.Nil(t, suites.Suites[0].Cases[0].Failure)
	require.Contains(t, suites.Suites[0].Cases[1].Failure.Message, `"the office" came to light-on {"room":"office"} (wrong)`)
}

func TestEvalReadsTheTestsOfASERMASApp(t *testing.T) {
	inFolder(t)
	require.NoError(t, os.Mkdir("tests", 0o700))
	write(t, "app.yaml", "appId: home\nname: Home\n")
	write(t, "tools.yaml", "- name: radio-on\n  description: Play the radio\n  examples: [\"turn on the radio\"]\n")
	write(t, "tests/radio.yaml", "appId: home\nsettings: {chatModeEnabled: false}\nchat:\n- message: turn on the radio\n  evaluation: the radio plays\n- expect: {tool: radio-on}\n- message: thanks\n  wait: 100\n")
	r := command(t, nil, "eval", "-f", ".")
	require.Zero(t, r.code, r.out+r.err)
	require.Contains(t, r.out, "1 of 1 tests passed; of 1 messages")
	require.Contains(t, r.err, "tests/radio.yaml:5:3: test \"radio\": evaluation is left out: a model would have to judge it")
	require.Contains(t, r.err, "settings is left out")
	require.Contains(t, command(t, nil, "validate", ".").out, "1 test: no faults")
}

func TestFaultsOfTestsHaveTheirPlaces(t *testing.T) {
	inFolder(t)
	write(t, "home.yaml", lamps+`---
kind: test
name: many faults
tools: [light-on, lite-on]
now: today
chats: []
chat:
  - expect: {none: true}
  - user: turn on the light
  - expect: {tool: light-on, values: {room: cellar, rom: office}}
  - expect: {tool: radio-onn}
  - user: hm
  - expect: {rejected: light-on, missing: [place], none: true}
  - expect: {values: {room: office}}
  - says: hello
`)
	r := command(t, nil, "validate", "home.yaml")
	require.Equal(t, 1, r.code)
	for _, want := range []string{
		`there is no tool "lite-on"; did you mean "light-on"?`,
		`home.yaml:19:6: test "many faults": now: "today" is no time of RFC 3339`,
		`home.yaml:20:1: test "many faults": unknown field "chats"; did you mean "chat"?`,
		`home.yaml:22:5: test "many faults": expect stands behind no message of the user`,
		`home.yaml:24:45: test "many faults": values/room: "cellar" is not an allowed value`,
		`values/rom: `,
		`there is no tool "radio-onn"; did you mean "radio-on"?`,
		`expect says one of tool, rejected and none, and this one 2 of them`,
		`expect says one of tool, rejected and none, and this one 0 of them`,
		`home.yaml:29:5: test "many faults": unknown field "says" in chat`,
	} {
		require.Contains(t, r.out, want)
	}
	w := atDev(t, nil)
	require.Contains(t, w.ok("apply", "home.yaml"), "created 2", "tests are no part of what is applied")
}
