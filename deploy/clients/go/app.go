package earshot

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"time"
)

// App speaks of one app: a tenant with its tools, sessions and keys. Making one asks nobody.
type App struct {
	scope
	id string
}

// App names an app.
func (c *Client) App(id string) *App {
	return &App{scope: scope{client: c, path: join("apps", id), app: join("apps", id)}, id: id}
}

// ID is the name of the app.
func (a *App) ID() string { return a.id }

// Apps lists all apps, which takes the admin's key.
func (c *Client) Apps(ctx context.Context) iter.Seq2[AppDefinition, error] {
	return pages[AppDefinition](ctx, c, get("apps"))
}

// Put makes the app, or replaces what it is made of; its sessions and repositories stay.
func (a *App) Put(ctx context.Context, app AppDefinition) (AppDefinition, error) {
	return ask[AppDefinition](ctx, a.client, put(a.path, app))
}

// Patch changes a part of the app by a JSON merge patch (RFC 7386): a map, or a struct with JSON tags.
func (a *App) Patch(ctx context.Context, patch any) (AppDefinition, error) {
	changed := call{method: http.MethodPatch, path: a.path, body: patch, repeatable: true}
	return ask[AppDefinition](ctx, a.client, changed.with("Content-Type", "application/merge-patch+json"))
}

// Get reads what the app is made of. Credentials read as ***.
func (a *App) Get(ctx context.Context) (AppDefinition, error) {
	return ask[AppDefinition](ctx, a.client, get(a.path))
}

// Delete removes the app with all that is its own.
func (a *App) Delete(ctx context.Context) error { return a.client.send(ctx, remove(a.path), nil) }

// MakeKey makes a key of the app. It is shown this once.
func (a *App) MakeKey(ctx context.Context, key KeyRequest) (Key, error) {
	return ask[Key](ctx, a.client, post(a.path+"/keys", key))
}

// Keys lists the app's keys, without what they are.
func (a *App) Keys(ctx context.Context) iter.Seq2[Key, error] {
	return pages[Key](ctx, a.client, get(a.path+"/keys"))
}

// RevokeKey ends a key, and those that it made.
func (a *App) RevokeKey(ctx context.Context, keyID string) error {
	return a.client.send(ctx, remove(a.path+"/"+join("keys", keyID)), nil)
}

// SessionsQuery narrows a list of sessions down, by all of its fields together. An empty field matches all.
type SessionsQuery struct {
	User                  string
	State                 string            // waiting or idle
	Metadata              map[string]string // members with their values: a string as it is, another value as JSON has it
	UsedSince, UsedBefore time.Time         // when the last message came; UsedBefore is excluded
}

// Sessions lists the sessions of the app, those that match a query if there is one.
func (a *App) Sessions(ctx context.Context, queries ...SessionsQuery) iter.Seq2[SessionState, error] {
	list := get(a.path + "/sessions")
	for _, q := range queries {
		list = filter(list, map[string]string{"user": q.User, "state": q.State, "usedSince": moment(q.UsedSince), "usedBefore": moment(q.UsedBefore)})
		for member, value := range q.Metadata {
			list = list.asking("metadata["+member+"]", value)
		}
	}
	return pages[SessionState](ctx, a.client, list)
}

// ExportUser writes all that is kept of the sessions of a user, as JSON lines.
func (a *App) ExportUser(ctx context.Context, user string, to io.Writer) error {
	return a.client.export(ctx, a.path+"/"+join("users", user)+"/export", to)
}

// EraseUser erases all sessions of a user, and returns how many. After an error, call it again for the rest.
func (a *App) EraseUser(ctx context.Context, user string) (sessions int, err error) {
	answer, err := ask[struct {
		Erased int `json:"erased"`
	}](ctx, a.client, remove(a.path+"/"+join("users", user)).asking("erase", "true"))
	return answer.Erased, err
}

// Trigger reads the record of a trigger.
func (s *scope) Trigger(ctx context.Context, triggerID string) (Record, error) {
	return ask[Record](ctx, s.client, get(s.ofTrigger(triggerID)))
}

// Retry delivers again what has failed of a trigger, and reads its record.
func (s *scope) Retry(ctx context.Context, triggerID string) (Record, error) {
	if record, err := s.decide(ctx, triggerID, "retry", nil); err != nil || record.TriggerID != "" {
		return record, err
	}
	return s.Trigger(ctx, triggerID) // the answer has no body
}

// Confirm confirms a trigger by the digest of its match. One that has ended is ErrConflict.
func (s *scope) Confirm(ctx context.Context, triggerID, digest string) (Record, error) {
	return s.decide(ctx, triggerID, "confirm", map[string]string{"digest": digest})
}

// Deny ends a trigger that waits for a yes.
func (s *scope) Deny(ctx context.Context, triggerID string) (Record, error) {
	return s.decide(ctx, triggerID, "deny", map[string]string{})
}

// Cancel ends a trigger before it takes effect: one that settles, or waits.
func (s *scope) Cancel(ctx context.Context, triggerID string) (Record, error) {
	return s.decide(ctx, triggerID, "cancel", nil)
}

// Answer answers a trigger whose tool waits for one. The first answer holds, and is in the record.
func (s *scope) Answer(ctx context.Context, triggerID string, result any) (Record, error) {
	return s.decide(ctx, triggerID, "answer", map[string]any{"ok": true, "result": result})
}

// Fail answers such a trigger with why it was not done.
func (s *scope) Fail(ctx context.Context, triggerID, why string) (Record, error) {
	return s.decide(ctx, triggerID, "answer", map[string]any{"ok": false, "error": why})
}

func (s *scope) ofTrigger(id string) string { return s.app + "/" + join("triggers", id) }

// decide decides a trigger. If an answer was lost, and the repetition finds the trigger ended, the record says how.
func (s *scope) decide(ctx context.Context, triggerID, what string, body any) (Record, error) {
	said := post(s.ofTrigger(triggerID)+"/"+what, body).repeated()
	said.unheard = new(bool)
	record, err := ask[Record](ctx, s.client, said)
	if errors.Is(err, ErrConflict) && *said.unheard {
		return s.Trigger(ctx, triggerID)
	}
	return record, err
}

func pages[T any](ctx context.Context, c *Client, list call) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for next := list; ; {
			var page struct {
				Items []T    `json:"items"`
				Next  string `json:"next"`
			}
			if err := c.send(ctx, next, &page); err != nil {
				yield(*new(T), err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
			if page.Next == "" {
				return
			}
			next = list.asking("after", page.Next)
		}
	}
}

func filter(of call, parts map[string]string) call {
	for name, value := range parts {
		if value != "" {
			of = of.asking(name, value)
		}
	}
	return of
}
