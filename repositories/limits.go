package repositories

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Limits of an app. The zero value has the defaults.
type Limits struct {
	// Rates over all replicas: what users and front-ends post, and what is fired
	// directly, by the whole app and by one of its sessions.
	MessagesPerMinute        Limit `json:"messagesPerMinute,omitzero"`
	SessionMessagesPerMinute Limit `json:"sessionMessagesPerMinute,omitzero"`
	TriggersPerMinute        Limit `json:"triggersPerMinute,omitzero"`
	SessionTriggersPerMinute Limit `json:"sessionTriggersPerMinute,omitzero"`
	// BytesPerMinute is what a session may store a minute. All sessions of the app
	// together may store sessionsInFull times as much.
	BytesPerMinute Limit `json:"bytesPerMinute,omitzero"`
	// Counts, which have no default.
	ToolsPerRepository     Limit `json:"toolsPerRepository,omitzero"`
	RepositoriesPerSession Limit `json:"repositoriesPerSession,omitzero"`
	// Off takes off every limit: the app's limits are null.
	Off bool `json:"-"`
}

// Limit is how many there may be: 0 where the app says nothing, so that the default
// holds, or NoLimit.
type Limit int

// NoLimit is a limit that the app has taken off: null, or 0, in JSON.
const NoLimit Limit = -1

// Defaults of the rates: generous for people, and small for a flood.
const (
	defaultMessages        = 12_000
	defaultSessionMessages = 120
	defaultTriggers        = 12_000
	defaultSessionTriggers = 120
	defaultBytes           = 4_000_000
	// sessionsInFull is how many sessions that use up their bytes an app has room for.
	sessionsInFull = 100
)

// UnmarshalJSON reads null and 0 as NoLimit.
func (l *Limit) UnmarshalJSON(text []byte) error {
	most := 0
	if err := json.Unmarshal(text, &most); err != nil {
		return err
	}
	if *l = Limit(most); most == 0 {
		*l = NoLimit
	}
	return nil
}

// MarshalJSON writes NoLimit as null.
func (l Limit) MarshalJSON() ([]byte, error) {
	if l == NoLimit {
		return []byte("null"), nil
	}
	return json.Marshal(int(l))
}

// plainLimits are Limits without their methods.
type plainLimits Limits

// UnmarshalJSON reads null as Off.
func (l *Limits) UnmarshalJSON(text []byte) error {
	if bytes.Equal(text, []byte("null")) {
		*l = Limits{Off: true}
		return nil
	}
	return json.Unmarshal(text, (*plainLimits)(l))
}

// MarshalJSON writes Off as null.
func (l Limits) MarshalJSON() ([]byte, error) {
	if l.Off {
		return []byte("null"), nil
	}
	return json.Marshal(plainLimits(l))
}

// most is the number that a limit stands for; 0 for any number.
func (l Limits) most(limit Limit, fallback int) int {
	switch {
	case l.Off || limit == NoLimit:
		return 0
	case limit == 0:
		return fallback
	default:
		return int(limit)
	}
}

// Rates are the limits of a minute as the scripts read them, out of the field "limits"
// of the app: messages of the app and of a session, triggers of both, bytes of both.
// 0 is no limit.
func (l Limits) Rates() string {
	stored := l.most(l.BytesPerMinute, defaultBytes)
	return fmt.Sprint(l.most(l.MessagesPerMinute, defaultMessages), l.most(l.SessionMessagesPerMinute, defaultSessionMessages),
		l.most(l.TriggersPerMinute, defaultTriggers), l.most(l.SessionTriggersPerMinute, defaultSessionTriggers),
		sessionsInFull*stored, stored)
}

// ErrFull means that an app has as many of something as it may have.
var ErrFull = errors.New("there is no room")

// LimitError means that a write would exceed a count that the app's settings limit.
type LimitError struct {
	Limit string // as settings.limits names it
	Most  int
}

// Error names the limit and its number.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%s is limited to %d: remove what is not needed, or raise settings.limits.%[1]s of the app", e.Limit, e.Most)
}

// checkTools holds a repository against the limit on its tools. One that is over a
// limit that was set later stays as it is until it is written.
func (l Limits) checkTools(r *Repository) error {
	if most := l.most(l.ToolsPerRepository, 0); most > 0 && len(r.Tools) > most {
		return &LimitError{Limit: "toolsPerRepository", Most: most}
	}
	return nil
}

// repositories is how many a scope may have; 0 for any number. Only sessions are limited.
func (l Limits) repositories(scope Scope) int {
	if scope.SessionID == "" {
		return 0
	}
	return l.most(l.RepositoriesPerSession, 0)
}
