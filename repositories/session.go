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
	// Language (BCP 47) and TimeZone (IANA) are the user's; if they are empty, the app's.
	Language     string   `json:"language,omitempty"`
	TimeZone     string   `json:"timeZone,omitempty"`
	Metadata     Metadata `json:"metadata,omitempty"`
	ExpiresIn    Duration `json:"expiresIn,omitzero"`     // from Created on, used or not; 0 for as long as it is used
	Repositories []string `json:"repositories,omitempty"` // the templates of the app that were copied into it

	Created     time.Time `json:"created,omitzero"`
	LastMessage time.Time `json:"lastMessage,omitzero"`
	ExpiresAt   time.Time `json:"expiresAt,omitzero"` // of one with ExpiresIn
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
