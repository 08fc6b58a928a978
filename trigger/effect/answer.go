package effect

import (
	"bytes"
	"encoding/json"
	"time"

	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
)

// Awaited is the answer that an effect of KindAnswer waits for.
type Awaited struct {
	// Subject is the NATS subject on which it may be published.
	Subject string
	// Since and Until bound the time at which it may have been given; Since is zero unless the question was
	// repeated.
	Since, Until time.Time
	// Given is the answer; nil for none.
	Given *Answer
}

// AnswerSubject returns the subject on which the answer to a trigger may be published.
func AnswerSubject(appID, triggerID string) string { return "answer." + appID + "." + triggerID }

// Answer is an external answer with the outcome of a trigger.
type Answer struct {
	OK        bool            `json:"ok"`
	Result    json.RawMessage `json:"result,omitempty"` // any JSON, if OK
	Truncated bool            `json:"truncated,omitempty"`
	Error     string          `json:"error,omitempty"` // for people, if not OK
	// Cancelled reports that the requester has ended the wait. No subscriber can set it.
	Cancelled bool `json:"cancelled,omitempty"`
	// At is when it was given; zero for now.
	At time.Time `json:"-"`
}

// MaxResult is the longest result that is kept, in bytes.
const MaxResult = 64 << 10

// Bounded returns the answer as it is stored: a result that is too long becomes a string of its beginning, and
// an error is cut. A bounded answer stays unchanged.
func (a Answer) Bounded() Answer {
	if a.Truncated {
		return a
	}
	a.Error = Clip(a.Error)
	var compact bytes.Buffer
	if len(a.Result) > 0 && json.Compact(&compact, a.Result) == nil {
		a.Result = compact.Bytes()
	}
	if len(a.Result) > MaxResult {
		text := string(a.Result)
		_ = json.Unmarshal(a.Result, &text) // a text is cut without its quotes, anything else as it is written
		a.Result, a.Truncated = exactjson.EncodeOrNull(fault.Cut(text, MaxResult)), len(text) > MaxResult
	}
	return a
}

// Outcome returns the outcome of the trigger by the answer.
func (a Answer) Outcome() Outcome {
	if a.Cancelled {
		return Outcome{Verdict: Dead, Reason: ReasonCancelled, Error: a.Error}
	}
	if !a.OK {
		return Outcome{Verdict: Dead, Reason: ReasonRequest, Error: a.Error}
	}
	return Outcome{Verdict: Done, Result: a.Result, Truncated: a.Truncated}
}

// Unanswered returns the outcome of an effect of KindAnswer without an answer.
func Unanswered() Outcome {
	return Outcome{Verdict: Dead, Reason: ReasonTimeout, Error: "no answer came in time"}
}
