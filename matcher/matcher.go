package matcher

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"earshot/repositories"
)

// Stages of matching, in the order in which they are tried.
const (
	StageNone    = "none" // there was nothing to match against
	StageExact   = "exact"
	StageLLM     = "llm"
	StageOffline = "offline"
)

// Actors of a conversation.
const (
	ActorUser  = "user"
	ActorAgent = "agent"
)

// Utterance is an earlier message of the conversation.
type Utterance struct {
	// ID is the message's; empty for the message that is being matched.
	ID    string
	Actor string
	Text  string
	// Fired are the tools that the message set off.
	Fired []Fired
}

// Fired is a tool that an earlier message set off, with what came of it.
type Fired struct {
	TriggerID string
	Name      string
	Values    map[string]any
	// Result is the call's answer, nil where there is none (yet).
	Result json.RawMessage
	// Error says why the call failed; empty where it did not.
	Error string
}

// Candidate is a tool in scope. Names are unique among the candidates of a request.
type Candidate struct {
	Repository *repositories.Repository
	Tool       *repositories.Tool
}

// Request is one message with all that is needed to match it.
type Request struct {
	App        *repositories.App
	History    []Utterance // oldest first, without the message itself
	Text       string
	Candidates []Candidate // sorted by name; without the catch-all
	// Unfinished are calls that earlier messages began and that lack values.
	Unfinished []Unfinished
	Now        time.Time
	// Chat asks for the model's own text as well (settings.chatModeEnabled).
	Chat bool
}

// Match is a tool that the message calls for, with values that have passed the
// tool's checks.
type Match struct {
	Candidate
	Values map[string]any
	// Repaired says that the model's arguments were not well-formed JSON.
	Repaired bool
	Coerced  []string
	// Evidence says for each inferred value where it was said, nil for nowhere.
	Evidence map[string]*Evidence
}

// Rejected is a tool that the message calls for with values that are at fault.
type Rejected struct {
	Candidate
	Values  map[string]any
	Missing []string
	Errors  []repositories.ValueFault
}

// Result is what the matcher found.
type Result struct {
	Stage    string
	Matches  []Match
	Rejected []Rejected
	// Text is the model's own text, where it wrote any.
	Text string
}

// Matcher decides what a message calls for, and writes replies. Match returns an
// *Unavailable error where the LLM gave no usable answer; nothing is decided then.
type Matcher interface {
	Match(ctx context.Context, request Request) (Result, error)
	// Reply writes the answer to a message after its tools have fired; fired holds
	// their results. It returns the empty string where no LLM is configured.
	Reply(ctx context.Context, request Request, fired []Fired) (string, error)
}

// Unavailable means that the LLM was not reached, refused, took too long or gave an
// answer that cannot be read. Nothing is decided; the message can be tried again.
type Unavailable struct {
	// Reason is for people; it holds no credential.
	Reason string
	// RetryAfter is the pause that the LLM asked for; zero where it asked for none.
	RetryAfter time.Duration
}

// Error says what went wrong.
func (u *Unavailable) Error() string { return fmt.Sprintf("the LLM is not available: %s", u.Reason) }

// Evidence is where the conversation has a value. Of a value of several parts (a
// list, a date with a time) the parts may stand in several messages.
type Evidence struct {
	// MessageID is the newest message that has the value or a part of it; empty for
	// the message that is being matched.
	MessageID string `json:"messageId,omitempty"`
	// Words are the message's own words; those of parts are joined by " … ".
	Words string `json:"words"`
}
