package trigger

import (
	"encoding/json"
	"time"

	"earshot/matcher"
	"earshot/repositories"
)

// about is what the payloads of a turn's events have in common.
type about struct {
	ID        string    `json:"id"`
	Time      time.Time `json:"ts"`
	MessageID string    `json:"messageId,omitempty"`
	Text      string    `json:"text,omitempty"`
	AppID     string    `json:"appId"`
	SessionID string    `json:"sessionId,omitempty"`
}

// fired is the payload of tool.trigger and of a tool's emitter event.
type fired struct {
	about
	RepositoryID string          `json:"repositoryId"`
	Source       string          `json:"source"`
	Name         string          `json:"name"`
	Schema       json.RawMessage `json:"schema"`
	Values       map[string]any  `json:"values"`
}

// refused is the payload of tool.rejected.
type refused struct {
	about
	Rejected
}

// unmatched is the payload of tool.notmatching.
type unmatched struct {
	about
	Repositories []string `json:"repositories"`
	Tools        []string `json:"tools"`
}

// ended is the payload of tool.result.
type ended struct {
	about
	TriggerID    string          `json:"triggerId"`
	RepositoryID string          `json:"repositoryId"`
	Source       string          `json:"source"`
	Name         string          `json:"name"`
	OK           bool            `json:"ok"`
	Status       int             `json:"status,omitempty"`
	Result       json.RawMessage `json:"result,omitempty"`
	Truncated    bool            `json:"truncated,omitempty"`
	Reason       Reason          `json:"reason,omitempty"`
	Error        string          `json:"error,omitempty"`
}

// Kinds of event: the second word of the subject and the end of the ce-type.
const (
	eventTrigger     = "trigger"
	eventResult      = "result"
	eventRejected    = "rejected"
	eventNotMatching = "notmatching"
)

// eventOf wraps a payload. The last word of the subject is left out where name is
// empty.
func eventOf(kind string, about about, name string, payload any) (Event, error) {
	subject := "tool." + kind + "." + about.AppID + "." + orNone(about.SessionID)
	if name != "" {
		subject += "." + name
	}
	data, err := json.Marshal(payload)
	return Event{
		Subject: subject, ID: about.ID, Type: "earshot.tool." + kind, Time: about.Time, Data: data,
		Source: repositories.SourceOf(repositories.Scope{AppID: about.AppID, SessionID: about.SessionID}),
	}, err
}

func orNone(sessionID string) string {
	if sessionID == "" {
		return repositories.NoSession
	}
	return sessionID
}

// names lists the tools of the candidates and the repositories that hold them.
func names(candidates []matcher.Candidate) (repositoryIDs, tools []string) {
	seen := map[string]bool{}
	for _, c := range candidates {
		tools = append(tools, c.Tool.Name)
		if !seen[c.Repository.ID] {
			seen[c.Repository.ID] = true
			repositoryIDs = append(repositoryIDs, c.Repository.ID)
		}
	}
	return repositoryIDs, tools
}
