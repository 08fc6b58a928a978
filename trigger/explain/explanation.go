// Package explain says why a message came out as it did: what was in scope, what a model was
// asked and answered, what became of each call, and why. An explanation is made of what the
// matcher and the decision have noted, masked, and packed into a few hundred bytes: texts that
// many messages share, such as tools and rules, are kept once under the hash of their content.
package explain

import (
	"encoding/json"
	"time"

	"earshot/matcher"
	"earshot/repositories/parameters"
)

// Explanation is why a message came out as it did. Its JSON is the answer of the REST call.
// Credentials, hidden values and claims in it are masked.
type Explanation struct {
	MessageID string    `json:"messageId"`
	Time      time.Time `json:"ts"` // of the decision
	Stage     string    `json:"stage"`
	// Why says in a sentence what came of the message, and why nothing did.
	Why        string      `json:"why"`
	Candidates []Candidate `json:"candidates"`
	// More is how many candidates are not listed.
	More int `json:"moreCandidates,omitempty"`
	// NotInScope are tools that are there and could not be called.
	NotInScope []Barred  `json:"notInScope"`
	Requests   []Request `json:"requests"`
	Calls      []Call    `json:"calls"`
	// Notes say what else is to be known, such as a setting that does not hold.
	Notes []string `json:"notes,omitempty"`
	// Cut says what was left out for its size.
	Cut []string `json:"cut,omitempty"`
}

// Candidate is a tool in scope.
type Candidate struct {
	RepositoryID string `json:"repositoryId"`
	// Session says that the repository is the session's own.
	Session bool   `json:"session,omitempty"`
	Name    string `json:"name"`
	// Score is how near the message is to the tool by its words, where that was compared.
	Score *float32 `json:"score,omitempty"`
	// Cut says that the model was not shown the tool, and Why says why.
	Cut bool   `json:"cut"`
	Why string `json:"why,omitempty"`
}

// Barred is a tool that is not in scope, and why.
type Barred struct {
	RepositoryID string `json:"repositoryId"`
	Session      bool   `json:"session,omitempty"`
	Name         string `json:"name"`
	Reason       string `json:"reason"` // one of the constants below
	Why          string `json:"why"`
}

// Reasons why a tool is not in scope.
const (
	Shadowed   = "shadowed"   // another of its name comes before it
	Unverified = "unverified" // it needs a verified user
)

// Request is one request to a model with its answer: JSON, or a text where they are none.
type Request struct {
	Model    string          `json:"model"`
	Request  json.RawMessage `json:"request"`
	LeftOut  []string        `json:"leftOut,omitempty"`
	Response json.RawMessage `json:"response"`
	Error    string          `json:"error,omitempty"`
	Millis   int64           `json:"ms"`
	Tokens   Tokens          `json:"tokens"`
}

// Tokens are those of a request, as far as the provider reports them; cached ones are among
// those of the prompt.
type Tokens struct {
	Prompt     int `json:"prompt"`
	Cached     int `json:"cached"`
	Completion int `json:"completion"`
}

// Call is a call that was found for the message, and what became of it.
type Call struct {
	RepositoryID string          `json:"repositoryId,omitempty"`
	Name         string          `json:"name"`
	Arguments    json.RawMessage `json:"arguments"`
	// Round is the answer of the model that has it, from 1.
	Round    int                          `json:"round,omitempty"`
	Repaired bool                         `json:"repaired"`
	Coerced  []string                     `json:"coerced"`
	Ignored  []string                     `json:"ignored,omitempty"`
	Errors   []parameters.ValueFault      `json:"errors"`
	Evidence map[string]*matcher.Evidence `json:"evidence,omitempty"`
	Verdict  string                       `json:"verdict"` // one of the constants below
	Why      string                       `json:"why"`
	// TriggerID is that of a call that fired.
	TriggerID string `json:"triggerId,omitempty"`
}

// Verdicts on a call.
const (
	Fired    = "fired"
	Rejected = "rejected" // for its values
	Dropped  = "dropped"  // for another reason
)
