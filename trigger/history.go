package trigger

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/trigger/conversation"
	"earshot/trigger/ledger"
)

// HistoryQuery selects messages of a session.
type HistoryQuery struct {
	AppID, SessionID string
	// Since leaves out what was said before; zero leaves out nothing.
	Since time.Time
	// Newest asks for the newest first.
	Newest bool
	Page   Page
}

// History lists the messages of a session, oldest first, with what each set off. A session
// that does not exist has none. A cursor is a place in the history, and is good in either
// order: messages that come, or that leave the history, between two pages move no others to
// another page.
func (r *Records) History(ctx context.Context, q HistoryQuery) ([]Entry, string, error) {
	if err := r.appExists(ctx, q.AppID); err != nil {
		return nil, "", err
	}
	r.settling.waitForApp(ctx, q.AppID)
	entries, next, err := r.historyPage(ctx, q)
	for len(entries) == 0 && next != "" && err == nil { // by the clocks of replicas all of it was said before
		q.Page.After = next
		if entries, next, err = r.historyPage(ctx, q); errors.Is(err, ErrCursor) {
			return []Entry{}, "", nil // the session was closed meanwhile
		}
	}
	return entries, next, err
}

// historyPage reads a page of a history.
func (r *Records) historyPage(ctx context.Context, q HistoryQuery) ([]Entry, string, error) {
	list, err := r.placesOf(ctx, q)
	if err != nil {
		return nil, "", err
	}
	next := ""
	if len(list.ids) > q.Page.Limit {
		list.ids = list.ids[:q.Page.Limit]
		next = list.cursorAfter(q.Page.Limit)
	}
	entries, whole, err := r.page(ctx, q, list.ids)
	if whole < len(list.ids) {
		next = list.cursorAfter(max(whole, 1))
	}
	return entries, next, err
}

// page reads as many messages as fit on a page, and returns their number. What belongs to a
// message, such as its reply, is on the same page.
func (r *Records) page(ctx context.Context, q HistoryQuery, ids []string) (entries []Entry, whole int, err error) {
	entries, room := []Entry{}, &repositories.Room{}
	sizes, err := r.ledger.MessageSizes(ctx, q.AppID, q.SessionID, ids)
	for err == nil && whole < len(ids) {
		var found []Entry
		found, err = r.entries(ctx, q.AppID, q.SessionID, ids[whole:whole+repositories.Fitting(sizes[whole:])])
		for _, entry := range found {
			withReply := withReplies([]Entry{entry})
			if entry.MessageID == "" || entry.Time.Before(q.Since) {
				withReply = nil
			}
			if q.Newest {
				slices.Reverse(withReply)
			}
			if !room.Takes(withReply) {
				return entries, whole, nil
			}
			entries, whole = append(entries, withReply...), whole+1
		}
	}
	return entries, whole, err
}

// historyPlaces are the messages of a page, in its order, with the place of the first.
type historyPlaces struct {
	ids         []string
	first, step int
}

// cursorAfter follows the first n messages of a page.
func (p historyPlaces) cursorAfter(n int) string {
	return encodeCursor(strconv.Itoa(p.first+p.step*(n-1)) + "/" + p.ids[n-1])
}

// placesOf reads the ids of a page, one more than it has where there are more.
func (r *Records) placesOf(ctx context.Context, q HistoryQuery) (list historyPlaces, err error) {
	want := ledger.Pages{Newest: q.Newest, Most: q.Page.Limit + 1}
	if !q.Since.IsZero() {
		want.Since = q.Since.Add(-clockSkew).UnixMilli()
	}
	if q.Page.After != "" {
		text, err := decodeCursor(q.Page.After)
		if err != nil {
			return list, err
		}
		want.After.Number, want.After.ID, _ = strings.Cut(text, "/")
		if _, err := strconv.Atoi(want.After.Number); err != nil || want.After.ID == "" {
			return list, fmt.Errorf("%w: %q", ErrCursor, q.Page.After)
		}
	}
	step := 1
	if q.Newest {
		step = -1
	}
	first, ids, moved, err := r.ledger.Page(ctx, q.AppID, q.SessionID, want)
	if moved {
		err = fmt.Errorf("%w: %q", ErrCursor, q.Page.After)
	}
	return historyPlaces{ids, first, step}, err
}

// entries reads messages with their decisions, and the states of all their triggers. It
// ends early, but not before the first, where these are more than a page. A message that
// is gone is an empty entry.
func (r *Records) entries(ctx context.Context, appID, sessionID string, ids []string) ([]Entry, error) {
	stored, err := r.ledger.Messages(ctx, appID, sessionID, ids)
	if err != nil {
		return nil, err
	}
	var entries []Entry
	var matches []Match
	for i, message := range stored {
		if message.Message == "" {
			entries = append(entries, Entry{}) // it has left the history since the ids were read
			continue
		}
		entry, err := entryOf(ids[i], message)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry)
		matches = append(matches, entry.Triggers...)
	}
	few, err := r.ledger.TriggersFitting(ctx, appID, triggerIDs(matches))
	if err != nil {
		return nil, err
	}
	fits := func(n, triggers int) bool { return n == 0 || triggers <= few }
	n, triggers := 0, 0
	for n < len(entries) && fits(n, triggers+len(entries[n].Triggers)) {
		triggers += len(entries[n].Triggers)
		n++
	}
	if err := r.fillStates(ctx, appID, matches[:triggers]); err != nil {
		return nil, err
	}
	for i := range entries[:n] {
		matches = matches[copy(entries[i].Triggers, matches):]
	}
	return entries[:n], nil
}

// entryOf reads one message: its text, decision, reply, failure and answer.
func entryOf(id string, stored ledger.StoredMessage) (Entry, error) {
	var message storedMessage
	if err := decode(stored.Message, &message); err != nil {
		return Entry{}, fmt.Errorf("message %q cannot be read: %w", id, err)
	}
	entry := Entry{MessageID: id, Actor: message.Actor, Text: message.Text, Time: message.Time, Metadata: message.Metadata, State: EntryPending, Triggers: []Match{}, Auth: message.Auth}
	decided, err := shownAnswer(stored)
	if err != nil {
		return Entry{}, fmt.Errorf("the decision of message %q cannot be read: %w", id, err)
	}
	if decided.Matches != nil {
		entry.Triggers, entry.Rejected = decided.Matches, decided.Rejected
	}
	if stored.Reply != "" {
		entry.Reply, entry.ReplyType = json.RawMessage(stored.Reply), replyType(json.RawMessage(stored.Reply))
	}
	return entry, entry.setState(stored.Decision+stored.Answer, stored.Failure)
}

// shownAnswer is the answer to a message, which tells more than the decision does: what came
// of it by then. It is empty where neither is there.
func shownAnswer(stored ledger.StoredMessage) (answer Answer, err error) {
	switch {
	case stored.Answer == ledger.AsDecided:
		return asDecided(stored.Decision)
	case stored.Answer != "":
		err = decode(stored.Answer, &answer)
	case stored.Decision != "":
		err = decode(stored.Decision, &answer)
	}
	return answer, err
}

func (entry *Entry) setState(decided, failed string) error {
	switch {
	case decided != "":
		entry.State = EntryDecided
	case failed != "":
		var f failure
		if err := decode(failed, &f); err != nil {
			return err
		}
		entry.State, entry.Error = EntryFailed, f.Error
	}
	return nil
}

// withReplies puts each reply behind its message, as what the agent said.
func withReplies(entries []Entry) []Entry {
	list := make([]Entry, 0, len(entries))
	for _, entry := range entries {
		list = append(list, entry)
		if text := replyText(entry.Reply); text != "" {
			list = append(list, Entry{
				MessageID: replyID(entry.MessageID), Actor: matcher.ActorAgent, Text: text,
				Time: entry.Time, State: EntryDecided, Triggers: []Match{},
			})
		}
	}
	return list
}

// callResult is the result of an ended call, as a session keeps it for later matching.
type callResult struct {
	TriggerID string          `json:"triggerId"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     string          `json:"error,omitempty"`
}

// pastCache keeps what was read of the conversations that go on here: each message is read
// again with every one that follows it.
type pastCache struct {
	read *lru.Cache[string, []readPast] // by session
}

// readPast is an earlier message as it stood in the ledger, with what was read of it.
type readPast struct {
	stored ledger.Past
	said   []matcher.Utterance
}

// So many conversations are kept, and of each the messages that have so many bytes together
// in the ledger; read they take about twice that.
const (
	cachedConversations     = 1024
	cachedConversationBytes = 8 << 10
)

func newPastCache() pastCache {
	read, _ := lru.New[string, []readPast](cachedConversations) // fails for a size of 0 only
	return pastCache{read}
}

// history turns the history before a turn into what a matcher reads. Damaged entries are
// left out.
func (c pastCache) history(t ledger.Turn, history []ledger.Past) []matcher.Utterance {
	if len(history) == 0 {
		return nil
	}
	name := t.App + "/" + t.Session
	known, _ := c.read.Get(name)
	var list []matcher.Utterance
	now, room := make([]readPast, 0, len(history)), cachedConversationBytes
	for _, past := range history {
		var one readPast
		if one, known = reread(past, known); room >= past.Size() {
			room -= past.Size()
			now = append(now, one)
		}
		list = append(list, one.said...)
	}
	c.read.Add(name, now)
	return list
}

// reread is an earlier message as it was read before, or reads it where it is new or has
// changed, as when a result came. It returns with it what was known behind it.
func reread(past ledger.Past, known []readPast) (readPast, []readPast) {
	for i, one := range known {
		if one.stored == past {
			return one, known[i+1:]
		}
	}
	return readPast{past, utterances(past)}, known
}

// utterances are a message and the reply to it.
func utterances(past ledger.Past) []matcher.Utterance {
	var message storedMessage
	if decode(past.Message, &message) != nil {
		return nil
	}
	said := matcher.Utterance{ID: past.ID, Actor: message.Actor, Text: message.Text, Fired: readFired(past.Decision, past.Results)}
	reply := replyText(json.RawMessage(past.Reply))
	if reply == "" {
		return []matcher.Utterance{said}
	}
	return []matcher.Utterance{said, {ID: replyID(past.ID), Actor: matcher.ActorAgent, Text: reply}}
}

// readFired joins the triggers of a decision with the results that have come in.
func readFired(decision, results string) []matcher.PastCall {
	var decided Answer
	if decision == "" || decode(decision, &decided) != nil {
		return nil
	}
	ended := readResults(results)
	var list []matcher.PastCall
	for _, match := range decided.Matches {
		result := ended[match.TriggerID]
		list = append(list, matcher.PastCall{
			TriggerID: match.TriggerID, Name: match.Name, Values: match.Values,
			Result: result.Result, Error: cmp.Or(result.Error, match.undone(result)),
		})
	}
	return list
}

// undone says why a match has no result that it would have had: it was held, or a duplicate.
func (m Match) undone(result callResult) string {
	switch {
	case len(result.Result) > 0:
		return ""
	case m.State == StateConfirming:
		return conversation.Confirming
	case m.State == StateDuplicate:
		return conversation.DoneAlready
	}
	return ""
}

// readResults reads lines of JSON; the last of a trigger holds.
func readResults(lines string) map[string]callResult {
	ended := map[string]callResult{}
	for line := range strings.Lines(lines) {
		var result callResult
		if decode(line, &result) == nil {
			ended[result.TriggerID] = result
		}
	}
	return ended
}

// replyText is the text of a reply: a call's result that is the reply itself may be
// any JSON.
func replyText(reply json.RawMessage) string {
	var text string
	if json.Unmarshal(reply, &text) == nil {
		return text
	}
	return string(reply)
}

// replyID names the reply to a message in the history.
func replyID(messageID string) string { return messageID + ".reply" }
