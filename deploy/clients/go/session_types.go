package earshot

import (
	"time"
)

// SessionDefinition is what is known of a conversation in advance. It takes the place of what was
// put before.
type SessionDefinition struct {
	// As in the path.
	AppID string `json:"appId,omitempty"`
	// As in the path.
	SessionID string `json:"sessionId,omitempty"`
	// How long the session lives from its beginning, used or not, as 2h; at most a year. Without it
	// the session lives for as long as it is used.
	ExpiresIn Duration `json:"expiresIn,omitzero"`
	// What its user speaks (BCP 47, as de or de-AT). That of the app where it is missing.
	Language string `json:"language,omitempty"`
	// Anything of your own, at most 2048 bytes as compact JSON: it is kept, returned, and in every
	// event of the session.
	Metadata map[string]any `json:"metadata,omitempty"`
	// Repositories of the app with options.template: each is copied into the session, once.
	Repositories []string `json:"repositories,omitempty"`
	// Where its user is, as Europe/Berlin: it decides what tomorrow is, and noon. That of the app
	// where it is missing.
	TimeZone string `json:"timeZone,omitempty"`
}

// SessionState is a conversation.
type SessionState struct {
	// The app.
	AppID string `json:"appId"`
	// The session.
	SessionID string `json:"sessionId"`
	// When it was used or put for the first time.
	Created time.Time `json:"created,omitzero"`
	// When it ends, where expiresIn was put; else it lives for as long as it is used.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	// How long it lives from its beginning, where that was put.
	ExpiresIn Duration `json:"expiresIn,omitzero"`
	// What its user speaks (BCP 47), where that was put.
	Language string `json:"language,omitempty"`
	// When its last message came; missing where none has.
	LastMessage time.Time `json:"lastMessage,omitzero"`
	// What its client attached to it.
	Metadata map[string]any `json:"metadata,omitempty"`
	// The calls that lack values; a list of sessions does not tell them.
	Open []OpenCall `json:"open,omitempty"`
	// The templates that were copied into it.
	Repositories []string `json:"repositories,omitempty"`
	// Where its user is (IANA), where that was put.
	TimeZone string `json:"timeZone,omitempty"`
}

// OpenCall is a call that messages have begun and that lacks values: for ten minutes the next
// message may complete it.
type OpenCall struct {
	// The repository that has the tool.
	RepositoryID string `json:"repositoryId"`
	// The tool.
	Name string `json:"name"`
	// The question for the first missing one, where its parameter has one.
	Ask string `json:"ask,omitempty"`
	// The parameters that have none.
	Missing []string `json:"missing"`
	// The values that were said and are valid.
	Values Values `json:"values"`
}

// Message is a chat message.
type Message struct {
	// Idempotency key: 1 to 128 printable characters without spaces. The service makes one where it is
	// missing.
	MessageID string `json:"messageId,omitempty"`
	// What an agent says is kept in the history and matched against nothing.
	Actor string `json:"actor"`
	// What the message is in (BCP 47, as de or de-AT). That of the session, else of the app, where it
	// is missing.
	Language string `json:"language,omitempty"`
	// Anything of your own, at most 2048 bytes as compact JSON: it is kept, returned, and in every
	// event of the message, laid over that of the session.
	Metadata map[string]any `json:"metadata,omitempty"`
	// What was said: not empty, at most 65536 bytes of UTF-8.
	Text string `json:"text"`
	// Where the user is, as Europe/Berlin: it decides what tomorrow is, and noon. That of the session,
	// else of the app, where it is missing.
	TimeZone string `json:"timeZone,omitempty"`
	// With DryRun alone: what was said before, in the place of what the session has, oldest first; at
	// most 200. What the messages came to counts as it would have.
	History []Earlier `json:"history,omitempty"`
	// With DryRun alone: the time of the message. That of the service's clock where it is zero.
	Now time.Time `json:"now,omitzero"`
}

// Earlier is a message of a history that a dry run is told.
type Earlier struct {
	// user or agent.
	Actor string `json:"actor"`
	// What was said.
	Text string `json:"text"`
	// What it set off, as the answer to it says.
	Matches []Match `json:"matches,omitempty"`
	// What it was rejected for, as the answer to it says.
	Rejected []Rejected `json:"rejected,omitempty"`
}
