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
	"earshot/repositories/exactjson"
	"earshot/repositories/parameters"
)

// continueWithin is how long an incomplete call waits for the next message.
const continueWithin = 10 * time.Minute

// IncompleteCall is a call of earlier messages that lacks values, as a session stores it.
type IncompleteCall struct {
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
func Read(text string, candidates []matcher.Candidate, now time.Duration) []IncompleteCall {
	var stored, open []IncompleteCall
	if exactjson.Unmarshal([]byte(text), &stored) != nil {
		return nil
	}
	for _, call := range stored {
		c, found := matcher.Request{Candidates: candidates}.Named(call.Name)
		call.Candidate = c
		same := found && c.Repository.ID == call.RepositoryID && c.Repository.SessionID == call.SessionID
		if same && now-time.Duration(call.Since)*time.Millisecond < continueWithin {
			open = append(open, call)
		}
	}
	return open
}

// Write encodes the calls for Read; empty for none.
func Write(calls []IncompleteCall) (string, error) {
	if len(calls) == 0 {
		return "", nil
	}
	return exactjson.Text(calls)
}

// ForMatcher returns the calls as a matcher sees them, without the values that a message takes back.
func ForMatcher(calls []IncompleteCall, message string) []matcher.Unfinished {
	var unfinished []matcher.Unfinished
	for _, call := range calls {
		unfinished = append(unfinished, call.forMatcher().Without(message))
	}
	return unfinished
}

func (c IncompleteCall) forMatcher() matcher.Unfinished {
	return matcher.Unfinished{Candidate: c.Candidate, Values: c.Values, Missing: c.Missing}
}

// After returns the incomplete calls after a user's message, including those that it begins. A message that
// continues an earlier call leaves the others open. A message that only calls for other tools drops the earlier calls, unless
// it is a question that is answered at once: "when are you open?" changes no subject.
// now is in milliseconds.
func After(calls []IncompleteCall, message string, matched matcher.Result, now int64) []IncompleteCall {
	complete := make([]Call, 0, len(matched.Matches)+len(matched.Rejected))
	for _, match := range matched.Matches {
		complete = append(complete, Call{RepositoryID: match.Repository.ID, Name: match.Tool.Name, Values: match.Values})
	}
	var incomplete []IncompleteCall
	for _, rejected := range matched.Rejected {
		incomplete = append(incomplete, newIncompleteCall(rejected, now))
	}
	return continued(calls, message, complete, incomplete)
}

// continued returns the incomplete calls after a message with complete and incomplete calls. Those of the message come
// first, since the user is asked for their values.
func continued(earlier []IncompleteCall, message string, complete []Call, incomplete []IncompleteCall) []IncompleteCall {
	if len(earlier) == 0 {
		return incomplete
	}
	calls := complete
	for _, call := range incomplete {
		calls = append(calls, Call{RepositoryID: call.RepositoryID, Name: call.Name, Values: call.Values})
	}
	open := slices.Clone(earlier)
	for _, call := range calls {
		if index := matcher.Continued(ForMatcher(open, message), call.RepositoryID, call.Name, call.Values); index >= 0 {
			open = slices.Delete(open, index, index+1)
		}
	}
	next, continues := slices.Clone(incomplete), len(open) < len(earlier)
	aside := len(incomplete) == 0 && matcher.Asks(message)
	if len(calls) > 0 && (!continues && !aside || matcher.Abandons(message)) { // the message is about something else
		return next
	}
	for _, call := range open {
		answered := aside && len(calls) > 0 // what it denies or corrects is of its own call, or of the one that it continues
		if shown := call.forMatcher(); continues || answered || shown.Survives(message) {
			remaining := shown.Without(message)
			call.Values, call.Missing = remaining.Values, remaining.Missing
			next = append(next, call)
		}
	}
	return next
}

// newIncompleteCall returns the incomplete call for a rejected one, with its valid values.
func newIncompleteCall(rejected matcher.Rejected, now int64) IncompleteCall {
	missing, values := Faulty(rejected.Missing, rejected.Errors), maps.Clone(rejected.Values)
	for _, name := range missing {
		delete(values, name)
	}
	if values == nil {
		values = map[string]any{}
	}
	return IncompleteCall{
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
func Replay(history []Past, candidates []matcher.Candidate, now time.Time) []IncompleteCall {
	var open []IncompleteCall
	for _, past := range history {
		complete, incomplete := slices.Clone(past.Complete), []IncompleteCall(nil)
		for _, call := range past.Rejected {
			c, found := matcher.Request{Candidates: candidates}.Named(call.Name)
			if !found || c.Repository.ID != call.RepositoryID || now.Sub(past.Time) >= continueWithin {
				complete = append(complete, call) // it can no longer be continued
				continue
			}
			incomplete = append(incomplete, newIncompleteCall(matcher.Rejected{Candidate: c, Values: call.Values, Missing: call.Missing, Errors: call.Errors}, past.Time.UnixMilli()))
		}
		open = continued(open, past.Text, complete, incomplete)
	}
	return open
}

// Fires returns the matches of a message that fire: only those of exclusive repositories if there are any, and
// the first of each triggerOnce repository.
func Fires(matches []matcher.Match) []matcher.Match {
	exclusive := slices.ContainsFunc(matches, func(m matcher.Match) bool { return m.Repository.Options.Exclusive })
	once := slices.ContainsFunc(matches, func(m matcher.Match) bool { return m.Repository.Options.TriggerOnce })
	if !exclusive && !once {
		return matches
	}
	fires := make([]matcher.Match, 0, len(matches))
	for _, match := range matches {
		options := match.Repository.Options
		taken := options.TriggerOnce && slices.ContainsFunc(fires, func(m matcher.Match) bool { return m.Repository == match.Repository })
		if !taken && (options.Exclusive || !exclusive) {
			fires = append(fires, match)
		}
	}
	return fires
}

// CatchAll returns the match of the catch-all tool.
func CatchAll(c matcher.Candidate, message string) matcher.Match {
	values := c.Tool.Params().Read(nil).Values
	if values == nil {
		values = map[string]any{}
	}
	values["value"] = message
	return matcher.Match{Candidate: c, Values: values}
}

// Results that a model sees for a trigger whose call has none: of a held, a cancelled and a duplicate trigger.
const (
	Confirming = "it is not done yet: the user is asked to confirm it"
	Cancelled  = "cancelled: nothing was done"
	Duplicate  = "it is not done again: the same was done before"
)

// Confirmed is the result that a model sees for a confirmed trigger.
var Confirmed = json.RawMessage(`"confirmed"`)
