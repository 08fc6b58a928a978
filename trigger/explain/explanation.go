// Package explain explains the outcome of a message: the tools in scope, the requests to a model and its
// answers, and the outcome of each call with the reason. An explanation is built from the notes of the matcher
// and the decision, masked, and packed into a few hundred bytes: texts that many messages share, such as tools
// and rules, are stored once under the hash of their content.
package explain

import (
	"encoding/json"
	"time"

	"earshot/matcher"
	"earshot/repositories/exactjson"
	"earshot/repositories/parameters"
)

// Explanation explains the outcome of a message. Its JSON is the answer of the REST call. Credentials, hidden
// values and claims in it are masked.
type Explanation struct {
	MessageID string    `json:"messageId"`
	Time      time.Time `json:"ts"` // of the decision
	Stage     string    `json:"stage"`
	// Why describes the outcome of the message in a sentence, with the reason if nothing fired.
	Why        string       `json:"why"`
	Candidates []Candidate  `json:"candidates"`
	More       int          `json:"moreCandidates,omitempty"` // the number of candidates not listed
	NotInScope []OutOfScope `json:"notInScope"`               // existing tools that could not be called
	Requests   []Request    `json:"requests"`
	Calls      []Call       `json:"calls"`
	Notes      []string     `json:"notes,omitempty"` // further remarks, such as on a setting without effect
	Cut        []string     `json:"cut,omitempty"`   // lists the parts left out for their size
}

// Candidate is a tool in scope.
type Candidate struct {
	RepositoryID string `json:"repositoryId"`
	// Session reports that the repository belongs to the session.
	Session bool     `json:"session,omitempty"`
	Name    string   `json:"name"`
	Score   *float32 `json:"score,omitempty"` // how near the message's words are to the tool, if compared
	// Cut reports that the model was not shown the tool; Why is the reason.
	Cut bool   `json:"cut"`
	Why string `json:"why,omitempty"`
}

// OutOfScope is a tool that is not in scope, and why.
type OutOfScope struct {
	RepositoryID string `json:"repositoryId"`
	Session      bool   `json:"session,omitempty"`
	Name         string `json:"name"`
	Reason       string `json:"reason"` // one of the constants below
	Why          string `json:"why"`
}

// Reasons why a tool is not in scope.
const (
	Shadowed   = "shadowed"   // another tool of its name comes first
	Unverified = "unverified" // it needs a verified user
)

// Request is one request to a model with its answer, as JSON or else as text.
type Request struct {
	Model    string          `json:"model"`
	Request  json.RawMessage `json:"request"`
	LeftOut  []string        `json:"leftOut,omitempty"`
	Response json.RawMessage `json:"response"`
	Error    string          `json:"error,omitempty"`
	Millis   int64           `json:"ms"`
	Tokens   Tokens          `json:"tokens"`
}

// Tokens are the tokens of a request as the provider reports them; cached ones are included in the prompt's.
type Tokens struct {
	Prompt     int `json:"prompt"`
	Cached     int `json:"cached"`
	Completion int `json:"completion"`
}

// Call is a call found for the message, with its outcome.
type Call struct {
	RepositoryID string                           `json:"repositoryId,omitempty"`
	Name         string                           `json:"name"`
	Arguments    json.RawMessage                  `json:"arguments"`
	Round        int                              `json:"round,omitempty"` // the number of the model's answer that has it, from 1
	Repaired     bool                             `json:"repaired"`
	Coerced      []string                         `json:"coerced"`
	Ignored      []string                         `json:"ignored,omitempty"`
	Errors       []parameters.ValueFault          `json:"errors"`
	Evidence     exactjson.Map[*matcher.Evidence] `json:"evidence,omitempty"`
	Verdict      string                           `json:"verdict"` // one of the constants below
	Why          string                           `json:"why"`
	TriggerID    string                           `json:"triggerId,omitempty"` // the trigger of a fired call
}

// Verdicts on a call.
const (
	Fired    = "fired"
	Rejected = "rejected" // for its values
	Dropped  = "dropped"  // for another reason
)
