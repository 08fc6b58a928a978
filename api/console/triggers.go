package console

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"earshot/trigger/query"
	"earshot/trigger/state"
)

type triggerList struct {
	Asked   triggerSearch
	Records []query.Record
	Next    string     // link to the next page; empty on the last
	Until   *time.Time // how far the search got if the page is not full
	Fault   *problem
	Bulk    *bulk
	Host    string
}

// triggerSearch is a search; empty fields match all.
type triggerSearch struct {
	State, Name, Session, Source, Reason, Value string
	Within                                      string // one of periods
	Since, Until                                string // times, instead of Within
}

type bulk struct {
	Count int
	Done  string // the action, in words
	Fault *problem
}

// periods maps the words in queries to lengths.
var periods = map[string]time.Duration{"15m": 15 * time.Minute, "1h": time.Hour, "24h": 24 * time.Hour, "7d": 7 * 24 * time.Hour}

func searchOf(given url.Values) triggerSearch {
	return triggerSearch{
		State: given.Get("state"), Name: given.Get("name"), Session: given.Get("session"), Source: given.Get("source"),
		Reason: given.Get("reason"), Value: given.Get("value"), Within: given.Get("within"), Since: momentOf(given.Get("since")), Until: momentOf(given.Get("until")),
	}
}

// query returns the search as console parameters or, with now, as REST parameters.
func (s triggerSearch) query(now *time.Time) url.Values {
	return searched(now, s.Within, "since", map[string]string{
		"state": s.State, "name": s.Name, "session": s.Session, "source": s.Source, "reason": s.Reason, "value": s.Value, "since": s.Since, "until": s.Until,
	})
}

// linkAfter returns the link to the page of a search that begins behind an item.
func linkAfter(search url.Values, item string) string {
	search.Set("after", item)
	return "?" + search.Encode()
}

// searched returns the query of a search, with a period or, with now, with its start for REST.
func searched(now *time.Time, within, since string, fields map[string]string) url.Values {
	q := url.Values{}
	for name, value := range fields {
		if value != "" {
			q.Set(name, value)
		}
	}
	length, is := periods[within]
	is = is && fields[since] == ""
	switch {
	case is && now != nil:
		q.Set(since, now.Add(-length).UTC().Format(time.RFC3339))
	case is:
		q.Set("within", within)
	}
	return q
}

// momentOf converts a time for REST. It accepts seconds since 1970 from a chart's link, and times without a
// zone as UTC. Others are unchanged, so that REST reports the fault.
func momentOf(given string) string {
	if seconds, err := strconv.ParseInt(given, 10, 64); err == nil {
		return time.Unix(seconds, 0).UTC().Format(time.RFC3339)
	}
	for _, form := range []string{"2006-01-02T15:04", time.DateTime, "2006-01-02 15:04", time.DateOnly} {
		if at, err := time.Parse(form, given); err == nil {
			return at.UTC().Format(time.RFC3339)
		}
	}
	return given
}

// Empty reports whether the search matches everything.
func (s triggerSearch) Empty() bool { return s == triggerSearch{} }

// Minute formats a time for a form field; empty for none.
func (triggerSearch) Minute(moment string) string {
	if at, err := time.Parse(time.RFC3339, moment); err == nil {
		return at.UTC().Format("2006-01-02T15:04")
	}
	return ""
}

// Whole reports whether the search matches all triggers of a state.
func (s triggerSearch) Whole() bool { return s == triggerSearch{State: s.State} }

func triggersPage(v *pageRequest) error {
	given := v.r.URL.Query()
	shown := &triggerList{Asked: searchOf(given), Host: v.r.Host}
	if err := v.search(shown, given.Get("after")); err != nil {
		return err
	}
	return v.render("triggers", "Triggers", shown)
}

// search reads a page of records. Faults of the search appear beside its form.
func (v *pageRequest) search(shown *triggerList, after string) error {
	now := v.Now()
	q := shown.Asked.query(&now)
	if after != "" {
		q.Set("after", after)
	}
	var found struct {
		list[query.Record]
		Until *time.Time `json:"searchedUntil"`
	}
	if err := v.get(v1("apps", v.app(), "triggers")+"?"+q.Encode(), &found); err != nil {
		fault := problemOf(err)
		if fault.Status != http.StatusBadRequest {
			return err
		}
		shown.Fault = fault
		return nil
	}
	shown.Records, shown.Until = found.Items, found.Until
	if found.Next != "" {
		shown.Next = linkAfter(shown.Asked.query(nil), found.Next)
	}
	return nil
}

// bulkTriggers counts the failed triggers of the search, or retries or removes them all: the page shows the
// number first.
func bulkTriggers(v *pageRequest) error {
	form := v.r.PostForm
	shown := &triggerList{Asked: searchOf(form), Host: v.r.Host, Bulk: &bulk{}}
	shown.Asked.State = query.StateFailed
	method, path := http.MethodPost, v1("apps", v.app(), "triggers", "retry")
	now := v.Now()
	q := shown.Asked.query(&now)
	switch form.Get("do") {
	case "retry":
		shown.Bulk.Done = "are tried again"
	case "remove":
		method, path = http.MethodDelete, v1("apps", v.app(), "triggers")
		shown.Bulk.Done = "are deleted"
	default:
		q.Set("dryRun", "true")
	}
	var answer struct {
		Triggers int `json:"triggers"`
	}
	if err := v.call(method, path+"?"+q.Encode(), nil, &answer); err != nil {
		shown.Bulk = &bulk{Fault: problemOf(err)}
	} else {
		shown.Bulk.Count = answer.Triggers
	}
	if err := v.search(shown, ""); err != nil {
		return err
	}
	return v.render("triggers", "Triggers", shown)
}

// timeline is the body of a trigger's page, with its history in order.
type timeline struct {
	query.Record
	Steps   []step
	Settles bool     // it can still be cancelled
	Waits   bool     // its call waits for the next attempt
	Fault   *problem // of an action on it
}

type step struct {
	Title, State string
	By           string // "by" and the name of a person or a key
	Open         bool   // its request is shown expanded: the last failure
	query.Attempt
}

func triggerPage(v *pageRequest) error {
	shown, err := v.timeline()
	if err != nil {
		return err
	}
	return v.render("trigger", shown.Name, shown)
}

// triggerAction retries, confirms, denies or cancels a trigger. The digest identifies the values that the
// person saw. It redirects to the message of the form, or else to the trigger.
func triggerAction(action string) func(*pageRequest) error {
	return func(v *pageRequest) error {
		form := v.r.PostForm
		id := v.r.PathValue("trigger")
		var body []byte
		if named := form.Get("digest"); named != "" {
			body, _ = json.Marshal(map[string]string{"digest": named}) // strings always encode
		}
		err := v.call(http.MethodPost, v1("apps", v.app(), "triggers", id, action), body, nil)
		if err == nil {
			if session := form.Get("session"); session != "" {
				return v.redirect(link("apps", v.app(), "sessions", session) + "?message=" + url.QueryEscape(form.Get("message")) + "#why")
			}
			return v.redirect(link("apps", v.app(), "triggers", id))
		}
		shown, failed := v.timeline()
		if failed != nil {
			return failed
		}
		shown.Fault = problemOf(err)
		return v.renderStatus(shown.Fault.Status, "trigger", shown.Name, shown)
	}
}

func (v *pageRequest) timeline() (*timeline, error) {
	shown := &timeline{}
	if err := v.get(v1("apps", v.app(), "triggers", v.r.PathValue("trigger")), &shown.Record); err != nil {
		return nil, err
	}
	shown.Settles = shown.State == query.StatePending && shown.DueAt != nil && len(shown.Attempts) == 0 && shown.DueAt.After(v.Now())
	shown.Waits = shown.Next != nil && !shown.Next.UnderWay
	for _, attempt := range shown.Attempts {
		at := step{Title: effectNames[attempt.Effect], State: "delivered", Attempt: attempt}
		if attempt.Error != "" || attempt.Reason != "" || attempt.Status >= http.StatusMultipleChoices {
			at.State = "failed"
		}
		shown.Steps = append(shown.Steps, at)
	}
	moved := func(title, by string, at time.Time) {
		if by != "" {
			by = "by " + by
		}
		shown.Steps = append(shown.Steps, step{Title: title, By: by, Attempt: query.Attempt{Time: at}})
	}
	for _, one := range shown.Retries {
		moved("Tried again", one.By, one.Time)
	}
	for _, one := range shown.Moves {
		moved(moveNames[one.Action], one.By, one.Time)
	}
	slices.SortStableFunc(shown.Steps, func(a, b step) int { return a.Time.Compare(b.Time) })
	for i, one := range slices.Backward(shown.Steps) {
		if one.State == "failed" {
			shown.Steps[i].Open = true
			break
		}
	}
	return shown, nil
}

// moveNames names the moves of a trigger with deferred effects.
var moveNames = map[state.Action]string{
	state.Confirm: "Confirmed", state.Deny: "Denied", state.Expire: "Not confirmed in time",
	state.Release: "Let go when its time was over", state.Cancel: "Cancelled", state.Retract: "Taken back by the user's next message",
}

var effectNames = map[string]string{"event": "Event", "emitter": "Second event", "call": "Call", "result": "Event of the result"}

// Answered returns the status of an answer with its text; empty without an answer.
func (s step) Answered() string {
	if s.Attempt.Status == 0 {
		return ""
	}
	return strconv.Itoa(s.Attempt.Status) + " " + http.StatusText(s.Attempt.Status)
}
