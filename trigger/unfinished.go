package trigger

import (
	"maps"
	"slices"
	"time"

	"earshot/matcher"
	"earshot/repositories/exactjson"
)

// keepUnfinished is how long a call that lacks values waits for the next message.
const keepUnfinished = 10 * time.Minute

// unfinished is a call that lacks values, as a session keeps it.
type unfinished struct {
	RepositoryID string         `json:"repositoryId"`
	SessionID    string         `json:"sessionId,omitempty"` // of the repository
	Name         string         `json:"name"`
	Values       map[string]any `json:"values"`
	Missing      []string       `json:"missing"`
	Since        int64          `json:"since"` // ms, by the clock of Redis

	candidate matcher.Candidate
}

// readUnfinished reads what a session keeps, but for what is too old or whose tool is
// not in scope any more.
func readUnfinished(text string, s scope, now time.Duration) []unfinished {
	var stored, open []unfinished
	if text == "" || decode(text, &stored) != nil {
		return nil
	}
	candidates, _ := s.candidates()
	for _, u := range stored {
		at := slices.IndexFunc(candidates, func(c matcher.Candidate) bool {
			return c.Tool.Name == u.Name && c.Repository.ID == u.RepositoryID && c.Repository.SessionID == u.SessionID
		})
		if at >= 0 && now-time.Duration(u.Since)*time.Millisecond < keepUnfinished {
			u.candidate = candidates[at]
			open = append(open, u)
		}
	}
	return open
}

// begun shows unfinished calls to a matcher.
func begun(list []unfinished) []matcher.Unfinished {
	var shown []matcher.Unfinished
	for _, u := range list {
		shown = append(shown, matcher.Unfinished{Candidate: u.candidate, Values: u.Values, Missing: u.Missing})
	}
	return shown
}

// keptUnfinished is what the session keeps after a turn: calls that the message began
// and, unless it is about something else or drops them, those from before.
func keptUnfinished(t *turn, result matcher.Result) (string, error) {
	var kept []unfinished
	if len(result.Matches)+len(result.Rejected) == 0 && !matcher.Abandons(t.message.Text) {
		kept = t.unfinished
	}
	for _, rejected := range result.Rejected {
		kept = append(kept, unfinished{
			RepositoryID: rejected.Repository.ID, SessionID: rejected.Repository.SessionID, Name: rejected.Tool.Name,
			Values: soundValues(rejected), Missing: faulty(rejected), Since: t.at.Milliseconds(),
		})
	}
	if len(kept) == 0 {
		return "", nil
	}
	text, err := exactjson.Encode(kept)
	return string(text), err
}

// soundValues are the values of a rejected call that are in order.
func soundValues(rejected matcher.Rejected) map[string]any {
	values := maps.Clone(orEmpty(rejected.Values))
	for _, name := range faulty(rejected) {
		delete(values, name)
	}
	return values
}

// faulty names the parameters of a rejected call that lack a good value.
func faulty(rejected matcher.Rejected) []string {
	names := slices.Clone(rejected.Missing)
	for _, fault := range rejected.Errors {
		if fault.Parameter != "" && !slices.Contains(names, fault.Parameter) {
			names = append(names, fault.Parameter)
		}
	}
	return names
}
