package query

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/bounded"
	"earshot/repositories/exactjson"
	"earshot/repositories/parameters"
	"earshot/trigger/conversation"
	"earshot/trigger/ledger"
)

// StoredMessage is a message as its session stores it.
type StoredMessage struct {
	Actor       string    `json:"actor"`
	Text        string    `json:"text"`
	Time        time.Time `json:"ts"`
	TraceParent string    `json:"traceparent,omitempty"`
	Language    string    `json:"language,omitempty"`
	TimeZone    string    `json:"timeZone,omitempty"`

	Metadata repositories.Metadata `json:"metadata,omitempty"`
	Auth     map[string]string     `json:"auth,omitempty"` // why ID tokens of the user were refused, by service
	// CallerFires marks a message that is not matched, as its caller fires tools itself; Relayed one whose answer the
	// user does not see; and Explain one with a requested explanation.
	CallerFires bool `json:"acted,omitempty"`
	Relayed     bool `json:"relayed,omitempty"`
	Explain     bool `json:"explained,omitempty"`
	// Claims are stored apart, as they are deleted at the decision; User is stored with the session.
	Claims parameters.Claims `json:"-"`
	User   string            `json:"-"`
}

// CallResult is the result of an ended call, as a session stores it for later matching.
type CallResult struct {
	TriggerID string          `json:"triggerId"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     string          `json:"error,omitempty"`
}

// Failure is why a turn was not decided, as a session stores it.
type Failure struct {
	Error string `json:"error"`
}

// Entry is a message of the history with the triggers that it set off.
type Entry struct {
	MessageID string                `json:"messageId"`
	Actor     string                `json:"actor"`
	Text      string                `json:"text"`
	Time      time.Time             `json:"ts"`
	Metadata  repositories.Metadata `json:"metadata,omitempty"` // that of the message, without the session's
	// State is decided, pending (in progress) or failed (not decided: Error has the cause, and posting the
	// message again tries again).
	State    string          `json:"state"`
	Error    string          `json:"error,omitempty"`
	Matches  []Match         `json:"matches"`
	Triggers []Match         `json:"triggers"` // the earlier name of Matches
	Rejected []Rejected      `json:"rejected,omitempty"`
	Reply    json.RawMessage `json:"reply,omitempty"`
	// Retracted, ReplyType and Auth are those of the Answer.
	Retracted []Retracted       `json:"retracted,omitempty"`
	ReplyType string            `json:"replyType,omitempty"`
	Auth      map[string]string `json:"auth,omitempty"`
}

// States of an Entry.
const (
	EntryDecided = "decided"
	EntryPending = "pending"
	EntryFailed  = "failed"
)

// Page selects a page of a list.
type Page struct {
	After string // cursor from an earlier page; empty for the first
	Limit int
}

// ErrCursor means that a cursor was not issued by this list.
var ErrCursor = errors.New("the cursor does not belong to this list")

// History selects messages of a session.
type History struct {
	AppID, SessionID string
	// Since excludes earlier messages; zero excludes none.
	Since  time.Time
	Newest bool // lists the newest first
	Page   Page
}

// History lists the messages of a session, oldest first, with their outcomes. A missing session has none. A
// cursor is a place in the history, valid in either order: messages that are added to or leave the history
// between two pages move no others to another page.
func (r *Records) History(ctx context.Context, q History) ([]Entry, string, error) {
	if err := r.Ledger.CheckApp(ctx, q.AppID); err != nil {
		return nil, "", err
	}
	r.AwaitFlush(ctx, q.AppID)
	entries, page, read := []Entry{}, &repositories.PageBudget{}, 0
	for {
		more, next, err := r.historyPage(ctx, q, page)
		if errors.Is(err, ErrCursor) && read > 0 {
			return entries, "", nil // the session was closed meanwhile
		}
		entries, read = append(entries, more...), read+1
		// By the clocks of replicas, some messages of the page may be earlier than Since.
		isShort := len(entries) == 0 || !q.Since.IsZero() && len(more) < q.Page.Limit && next != q.Page.After
		if err != nil || next == "" || !isShort {
			return entries, next, err
		}
		q.Page.After, q.Page.Limit = next, q.Page.Limit-len(more)
	}
}

// historyPage reads as many messages and replies as fit on a page.
func (r *Records) historyPage(ctx context.Context, q History, page *repositories.PageBudget) (entries []Entry, next string, err error) {
	first, ids, inside, err := r.historyIDs(ctx, q)
	if err != nil {
		return nil, "", err
	}
	// cursorAfter is the cursor behind the first n messages.
	cursorAfter := func(n int) string { return encodeCursor(strconv.Itoa(first+q.step()*(n-1)) + "/" + ids[n-1]) }
	if len(ids) > q.Page.Limit {
		next, ids = cursorAfter(q.Page.Limit), ids[:q.Page.Limit]
	}
	entries = []Entry{}
	sizes, err := r.Ledger.MessageSizes(ctx, q.AppID, q.SessionID, ids)
	for read := 0; err == nil && read < len(ids); {
		var batch []Entry
		batch, err = r.entries(ctx, q.AppID, q.SessionID, ids[read:read+repositories.Fitting(sizes[read:])])
		for _, entry := range batch {
			visible := q.visible(entry)
			if read == 0 && inside {
				visible = visible[min(1, len(visible)):]
			}
			room := q.Page.Limit - len(entries)
			switch {
			case len(visible) > 0 && (room == 0 || !page.Fits(visible[:min(room, len(visible))])):
				if read == 0 { // the page is full already
					return nil, q.Page.After, nil
				}
				return entries, cursorAfter(read), nil
			case len(visible) > room:
				number := strconv.Itoa(first + q.step()*read)
				return append(entries, visible[:room]...), encodeCursor(number + "/" + ids[read] + insideMessage), nil
			}
			entries, read = append(entries, visible...), read+1
		}
	}
	return entries, next, err
}

// insideMessage ends a cursor between a message and its reply. No id of a message has its sign.
const insideMessage = "/"

// step is the difference between the places of two messages that follow each other in the list.
func (q History) step() int {
	if q.Newest {
		return -1
	}
	return 1
}

// visible returns a message and its reply in the order of the list; none for a message that is not in it.
func (q History) visible(entry Entry) (visible []Entry) {
	if entry.MessageID == "" || entry.Time.Before(q.Since) {
		return nil
	}
	visible = append(visible, entry)
	if reply, exists := entry.reply(); exists {
		visible = append(visible, reply)
	}
	if q.Newest {
		slices.Reverse(visible)
	}
	return visible
}

// clockSkew bounds the difference between a record's time, by the clock of its replica, and its place in the
// list, by the clock of Redis.
const clockSkew = time.Minute

// maxNumber bounds the number of a message in its history, far beyond what a session has. Redis counts in floats, and
// refuses an index that they do not hold.
const maxNumber = 1 << 50

// historyIDs reads the ids of a page and the place of the first, plus one id if there are more messages. inside reports
// that the page begins within the first message, between it and its reply.
func (r *Records) historyIDs(ctx context.Context, q History) (first int, ids []string, inside bool, err error) {
	pages, place := ledger.Pages{Newest: q.Newest, Most: q.Page.Limit + 1}, 0
	if !q.Since.IsZero() {
		pages.Since = q.Since.Add(-clockSkew).UnixMilli()
	}
	if q.Page.After != "" {
		text, err := decodeCursor(q.Page.After)
		if err != nil {
			return 0, nil, false, err
		}
		pages.After.Number, pages.After.ID, _ = strings.Cut(text, "/")
		pages.After.ID, inside = strings.CutSuffix(pages.After.ID, insideMessage)
		if place, err = strconv.Atoi(pages.After.Number); err != nil || place > maxNumber || place < -maxNumber || pages.After.ID == "" {
			return 0, nil, false, fmt.Errorf("%w: %q", ErrCursor, q.Page.After)
		}
	}
	first, ids, stale, err := r.Ledger.Page(ctx, q.AppID, q.SessionID, pages)
	if stale {
		err = fmt.Errorf("%w: %q", ErrCursor, q.Page.After)
	}
	if inside = inside && err == nil && (len(ids) == 0 || first == place+q.step()); inside { // else it has left the history
		first, ids = place, slices.Insert(ids, 0, pages.After.ID)
	}
	return first, ids, inside, err
}

func encodeCursor(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

func decodeCursor(cursor string) (string, error) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return "", fmt.Errorf("%w: %q", ErrCursor, cursor)
	}
	return string(text), nil
}

// Message reads one message of a session with its outcome, or the reply to one by its ReplyID.
//
// Errors: repositories.ErrNotFound without the app, ErrNoMessage, keyspace.ErrUnavailable.
func (r *Records) Message(ctx context.Context, appID, sessionID, messageID string) (Entry, error) {
	if err := r.Ledger.CheckApp(ctx, appID); err != nil {
		return Entry{}, err
	}
	r.AwaitFlush(ctx, appID)
	read := func(id string) (Entry, error) {
		entries, err := r.entries(ctx, appID, sessionID, []string{id})
		if err != nil {
			return Entry{}, err
		}
		return entries[0], nil
	}
	entry, err := read(messageID)
	if err != nil || entry.MessageID != "" {
		return entry, err
	}
	if answered, isReply := strings.CutSuffix(messageID, replySuffix); isReply {
		entry, err = read(answered)
		if reply, exists := entry.reply(); err != nil || exists {
			return reply, err
		}
	}
	return Entry{}, fmt.Errorf("message %q: %w", messageID, ErrNoMessage)
}

// entries reads messages with their decisions, and the states of all their triggers. It stops early, but not
// before the first message, if the triggers exceed a page. A missing message is an empty entry.
func (r *Records) entries(ctx context.Context, appID, sessionID string, ids []string) ([]Entry, error) {
	stored, err := r.Ledger.Messages(ctx, appID, sessionID, ids)
	if err != nil {
		return nil, err
	}
	var entries []Entry
	var matches []Match
	for i, message := range stored {
		var entry Entry // stays empty if it has left the history since the ids were read
		if message.Message != "" {
			if entry, err = readEntry(ids[i], message); err != nil {
				return nil, err
			}
		}
		entries, matches = append(entries, entry), append(matches, entry.Matches...)
	}
	fitting, err := r.Ledger.TriggersFitting(ctx, appID, triggerIDs(matches))
	if err != nil {
		return nil, err
	}
	n, triggers := 0, 0
	for n < len(entries) && (n == 0 || triggers+len(entries[n].Matches) <= fitting) {
		triggers += len(entries[n].Matches)
		n++
	}
	if err := r.FillStates(ctx, appID, matches[:triggers]); err != nil {
		return nil, err
	}
	for i := range entries[:n] {
		matches = matches[copy(entries[i].Matches, matches):]
		entries[i].Triggers = entries[i].Matches
	}
	return entries[:n], nil
}

func readEntry(id string, stored ledger.StoredMessage) (Entry, error) {
	var message StoredMessage
	if err := exactjson.Unmarshal([]byte(stored.Message), &message); err != nil {
		return Entry{}, fmt.Errorf("message %q cannot be read: %w", id, err)
	}
	entry := Entry{MessageID: id, Actor: message.Actor, Text: message.Text, Time: message.Time, Metadata: message.Metadata, State: EntryPending, Matches: []Match{}, Auth: message.Auth}
	var answer Answer
	var err error
	switch {
	case stored.Answer == ledger.AsDecided:
		answer, err = ReadPublishedDecision(id, stored.Decision)
	case stored.Answer != "": // it has the outcomes, besides the decision
		err = exactjson.Unmarshal([]byte(stored.Answer), &answer)
	case stored.Decision != "":
		answer, err = ReadDecision(id, stored.Decision)
	}
	if err != nil {
		return Entry{}, fmt.Errorf("the decision of message %q cannot be read: %w", id, err)
	}
	if answer.Matches != nil {
		entry.Matches, entry.Rejected, entry.Retracted = answer.Matches, answer.Rejected, answer.Retracted
	}
	for _, match := range readLines[Match](stored.Called) {
		entry.Matches = append(entry.Matches, match.WithPublishedEvents())
	}
	if stored.Reply != "" {
		entry.Reply, entry.ReplyType = json.RawMessage(stored.Reply), ReplyType(json.RawMessage(stored.Reply))
	}
	switch {
	case stored.Decision+stored.Answer != "":
		entry.State = EntryDecided
	case stored.Failure != "":
		var failure Failure
		err = exactjson.Unmarshal([]byte(stored.Failure), &failure)
		entry.State, entry.Error = EntryFailed, failure.Error
	}
	return entry, err
}

// ReadPublishedDecision returns the decided answer, with all its events published.
func ReadPublishedDecision(messageID, decision string) (answer Answer, err error) {
	answer, err = ReadDecision(messageID, decision)
	for i, match := range answer.Matches {
		answer.Matches[i] = match.WithPublishedEvents()
	}
	return answer, err
}

// ReplyType returns json for a reply that is a result other than a text, else an empty string.
func ReplyType(reply json.RawMessage) string {
	if trimmed := bytes.TrimSpace(reply); len(trimmed) == 0 || trimmed[0] == '"' || string(trimmed) == "null" {
		return ""
	}
	return "json"
}

// ReplyText returns the text of a reply; a call's result as the reply may be any JSON, which is returned as it
// is.
func ReplyText(reply json.RawMessage) string {
	var text string
	if len(reply) == 0 || json.Unmarshal(reply, &text) == nil {
		return text
	}
	return string(reply)
}

const replySuffix = ".reply"

// ReplyID returns the id of the reply to a message in the history.
func ReplyID(messageID string) string { return messageID + replySuffix }

// reply returns the reply to a message as a message of the agent.
func (e Entry) reply() (reply Entry, exists bool) {
	text := ReplyText(e.Reply)
	return Entry{
		MessageID: ReplyID(e.MessageID), Actor: matcher.ActorAgent, Text: text, Time: e.Time, State: EntryDecided, Matches: []Match{}, Triggers: []Match{},
	}, text != ""
}

// ConversationCache caches the parsed conversations of this process, since each message is read again with every later one.
type ConversationCache struct {
	mu     sync.Mutex
	parsed *bounded.Cache[sessionKey, ParsedConversation]
	// decided has the last message of each session that this process has decided. The next message need not parse it.
	decided *simplelru.LRU[sessionKey, decidedMessage]
}

type sessionKey struct{ app, id string }

// decidedMessage is a message with its texts in the ledger.
type decidedMessage struct {
	message, decision string
	utterance         matcher.Utterance
}

// ParsedConversation is a parsed conversation. The zero value is empty.
type ParsedConversation struct {
	ledger.CachedMessages
	messages []parsedMessage // one per message
	size     int
}

// parsedMessage is a parsed earlier message with its size in the ledger.
type parsedMessage struct {
	utterances []matcher.Utterance
	size       int
}

// Bounds of the cached bytes, as stored in the ledger, of one conversation and of all. Parsed, they take about
// four times as much.
const (
	mostOfConversation = 32 << 10
	mostOfAll          = 16 << 20
)

// Bounds of the decided messages: how many there are, and the bytes of one in the ledger.
const (
	mostDecided   = 2048
	mostOfDecided = 4 << 10
)

// NewConversationCache returns an empty cache.
func NewConversationCache() *ConversationCache {
	decided, _ := simplelru.NewLRU[sessionKey, decidedMessage](mostDecided, nil) // fails for a size of 0 only
	return &ConversationCache{parsed: bounded.New[sessionKey, ParsedConversation](1<<20, mostOfAll), decided: decided}
}

// Decided adds a message that was just decided. stored and decision are its JSON and its decision as the ledger has
// them, message and matches the same parsed. A message with numbers or lists is not added: they have other types once
// they are read again.
func (p *ConversationCache) Decided(turn ledger.Turn, stored string, message StoredMessage, decision string, matches []Match) {
	if len(stored)+len(decision) > mostOfDecided {
		return
	}
	for _, match := range matches {
		for _, value := range match.Values {
			switch value.(type) {
			case string, bool, nil:
			default:
				return
			}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.decided.Add(sessionKey{turn.App, turn.Session}, decidedMessage{
		stored, decision, matcher.Utterance{ID: turn.Message, Actor: message.Actor, Text: message.Text, Fired: PastCalls(matches)},
	})
}

// parse returns a message and its reply; none for a damaged entry.
func (p *ConversationCache) parse(turn ledger.Turn, past ledger.PastMessage) []matcher.Utterance {
	p.mu.Lock()
	last, _ := p.decided.Get(sessionKey{turn.App, turn.Session})
	p.mu.Unlock()
	if last.utterance.ID != past.ID || last.message != past.Message || last.decision != past.Decision || past.Results != "" {
		return Utterances(past)
	}
	utterance := last.utterance
	utterance.Fired = slices.Clone(utterance.Fired) // concurrent messages may read it
	return withReply(utterance, past.Reply)
}

// Get returns the cached history before a turn.
func (p *ConversationCache) Get(turn ledger.Turn) ParsedConversation {
	p.mu.Lock()
	defer p.mu.Unlock()
	conversation, _ := p.parsed.Get(sessionKey{turn.App, turn.Session})
	return conversation
}

// Utterances returns the history before a turn in the matcher's form, without damaged entries. earlier is the
// conversation that the caller had from Get.
func (p *ConversationCache) Utterances(turn ledger.Turn, earlier ParsedConversation, history ledger.Conversation) (utterances []matcher.Utterance) {
	if len(history.Messages) == 0 {
		return nil
	}
	updated, cached := ParsedConversation{CachedMessages: history.Cached, messages: make([]parsedMessage, len(history.Messages))}, p.Get(turn)
	utterances = make([]matcher.Utterance, 0, len(history.Messages)+len(history.Messages)/2) // some have a reply
	for i, past := range history.Messages {
		message := parsedMessage{size: past.Size() + 64}
		switch index := cached.Same(history.Cached, i); {
		case past.CachedIndex > 0:
			message = earlier.messages[past.CachedIndex-1]
		case index >= 0: // a concurrent message has parsed it
			message = cached.messages[index]
		default: // new, or changed, as by a result
			message.utterances = p.parse(turn, past)
		}
		utterances = append(utterances, message.utterances...)
		if updated.size+message.size <= mostOfConversation {
			updated.messages[i], updated.size = message, updated.size+message.size
		} else {
			updated.Drop(i)
		}
	}
	key := sessionKey{turn.App, turn.Session}
	p.mu.Lock()
	defer p.mu.Unlock()
	if newest, exists := p.parsed.Get(key); exists && newest.Later(updated.CachedMessages) {
		return utterances
	}
	p.parsed.Add(key, updated, updated.size)
	return utterances
}

// Utterances returns a message and its reply; none for a damaged entry.
func Utterances(past ledger.PastMessage) []matcher.Utterance {
	var message struct { // the fields that a matcher sees
		Actor string `json:"actor"`
		Text  string `json:"text"`
	}
	if exactjson.Unmarshal([]byte(past.Message), &message) != nil {
		return nil
	}
	utterance := matcher.Utterance{ID: past.ID, Actor: message.Actor, Text: message.Text}
	var decision struct { // the fields that pastCall reads
		Matches []struct {
			TriggerID string         `json:"triggerId"`
			Name      string         `json:"name"`
			Values    map[string]any `json:"values"`
			State     string         `json:"state"`
		} `json:"matches"`
	}
	if past.Decision != "" && readDecision(past.Decision, &decision) == nil {
		var results map[string]CallResult // the last result of a trigger is valid
		if past.Results != "" {
			results = map[string]CallResult{}
			for _, result := range readLines[CallResult](past.Results) {
				results[result.TriggerID] = result
			}
		}
		for _, match := range decision.Matches {
			utterance.Fired = append(utterance.Fired, pastCall(match.TriggerID, match.Name, match.State, match.Values, results[match.TriggerID]))
		}
	}
	return withReply(utterance, past.Reply)
}

func withReply(message matcher.Utterance, reply string) []matcher.Utterance {
	for i, call := range message.Fired {
		message.Fired[i].Arguments, _ = exactjson.Text(exactjson.Members(call.Values)) // else each request encodes them
	}
	text := ReplyText(json.RawMessage(reply))
	if text == "" {
		return []matcher.Utterance{message}
	}
	return []matcher.Utterance{message, {ID: ReplyID(message.ID), Actor: matcher.ActorAgent, Text: text}}
}

// PastCalls are the triggers of a message without their results. A held or duplicate trigger has a reason instead.
func PastCalls(matches []Match) []matcher.PastCall {
	var list []matcher.PastCall
	for _, match := range matches {
		list = append(list, pastCall(match.TriggerID, match.Name, match.State, match.Values, CallResult{}))
	}
	return list
}

func pastCall(triggerID, name, state string, values map[string]any, result CallResult) matcher.PastCall {
	reason := ""
	switch {
	case len(result.Result) > 0:
	case state == StateConfirming:
		reason = conversation.Confirming
	case state == StateDuplicate:
		reason = conversation.Duplicate
	}
	return matcher.PastCall{TriggerID: triggerID, Name: name, Values: values, Result: result.Result, Error: cmp.Or(result.Error, reason)}
}

// Unfinished returns the calls that lacked values at a time, after a history of the ledger.
func Unfinished(now time.Time, history []ledger.PastMessage, candidates []matcher.Candidate) []conversation.IncompleteCall {
	var messages []conversation.Past
	for _, past := range history {
		if message, decided := DecodePast(past); decided {
			messages = append(messages, message)
		}
	}
	return conversation.Replay(messages, candidates, now)
}

// DecodePast returns a user's message of the ledger in the form from which a conversation continues; false if the
// message is undecided or damaged.
func DecodePast(past ledger.PastMessage) (conversation.Past, bool) {
	var message StoredMessage
	if exactjson.Unmarshal([]byte(past.Message), &message) != nil || message.Actor == matcher.ActorAgent || past.Decision == "" {
		return conversation.Past{}, false
	}
	answer, err := ReadDecision(past.ID, past.Decision)
	return NewPast(message.Text, message.Time, answer.Matches, answer.Rejected), err == nil
}

// NewPast returns a decided message of a user in the form from which a conversation continues.
func NewPast(text string, at time.Time, matches []Match, rejected []Rejected) conversation.Past {
	past := conversation.Past{Text: text, Time: at}
	for _, call := range matches {
		if call.Name != repositories.CatchAll { // it fires if no other tool matches
			past.Complete = append(past.Complete, conversation.Call{RepositoryID: call.RepositoryID, Name: call.Name, Values: call.Values})
		}
	}
	for _, call := range rejected {
		past.Rejected = append(past.Rejected, conversation.Call{
			RepositoryID: call.RepositoryID, Name: call.Name, Values: call.Values, Missing: call.Missing, Errors: call.Errors,
		})
	}
	return past
}
