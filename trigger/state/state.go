// Package state is the state machine of a trigger: its states, the transitions, and what causes them. The
// deciding script (package ledger) compares the state before each transition, so of two conflicting ones only
// one succeeds.
package state

import (
	"fmt"
	"slices"
	"strings"
)

// State is the state of a trigger.
type State string

// The states. The effects of a due trigger are in the ledger; their outcomes tell whether it is pending,
// delivered or failed.
const (
	Confirming State = "confirming" // it waits for a yes
	Settling   State = "settling"   // it waits for a time in which it may be taken back
	Due        State = ""
	Cancelled  State = "cancelled" // it ended without an effect
	Duplicate  State = "duplicate" // an earlier trigger has equal values
)

// Held reports whether a trigger in that state holds its effects.
func (s State) Held() bool { return s == Confirming || s == Settling }

// Action is a transition of a held trigger.
type Action string

// The actions.
const (
	Confirm Action = "confirm" // a yes: over REST, or the user's next words
	Deny    Action = "deny"    // a no, by the same ways
	Expire  Action = "expire"  // no answer in time
	Release Action = "release" // its time to settle is over
	Cancel  Action = "cancel"  // over REST
	Retract Action = "retract" // the user's next message came, and the tool says cancelOnNext
)

// edge is one transition.
type edge struct {
	from   State
	action Action
	to     State
	cause  string
}

// edges are all transitions between states that do not follow from effects.
var edges = []edge{
	{Confirming, Confirm, Due, "POST …/confirm, or the user's yes"},
	{Confirming, Deny, Cancelled, "POST …/deny, or the user's no"},
	{Confirming, Expire, Cancelled, "the ledger, after 3 minutes"},
	{Confirming, Cancel, Cancelled, "POST …/cancel"},
	{Settling, Release, Due, "the ledger, when the time of settle is over"},
	{Settling, Cancel, Cancelled, "POST …/cancel"},
	{Settling, Retract, Cancelled, "the user's next message, with cancelOnNext"},
}

// Next returns the state that an action leads to; false if it is not possible. With settles, a confirmed
// trigger is Settling before it is Due.
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

// Diagram returns the transitions as a Mermaid state diagram for the documents.
func Diagram() string {
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
		line(string(e.from), to, e.cause)
	}
	line("pending", "delivered", "every event published, the call answered")
	line("pending", "failed", "given up, refused, or no answer in time")
	line("failed", "pending", "POST …/retry")
	return text.String()
}
