package repositories

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"earshot/repositories/exactjson"
)

// Session is one conversation of an app. It begins with its first use, and need not have been put.
type Session struct {
	AppID string `json:"appId"`
	ID    string `json:"sessionId"`
	// User is who the app says that the session is of. It stays the same for as long as anything of the session is kept.
	User string `json:"user,omitempty"`
	// Language (BCP 47) and TimeZone (IANA) are the user's; if they are empty, the app's.
	Language     string   `json:"language,omitempty"`
	TimeZone     string   `json:"timeZone,omitempty"`
	Metadata     Metadata `json:"metadata,omitempty"`
	ExpiresIn    Duration `json:"expiresIn,omitzero"`     // from Created on, used or not; 0 for as long as it is used
	Repositories []string `json:"repositories,omitempty"` // the templates of the app that were copied into it

	Created     time.Time `json:"created,omitzero"`
	LastMessage time.Time `json:"lastMessage,omitzero"`
	ExpiresAt   time.Time `json:"expiresAt,omitzero"` // of one with ExpiresIn

	// LastActive is when it was used last, by a message or otherwise; of a list by activity alone.
	LastActive time.Time `json:"lastActive,omitzero"`

	// Came is what its messages came to, as letters of keyspace.CameTo, the last one first.
	Came string `json:"-"`
	// Fired says that there are triggers of it.
	Fired bool `json:"-"`
	// Unfinished says that calls may lack values which messages, or agents, have begun.
	Unfinished bool `json:"-"`
}

// LastUse is when it was active last, as far as that was read: when its last message came, or when it began.
func (s *Session) LastUse() time.Time {
	if !s.LastActive.IsZero() {
		return s.LastActive
	}
	if s.LastMessage.IsZero() {
		return s.Created
	}
	return s.LastMessage
}

// UserError means that a session is another user's than the one that is named.
type UserError struct{ SessionID, User string }

// Error does not tell whose it is.
func (e *UserError) Error() string {
	return fmt.Sprintf("session %q belongs to another user than %q, and keeps its user until it is erased: use another session", e.SessionID, e.User)
}

// Metadata is a JSON object that a client attaches. Earshot keeps it, returns it and puts it into events.
type Metadata json.RawMessage

// MaxMetadata is the most that metadata may be long, in bytes of compact JSON.
const MaxMetadata = 2 << 10

// MarshalJSON writes the object as it is.
func (m Metadata) MarshalJSON() ([]byte, error) { return json.RawMessage(m).MarshalJSON() }

// UnmarshalJSON reads a JSON object, or null for none, and keeps it in its compact form.
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

// Text is the value of a member as a text: a string as it is, another value as JSON has it; false if there is no such
// member.
func (m Metadata) Text(name string) (string, bool) {
	var members map[string]json.RawMessage
	if len(m) == 0 || json.Unmarshal(m, &members) != nil {
		return "", false
	}
	value, has := members[name]
	var text string
	if json.Unmarshal(value, &text) != nil || string(value) == "null" {
		text = string(value)
	}
	return text, has
}

// Over lays the metadata over others: of a field that both have, this one's holds.
func (m Metadata) Over(farther Metadata) Metadata {
	if len(m) == 0 {
		return farther
	}
	if len(farther) == 0 {
		return m
	}
	var whole, nearer map[string]json.RawMessage
	if json.Unmarshal(farther, &whole) != nil || json.Unmarshal(m, &nearer) != nil {
		return m // neither was written by UnmarshalJSON
	}
	maps.Copy(whole, nearer)
	text, err := exactjson.Encode(whole)
	if err != nil {
		return m
	}
	return text
}

// CheckMetadata returns an error if metadata is longer than it may be.
func CheckMetadata(m Metadata) error {
	if len(m) > MaxMetadata {
		return fmt.Errorf("is %d bytes long as compact JSON; the most is %d", len(m), MaxMetadata)
	}
	return nil
}
