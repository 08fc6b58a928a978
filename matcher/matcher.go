// Package matcher finds out which of the tools in scope a message calls for, and
// with which values.
//
// It has three stages, cheapest first: a text that equals a button-like tool, a
// request to an LLM with tool calling, and, where no LLM is configured, a decision
// from the words alone. None of them has a side effect: a message may be matched
// twice, and package trigger sees to it that it is decided once.
//
// Nothing that a model says is taken on trust. A tool that is not in scope is
// dropped; arguments are read leniently and checked against the parameters; a faulty
// call goes back once with its faults and is then rejected.
package matcher

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"earshot/matcher/text"
	"earshot/repositories"
	"earshot/repositories/parameters"
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
	// Fired lists the tool calls that the message triggered.
	Fired []PastCall
}

// PastCall is a tool call that an earlier message triggered, with its outcome.
type PastCall struct {
	TriggerID string
	Name      string
	Values    map[string]any
	// Result is the call's answer, nil if there is none (yet).
	Result json.RawMessage
	// Error says why the call failed; empty where it did not.
	Error string
}

// Candidate is a tool in scope, with the repository that it comes from. Names are unique
// among the candidates of a request.
type Candidate struct {
	Repository *repositories.Repository
	Tool       *repositories.Tool
}

// Request is one message with everything needed to match it.
type Request struct {
	App        *repositories.App
	History    []Utterance // oldest first, without the message itself
	Text       string
	Candidates []Candidate // sorted by name; without the catch-all
	// Shared are the app's tools, whoever asks; nil where they are not known apart. Of
	// the candidates those that are not among them are Own: a session's, above all.
	Shared *Shared
	Own    []Candidate
	// Unfinished are calls that earlier messages began and that lack values.
	Unfinished []Unfinished
	// Now is the time of the message, in the time zone of who says it.
	Now time.Time
	// Language is that of who says it, as a tag of BCP 47 such as de or de-AT; empty where
	// it is not known.
	Language string
	// Chat asks for the model's own text as well (settings.chatModeEnabled).
	Chat bool
}

// Match is a tool call that the message asks for, with argument values that have passed the
// tool's checks.
type Match struct {
	Candidate
	Values map[string]any
	// Repaired says that the model's arguments were not well-formed JSON.
	Repaired bool
	Coerced  []string
	// Evidence says for each inferred value where it was said, nil for nowhere.
	Evidence map[string]*Evidence
	// Call is its number among those of the Trace, from 1; 0 without a trace.
	Call int
}

// Rejected is a tool call that the message asks for and that is not made, because required
// values are missing or invalid.
type Rejected struct {
	Candidate
	Values  map[string]any
	Missing []string
	Errors  []parameters.ValueFault
	// Asks has a question for each parameter whose value was said in words of two readings.
	Asks map[string]string
	Call int // as of a Match
}

// Ask is the question for the first of the named parameters that has one: that between two readings of
// what was said, or the tool's own; empty where none has.
func (r Rejected) Ask(names ...string) string {
	for _, name := range names {
		if ask := cmp.Or(r.Asks[name], r.Tool.Params().Ask(name)); ask != "" {
			return ask
		}
	}
	return ""
}

// Result is the outcome of matching one message.
type Result struct {
	Stage    string
	Matches  []Match
	Rejected []Rejected
	// Text is the model's own text, where it wrote any.
	Text string
}

// Matcher decides what a message calls for, and writes replies. Match returns an
// *Unavailable error where the LLM gave no usable answer; nothing is decided then. It writes
// the Trace of its context, where there is one.
type Matcher interface {
	Match(ctx context.Context, request Request) (Result, error)
	// Reply writes the answer to a message after its tools have fired; fired holds
	// their results. It returns the empty string where no LLM is configured.
	Reply(ctx context.Context, request Request, fired []PastCall) (string, error)
}

// Searcher is a Matcher that compares texts with the tools in scope. No model is asked to decide.
type Searcher interface {
	// Search returns at most that many of the request's candidates, those first that the text
	// is likest, whatever the conversation is about; none that has nothing in common with it.
	Search(ctx context.Context, request Request, text string, most int) []Score
}

// Unavailable means that the LLM was not reached, refused, took too long or gave an
// answer that cannot be read. Nothing is decided; the message can be tried again.
type Unavailable struct {
	// Reason is for people; it holds no credential.
	Reason string
	// RetryAfter is the pause that the LLM asked for; zero where it asked for none.
	RetryAfter time.Duration
	// Detail is for the log alone, as it may hold addresses of the operator's network;
	// empty where Reason says all. It holds no credential.
	Detail string
}

// Error says what went wrong.
func (u *Unavailable) Error() string { return fmt.Sprintf("the LLM is not available: %s", u.Reason) }

// Evidence is the place in the conversation where a value was said. The parts of a compound
// value (a list, a date with a time) may come from several messages.
type Evidence struct {
	// MessageID is the newest message that has the value or a part of it; empty for
	// the message that is being matched.
	MessageID string `json:"messageId,omitempty"`
	// Words are the message's own words; those of parts are joined by " … ".
	Words string `json:"words"`
}

// HistoryStart returns the index of the first of total earlier messages that a model shown
// at most limit of them sees. It moves in steps of a quarter of the limit, not with every
// message, so that consecutive turns begin with the same messages and providers find them
// in their cache. A caller that loads only part of the history must begin at this index.
func HistoryStart(total, limit int) int {
	if total <= limit {
		return 0
	}
	step := max(1, limit/4)
	return min(total, (total-limit+step-1)/step*step)
}

// Abandons reports whether a text cancels a call that was begun.
func Abandons(said string) bool { return text.Abandons(said) }

// Consents reports whether a text is plainly a yes or plainly a no to what was asked just
// before, and nothing else. What has any other content, a condition or a question is
// neither: a yes that was none may spend money.
func Consents(said string) (yes, no bool) { return text.Consents(said) }

// LanguageOf returns the language of a text, as its code of ISO 639-1, among those that are
// read; empty where no word of it tells.
func LanguageOf(said string) string { return text.LanguageOf(said) }
