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
	// Subject is where it may be published on NATS.
	Subject string
	// Since and Until are the first and the last moment at which it may have been given; Since
	// is zero unless it was asked for again.
	Since, Until time.Time
	// Given is the answer, where there is one.
	Given *Answer
}

// AnswerSubject is where the answer to a trigger may be published.
func AnswerSubject(appID, triggerID string) string { return "answer." + appID + "." + triggerID }

// Answer is what somebody outside says came of a trigger.
type Answer struct {
	OK        bool            `json:"ok"`
	Result    json.RawMessage `json:"result,omitempty"` // any JSON, where it went well
	Truncated bool            `json:"truncated,omitempty"`
	Error     string          `json:"error,omitempty"` // for people, where it did not
	// Cancelled says that whoever asked for it wants it no more, and has ended the waiting. No
	// subscriber can say so.
	Cancelled bool `json:"cancelled,omitempty"`
	// At is when it was given; zero where it is given now.
	At time.Time `json:"-"`
}

// MaxResult is the longest result that is kept, in bytes.
const MaxResult = 64 << 10

// Bounded is the answer as it is kept: a result that is too long is a string of its beginning,
// and so is an error. One that is bounded stays as it is.
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
		a.Result, a.Truncated = exactjson.EncodeOrNull(fault.Cut(string(a.Result), MaxResult)), true
	}
	return a
}

// Outcome is what the answer makes of its trigger.
func (a Answer) Outcome() Outcome {
	if a.Cancelled {
		return Outcome{Verdict: Dead, Reason: ReasonCancelled, Error: a.Error}
	}
	if !a.OK {
		return Outcome{Verdict: Dead, Reason: ReasonRequest, Error: a.Error}
	}
	return Outcome{Verdict: Done, Result: a.Result, Truncated: a.Truncated}
}

// Unanswered is the outcome of an effect of KindAnswer that nobody has answered.
func Unanswered() Outcome {
	return Outcome{Verdict: Dead, Reason: ReasonTimeout, Error: "nobody has answered in time"}
}
