package console

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"earshot/matcher"
	"earshot/trigger/explain"
	"earshot/trigger/query"
)

// sessionList is what the list of sessions shows: those whose tools fired last. Whatever
// else happens in sessions comes to the page as it is published.
type sessionList struct {
	Sessions []sessionItem
	Denied   string
	Host     string
}

// sessionItem is a session with the last thing that it set off.
type sessionItem struct {
	ID, Message string
	Time        time.Time
	Tool, Text  string
	Fired       int
}

func sessionsPage(v *visit) error {
	if session := v.r.URL.Query().Get("session"); session != "" {
		v.redirect(link("apps", v.app(), "sessions", session))
		return nil
	}
	shown := sessionList{Host: v.r.Host}
	var fired list[query.Record]
	err := v.get(v1("apps", v.app(), "triggers")+"?limit=200", &fired)
	var found *problem
	if errors.As(err, &found) && found.Status == http.StatusForbidden {
		shown.Denied, err = found.Detail, nil
	}
	shown.Sessions = sessionsOf(fired.Items)
	if err != nil {
		return err
	}
	return v.render("sessions", "Sessions", shown)
}

// sessionsOf groups records, which are the newest first, by session.
func sessionsOf(records []query.Record) []sessionItem {
	var sessions []sessionItem
	at := map[string]int{}
	for _, record := range records {
		i, known := at[record.SessionID]
		switch {
		case record.SessionID == "":
		case known:
			sessions[i].Fired++
		default:
			at[record.SessionID] = len(sessions)
			sessions = append(sessions, sessionItem{
				ID: record.SessionID, Message: record.MessageID, Time: record.Time, Tool: record.Name, Text: record.Text, Fired: 1,
			})
		}
	}
	return sessions
}

// conversation is what the page of a session shows.
type conversation struct {
	Session        string
	Turns          []turn
	Earlier, Later string // messages to choose to see what is before and after
	Chosen         *turn
	Explanation    *explain.Explanation
	Unexplained    string // why there is none
	Again          *again
}

// turn is a message of a conversation. The words that values of the chosen message came
// from are marked in its text.
type turn struct {
	query.Entry
	Said []words
}

// words are a part of a text, and the parameter that they are evidence for; empty for none.
type words struct{ Text, For string }

// window is how many messages a page shows at once.
const window = 200

func sessionPage(v *visit) error {
	shown, err := v.conversation(v.r.PathValue("session"), v.r.URL.Query().Get("message"))
	if err != nil {
		return err
	}
	return v.render("session", shown.Session, shown)
}

// conversation reads the messages of the session, and why the chosen one came out as it
// did: the last one of the user where none is named.
func (v *visit) conversation(session, message string) (*conversation, error) {
	shown := &conversation{Session: session}
	entries, err := v.history(shown.Session)
	if err != nil {
		return nil, err
	}
	chosen := choose(entries, message)
	begin, end := around(len(entries), chosen)
	if begin > 0 {
		shown.Earlier = entries[begin-1].MessageID
	}
	if end < len(entries) {
		shown.Later = entries[end].MessageID
	}
	var found evidence
	if chosen >= 0 {
		if shown.Explanation, shown.Unexplained, err = v.explanation(shown.Session, entries[chosen]); err != nil {
			return nil, err
		}
		found = v.evidence(shown.Explanation, entries[chosen])
	}
	for _, entry := range entries[begin:end] {
		shown.Turns = append(shown.Turns, turn{entry, marked(entry.Text, found[entry.MessageID])})
	}
	if chosen >= 0 {
		shown.Chosen = &shown.Turns[chosen-begin]
	}
	return shown, nil
}

// explanation reads why a message came out as it did; if there is none, it says why.
func (v *visit) explanation(session string, of query.Entry) (*explain.Explanation, string, error) {
	if of.Actor != matcher.ActorUser {
		return nil, "What an agent says is kept in the history and matched against nothing.", nil
	}
	explained := &explain.Explanation{}
	err := v.get(v1("apps", v.app(), "sessions", session, "messages", of.MessageID, "explain"), explained)
	var found *problem
	switch {
	case err == nil:
		return explained, "", nil
	case errors.As(err, &found) && found.Status == http.StatusNotFound:
		return nil, "Nothing explains this message any more: explanations are kept for a day unless EARSHOT_EXPLAIN_RETENTION says otherwise. Run it again to see what would come of it today.", nil
	case errors.As(err, &found) && (found.Status == http.StatusForbidden || found.Status == http.StatusConflict):
		return nil, found.Detail, nil
	}
	return nil, "", err
}

// history reads all messages that the session keeps, oldest first.
func (v *visit) history(session string) ([]query.Entry, error) {
	var entries []query.Entry
	path := v1("apps", v.app(), "sessions", session, "messages") + "?limit=200"
	for next := ""; ; {
		var page list[query.Entry]
		if err := v.get(path+next, &page); err != nil {
			return nil, err
		}
		entries = append(entries, page.Items...)
		if page.Next == "" {
			return entries, nil
		}
		next = "&after=" + url.QueryEscape(page.Next)
	}
}

// choose finds a message, or else the last one of the user; -1 if there is none.
func choose(entries []query.Entry, message string) int {
	last := -1
	for i, entry := range entries {
		if entry.MessageID == message {
			return i
		}
		if entry.Actor == matcher.ActorUser {
			last = i
		}
	}
	return last
}

// around is the part of so many messages that is shown: the last ones, or those around the
// chosen one where it is not among them.
func around(total, chosen int) (begin, end int) {
	begin = max(0, total-window)
	if chosen >= 0 && chosen < begin {
		begin = max(0, chosen-window/2)
	}
	return begin, min(total, begin+window)
}

// evidence is, by message, what words are evidence for which parameter.
type evidence map[string][]words

// evidence finds where the values of a message were said: in its explanation, or in the
// records of what it set off, which are kept longer.
func (v *visit) evidence(of *explain.Explanation, entry query.Entry) evidence {
	found := evidence{}
	if of != nil {
		for _, call := range of.Calls {
			found.add(entry.MessageID, call.Evidence)
		}
		return found
	}
	for _, fired := range entry.Triggers {
		var record query.Record
		if v.get(v1("apps", v.app(), "triggers", fired.TriggerID), &record) == nil {
			found.add(entry.MessageID, record.Evidence)
		}
	}
	return found
}

func (e evidence) add(message string, said map[string]*matcher.Evidence) {
	for parameter, where := range said {
		if where == nil {
			continue
		}
		in := where.MessageID
		if in == "" {
			in = message
		}
		for part := range strings.SplitSeq(where.Words, " … ") {
			e[in] = append(e[in], words{part, parameter})
		}
	}
}

// wordsIn is where words stand in a text: as words of their own, if they do; -1 for nowhere.
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

// marked splits a text into what is evidence and what is not. What several values came from
// is marked once, for all of them.
func marked(text string, said []words) []words {
	type place struct {
		begin, end int
		of         string
	}
	var places []place
	for _, one := range said {
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
