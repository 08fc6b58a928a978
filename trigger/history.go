package trigger

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/keyspace"
)

// History lists the messages of a session, oldest first, with what each set off. A
// session that is not there has none.
func (e *Engine) History(ctx context.Context, appID, sessionID string, page Page) ([]Entry, string, error) {
	if err := e.appExists(ctx, appID); err != nil {
		return nil, "", err
	}
	from, ids, err := e.historyPage(ctx, keyspace.KeysOf(appID), sessionID, page)
	if err != nil {
		return nil, "", err
	}
	next := ""
	if len(ids) > page.Limit {
		ids = ids[:page.Limit]
		next = cursorAfter(from, ids, page.Limit)
	}
	entries, whole, err := e.page(ctx, appID, sessionID, ids)
	if whole < len(ids) {
		next = cursorAfter(from, ids, max(whole, 1))
	}
	return entries, next, err
}

// page reads messages as far as a page has room, and says how many they are. What
// belongs to one message, as its reply, is on the page of the message.
func (e *Engine) page(ctx context.Context, appID, sessionID string, ids []string) (entries []Entry, whole int, err error) {
	entries, room := []Entry{}, &repositories.Room{}
	turns := keyspace.KeysOf(appID).Turns(sessionID)
	sizes, err := e.sizes(ctx, len(ids), func(i int) (string, []string) { return turns, turnFields(ids[i]) })
	for err == nil && whole < len(ids) {
		var found []Entry
		found, err = e.entries(ctx, appID, turns, ids[whole:whole+repositories.Fitting(sizes[whole:])])
		for _, entry := range found {
			withReply := withReplies([]Entry{entry})
			if entry.MessageID == "" {
				withReply = nil
			}
			if !room.Takes(withReply) {
				return entries, whole, nil
			}
			entries, whole = append(entries, withReply...), whole+1
		}
	}
	return entries, whole, err
}

// turnFields are the fields of a message that a history shows.
func turnFields(id string) []string {
	return []string{"m:" + id, "d:" + id, "p:" + id, "f:" + id, "a:" + id}
}

// cursorAfter follows the first n messages of a page that begins at the place from.
func cursorAfter(from int, ids []string, n int) string {
	return encodeCursor(strconv.Itoa(from+n-1) + "/" + ids[n-1])
}

// pageOf reads a page of a history. Places are counted from the first message that the
// session had, whether or not it has left the history since.
//
//	KEYS order, turns
//	ARGV place and id of the message that the page follows ('' for the first page), most
//	=>   place of the first, then the ids; nothing where no message was at that place
var pageOf = keyspace.NewFreeingScript(`
local left, from = tonumber(redis.call('HGET', KEYS[2], 'left') or 0), 0
if ARGV[2] ~= '' then
  from = tonumber(ARGV[1]) + 1 - left
  if from > 0 and redis.call('LINDEX', KEYS[1], from - 1) ~= ARGV[2] then return {} end
end
from = math.max(0, from)
local ids = redis.call('LRANGE', KEYS[1], from, from + tonumber(ARGV[3]) - 1)
table.insert(ids, 1, tostring(left + from))
return ids
`)

// historyPage reads the ids of a page, one more than it has where there are more, and the
// place of the first.
func (e *Engine) historyPage(ctx context.Context, k keyspace.Keys, sessionID string, page Page) (from int, ids []string, err error) {
	after, id := "", ""
	if page.After != "" {
		text, err := decodeCursor(page.After)
		if err != nil {
			return 0, nil, err
		}
		after, id, _ = strings.Cut(text, "/")
		if _, err := strconv.Atoi(after); err != nil || id == "" {
			return 0, nil, fmt.Errorf("%w: %q", ErrCursor, page.After)
		}
	}
	found, err := pageOf.Strings(ctx, e.db, []string{k.Order(sessionID), k.Turns(sessionID)}, after, id, page.Limit+1)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%w: %q", ErrCursor, page.After)
	}
	if err != nil {
		return 0, nil, err
	}
	return number(found[0]), found[1:], nil
}

// entries reads messages with their decisions, and the states of all their triggers. It
// ends early, but not before the first, where these are more than a page. A message that
// is gone is an empty entry.
func (e *Engine) entries(ctx context.Context, appID, turns string, ids []string) ([]Entry, error) {
	var fields []string
	for _, id := range ids {
		fields = append(fields, turnFields(id)...)
	}
	values, err := e.db.HMGet(ctx, turns, fields...).Result()
	if err != nil {
		return nil, keyspace.Unavailable(err)
	}
	var entries []Entry
	var matches []Match
	rows := texts(values)
	for i, id := range ids {
		row := rows[5*i : 5*i+5]
		if row[0] == "" {
			entries = append(entries, Entry{}) // it has left the history since the ids were read
			continue
		}
		entry, err := entryOf(id, row)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry)
		matches = append(matches, entry.Triggers...)
	}
	few, err := e.triggersFitting(ctx, appID, len(matches), func(i int) string { return matches[i].TriggerID })
	if err != nil {
		return nil, err
	}
	fits := func(n, triggers int) bool { return n == 0 || triggers <= few }
	n, triggers := 0, 0
	for n < len(entries) && fits(n, triggers+len(entries[n].Triggers)) {
		triggers += len(entries[n].Triggers)
		n++
	}
	if err := e.fillStates(ctx, appID, matches[:triggers]); err != nil {
		return nil, err
	}
	for i := range entries[:n] {
		matches = matches[copy(entries[i].Triggers, matches):]
	}
	return entries[:n], nil
}

// entryOf reads one message: its text, decision, reply, failure and answer.
func entryOf(id string, row []string) (Entry, error) {
	var message storedMessage
	if err := decode(row[0], &message); err != nil {
		return Entry{}, fmt.Errorf("message %q cannot be read: %w", id, err)
	}
	entry := Entry{MessageID: id, Actor: message.Actor, Text: message.Text, Time: message.Time, State: EntryPending, Triggers: []Match{}}
	// The answer tells more than the decision does: what came of it by then.
	if text := cmp.Or(row[4], row[1]); text != "" {
		var decided Answer
		if err := decode(text, &decided); err != nil {
			return Entry{}, fmt.Errorf("the decision of message %q cannot be read: %w", id, err)
		}
		entry.Triggers, entry.Rejected = decided.Matches, decided.Rejected
	}
	if row[2] != "" {
		entry.Reply = json.RawMessage(row[2])
	}
	return entry, entry.setState(row[1]+row[4], row[3])
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
