package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"earshot/repositories"
	"earshot/repositories/files"
	"earshot/repositories/secret"
)

// operation is what a plan does with a definition.
type operation string

const (
	opCreate operation = "create"
	opUpdate operation = "update"
	opLeave  operation = "leave"
	opRemove operation = "remove"
	// opKeep leaves what is in the service and not in the files.
	opKeep operation = "keep"
)

// step is one definition in a plan.
type step struct {
	operation  operation
	definition *files.Definition // nil for what the files do not have
	what       string            // app or repository
	id         string
	body       []byte
	lines      []string // in which fields it changes
}

// plan is everything that applying files would do, in the order in which it is done.
type plan struct {
	appID string
	steps []step
}

// changes counts the steps that change something.
func (p *plan) changes() int {
	n := 0
	for _, s := range p.steps {
		if s.operation == opCreate || s.operation == opUpdate || s.operation == opRemove {
			n++
		}
	}
	return n
}

// planner compares files with what a service has.
type planner struct {
	client *client
	set    *files.Set
	// removable says of what is in the service and not in the files whether it goes:
	// a repository, or a module, source or service of the app, by its name.
	removable func(what, id string) bool
	// pause waits while the service wants to be left alone.
	pause func(ctx context.Context, d time.Duration) error
	// moved are the http sources of the app that the plan moves elsewhere.
	moved map[string]bool
}

func (p *planner) plan(ctx context.Context) (*plan, error) {
	made := &plan{appID: p.set.AppID}
	app, err := p.appStep(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.set.CheckWith(app.body); err != nil {
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
	for _, definition := range p.set.Repositories {
		made.steps = append(made.steps, step{operation: opCreate, definition: definition, what: "repository", id: definition.ID, body: definition.Body()})
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
			made.steps = append(made.steps, step{operation: p.fate("repository", id), what: "repository", id: id})
		}
	}
	return made, nil
}

func (p *planner) fate(what, id string) operation {
	if p.removable(what, id) {
		return opRemove
	}
	return opKeep
}

// stored lists the app's repositories.
func (p *planner) stored(ctx context.Context) (map[string]json.RawMessage, []string, error) {
	items, err := p.client.all(ctx, path("apps", p.set.AppID, "repositories"))
	if err != nil {
		return nil, nil, err
	}
	found := map[string]json.RawMessage{}
	var order []string
	for _, item := range items {
		var repository struct {
			ID string `json:"repositoryId"`
		}
		if err := decodeJSON(item, &repository); err != nil {
			return nil, nil, err
		}
		found[repository.ID] = item
		order = append(order, repository.ID)
	}
	return found, order, nil
}

// appStep merges what the files say of the app into what there is.
func (p *planner) appStep(ctx context.Context) (step, error) {
	made := step{operation: opCreate, definition: p.set.App, what: "app", id: p.set.AppID, body: p.set.App.Body()}
	there, err := p.client.call(ctx, http.MethodGet, path("apps", p.set.AppID), nil)
	if refused(err, http.StatusNotFound) {
		return made, nil
	}
	if err != nil {
		return made, err
	}
	if made.body, err = p.merge(there); err != nil {
		return made, err
	}
	canonical, err := canonicalApp(p.set.AppID, made.body)
	if err != nil {
		return made, err
	}
	if p.moved, err = movedSources(there, canonical); err != nil {
		return made, err
	}
	return made, p.compare(ctx, &made, canonical, there, path("apps", p.set.AppID))
}

// movedSources names the http sources that are to be elsewhere.
func movedSources(there, next []byte) (map[string]bool, error) {
	var was, is repositories.App
	if err := errors.Join(decodeJSON(there, &was), decodeJSON(next, &is)); err != nil {
		return nil, err
	}
	moved := map[string]bool{}
	for _, source := range is.Sources {
		before, known := was.Source(source.Name)
		moved[source.Name] = known && before.BaseURL != source.BaseURL
	}
	return moved, nil
}

func (p *planner) compareRepository(ctx context.Context, s *step, there []byte) error {
	canonical, err := canonicalRepository(p.set.AppID, s.id, s.body)
	if err != nil {
		return err
	}
	if err := p.compare(ctx, s, canonical, there, path("apps", p.set.AppID, "repositories", s.id)); err != nil || s.operation != opLeave {
		return err
	}
	return p.follow(s, canonical)
}

// follow gives the credentials of tools again whose source moves: the service sends none
// to another place than it was given for.
func (p *planner) follow(s *step, canonical []byte) error {
	var is repositories.Repository
	if !bytes.Contains(canonical, []byte(secret.Masked)) {
		return nil
	}
	if err := decodeJSON(canonical, &is); err != nil {
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
func (p *planner) compare(ctx context.Context, s *step, canonical, there []byte, path string) error {
	var was, is map[string]any
	if err := errors.Join(decodeJSON(there, &was), decodeJSON(canonical, &is)); err != nil {
		return err
	}
	for _, ours := range []string{"created", "updated"} {
		delete(was, ours)
		delete(is, ours)
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
		return located(s, err)
	}
	var preview struct {
		Operation string `json:"operation"`
	}
	if err := decodeJSON(answer, &preview); err != nil {
		return err
	}
	if preview.Operation != repositories.WouldLeave {
		s.operation, s.lines = opUpdate, []string{"a credential is another"}
	}
	return nil
}

// preview asks what a write would do. A key may compare so many credentials in a minute;
// where there are more, they are compared in the next one.
func (p *planner) preview(ctx context.Context, path string, body []byte) ([]byte, error) {
	for {
		answer, err := p.client.call(ctx, http.MethodPut, path+"?dryRun=true", body)
		var answered *refusal
		if !errors.As(err, &answered) || answered.Status != http.StatusTooManyRequests || answered.RetryAfter <= 0 {
			return answer, err
		}
		if err := p.pause(ctx, answered.RetryAfter); err != nil {
			return nil, err
		}
	}
}

// pause waits until it is over or ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// canonicalApp is the body as the service will show it.
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

// located turns the faults of an answer into places in the files. Those of the app are
// of a body that was merged with what is stored, and keep their pointers.
func located(s *step, err error) error {
	var answer *refusal
	if s.what == "app" || !errors.As(err, &answer) || len(answer.Errors) == 0 {
		return fmt.Errorf("%s %s: %w", s.what, s.id, err)
	}
	return s.definition.Locate(answer.Errors)
}
