package plan

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"earshot/cmd/earshot/client"
	"earshot/repositories"
	"earshot/repositories/files"
	"earshot/repositories/secret"
	"earshot/repositories/store"
)

// Planner makes the plan that brings a service to what files define.
type Planner struct {
	Service *client.Client
	Set     *files.Set
	// Removable says of what is in the service and not in the files whether it goes.
	Removable func(Member) bool
	// Pause waits as long as the service asks for, or until ctx ends.
	Pause func(ctx context.Context, d time.Duration) error
	// moved holds the http sources of the app that the plan moves elsewhere.
	moved map[string]bool
}

// Plan compares the files with what the service has. It changes nothing there.
func (p *Planner) Plan(ctx context.Context) (*Plan, error) {
	made := &Plan{appID: p.Set.AppID}
	app, err := p.appStep(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.Set.CheckWith(app.body); err != nil {
		return nil, err
	}
	made.steps = append(made.steps, app)
	stored := map[string]json.RawMessage{}
	var order []string
	if app.operation != opCreate {
		if stored, order, err = p.stored(ctx); err != nil {
			return nil, err
		}
	}
	for _, definition := range p.Set.Repositories {
		made.steps = append(made.steps, step{operation: opCreate, definition: definition, kind: "repository", id: definition.ID, body: definition.Body()})
		last := &made.steps[len(made.steps)-1]
		if there := stored[definition.ID]; there != nil {
			if err := p.compareRepository(ctx, last, there); err != nil {
				return nil, err
			}
		}
		delete(stored, definition.ID)
	}
	for _, id := range order {
		if stored[id] != nil {
			made.steps = append(made.steps, step{operation: p.removeOrKeep(Member{"repository", id}), kind: "repository", id: id, body: stored[id]})
		}
	}
	return made, nil
}

func (p *Planner) removeOrKeep(m Member) operation {
	if p.Removable(m) {
		return opRemove
	}
	return opKeep
}

// stored lists the app's repositories.
func (p *Planner) stored(ctx context.Context) (map[string]json.RawMessage, []string, error) {
	items, err := p.Service.All(ctx, client.Path("apps", p.Set.AppID, "repositories"))
	if err != nil {
		return nil, nil, err
	}
	found := map[string]json.RawMessage{}
	var order []string
	for _, item := range items {
		var repository struct {
			ID string `json:"repositoryId"`
		}
		if err := client.Decode(item, &repository); err != nil {
			return nil, nil, err
		}
		found[repository.ID] = item
		order = append(order, repository.ID)
	}
	return found, order, nil
}

// appStep merges what the files say of the app into what the service has.
func (p *Planner) appStep(ctx context.Context) (step, error) {
	made := step{operation: opCreate, definition: p.Set.App, kind: "app", id: p.Set.AppID, body: p.Set.App.Body()}
	there, err := p.Service.Call(ctx, http.MethodGet, client.Path("apps", p.Set.AppID), nil)
	if client.HasStatus(err, http.StatusNotFound) {
		return made, nil
	}
	if err != nil {
		return made, err
	}
	if made.body, err = merge(there, p.Set.App.Body(), p.Removable); err != nil {
		return made, err
	}
	kept, err := merge(there, p.Set.App.Body(), func(Member) bool { return false })
	if err != nil {
		return made, err
	}
	if !bytes.Equal(kept, made.body) {
		made.first = kept
	}
	canonical, err := canonicalApp(p.Set.AppID, made.body)
	if err != nil {
		return made, err
	}
	if p.moved, err = movedSources(there, canonical); err != nil {
		return made, err
	}
	return made, p.compare(ctx, &made, canonical, there, client.Path("apps", p.Set.AppID))
}

// movedSources returns the names of http sources whose base URL changes.
func movedSources(there, next []byte) (map[string]bool, error) {
	var was, is repositories.App
	if err := errors.Join(client.Decode(there, &was), client.Decode(next, &is)); err != nil {
		return nil, err
	}
	moved := map[string]bool{}
	for _, source := range is.Sources {
		before, known := was.Source(source.Name)
		moved[source.Name] = known && before.BaseURL != source.BaseURL
	}
	return moved, nil
}

func (p *Planner) compareRepository(ctx context.Context, s *step, there []byte) error {
	canonical, err := canonicalRepository(p.Set.AppID, s.id, s.body)
	if err != nil {
		return err
	}
	if err := p.compare(ctx, s, canonical, there, client.Path("apps", p.Set.AppID, "repositories", s.id)); err != nil || s.operation != opLeave {
		return err
	}
	return p.follow(s, canonical)
}

// follow gives the credentials of tools again whose source moves: the service sends none
// to another place than it was given for.
func (p *Planner) follow(s *step, canonical []byte) error {
	var is repositories.Repository
	if !bytes.Contains(canonical, []byte(secret.Masked)) {
		return nil
	}
	if err := client.Decode(canonical, &is); err != nil {
		return err
	}
	for _, tool := range is.Tools {
		if p.moved[tool.Source] {
			s.operation = opUpdate
			s.lines = append(s.lines, "tools/"+tool.Name+": its source moves, and its credentials are given again")
		}
	}
	return nil
}

// compare fills in whether a definition changes and in which fields. Where all that
// can be seen is the same and there are credentials, which cannot be seen, the service
// is asked: a write that changes nothing would still be an event, and a new life for
// a triggerOnce repository.
func (p *Planner) compare(ctx context.Context, s *step, canonical, there []byte, path string) error {
	var was, is map[string]any
	if err := errors.Join(client.Decode(there, &was), client.Decode(canonical, &is)); err != nil {
		return err
	}
	for _, ours := range []string{"created", "updated"} {
		delete(was, ours)
		delete(is, ours)
	}
	if is["from"] != nil { // whose tools no file says
		delete(was, "tools")
		delete(is, "tools")
	}
	s.operation, s.lines = opUpdate, differences("", was, is)
	if len(s.lines) > 0 {
		return nil
	}
	s.operation = opLeave
	if !bytes.Contains(canonical, []byte(secret.Masked)) {
		return nil
	}
	answer, err := p.preview(ctx, path, s.body)
	if err != nil {
		return s.located(err)
	}
	var preview struct {
		Operation string `json:"operation"`
	}
	if err := client.Decode(answer, &preview); err != nil {
		return err
	}
	if preview.Operation != store.WouldLeave {
		s.operation, s.lines = opUpdate, []string{"a credential is another"}
	}
	return nil
}

// preview asks the service what a write would do. A key may compare only so many
// credentials in a minute; preview waits as long as the service asks for.
func (p *Planner) preview(ctx context.Context, path string, body []byte) ([]byte, error) {
	for {
		answer, err := p.Service.Call(ctx, http.MethodPut, path+"?dryRun=true", body)
		var answered *client.Refusal
		if !errors.As(err, &answered) || answered.Status != http.StatusTooManyRequests || answered.RetryAfter <= 0 {
			return answer, err
		}
		if err := p.Pause(ctx, answered.RetryAfter); err != nil {
			return nil, err
		}
	}
}

// canonicalApp returns the body as the service will show it.
func canonicalApp(id string, body []byte) ([]byte, error) {
	app, err := repositories.DecodeApp(id, body)
	if err != nil {
		return nil, err
	}
	return json.Marshal(app)
}

func canonicalRepository(appID, id string, body []byte) ([]byte, error) {
	repository, err := repositories.DecodeRepository(repositories.Scope{AppID: appID}, id, body)
	if err != nil {
		return nil, err
	}
	return json.Marshal(repository)
}
