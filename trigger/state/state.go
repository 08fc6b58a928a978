// Package state is the life of a trigger as a table: the states that it may be in, every way
// from one to another, and who takes it. The script that decides (package ledger) takes each
// of them by comparing the state, so that of two who want different ways one gets its own.
package state

import (
	"fmt"
	"slices"
	"strings"
)

// State is where a trigger stands.
type State string

// The states. A trigger that is due has its effects in the ledger; what has become of them
// says whether it is pending, delivered or failed.
const (
	Confirming State = "confirming" // it waits for somebody's yes
	Settling   State = "settling"   // it waits for a time in which it may be taken back
	Due        State = ""
	Cancelled  State = "cancelled" // it ended without an effect
	Duplicate  State = "duplicate" // another one with equal values stands for it
)

// Held reports whether a trigger in that state keeps its effects back.
func (s State) Held() bool { return s == Confirming || s == Settling }

// Ended reports whether a trigger in that state stays in it, without an effect.
func (s State) Ended() bool { return s == Cancelled || s == Duplicate }

// Action is what moves a held trigger.
type Action string

// The actions.
const (
	Confirm Action = "confirm" // a yes: over REST, or the user's next words
	Deny    Action = "deny"    // a no, likewise
	Expire  Action = "expire"  // nobody has said a word in time
	Release Action = "release" // its time to settle is over
	Cancel  Action = "cancel"  // over REST
	Retract Action = "retract" // the user's next message came, and the tool says cancelOnNext
)

// edge is one way.
type edge struct {
	from   State
	action Action
	to     State
	who    string
}

// edges are all ways between states that are not those of effects.
var edges = []edge{
	{Confirming, Confirm, Due, "POST …/confirm, or the user's yes"},
	{Confirming, Deny, Cancelled, "POST …/deny, or the user's no"},
	{Confirming, Expire, Cancelled, "the ledger, after 3 minutes"},
	{Confirming, Cancel, Cancelled, "POST …/cancel"},
	{Settling, Release, Due, "the ledger, when the time of settle is over"},
	{Settling, Cancel, Cancelled, "POST …/cancel"},
	{Settling, Retract, Cancelled, "the user's next message, with cancelOnNext"},
}

// Next is the state that an action leads to; false where it cannot be taken from there. What
// is confirmed and has a time to settle is Settling before it is Due.
func Next(from State, action Action, settles bool) (State, bool) {
	at := slices.IndexFunc(edges, func(e edge) bool { return e.from == from && e.action == action })
	switch {
	case at < 0:
		return from, false
	case action == Confirm && settles:
		return Settling, true
	}
	return edges[at].to, true
}

// Drawing is the table as a Mermaid state diagram, as the documents show it.
func Drawing() string {
	var text strings.Builder
	line := func(from, to, label string) { fmt.Fprintf(&text, "    %s --> %s: %s\n", from, to, label) }
	text.WriteString("stateDiagram-v2\n")
	line("[*]", "draft", "a message that is not final")
	line("draft", "[*]", "DELETE, another text, or 60 s")
	line("draft", "decided", "commit")
	line("[*]", "decided", "a message, or a direct trigger")
	line("decided", "duplicate", "dedupe, and equal values were there")
	line("decided", "confirming", "confirm")
	line("decided", "settling", "settle")
	line("decided", "pending", "neither")
	line("confirming", "settling", "the same yes, with settle")
	for _, e := range edges {
		to := string(e.to)
		if e.to == Due {
			to = "pending"
		}
		line(string(e.from), to, e.who)
	}
	line("pending", "delivered", "every event published, the call answered")
	line("pending", "failed", "given up, refused, or no answer in time")
	line("failed", "pending", "POST …/retry")
	return text.String()
}
