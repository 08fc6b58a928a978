package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const shopFile = `kind: tool
name: refund
description: Refund an order
confirm: always
examples: [refund my order]
---
kind: tool
name: lamp
description: Turn the lamp on
settle: 60s
examples: [turn the lamp on]
---
kind: tool
name: order
description: Order the usual
dedupe: {within: 10m}
examples: [order the usual]
`

// inShop returns a service with tools whose triggers are held back, or are the same as others.
func inShop(t *testing.T) *world {
	t.Helper()
	w := devInFolder(t)
	write(t, "tools.yaml", shopFile)
	w.ok("apply", "-f", "tools.yaml", "--app", "shop")
	return w
}

// only is the id of the one trigger in a state.
func (w *world) only(state string) (triggerID string) {
	w.t.Helper()
	lines := strings.Fields(w.ok("triggers", "--state", state, "--json"))
	var record struct {
		TriggerID string `json:"triggerId"`
	}
	require.NoError(w.t, json.Unmarshal([]byte(strings.Join(lines, " ")), &record))
	return record.TriggerID
}

func TestChatShowsWhatWaitsAndWhatWasThereBefore(t *testing.T) {
	w := inShop(t)
	r := typing(t, w.env, "refund my order\nyes\nrefund my order\nno\nturn the lamp on\norder the usual\norder the usual\n/history\n", "chat", "--session", "s1")
	require.Equal(t, 0, r.code, r.err)
	said, history, _ := strings.Cut(r.out, "user: ")
	require.Regexp(t, `  asks first default/refund {}\n    until \d\d:\d\d:\d\d: .+\? \(yes / no\)\n`+
		`  fired default/refund {}\n    event tool.trigger.shop.s1.refund published\n`+
		`  asks first default/refund {}\n    .+\n`+
		`  cancelled default/refund {}\n`+
		`  settles default/lamp {}\n    until \d\d:\d\d:\d\d; earshot triggers cancel [0-9a-f]{32} takes it back\n`+
		`  fired default/order {}\n    event tool.trigger.shop.s1.order published\n`+
		`  done before default/order {}\n    of [0-9a-f]{32}\n`, said)
	require.Contains(t, history, "  cancelled default/refund {}\n")
	require.Contains(t, history, "  done before default/order {}\n")
	shown := w.ok("listen", "tool.*.shop.s1.>", "--since", "1h", "--count", "6")
	require.Regexp(t, `confirm +shop/s1 +refund +.+\? \(yes / no\)\n`, shown)
	require.Regexp(t, `cancelled +shop/s1 +refund +deny\n`, shown)
	require.Regexp(t, `duplicate +shop/s1 +order +of [0-9a-f]{32}\n`, shown)
}

func TestWaitingTriggersAreConfirmedDeniedAndCancelled(t *testing.T) {
	w := inShop(t)
	w.ok("chat", "refund my order", "--session", "s1")
	require.Regexp(t, `(?m) confirming +default/refund +s1 +[0-9a-f]{32} +.+\? \(yes / no\)$`, w.ok("triggers", "--state", "confirming"))
	id := w.only("confirming")
	r := w.run("triggers", "confirm", id)
	require.Equal(t, 1, r.code)
	require.Equal(t, "earshot: "+id+" is not confirmed: nobody can be asked here; --yes says it\n", r.err)
	require.Regexp(t, `^confirming default/refund {}, until \d\d:\d\d:\d\d\n  .+\? \(yes / no\)\n$`, r.out)
	require.Contains(t, w.ok("triggers", "confirm", id, "--yes"), id+" is confirmed, and delivered\n")
	require.Contains(t, w.run("triggers", "confirm", id, "--yes").err, id+" waits for no yes: it is delivered")

	w.ok("chat", "refund my order", "--session", "s1")
	id = w.only("confirming")
	require.Equal(t, id+" is cancelled\n", w.ok("triggers", "deny", id))
	require.Equal(t, id+" is cancelled\n", w.ok("triggers", "deny", id), "the same again changes nothing")
	w.ok("chat", "turn the lamp on", "--session", "s1")
	id = w.only("pending")
	require.Regexp(t, id+` +settles until \d\d:\d\d:\d\d\n$`, w.ok("triggers", "--state", "pending"))
	require.Equal(t, id+" is cancelled\n", w.ok("triggers", "cancel", id))
	require.Equal(t, id+" is cancelled\n", w.ok("triggers", "cancel", id), "the same again changes nothing")
	require.Contains(t, w.run("triggers", "confirm", id, "--yes").err, "waits for no yes")
	counted := w.call(200, "GET", "/metrics", "").Body
	for _, line := range []string{`{state="confirming"} 2`, `{state="due"} 1`, `{state="settling"} 1`, `{state="cancelled"} 2`} {
		require.Contains(t, counted, "\nearshot_triggers_total"+line+"\n")
	}
	for _, word := range []string{"confirm", "deny", "cancel"} {
		require.Contains(t, w.run("triggers", word, "absent").err, "absent is not ")
		require.Contains(t, w.run("triggers", word, "a b").err, `"a b" is not an id`)
		require.Equal(t, 1, w.run("triggers", word).code)
	}
}

func TestAPersonIsAskedBeforeATriggerIsConfirmed(t *testing.T) {
	w := inShop(t)
	w.ok("chat", "refund my order", "--session", "s1")
	id := w.only("confirming")
	for _, said := range []struct {
		keys, shown string
		code        int
	}{{"\r", "nobody said yes", 1}, {keyEnd, "nobody said yes", 1}, {"y\r", "is confirmed, and delivered", 0}} {
		p := sitting(t, w.env, "triggers", "confirm", id)
		p.sees("confirm it? [y/N]", 1)
		p.types(said.keys)
		p.sees(said.shown, 1)
		require.Equal(t, said.code, p.wait())
	}
}
