package repositories

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"earshot/repositories/exactjson"
)

// Session is one conversation of an app. It begins with its first use; a PUT is optional.
type Session struct {
	AppID string `json:"appId"`
	ID    string `json:"sessionId"`
	// User is the session's user by the app's word. It stays the same until all of the session's data is gone.
	User string `json:"user,omitempty"`
	// Language (BCP 47) and TimeZone (IANA) are the user's; empty for the app's.
	Language     string   `json:"language,omitempty"`
	TimeZone     string   `json:"timeZone,omitempty"`
	Metadata     Metadata `json:"metadata,omitempty"`
	ExpiresIn    Duration `json:"expiresIn,omitzero"`     // from Created on, used or not; 0 for as long as it is used
	Repositories []string `json:"repositories,omitempty"` // templates of the app that were copied into it

	Created     time.Time `json:"created,omitzero"`
	LastMessage time.Time `json:"lastMessage,omitzero"`
	ExpiresAt   time.Time `json:"expiresAt,omitzero"` // if it has ExpiresIn

	// LastActive is the last use, by a message or otherwise; set only in lists by activity.
	LastActive time.Time `json:"lastActive,omitzero"`

	// Outcomes are those of its messages, as letters like keyspace.OutcomeFired, the last one first.
	Outcomes string `json:"-"`
	// Fired reports whether the session has triggers.
	Fired bool `json:"-"`
	// Unfinished reports whether it may have calls that lack values, begun by messages or agents.
	Unfinished bool `json:"-"`
}

// LastUse returns the last known use: LastActive if it was read, else the last message, else the beginning.
func (s *Session) LastUse() time.Time { return cmp.Or(s.LastActive, s.LastMessage, s.Created) }

// UserError means that a session belongs to another user than the named one.
type UserError struct{ SessionID, User string }

// Error does not reveal the session's user.
func (e *UserError) Error() string {
	return fmt.Sprintf("session %q belongs to another user than %q, and keeps its user until it is erased: use another session", e.SessionID, e.User)
}

// Metadata is a JSON object that a client attaches. Earshot keeps it, returns it and puts it into events.
type Metadata json.RawMessage

// MaxMetadata is the maximum length of metadata, in bytes of compact JSON.
const MaxMetadata = 2 << 10

// MarshalJSON writes the object as it is.
func (m Metadata) MarshalJSON() ([]byte, error) { return json.RawMessage(m).MarshalJSON() }

// UnmarshalJSON reads a JSON object, or null for none, in compact form.
func (m *Metadata) UnmarshalJSON(text []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return err
	}
	if len(fields) == 0 {
		*m = nil
		return nil
	}
	compact, err := exactjson.Encode(fields)
	*m = Metadata(compact)
	return err
}

// Text returns a member as text: a string as is, another value as JSON; false without the member.
func (m Metadata) Text(name string) (string, bool) {
	var members map[string]json.RawMessage
	if len(m) == 0 || json.Unmarshal(m, &members) != nil {
		return "", false
	}
	value, ok := members[name]
	var text string
	if json.Unmarshal(value, &text) != nil || string(value) == "null" {
		text = string(value)
	}
	return text, ok
}

// Over merges the metadata over farther. In common fields, m takes precedence.
func (m Metadata) Over(farther Metadata) Metadata {
	if len(m) == 0 {
		return farther
	}
	if len(farther) == 0 {
		return m
	}
	var whole, nearer map[string]json.RawMessage
	if json.Unmarshal(farther, &whole) != nil || json.Unmarshal(m, &nearer) != nil {
		return m // not written by UnmarshalJSON
	}
	maps.Copy(whole, nearer)
	text, err := exactjson.Encode(whole)
	if err != nil {
		return m
	}
	return text
}

// CheckMetadata returns an error if metadata exceeds MaxMetadata.
func CheckMetadata(m Metadata) error {
	if len(m) > MaxMetadata {
		return fmt.Errorf("is %d bytes long as compact JSON; the most is %d", len(m), MaxMetadata)
	}
	return nil
}
