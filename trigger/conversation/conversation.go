// Package conversation has the rules of a conversation: which incomplete calls continue with the next message,
// which called tools fire, the question before a tool takes effect, and when two sets of values are equal. The
// rules are the same in the ledger, in a dry run and in a test. The package stores nothing and uses no clock.
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

// waits is how long an incomplete call waits for the next message.
const waits = 10 * time.Minute

// Begun is a call begun by messages that lacks values, as a session stores it.
type Begun struct {
	RepositoryID string         `json:"repositoryId"`
	SessionID    string         `json:"sessionId,omitempty"` // of the repository
	Name         string         `json:"name"`
	Values       map[string]any `json:"values"`  // the valid ones
	Missing      []string       `json:"missing"` // names of the others
	Since        int64          `json:"since"`   // ms, by the clock of Read's now

	Candidate matcher.Candidate `json:"-"`
}

// Read decodes the text of Write. It leaves out calls that are too old, and those whose tool is out of scope.
// It returns nil for an invalid text.
func Read(text string, among []matcher.Candidate, now time.Duration) []Begun {
	var stored, open []Begun
	if exactjson.Unmarshal([]byte(text), &stored) != nil {
		return nil
	}
	for _, one := range stored {
		c, found := matcher.Request{Candidates: among}.Named(one.Name)
		one.Candidate = c
		same := found && c.Repository.ID == one.RepositoryID && c.Repository.SessionID == one.SessionID
		if same && now-time.Duration(one.Since)*time.Millisecond < waits {
			open = append(open, one)
		}
	}
	return open
}

// Write encodes the calls for Read; empty for none.
func Write(list []Begun) (string, error) {
	if len(list) == 0 {
		return "", nil
	}
	text, err := exactjson.Encode(list)
	return string(text), err
}

// Shown returns the calls as a matcher sees them, without the values that a message takes back.
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

// After returns the incomplete calls after a user's message, including those that it begins. A message that
// continues an earlier call leaves the others open. One that calls for other tools only drops the earlier calls. now
// is in milliseconds.
func After(list []Begun, said string, matched matcher.Result, now int64) []Begun {
	var complete []Call
	for _, match := range matched.Matches {
		complete = append(complete, Call{RepositoryID: match.Repository.ID, Name: match.Tool.Name, Values: match.Values})
	}
	var begun []Begun
	for _, rejected := range matched.Rejected {
		begun = append(begun, begin(rejected, now))
	}
	return after(list, said, complete, begun)
}

// after returns the incomplete calls after a message with complete calls and others. The latter come first, since the
// user is asked for their values.
func after(list []Begun, said string, complete []Call, begun []Begun) []Begun {
	calls := slices.Clone(complete)
	for _, one := range begun {
		calls = append(calls, Call{RepositoryID: one.RepositoryID, Name: one.Name, Values: one.Values})
	}
	open := slices.Clone(list)
	for _, call := range calls {
		if at := matcher.Continued(Shown(open, said), call.RepositoryID, call.Name, call.Values); at >= 0 {
			open = slices.Delete(open, at, at+1)
		}
	}
	kept, continues := slices.Clone(begun), len(open) < len(list)
	if len(calls) > 0 && (!continues || matcher.Abandons(said)) { // about something else
		return kept
	}
	for _, one := range open {
		if shown := one.shown(); continues || shown.Survives(said) { // what it denies or corrects is the continued call's
			left := shown.Without(said)
			one.Values, one.Missing = left.Values, left.Missing
			kept = append(kept, one)
		}
	}
	return kept
}

// begin returns the incomplete call for a rejected one, with its valid values.
func begin(rejected matcher.Rejected, now int64) Begun {
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

// Faulty returns the parameters of a rejected call that have no valid value.
func Faulty(missing []string, errors []parameters.ValueFault) []string {
	names := slices.Clone(missing)
	for _, fault := range errors {
		if fault.Parameter != "" && !slices.Contains(names, fault.Parameter) {
			names = append(names, fault.Parameter)
		}
	}
	return names
}

// Past is a decided message of a user, with its calls.
type Past struct {
	Text     string
	Time     time.Time
	Complete []Call
	Rejected []Call
}

// Call is a call of a Past message. Missing and Errors are those of a rejected one.
type Call struct {
	RepositoryID, Name string
	Values             map[string]any
	Missing            []string
	Errors             []parameters.ValueFault
}

// Replay returns the incomplete calls at a time, after a history. A session stores only those at its end.
func Replay(history []Past, among []matcher.Candidate, at time.Time) []Begun {
	var open []Begun
	for _, past := range history {
		complete, begun := slices.Clone(past.Complete), []Begun(nil)
		for _, one := range past.Rejected {
			c, found := matcher.Request{Candidates: among}.Named(one.Name)
			if !found || c.Repository.ID != one.RepositoryID || at.Sub(past.Time) >= waits {
				complete = append(complete, one) // it can no longer be continued
				continue
			}
			begun = append(begun, begin(matcher.Rejected{Candidate: c, Values: one.Values, Missing: one.Missing, Errors: one.Errors}, past.Time.UnixMilli()))
		}
		open = after(open, past.Text, complete, begun)
	}
	return open
}

// Fires returns the matches of a message that fire: only those of exclusive repositories if there are any, and
// the first of each triggerOnce repository.
func Fires(matches []matcher.Match) []matcher.Match {
	fires, exclusive := slices.Clone(matches), func(m matcher.Match) bool { return m.Repository.Options.Exclusive }
	if slices.ContainsFunc(fires, exclusive) {
		fires = slices.DeleteFunc(fires, func(m matcher.Match) bool { return !exclusive(m) })
	}
	fired := map[*repositories.Repository]bool{}
	return slices.DeleteFunc(fires, func(m matcher.Match) bool {
		before := fired[m.Repository]
		fired[m.Repository] = m.Repository.Options.TriggerOnce
		return before
	})
}

// CatchAll returns the match of the catch-all tool.
func CatchAll(c matcher.Candidate, said string) matcher.Match {
	values := c.Tool.Params().Read(nil).Values
	if values == nil {
		values = map[string]any{}
	}
	values["value"] = said
	return matcher.Match{Candidate: c, Values: values}
}

// Results that a model sees for a held trigger, until its call has one.
const (
	Confirming  = "it is not done yet: the user is asked to confirm it"
	Cancelled   = "cancelled: nothing was done"
	DoneAlready = "it is not done again: the same was done before"
)

// Confirmed is the result that a model sees for a confirmed trigger.
var Confirmed = json.RawMessage(`"confirmed"`)
