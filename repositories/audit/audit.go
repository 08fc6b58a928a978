// Package audit records who confirmed, retried, erased, created keys or changed tools of an app, and when. Entries
// only contain names and ids, never a text, a value, a credential or a user.
package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/repositories"
	"earshot/repositories/keyspace"
)

// Action is the kind of an act.
type Action string

// All actions.
const (
	Confirm          Action = "trigger.confirm"
	Deny             Action = "trigger.deny"
	Cancel           Action = "trigger.cancel"
	Retry            Action = "trigger.retry"
	Remove           Action = "trigger.remove"
	RetryAll         Action = "triggers.retry"
	Purge            Action = "triggers.purge"
	EraseSession     Action = "session.erase"
	EraseUser        Action = "user.erase"
	CreateKey        Action = "key.create"
	RevokeKey        Action = "key.revoke"
	ChangeApp        Action = "app.change"
	DeleteApp        Action = "app.delete"
	ChangeRepository Action = "repository.change"
	DeleteRepository Action = "repository.delete"
	DeleteTool       Action = "tool.delete"
	ResendWebhook    Action = "webhook.resend"
)

// Actions lists all actions, for queries.
var Actions = []string{
	string(Confirm), string(Deny), string(Cancel), string(Retry), string(Remove), string(RetryAll), string(Purge), string(EraseSession), string(EraseUser),
	string(CreateKey), string(RevokeKey), string(ChangeApp), string(DeleteApp), string(ChangeRepository), string(DeleteRepository), string(DeleteTool),
	string(ResendWebhook),
}

// ByUser and BySession are actors without a key: a user by words, and a front-end by its session token.
const (
	ByUser    = "user"
	BySession = "session"
)

// Ways of a request. REST handles several others.
const (
	ViaREST    = "rest"
	ViaNATS    = "nats"
	ViaMCP     = "mcp"
	ViaSERMAS  = "sermas"
	ViaConsole = "console"
	ViaMessage = "message" // words of the user
)

type viaKey struct{}

// WithVia records the way of a request that is handled by REST.
func WithVia(ctx context.Context, via string) context.Context {
	return context.WithValue(ctx, viaKey{}, via)
}

// ViaOf returns the way of a request.
func ViaOf(ctx context.Context) string {
	via, _ := ctx.Value(viaKey{}).(string)
	return cmp.Or(via, ViaREST)
}

// Author is the actor of a request and its way.
type Author struct {
	By      string `json:"by"`                // admin, the id of a key, module:ID, ByUser or BySession
	KeyName string `json:"keyName,omitempty"` // of that key
	Via     string `json:"via"`
}

type authorKey struct{}

// WithAuthor records the author of a context's acts.
func WithAuthor(ctx context.Context, who Author) context.Context {
	return context.WithValue(ctx, authorKey{}, who)
}

// AuthorOf returns the author; empty if Earshot acts by itself.
func AuthorOf(ctx context.Context) Author {
	who, _ := ctx.Value(authorKey{}).(Author)
	return who
}

// Entry is one act.
type Entry struct {
	ID      string    `json:"id"`
	Time    time.Time `json:"ts"`
	Action  Action    `json:"action"`
	By      string    `json:"by"`                // like Author.By
	KeyName string    `json:"keyName,omitempty"` // of that key
	Via     string    `json:"via"`
	Request string    `json:"requestId,omitempty"`
	Subject
}

// Subject is the object of an act, besides the app.
type Subject struct {
	TriggerID    string `json:"triggerId,omitempty"`
	SessionID    string `json:"sessionId,omitempty"`
	RepositoryID string `json:"repositoryId,omitempty"`
	ToolName     string `json:"toolName,omitempty"`
	KeyID        string `json:"keyId,omitempty"`
	WebhookName  string `json:"webhookName,omitempty"`
}

// Defaults of a Log.
const (
	DefaultEntries   = 10_000
	DefaultRetention = 400 * 24 * time.Hour
)

// Log is the log of all apps. It is safe for concurrent use. Entries and Retention have defaults.
type Log struct {
	DB        *keyspace.DB
	Entries   int // maximum number for an app; the newest stay
	Retention time.Duration
	Now       func() time.Time
}

// add writes an entry. Entries beyond the limits are removed first, not in exchange: if the entry is withdrawn, no
// other is lost.
//
//	KEYS app, audit
//	ARGV the entry, maximum number, retention (ms)
//	=>   its id, or noapp
var add = keyspace.NewFreeingScript(`
if redis.call('EXISTS', KEYS[1]) == 0 then return 'noapp' end
redis.call('XTRIM', KEYS[2], 'MAXLEN', ARGV[2])
redis.call('XTRIM', KEYS[2], 'MINID', string.format('%.0f', now() - tonumber(ARGV[3])))
local id = redis.call('XADD', KEYS[2], '*', 'entry', ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return id
`)

func (l *Log) add(ctx context.Context, appID string, entry Entry) (id string, err error) {
	text, err := json.Marshal(entry)
	if err != nil {
		return "", err
	}
	k := keyspace.KeysOf(appID)
	reply, err := add.Run(ctx, l.DB, []string{k.App(), keyspace.Audit(k)}, string(text), cmp.Or(l.Entries, DefaultEntries), l.retention().Milliseconds())
	id, _ = reply.(string)
	if err == nil && id == "noapp" {
		return "", &repositories.NotFoundError{Kind: "app", ID: appID}
	}
	return id, err
}

func (l *Log) retention() time.Duration { return cmp.Or(l.Retention, DefaultRetention) }

// During writes entries about an app, calls do, and withdraws them if do reports that nothing was done. A crash
// between may leave an entry of an act that was not done, but never the reverse; only an app's creation is recorded
// after the act. It returns the error of do, or of writing the entry, in which case nothing was done.
func (l *Log) During(ctx context.Context, appID string, do func() (done bool, err error), entries ...Entry) error {
	ids, created := make([]string, 0, len(entries)), false
	for _, entry := range entries {
		id, err := l.add(ctx, appID, entry)
		switch {
		case errors.Is(err, repositories.ErrNotFound):
			created = true // unless do does not find it either
		case err != nil:
			l.withdraw(ctx, appID, ids)
			return err
		default:
			ids = append(ids, id)
		}
	}
	done, err := do()
	switch {
	case !done:
		l.withdraw(ctx, appID, ids)
	case created:
		for _, entry := range entries {
			_, _ = l.add(context.WithoutCancel(ctx), appID, entry) // the act cannot be undone
		}
	}
	return err
}

// withdraw removes entries. If Redis is unavailable an entry stays, and the request's answer tells more than it.
func (l *Log) withdraw(ctx context.Context, appID string, ids []string) {
	if len(ids) > 0 {
		_ = l.DB.XDel(context.WithoutCancel(ctx), keyspace.Audit(keyspace.KeysOf(appID)), ids...).Err()
	}
}

// Query selects entries of an app; empty fields select all.
type Query struct {
	AppID      string
	Action, By string
	After      string // lists entries older than the one with this id
	Limit      int
}

// IsID reports whether a text has the form of an entry's id.
func IsID(text string) bool { return idForm.MatchString(text) }

var idForm = regexp.MustCompile(`^[0-9]{1,15}-[0-9]{1,15}$`)

const readAtOnce = 1000

// List returns entries, the newest first, and the cursor of the next page.
//
// Errors: repositories.ErrNotFound without the app, keyspace.ErrUnavailable.
func (l *Log) List(ctx context.Context, q Query) (items []Entry, next string, err error) {
	k := keyspace.KeysOf(q.AppID)
	oldest, latest := strconv.FormatInt(l.Now().Add(-l.retention()).UnixMilli(), 10), "+"
	if q.After != "" {
		latest = "(" + q.After
	}
	for {
		pipe := l.DB.Pipeline()
		exists, found := pipe.Exists(ctx, k.App()), pipe.XRevRangeN(ctx, keyspace.Audit(k), latest, oldest, readAtOnce)
		if _, err := pipe.Exec(ctx); err != nil {
			return nil, "", keyspace.Unavailable(err)
		}
		if exists.Val() == 0 {
			return nil, "", &repositories.NotFoundError{Kind: "app", ID: q.AppID}
		}
		for _, one := range found.Val() {
			entry, err := read(one)
			switch {
			case err != nil:
				return nil, "", err
			case q.Action != "" && q.Action != string(entry.Action), q.By != "" && q.By != entry.By:
				continue
			case len(items) == q.Limit:
				return items, items[len(items)-1].ID, nil
			}
			items = append(items, entry)
		}
		if len(found.Val()) < readAtOnce {
			return items, "", nil
		}
		latest = "(" + found.Val()[readAtOnce-1].ID
	}
}

func read(one redis.XMessage) (entry Entry, err error) {
	text, _ := one.Values["entry"].(string)
	if err := json.Unmarshal([]byte(text), &entry); err != nil {
		return entry, fmt.Errorf("an entry of the audit list cannot be read: %w", err)
	}
	at, _, _ := strings.Cut(one.ID, "-")
	ms, err := strconv.ParseInt(at, 10, 64)
	entry.ID, entry.Time = one.ID, time.UnixMilli(ms).UTC()
	return entry, err
}
