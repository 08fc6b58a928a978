package main

import (
	"testing"

	"github.com/stretchr/testify/require"
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
