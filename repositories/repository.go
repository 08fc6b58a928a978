package repositories

import "time"

// Scope says whose a repository is: an app's, or one session's of it.
type Scope struct {
	AppID     string
	SessionID string // empty for the app's own
}

// Repository is a named group of tools with options.
type Repository struct {
	AppID     string  `json:"appId"`
	SessionID string  `json:"sessionId,omitempty"`
	ID        string  `json:"repositoryId"`
	Options   Options `json:"options"`
	Tools     []Tool  `json:"tools"`

	Created time.Time `json:"created,omitzero"`
	Updated time.Time `json:"updated,omitzero"`

	// Generation is random for each registration: what was matched in one
	// generation does not fire in another, and a triggerOnce repository fires once
	// in each. A PATCH of what is there keeps it.
	Generation string `json:"-"`
	// Revision is random for each write.
	Revision string `json:"-"`
}

// Options of a repository.
type Options struct {
	// TriggerOnce takes the repository away with the first fire of one of its tools.
	TriggerOnce bool `json:"triggerOnce"`
	// Exclusive makes its tools win over all others, and suppresses replies.
	Exclusive bool `json:"exclusive"`
}

// Scope returns whose the repository is.
func (r *Repository) Scope() Scope { return Scope{AppID: r.AppID, SessionID: r.SessionID} }

// Tool returns the repository's tool of that name, or nil.
func (r *Repository) Tool(name string) *Tool {
	for i := range r.Tools {
		if r.Tools[i].Name == name {
			return &r.Tools[i]
		}
	}
	return nil
}
