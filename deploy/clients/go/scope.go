package earshot

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"iter"
	"net/http"
	"strconv"
	"time"
)

type scope struct {
	client *Client
	path   string
	app    string // the path of the app
}

// PutRepository makes or replaces a repository. Without a RepositoryID the service makes one up.
func (s *scope) PutRepository(ctx context.Context, repository Repository) (Repository, error) {
	if repository.RepositoryID == "" {
		return ask[Repository](ctx, s.client, post(s.path+"/repositories", repository))
	}
	return ask[Repository](ctx, s.client, put(s.ofRepository(repository.RepositoryID), repository))
}

// PutTools makes a repository of these tools, or replaces it.
func (s *scope) PutTools(ctx context.Context, repositoryID string, tools ...Tool) (Repository, error) {
	return s.PutRepository(ctx, Repository{RepositoryID: repositoryID, Tools: tools})
}

// PatchRepository adds or replaces tools of a repository by their names, and its options if they are given.
func (s *scope) PatchRepository(ctx context.Context, repository Repository) (Repository, error) {
	patch := call{method: http.MethodPatch, path: s.ofRepository(repository.RepositoryID), body: repository, repeatable: true}
	return ask[Repository](ctx, s.client, patch)
}

// Repository reads one repository.
func (s *scope) Repository(ctx context.Context, id string) (Repository, error) {
	return ask[Repository](ctx, s.client, get(s.ofRepository(id)))
}

// Repositories lists the repositories.
func (s *scope) Repositories(ctx context.Context) iter.Seq2[Repository, error] {
	return pages[Repository](ctx, s.client, get(s.path+"/repositories"))
}

// DeleteRepository removes a repository with its tools.
func (s *scope) DeleteRepository(ctx context.Context, id string) error {
	return s.client.send(ctx, remove(s.ofRepository(id)), nil)
}

// DeleteTool removes one tool of a repository.
func (s *scope) DeleteTool(ctx context.Context, repositoryID, name string) error {
	return s.client.send(ctx, remove(s.ofRepository(repositoryID)+"/"+join("tools", name)), nil)
}

func (s *scope) ofRepository(id string) string { return s.path + "/" + join("repositories", id) }

// Tools lists the tools in scope, each as a model sees it.
func (s *scope) Tools(ctx context.Context) iter.Seq2[ScopedTool, error] {
	return pages[ScopedTool](ctx, s.client, get(s.path+"/tools"))
}

// FindTools returns the tools in scope that a text is about, the nearest first; limit 0 is the service's, 10.
func (s *scope) FindTools(ctx context.Context, text string, limit int) ([]ScopedTool, error) {
	asked := map[string]any{"text": text}
	if limit > 0 {
		asked["limit"] = limit
	}
	var found struct {
		Items []ScopedTool `json:"items"`
	}
	err := s.client.send(ctx, post(s.path+"/tools/search", asked).repeated(), &found)
	return found.Items, err
}

// Fire fires a tool without the matcher. A missing TriggerID is made, so that a repeat fires once. Source is agent by default.
func (s *scope) Fire(ctx context.Context, direct Direct) (Match, error) {
	direct.TriggerID, direct.Source = cmp.Or(direct.TriggerID, rand.Text()), cmp.Or(direct.Source, "agent")
	return ask[Match](ctx, s.client, post(s.path+"/triggers", direct).repeated())
}

// Search says which triggers are looked for; the zero value is all of them.
type Search struct {
	State        string    // pending, delivered, failed, confirming, cancelled or duplicate
	Name         string    // of the tool
	Since, Until time.Time // when they fired
	Oldest       bool      // the oldest first, not the newest
	PageSize     int       // of each request; 0: the service's
}

// Triggers lists records of triggers.
func (s *scope) Triggers(ctx context.Context, search Search) iter.Seq2[Record, error] {
	parts := map[string]string{"state": search.State, "name": search.Name, "since": moment(search.Since), "until": moment(search.Until)}
	if search.Oldest {
		parts["order"] = "asc"
	}
	if search.PageSize > 0 {
		parts["limit"] = strconv.Itoa(search.PageSize)
	}
	return pages[Record](ctx, s.client, filter(get(s.path+"/triggers"), parts))
}

func moment(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Format(time.RFC3339Nano)
}

// ScopedTool is a tool in scope, as a model sees it.
type ScopedTool struct {
	RepositoryID string `json:"repositoryId"`
	Name         string `json:"name"`
	Description  string `json:"description"` // what it does, as its author says
	// JSON Schema 2020-12 of the values that a caller may give: without hidden, fixed and authenticated parameters.
	InputSchema json.RawMessage `json:"inputSchema"`
	// How near the text is to the tool by its words: above 0, and 1.3 at most. It tells tools of one answer apart.
	Score float64 `json:"score"`
}

// Direct is a tool to fire without the matcher.
type Direct struct {
	RepositoryID string `json:"repositoryId,omitempty"` // the repository; the one in scope where it is missing
	TriggerID    string `json:"triggerId,omitempty"`    // idempotency key. The service makes one where it is missing
	Name         string `json:"name"`                   // the tool: 1 to 64 of A-Z a-z 0-9 _ -
	// Data of your own, at most 2048 bytes of JSON; it is also in the events of the trigger, merged over the session's.
	Metadata map[string]any `json:"metadata,omitempty"`
	Source   string         `json:"source"` // who fires it
	// Values of its parameters, taken strictly: "5" is no number, and a name that the tool lacks is a fault.
	Values any `json:"values,omitempty"`
}
