package earshot

import (
	"time"
)

// Key is a new key of an app, with the key itself.
type Key struct {
	// What the key is for, as it was given.
	Name string `json:"name,omitempty"`
	// When it was made.
	Created time.Time `json:"created,omitzero"`
	// When it ends; missing where it does not.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	// The key itself, shown this once. A credential.
	Key string `json:"key"`
	// Names the key in lists; it is no credential.
	KeyID string `json:"keyId"`
	// When it was last used, exact to a minute; missing where it never was.
	LastUsed time.Time `json:"lastUsed,omitzero"`
	// The key that asked for it, and with which it ends; missing where it was the admin.
	MadeBy string `json:"madeBy,omitempty"`
	// What the key is good for.
	Scopes []string `json:"scopes"`
}

// KeyRequest is a key of an app.
type KeyRequest struct {
	// What it is for, for those who list keys.
	Name string `json:"name,omitempty"`
	// How long it is to be good, as 720h; at most ten years. Without it the key is good until it is
	// revoked.
	ExpiresIn Duration `json:"expiresIn,omitzero"`
	// tools: repositories; messages: messages, sessions, session tokens and events; triggers: direct
	// triggers, records, retries and events; app: the app and its keys.
	Scopes []string `json:"scopes"`
}

// Token is a token for the front-end of one session.
type Token struct {
	// When it ends.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	// The token. A credential.
	Token string `json:"token"`
}

// Caller is whom the service takes the caller for.
type Caller struct {
	// The app of the key or token; missing for the admin.
	AppID string `json:"appId,omitempty"`
	// The session of a session token.
	SessionID string `json:"sessionId,omitempty"`
	// It may do everything: the key is the admin's, or none is asked for.
	Admin bool `json:"admin"`
	// When the key or token ends; missing for never.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	// The key, by the id under which it can be revoked.
	KeyID string `json:"keyId,omitempty"`
	// Where the NATS server inside of earshot dev is; no other service says it.
	NatsURL string `json:"natsUrl,omitempty"`
	// What a key of an app may do.
	Scopes []string `json:"scopes,omitempty"`
}
