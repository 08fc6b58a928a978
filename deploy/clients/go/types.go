package earshot

import "time"

// SessionDefinition is what is known of a conversation in advance. It takes the place of what was put before.
type SessionDefinition struct {
	AppID     string `json:"appId,omitempty"`     // as in the path
	SessionID string `json:"sessionId,omitempty"` // as in the path
	// How long the session lives from its beginning, as 2h; at most a year. Without it the session lives while it is used.
	ExpiresIn    Duration       `json:"expiresIn,omitzero"`
	Language     string         `json:"language,omitempty"`     // of its user (BCP 47, as de or de-AT); default: the app's
	Metadata     map[string]any `json:"metadata,omitempty"`     // data of your own, at most 2048 bytes of JSON; also in its events
	Repositories []string       `json:"repositories,omitempty"` // of the app with options.template: each is copied into the session, once
	TimeZone     string         `json:"timeZone,omitempty"`     // of its user, as Europe/Berlin; default: the app's
	// Who its user is, for lists, exports and erasures: 1 to 128 printable characters. Another user is refused with 409.
	User string `json:"user,omitempty"`
}

// SessionState is a conversation.
type SessionState struct {
	AppID        string         `json:"appId"`
	SessionID    string         `json:"sessionId"`
	Created      time.Time      `json:"created,omitzero"`       // when it was used or put for the first time
	ExpiresAt    time.Time      `json:"expiresAt,omitzero"`     // when it ends, if expiresIn was put
	ExpiresIn    Duration       `json:"expiresIn,omitzero"`     // how long it lives from its beginning, where that was put
	Language     string         `json:"language,omitempty"`     // what its user speaks (BCP 47), where that was put
	LastActive   time.Time      `json:"lastActive,omitzero"`    // when it was used last; of a list by activity
	Message      *Said          `json:"message,omitempty"`      // the last message that has the text which was looked for; of a list
	Outcomes     []string       `json:"outcomes,omitempty"`     // what its messages came to, the last one first: fired, rejected, unmatched; of a list
	LastMessage  time.Time      `json:"lastMessage,omitzero"`   // when its last message came; missing where none has
	Metadata     map[string]any `json:"metadata,omitempty"`     // what its client attached to it
	Open         []OpenCall     `json:"open,omitempty"`         // what waits for somebody, whoever set it off; a list of sessions does not tell it
	Repositories []string       `json:"repositories,omitempty"` // the templates that were copied into it
	TimeZone     string         `json:"timeZone,omitempty"`     // where its user is (IANA), where that was put
	User         string         `json:"user,omitempty"`         // whom the session is of, where that was said
}

// OpenCall is what waits in a session: a trigger, or a call without all values. The next message may complete a call of a
// message within ten minutes; a call of an agent has a task.
type OpenCall struct {
	TriggerID string `json:"triggerId,omitempty"` // of an agent's call the task; missing of a call that messages have begun
	// asking: for values; confirming; settling: it can be taken back; pending: for an answer.
	State     string     `json:"state"`
	Question  string     `json:"question,omitempty"`  // what the user is to be asked
	Digest    string     `json:"digest,omitempty"`    // a confirmation names it
	ExpiresAt *time.Time `json:"expiresAt,omitempty"` // when it waits no more

	RepositoryID string   `json:"repositoryId,omitempty"` // missing where an agent named none, and its tool is gone
	Name         string   `json:"name"`
	Ask          string   `json:"ask,omitempty"` // the question for the first missing one, where its parameter has one
	Missing      []string `json:"missing"`       // the parameters that have none
	Values       Values   `json:"values"`        // the values that were said and are valid
}

// Message is a chat message.
type Message struct {
	// Idempotency key: 1 to 128 printable characters without spaces. The service makes one where it is missing.
	MessageID string         `json:"messageId,omitempty"`
	Actor     string         `json:"actor"`              // what an agent says is kept in the history and matched against nothing
	Language  string         `json:"language,omitempty"` // BCP 47, as de or de-AT; default: the session's
	Metadata  map[string]any `json:"metadata,omitempty"` // data of your own, at most 2048 bytes of JSON; also in its events
	Text      string         `json:"text"`               // what was said: not empty, at most 65536 bytes of UTF-8
	TimeZone  string         `json:"timeZone,omitempty"` // of the user, as Europe/Berlin; default: the session's
	// Who the user of the session is: 1 to 128 printable characters, from the first message that has one. Another user is
	// refused with 409. Not with a session's token, nor with DryRun.
	User    string    `json:"user,omitempty"`
	History []Earlier `json:"history,omitempty"` // with DryRun alone: at most 200 earlier messages instead of the session's, oldest first
	Now     time.Time `json:"now,omitzero"`      // with DryRun alone: the time of the message; default: now
}

// Earlier is a message of a history that a dry run is told.
type Earlier struct {
	Actor    string     `json:"actor"`              // user or agent
	Text     string     `json:"text"`               // what was said
	Matches  []Match    `json:"matches,omitempty"`  // what it set off, as the answer to it says
	Rejected []Rejected `json:"rejected,omitempty"` // what it was rejected for, as the answer to it says
}

// Key is a new key of an app, with the key itself.
type Key struct {
	Name      string    `json:"name,omitempty"`     // what the key is for, as it was given
	Created   time.Time `json:"created,omitzero"`   // when it was made
	ExpiresAt time.Time `json:"expiresAt,omitzero"` // when it ends; missing where it does not
	Key       string    `json:"key"`                // the key itself, shown this once. A credential
	KeyID     string    `json:"keyId"`              // names the key in lists; it is no credential
	LastUsed  time.Time `json:"lastUsed,omitzero"`  // when it was last used, exact to a minute; missing where it never was
	MadeBy    string    `json:"madeBy,omitempty"`   // the key that made it, and with which it ends; empty for the admin
	Scopes    []string  `json:"scopes"`             // what the key may do
}

// KeyRequest is a key of an app.
type KeyRequest struct {
	Name      string   `json:"name,omitempty"`     // what it is for, for those who list keys
	ExpiresIn Duration `json:"expiresIn,omitzero"` // as 720h, at most ten years; without it the key is valid until it is revoked
	// tools: repositories; messages: messages, sessions, their tokens and events; triggers: direct triggers, records, retries
	// and events; app: the app and its keys.
	Scopes []string `json:"scopes"`
}

// Token is a token for the front-end of one session.
type Token struct {
	ExpiresAt time.Time `json:"expiresAt,omitzero"` // when it ends
	Token     string    `json:"token"`              // the token. A credential
}

// Caller is whom the service takes the caller for.
type Caller struct {
	AppID     string    `json:"appId,omitempty"`     // the app of the key or token; missing for the admin
	SessionID string    `json:"sessionId,omitempty"` // the session of a session token
	Admin     bool      `json:"admin"`               // it may do everything: the key is the admin's, or none is asked for
	ExpiresAt time.Time `json:"expiresAt,omitzero"`  // when the key or token ends; missing for never
	KeyID     string    `json:"keyId,omitempty"`     // the key, by the id under which it can be revoked
	NatsURL   string    `json:"natsUrl,omitempty"`   // where the NATS server inside of earshot dev is; no other service says it
	Scopes    []string  `json:"scopes,omitempty"`    // what a key of an app may do
}

// Said is something that was said in a session.
type Said struct {
	MessageID string    `json:"messageId"`
	Actor     string    `json:"actor"` // who said it: user or agent
	Text      string    `json:"text"`  // of a long text its first 1,000 bytes
	TS        time.Time `json:"ts"`
}
