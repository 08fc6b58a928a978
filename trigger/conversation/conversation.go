// Package conversation is what a session keeps in mind from one message to the next, as far
// as it decides what the next message calls for: calls that lack values, and which of the
// tools that a message calls for fire. It is the same wherever a conversation is held: in the
// ledger, in a dry run, in a test. It stores nothing and knows no clock.
package conversation

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/parameters"
)

// waits is how long a call that lacks values waits for the next message.
const waits = 10 * time.Minute

// Begun is a call that messages have begun and that lacks values, as a session keeps it.
type Begun struct {
	RepositoryID string         `json:"repositoryId"`
	SessionID    string         `json:"sessionId,omitempty"` // of the repository
	Name         string         `json:"name"`
	Values       map[string]any `json:"values"`  // that were said, and are valid
	Missing      []string       `json:"missing"` // names of those that are not
	Since        int64          `json:"since"`   // ms, by the clock that Read is told the time of

	Candidate matcher.Candidate `json:"-"`
}

// Read reads what Write has written, without the calls that are too old or whose tool is not
// among those in scope. What cannot be read is none.
func Read(text string, among []matcher.Candidate, now time.Duration) []Begun {
	var stored, open []Begun
	if exactjson.Unmarshal([]byte(text), &stored) != nil {
		return nil
	}
	for _, one := range stored {
		if one.find(among) && now-time.Duration(one.Since)*time.Millisecond < waits {
			open = append(open, one)
		}
	}
	return open
}

// find finds the tool of a call in scope; false where it is another one, or none.
func (b *Begun) find(among []matcher.Candidate) bool {
	c, found := matcher.Request{Candidates: among}.Named(b.Name)
	b.Candidate = c
	return found && c.Repository.ID == b.RepositoryID && c.Repository.SessionID == b.SessionID
}

// Write returns the calls as Read reads them, empty for none.
func Write(list []Begun) (string, error) {
	if len(list) == 0 {
		return "", nil
	}
	text, err := exactjson.Encode(list)
	return string(text), err
}

// Shown are the calls as a matcher is told of them, without the values that a message takes
// back.
func Shown(list []Begun, said string) []matcher.Unfinished {
	var shown []matcher.Unfinished
	for _, one := range list {
		shown = append(shown, one.shown().Without(said))
	}
	return shown
}

func (b Begun) shown() matcher.Unfinished {
	return matcher.Unfinished{Candidate: b.Candidate, Values: b.Values, Missing: b.Missing}
}

// After is what is left of the calls after a message of the user, and what it has begun
// itself: a message that calls for anything has made or dropped those of before. now is the
// time in milliseconds.
func After(list []Begun, said string, matched matcher.Result, now int64) []Begun {
	var kept []Begun
	if len(matched.Matches)+len(matched.Rejected) == 0 {
		kept = afterWords(list, said)
	}
	for _, rejected := range matched.Rejected {
		kept = append(kept, beginOf(rejected, now))
	}
	return kept
}

// afterWords is what is left of calls after a message that called for nothing.
func afterWords(list []Begun, said string) []Begun {
	var kept []Begun
	for _, one := range list {
		if shown := one.shown(); shown.Survives(said) {
			left := shown.Without(said)
			one.Values, one.Missing = left.Values, left.Missing
			kept = append(kept, one)
		}
	}
	return kept
}

// beginOf is the call that a message begins where it is rejected, with its sound values.
func beginOf(rejected matcher.Rejected, now int64) Begun {
	missing, values := Faulty(rejected.Missing, rejected.Errors), maps.Clone(rejected.Values)
	for _, name := range missing {
		delete(values, name)
	}
	if values == nil {
		values = map[string]any{}
	}
	return Begun{
		RepositoryID: rejected.Repository.ID, SessionID: rejected.Repository.SessionID, Name: rejected.Tool.Name,
		Values: values, Missing: missing, Since: now, Candidate: rejected.Candidate,
	}
}

// Faulty names the parameters of a rejected call that have no valid value.
func Faulty(missing []string, errors []parameters.ValueFault) []string {
	names := slices.Clone(missing)
	for _, fault := range errors {
		if fault.Parameter != "" && !slices.Contains(names, fault.Parameter) {
			names = append(names, fault.Parameter)
		}
	}
	return names
}

// Past is a message of a user that is decided, with the calls that it was rejected for.
type Past struct {
	Text     string
	Time     time.Time
	Fired    bool // it called for something that was complete
	Rejected []Rejected
}

// Rejected is a call of a Past message.
type Rejected struct {
	RepositoryID, Name string
	Values             map[string]any
	Missing            []string
	Errors             []parameters.ValueFault
}

// Replay works out which calls lack values at a time, after a history: a session keeps those
// of its end alone.
func Replay(history []Past, among []matcher.Candidate, at time.Time) []Begun {
	var open []Begun
	reach := matcher.Request{Candidates: among}
	for _, past := range history {
		matched := matcher.Result{Matches: make([]matcher.Match, min(1, len(past.Rejected)))}
		if past.Fired {
			matched.Matches = make([]matcher.Match, 1)
		}
		open = After(open, past.Text, matched, 0)
		for _, one := range past.Rejected {
			c, found := reach.Named(one.Name)
			if found && c.Repository.ID == one.RepositoryID && at.Sub(past.Time) < waits {
				open = append(open, beginOf(matcher.Rejected{Candidate: c, Values: one.Values, Missing: one.Missing, Errors: one.Errors}, past.Time.UnixMilli()))
			}
		}
	}
	return open
}

// Fires are those of the matches of a message that fire: of exclusive repositories alone where
// there are any, and of each that fires once the first.
func Fires(matches []matcher.Match) []matcher.Match {
	return oncePerRepository(exclusiveFirst(matches))
}

// exclusiveFirst keeps only the matches of exclusive repositories where there are any.
func exclusiveFirst(matches []matcher.Match) []matcher.Match {
	exclusive := slices.DeleteFunc(slices.Clone(matches), func(m matcher.Match) bool {
		return !m.Repository.Options.Exclusive
	})
	if len(exclusive) > 0 {
		return exclusive
	}
	return matches
}

// oncePerRepository keeps the first match of each triggerOnce repository.
func oncePerRepository(matches []matcher.Match) []matcher.Match {
	taken := map[*repositories.Repository]bool{}
	return slices.DeleteFunc(slices.Clone(matches), func(m matcher.Match) bool {
		if !m.Repository.Options.TriggerOnce {
			return false
		}
		before := taken[m.Repository]
		taken[m.Repository] = true
		return before
	})
}

// CatchAll is the match of a tool that takes what nothing else does.
func CatchAll(c matcher.Candidate, said string) matcher.Match {
	values := c.Tool.Params().Read(nil).Values
	if values == nil {
		values = map[string]any{}
	}
	values["value"] = said
	return matcher.Match{Candidate: c, Values: values}
}

// What a model reads as the result of a trigger that was held, until a call has another one.
const (
	Confirming  = "it is not done yet: the user is asked to confirm it"
	Cancelled   = "cancelled: nothing was done"
	DoneAlready = "it is not done again: the same was done before"
)

// Confirmed is what a model reads as the result of a trigger that the user has said yes to.
var Confirmed = json.RawMessage(`"confirmed"`)
