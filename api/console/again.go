package console

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"earshot/repositories/exactjson"
	"earshot/trigger/explain"
	"earshot/trigger/query"
)

// again is what would come of a message today, and how that differs from what came of it.
type again struct {
	Rows        []difference
	Changed     bool
	Explanation *explain.Explanation
	Fault       *problem
}

// difference is what a tool did and what it would do today.
type difference struct {
	Tool        string
	Then, Today result
	Same        bool
}

// result is what a message came to for one tool.
type result struct {
	State  string // fired, rejected or empty for nothing
	Values map[string]any
	Why    string
}

// runAgain matches a message of the session as a dry run, against the tools of today.
// Nothing of it is stored, and nothing fires.
func runAgain(v *visit) error {
	shown, err := v.conversation(v.r.PathValue("session"), v.r.PathValue("message"))
	if err != nil {
		return err
	}
	if shown.Chosen == nil || shown.Chosen.MessageID != v.r.PathValue("message") {
		return &problem{Status: http.StatusNotFound, Title: "No such message", Detail: "the session has no message of this id any more"}
	}
	shown.Again = v.tryAgain(shown.Session, shown.Chosen.Entry)
	return v.render("session", shown.Session, shown)
}

func (v *visit) tryAgain(session string, then query.Entry) *again {
	body, _ := json.Marshal(map[string]string{"messageId": then.MessageID, "actor": then.Actor, "text": then.Text}) // texts alone
	var today struct {
		query.Answer
		Explain *explain.Explanation `json:"explain"`
	}
	err := v.call(http.MethodPost, v1("apps", v.app(), "sessions", session, "messages")+"?dryRun=true&explain=true", body, &today)
	if err != nil {
		return &again{Fault: problemOf(err)}
	}
	found := &again{Explanation: today.Explain}
	before, after := resultsOf(then.Triggers, then.Rejected), resultsOf(today.Matches, today.Rejected)
	names := maps.Clone(before)
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		row := difference{Tool: name, Then: before[name], Today: after[name]}
		row.Same = row.Then.same(row.Today)
		found.Changed = found.Changed || !row.Same
		found.Rows = append(found.Rows, row)
	}
	return found
}

// resultsOf is what came of a message, by tool. One that fired twice counts by its first.
func resultsOf(fired []query.Match, rejected []query.Rejected) map[string]result {
	results := map[string]result{}
	for _, one := range rejected {
		why := ""
		for i, fault := range one.Errors {
			if i > 0 {
				why += "; "
			}
			why += fault.Parameter + " " + fault.Detail
		}
		results[one.Name] = result{"rejected", one.Values, why}
	}
	for _, one := range slices.Backward(fired) {
		results[one.Name] = result{State: "fired", Values: one.Values}
	}
	return results
}

func (r result) same(other result) bool {
	if r.State != other.State || r.Why != other.Why {
		return false
	}
	mine, err := exactjson.Encode(r.Values)
	theirs, wrong := exactjson.Encode(other.Values)
	return err == nil && wrong == nil && string(mine) == string(theirs)
}
