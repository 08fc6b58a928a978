package ledger

import (
	"earshot/repositories/keyspace"
)

// Where an app wants it, a message that is stored is an event, and one that could not be
// decided is another. They are written with what they tell of, in one script, and stand in an
// outbox of their own: keyspace.ChatBox.
//
// An event names the generations of its app and its session, and what was put of it. Whoever
// accepts a message guesses them, and the script says where the guess was wrong.

// Chat are the events of a message that is accepted. It may be empty: where the app wants
// events, the message is Unguessed then.
type Chat struct {
	Basis string // what they rest on
	// Said tells that the message is there; of one that is claimed again it may be nil.
	// Failed tells that it was given up, since it has crashed who worked on it.
	Said, Failed *keyspace.Entry
}

// lines are the event that the message is there, as a batch has it.
func (c Chat) lines() string {
	if c.Said == nil {
		return ""
	}
	return packed([]keyspace.Entry{*c.Said})
}

// Resting is what the events of a message rest on.
type Resting struct {
	Message string // JSON
	// Generations of the app and of the session, and what was put of the session (JSON).
	AppGeneration, SessionGeneration, Put string
}

// Basis names it, as a Chat has it.
func (r Resting) Basis() string { return r.AppGeneration + " " + r.SessionGeneration + "\n" + r.Put }

// chatKeys are the keys of the outbox of a session's messages, and of an event's effect.
func chatKeys(k keyspace.Keys, sessionID string, says *keyspace.Entry) []string {
	return []string{k.Outbox(keyspace.ChatBox(sessionID)), effectKey(k, says)}
}

// effectKey is the key of an entry's effect; there is none of that name where it is nil.
func effectKey(k keyspace.Keys, e *keyspace.Entry) string {
	if e == nil {
		return k.Effect("")
	}
	return k.Effect(e.ID)
}
