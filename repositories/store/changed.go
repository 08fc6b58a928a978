package store

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"earshot/repositories"
	"earshot/repositories/cloudevent"
	"earshot/repositories/exactjson"
	"earshot/repositories/keyspace"
)

// SourceOf returns the CloudEvents source of events in a scope.
func SourceOf(scope repositories.Scope) string {
	return "/apps/" + scope.AppID + "/sessions/" + keyspace.OrNone(scope.SessionID)
}

// change is the payload of tool.changed.
type change struct {
	ID           string                   `json:"id"`
	Time         time.Time                `json:"ts"`
	AppID        string                   `json:"appId"`
	SessionID    string                   `json:"sessionId,omitempty"`
	RepositoryID string                   `json:"repositoryId"`
	Operation    string                   `json:"operation"` // created, updated or deleted
	Record       *repositories.Repository `json:"record"`
	// Omitted names what was left out, where all of it would be too long for an event.
	Omitted []string `json:"omitted,omitempty"`
}

// forms are the full payload, one with only the names of the tools, and one without tools.
func (c change) forms() []any {
	named, bare := c, c
	named.Omitted, bare.Omitted = []string{"record.tools"}, []string{"record.tools"}
	named.Record, bare.Record = c.Record.Clone(), c.Record.Clone()
	for i, tool := range c.Record.Tools {
		named.Record.Tools[i] = repositories.Tool{Name: tool.Name, Type: tool.Type}
	}
	bare.Record.Tools = []repositories.Tool{}
	return []any{c, named, bare}
}

// ChangeEntry makes the tool.changed event for a change of a repository, as an entry of the
// outbox.
func (c *core) ChangeEntry(repository *repositories.Repository, operation string) (keyspace.Entry, error) {
	event := change{
		ID: changeID(repository, operation), Time: c.now().UTC(), Operation: operation, Record: public(repository),
		AppID: repository.AppID, SessionID: repository.SessionID, RepositoryID: repository.ID,
	}
	data, _, err := cloudevent.EncodeWithin(event.forms()...)
	if err != nil {
		return keyspace.Entry{}, err
	}
	body, err := exactjson.Encode(cloudevent.Event{
		Subject: "tool.changed." + repository.AppID + "." + repository.ID,
		ID:      event.ID, Type: "earshot.tool.changed", Source: SourceOf(repository.Scope()),
		Time: event.Time, Data: data,
	})
	return keyspace.EventEntry(event.ID, repository.SessionID, "", string(body)), err
}

// changeID names a change: by the state that it made, or that it ended. A triggerOnce
// repository that is fired again after a failover has lost the first time ends with the
// same event.
func changeID(r *repositories.Repository, operation string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{r.AppID, r.SessionID, r.ID, r.Revision, operation}, " ")))
	return hex.EncodeToString(sum[:16])
}

// public returns a copy that may travel in an event: credentials and headers do not.
func public(r *repositories.Repository) *repositories.Repository {
	next := r.Clone()
	for i := range next.Tools {
		next.Tools[i].Headers = nil
		if request := next.Tools[i].Request; request != nil {
			request.Headers, request.Basic, request.Bearer = nil, nil, nil
		}
	}
	return next
}
