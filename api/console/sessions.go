package console

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"earshot/matcher"
	"earshot/repositories/annotations"
	"earshot/repositories/exactjson"
	"earshot/repositories/plaintext"
	"earshot/trigger/explain"
	"earshot/trigger/query"
)

// sessionList is the body of the list of sessions. As events arrive, the page adds their sessions at the
// top.
type sessionList struct {
	Asked    sessionSearch
	Sessions []sessionItem
	Next     string // link to the next page; empty on the last
	Fault    *problem
	Host     string
	Read     time.Time // before the list was read: the page adds what came later
}

// sessionSearch is a search; empty fields match all.
type sessionSearch struct{ Text, User, Outcome, Within, Since, Until string }

// sessionItem is a session in REST's list.
type sessionItem struct {
	ID       string                `json:"sessionId"`
	User     string                `json:"user"`
	Time     time.Time             `json:"lastActive"`
	Outcomes []string              `json:"outcomes"`
	Message  *query.MessageExcerpt `json:"message"`
}

// query returns the search as console parameters or, with now, as REST parameters.
func (s sessionSearch) query(now *time.Time) url.Values {
	since, until := "since", "until"
	if now != nil {
		since, until = "usedSince", "usedBefore"
	}
	return searched(now, s.Within, since, map[string]string{"text": s.Text, "user": s.User, "outcome": s.Outcome, since: s.Since, until: s.Until})
}

// Empty reports whether the search matches everything.
func (s sessionSearch) Empty() bool { return s == sessionSearch{} }

func sessionsPage(v *pageRequest) error {
	given := v.r.URL.Query()
	if session := given.Get("session"); session != "" {
		return v.redirect(link("apps", v.app(), "sessions", session))
	}
	shown := sessionList{Host: v.r.Host, Asked: sessionSearch{given.Get("text"), given.Get("user"), given.Get("outcome"), given.Get("within"), momentOf(given.Get("since")), momentOf(given.Get("until"))}}
	shown.Read = v.Now()
	asked := shown.Asked.query(&shown.Read)
	asked.Set("order", "activity")
	if after := given.Get("after"); after != "" {
		asked.Set("after", after)
	}
	var found list[sessionItem]
	err := v.get(v1("apps", v.app(), "sessions")+"?"+asked.Encode(), &found)
	if refused(err, http.StatusBadRequest) != nil {
		shown.Fault, err = problemOf(err), nil
	}
	if err != nil {
		return err
	}
	if shown.Sessions = found.Items; found.Next != "" {
		shown.Next = linkAfter(shown.Asked.query(nil), found.Next)
	}
	return v.render("sessions", "Sessions", shown)
}

type conversation struct {
	Session        string
	Turns          []turn
	Earlier, Later string // first messages of the neighbouring windows
	Chosen         *turn
	Explanation    *explain.Explanation
	Unexplained    string // why there is none
	Again          *rerun
	Tools          []toolChoice // that the chosen message may be an example of
	Saved          string       // the tool that got it as an example
}

// turn is a message of a conversation. Its text marks the evidence for the values of the chosen message.
type turn struct {
	query.Entry
	Said []words
}

// words is a part of a text and the parameter that it is evidence for; empty for none.
type words struct{ Text, For string }

// window is how many messages a page shows.
const window = 200

func sessionPage(v *pageRequest) error {
	shown, err := v.conversation(v.session(), v.r.URL.Query().Get("message"))
	if err != nil {
		return err
	}
	shown.Saved = v.r.URL.Query().Get("saved")
	return v.render("session", shown.Session, shown)
}

// conversation reads the messages of the session and the explanation of the chosen one; by default, the
// last of the user. It shows the last messages, or those around the chosen one.
func (v *pageRequest) conversation(session, message string) (*conversation, error) {
	shown := &conversation{Session: session}
	entries, err := every[query.Entry](v, v1("apps", v.app(), "sessions", session, "messages"))
	if err != nil {
		return nil, err
	}
	chosen := slices.IndexFunc(entries, func(one query.Entry) bool { return one.MessageID == message })
	for i := len(entries) - 1; i >= 0 && chosen < 0; i-- {
		if entries[i].Actor == matcher.ActorUser {
			chosen = i
		}
	}
	begin := max(0, len(entries)-window)
	if chosen >= 0 && chosen < begin {
		begin = max(0, chosen-window/2)
	}
	end := min(len(entries), begin+window)
	if begin > 0 {
		shown.Earlier = entries[begin-1].MessageID
	}
	if end < len(entries) {
		shown.Later = entries[end].MessageID
	}
	var found evidence
	if chosen >= 0 {
		if shown.Explanation, shown.Unexplained, err = v.explanation(session, entries[chosen]); err != nil {
			return nil, err
		}
		found = v.evidence(shown.Explanation, entries[chosen])
		if shown.Tools, err = v.choices(""); err != nil {
			return nil, err
		}
	}
	for _, entry := range entries[begin:end] {
		shown.Turns = append(shown.Turns, turn{entry, marked(entry.Text, found[entry.MessageID])})
	}
	if chosen >= 0 {
		shown.Chosen = &shown.Turns[chosen-begin]
	}
	return shown, nil
}

// explanation reads the explanation of a message, or returns why there is none.
func (v *pageRequest) explanation(session string, of query.Entry) (*explain.Explanation, string, error) {
	if of.Actor != matcher.ActorUser {
		return nil, "What an agent says is kept in the history and matched against nothing.", nil
	}
	explained := &explain.Explanation{}
	err := v.get(v1("apps", v.app(), "sessions", session, "messages", of.MessageID, "explain"), explained)
	if err == nil {
		return explained, "", nil
	}
	if refused(err, http.StatusNotFound) != nil {
		return nil, "Nothing explains this message any more: explanations are kept for a day unless EARSHOT_EXPLAIN_RETENTION says otherwise. Run it again to see what would come of it today.", nil
	}
	if found := refused(err, http.StatusForbidden, http.StatusConflict); found != nil {
		return nil, found.Detail, nil
	}
	return nil, "", err
}

// evidence maps message ids to the words that are evidence.
type evidence map[string][]words

// evidence finds the words that the values of a message came from. They are in its explanation, or in the
// records of its triggers, which are kept longer.
func (v *pageRequest) evidence(of *explain.Explanation, entry query.Entry) evidence {
	found := evidence{}
	add := func(by map[string]*matcher.Evidence) {
		for parameter, where := range by {
			if where == nil {
				continue
			}
			in := cmp.Or(where.MessageID, entry.MessageID)
			for part := range strings.SplitSeq(where.Words, " … ") {
				found[in] = append(found[in], words{part, parameter})
			}
		}
	}
	if of != nil {
		for _, call := range of.Calls {
			add(call.Evidence)
		}
		return found
	}
	for _, fired := range entry.Matches {
		var record query.Record
		if v.get(v1("apps", v.app(), "triggers", fired.TriggerID), &record) == nil {
			add(record.Evidence)
		}
	}
	return found
}

// wordsIn returns the index of wanted in text, preferably as whole words; -1 for none.
func wordsIn(text, wanted string) int {
	if wanted == "" {
		return -1
	}
	inWord := func(r rune, _ int) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	for from := 0; ; {
		at := strings.Index(text[from:], wanted)
		if at < 0 {
			return strings.Index(text, wanted)
		}
		at += from
		before, after := utf8.DecodeLastRuneInString, utf8.DecodeRuneInString
		if !inWord(before(text[:at])) && !inWord(after(text[at+len(wanted):])) {
			return at
		}
		from = at + len(wanted)
	}
}

// marked splits a text into evidence and the rest. Evidence of several values is marked once for all.
func marked(text string, found []words) []words {
	type place struct {
		begin, end int
		of         string
	}
	var places []place
	for _, one := range found {
		if at := wordsIn(text, one.Text); at >= 0 {
			places = append(places, place{at, at + len(one.Text), one.For})
		}
	}
	slices.SortFunc(places, func(a, b place) int { return a.begin - b.begin })
	var parts []words
	done := 0
	for _, p := range places {
		if p.begin < done {
			if last := &parts[len(parts)-1]; !strings.Contains(last.For, p.of) {
				last.For += ", " + p.of
			}
			continue
		}
		if p.begin > done {
			parts = append(parts, words{Text: text[done:p.begin]})
		}
		parts, done = append(parts, words{text[p.begin:p.end], p.of}), p.end
	}
	if done < len(text) {
		parts = append(parts, words{Text: text[done:]})
	}
	return parts
}

// rerun is the outcome that a message would have today, compared with its stored outcome.
type rerun struct {
	Rows        []difference
	Changed     bool
	Explanation *explain.Explanation
	Fault       *problem
}

type difference struct {
	Tool        string
	Then, Today result
	Same        bool
}

type result struct {
	State  string // fired, rejected or empty for nothing
	Values map[string]any
	Why    string
}

// runAgain matches a message again as a dry run with today's tools. It stores and fires nothing.
func runAgain(v *pageRequest) error {
	id := v.r.PathValue("message")
	shown, err := v.conversation(v.session(), id)
	if err != nil {
		return err
	}
	if shown.Chosen == nil || shown.Chosen.MessageID != id {
		return &problem{Status: http.StatusNotFound, Title: "No such message", Detail: "the session has no message of this id any more"}
	}
	then := shown.Chosen.Entry
	body, _ := json.Marshal(map[string]string{"messageId": id, "actor": then.Actor, "text": then.Text}) // strings always encode
	var today struct {
		query.Answer
		Explain *explain.Explanation `json:"explain"`
	}
	shown.Again = &rerun{}
	err = v.call(http.MethodPost, v1("apps", v.app(), "sessions", shown.Session, "messages")+"?dryRun=true&explain=true", body, &today)
	if err != nil {
		shown.Again.Fault = problemOf(err)
		return v.render("session", shown.Session, shown)
	}
	shown.Again.Explanation = today.Explain
	before, after := resultsOf(then.Matches, then.Rejected), resultsOf(today.Matches, today.Rejected)
	names := maps.Clone(before)
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		row := difference{Tool: name, Then: before[name], Today: after[name]}
		then, wrong := exactjson.Encode(row.Then)
		now, err := exactjson.Encode(row.Today)
		row.Same = errors.Join(wrong, err) == nil && string(then) == string(now)
		shown.Again.Changed = shown.Again.Changed || !row.Same
		shown.Again.Rows = append(shown.Again.Rows, row)
	}
	return v.render("session", shown.Session, shown)
}

// resultsOf returns the outcome of a message by tool; of two triggers of a tool, the first counts.
func resultsOf(fired []query.Match, rejected []query.Rejected) map[string]result {
	results := map[string]result{}
	for _, one := range rejected {
		why := make([]string, len(one.Errors))
		for i, fault := range one.Errors {
			why[i] = fault.Parameter + " " + fault.Detail
		}
		results[one.Name] = result{"rejected", one.Values, strings.Join(why, "; ")}
	}
	for _, one := range slices.Backward(fired) {
		results[one.Name] = result{State: "fired", Values: one.Values}
	}
	return results
}

type playground struct {
	*conversation
	Session string
	Text    string // of a refused message
	Actor   string
	Fault   *problem
	Tools   []scopedTool
	Host    string
	Denied  string // why the tools cannot be read
}

type scopedTool struct {
	Repository, Name, Description string
	Example                       string
	OfSession                     bool
}

// Of returns the tool's session; empty for the app.
func (t scopedTool) Of(session string) string {
	if t.OfSession {
		return session
	}
	return ""
}

func playgroundPage(v *pageRequest) error {
	session := v.r.URL.Query().Get("session")
	if session == "" {
		return v.redirect(link("apps", v.app(), "playground") + "?session=playground-" + strings.ToLower(rand.Text()[:6]))
	}
	return v.showPlayground(http.StatusOK, playground{Session: session, Actor: "user"})
}

func (v *pageRequest) showPlayground(status int, shown playground) error {
	found, err := v.conversation(shown.Session, "")
	if err != nil {
		return err
	}
	shown.conversation, shown.Host = found, v.r.Host
	// A session's tool hides the app's tool of the same name.
	seen := map[string]bool{}
	for _, session := range []string{shown.Session, ""} {
		var found list[repository]
		if err := v.get(owner(v.app(), session)+"/repositories?limit=100", &found); err != nil {
			shown.Denied, shown.Tools = problemOf(err).Detail, nil
			break
		}
		for _, of := range found.Items {
			for _, one := range of.Tools {
				if seen[one.Name] {
					continue
				}
				seen[one.Name] = true
				tool := scopedTool{Repository: of.ID, Name: one.Name, Description: plaintext.Text(one.Description), OfSession: session != ""}
				if len(one.Examples) > 0 {
					tool.Example = plaintext.Text(annotations.Plain(one.Examples[0]))
				}
				shown.Tools = append(shown.Tools, tool)
			}
		}
	}
	return v.renderStatus(status, "playground", "Playground", shown)
}

// postMessage posts a message and redirects, so that a reload posts nothing.
func postMessage(v *pageRequest) error {
	form := v.r.PostForm
	shown := playground{Session: form.Get("session"), Text: form.Get("text"), Actor: form.Get("actor")}
	body, _ := json.Marshal(map[string]string{"actor": shown.Actor, "text": shown.Text}) // strings always encode
	err := v.call(http.MethodPost, v1("apps", v.app(), "sessions", shown.Session, "messages"), body, nil)
	if err == nil {
		return v.redirect(link("apps", v.app(), "playground") + "?session=" + url.QueryEscape(shown.Session))
	}
	if refused(err, http.StatusUnauthorized) != nil {
		return err
	}
	shown.Fault = problemOf(err)
	return v.showPlayground(shown.Fault.Status, shown)
}
