package repositories

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"
)

// Event is an event as the ledger keeps it: CloudEvents 1.0 in binary mode, where
// the attributes are headers and Data is the payload.
type Event struct {
	Subject string          `json:"subject"`
	ID      string          `json:"id"`     // ce-id
	Type    string          `json:"type"`   // ce-type
	Source  string          `json:"source"` // ce-source
	Time    time.Time       `json:"time"`   // ce-time
	Data    json.RawMessage `json:"data"`
	// TraceParent continues the trace of the request that led here (W3C Trace
	// Context); may be empty.
	TraceParent string `json:"traceparent,omitempty"`
}

// SourceOf is the CloudEvents source of what happens in a scope.
func SourceOf(scope Scope) string {
	return "/apps/" + scope.AppID + "/sessions/" + orNone(scope.SessionID)
}

// change is the payload of tool.changed.
type change struct {
	ID           string      `json:"id"`
	Time         time.Time   `json:"ts"`
	AppID        string      `json:"appId"`
	SessionID    string      `json:"sessionId,omitempty"`
	RepositoryID string      `json:"repositoryId"`
	Operation    string      `json:"operation"` // created, updated or deleted
	Record       *Repository `json:"record"`
	// Omitted names what was left out, where all of it would be too long for an event.
	Omitted []string `json:"omitted,omitempty"`
}

// forms are the payload in full, with the names of the tools alone, and without them.
func (c change) forms() []any {
	named, bare := c, c
	named.Omitted, bare.Omitted = []string{"record.tools"}, []string{"record.tools"}
	named.Record, bare.Record = c.Record.clone(), c.Record.clone()
	for i, tool := range c.Record.Tools {
		named.Record.Tools[i] = Tool{Name: tool.Name, Type: tool.Type}
	}
	bare.Record.Tools = []Tool{}
	return []any{c, named, bare}
}

// OwedChange is the event tool.changed that a change of a repository owes.
func (s *Store) OwedChange(repository *Repository, operation string) (Owed, error) {
	event := change{
		ID: repository.changeID(operation), Time: s.now().UTC(), Operation: operation, Record: repository.public(),
		AppID: repository.AppID, SessionID: repository.SessionID, RepositoryID: repository.ID,
	}
	data, _, err := EncodeWithin(event.forms()...)
	if err != nil {
		return Owed{}, err
	}
	body, err := Encode(Event{
		Subject: "tool.changed." + repository.AppID + "." + repository.ID,
		ID:      event.ID, Type: "earshot.tool.changed", Source: SourceOf(repository.Scope()),
		Time: event.Time, Data: data,
	})
	return OwedEvent(event.ID, repository.SessionID, string(body)), err
}

// changeID names a change: by the state that it made, or that it ended. A triggerOnce
// repository that is fired again after a failover has lost the first time ends with the
// same event.
func (r *Repository) changeID(operation string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{r.AppID, r.SessionID, r.ID, r.Revision, operation}, " ")))
	return hex.EncodeToString(sum[:16])
}

// public returns a copy that may travel in an event: credentials and headers do not.
func (r *Repository) public() *Repository {
	next := r.clone()
	for i := range next.Tools {
		next.Tools[i].Headers = nil
		if request := next.Tools[i].Request; request != nil {
			request.Headers, request.Basic, request.Bearer = nil, nil, nil
		}
	}
	return next
}
