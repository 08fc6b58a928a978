// Package matcher decides which of the tools in scope a message calls for, and with which values.
//
// It has three stages, cheapest first: a text that equals a button-like tool, a request to an LLM with tool
// calling, and, without an LLM, a decision by the words. None has a side effect: a message may be matched twice,
// and package trigger makes sure that it is decided once.
//
// A model's output is untrusted. Tools out of scope are dropped; arguments are read leniently and checked against
// the parameters; a faulty call is sent back once with its faults, and then rejected.
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

// Stages of matching, in order.
const (
	StageNone    = "none" // nothing to match against
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
	ID    string // empty for the message that is being matched
	Actor string
	Text  string
	Fired []PastCall // lists the tool calls that the message triggered
}

// PastCall is a tool call of an earlier message, with its outcome.
type PastCall struct {
	TriggerID string
	Name      string
	Values    map[string]any
	// Arguments are the values as a JSON object, written once for all requests that show the call; empty if they
	// are not written yet.
	Arguments string
	// Result is the call's answer; nil if none yet.
	Result json.RawMessage
	// Error is why the call failed; empty if it did not.
	Error string
}

// Candidate is a tool in scope, with its repository. Names are unique among a request's candidates.
type Candidate struct {
	Repository *repositories.Repository
	Tool       *repositories.Tool
}

// Request is one message with all data for matching it.
type Request struct {
	App        *repositories.App
	ID         string      // of the message; empty if it has none
	History    []Utterance // oldest first, without the message itself
	Text       string
	Candidates []Candidate // sorted by name; without the catch-all
	// Shared are the app's tools, for any user; nil if unknown. Own are the other candidates, mostly the session's.
	Shared     *Shared
	Own        []Candidate
	Unfinished []Unfinished // calls that earlier messages began and that lack values
	Now        time.Time    // the time of the message, in the user's time zone
	Language   string       // the user's, as a BCP 47 tag such as de or de-AT; empty if unknown
	// Chat also requests the model's own text (settings.chatModeEnabled).
	Chat bool
}

// Match is a tool call that the message asks for, with checked values.
type Match struct {
	Candidate
	Values map[string]any
	// Repaired means that the model's arguments were not well-formed JSON.
	Repaired bool
	Coerced  []string
	// Evidence locates each inferred value in the conversation; nil for none.
	Evidence map[string]*Evidence
	Call     int // its number in the Trace, from 1; 0 without a trace
}

// Rejected is a tool call that the message asks for but that lacks required values or has invalid ones.
type Rejected struct {
	Candidate
	Values  map[string]any
	Missing []string
	Errors  []parameters.ValueFault
	Asks    map[string]string // has a question for each parameter whose words had two readings
	Call    int               // like Match.Call
}

// Ask returns the question for the first of the named parameters that has one: about two readings, or the tool's
// own.
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
	Text     string // the model's own text, if any
}

// Matcher decides what a message calls for, and writes replies. If the LLM gives no usable answer, Match returns an
// *Unavailable error and nothing is decided. It writes the Trace of its context, if any.
type Matcher interface {
	Match(ctx context.Context, request Request) (Result, error)
	// Reply writes the answer to a message after its tools have fired, with their results in fired. It returns the
	// empty string without an LLM.
	Reply(ctx context.Context, request Request, fired []PastCall) (string, error)
}

// Searcher is a Matcher that ranks tools by similarity to a text, without asking a model.
type Searcher interface {
	// Search returns at most most of the request's candidates by similarity to the text, independent of the
	// conversation. Candidates without any similarity are left out.
	Search(ctx context.Context, request Request, text string, most int) []Score
}

// Unavailable means that the LLM was unreachable, refused, took too long or gave an unreadable answer. Nothing is
// decided; the message can be tried again.
type Unavailable struct {
	// Reason is for users; it contains no credential.
	Reason string
	// RetryAfter is the pause that the LLM requested; zero for none.
	RetryAfter time.Duration
	// Detail is only for the log, because it may contain addresses of the operator's network. It contains no
	// credential.
	Detail string
}

// Error returns the Reason as a sentence.
func (u *Unavailable) Error() string { return fmt.Sprintf("the LLM is not available: %s", u.Reason) }

// Evidence is the place of a value in the conversation. The parts of a compound value (a list, a date with a time)
// may be from several messages.
type Evidence struct {
	MessageID string `json:"messageId,omitempty"` // the newest message with the value or a part of it
	Words     string `json:"words"`               // the message's own words; those of parts are joined by " … "
}

// HistoryStart returns the index of the first of total earlier messages that a model sees, at most limit. It moves
// in steps of a quarter of the limit, so that consecutive requests begin with the same messages and hit the
// provider's cache. A caller that loads only part of the history must begin at this index.
func HistoryStart(total, limit int) int {
	if total <= limit {
		return 0
	}
	step := max(1, limit/4)
	return min(total, (total-limit+step-1)/step*step)
}

// Abandons reports whether a text cancels an unfinished call.
func Abandons(said string) bool { return text.Abandons(said) }

// Asks reports whether a text asks for information.
func Asks(said string) bool { return text.Of(said).Mood() == text.Question }

// Consents reports whether a text is plainly yes or plainly no to the previous question, and nothing else. Any
// other content, a condition or a question makes it neither: a wrong yes may spend money.
func Consents(said string) (yes, no bool) { return text.Consents(said) }

// Objects reports whether a text may refuse or correct what was asked before it: "please don't", "it should be 31".
// A yes that follows is no longer a plain yes to that.
func Objects(said string) bool { return text.Objects(said) }

// LanguageOf returns the supported language of a text as an ISO 639-1 code; empty if unknown.
func LanguageOf(said string) string { return text.LanguageOf(said) }
