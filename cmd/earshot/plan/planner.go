package plan

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"earshot/cmd/earshot/client"
	"earshot/repositories"
	"earshot/repositories/files"
	"earshot/repositories/secret"
	"earshot/repositories/store"
)

// Planner makes the plan that updates a service from files.
type Planner struct {
	Service     *client.Client
	Set         *files.Set
	Removable   func(Member) bool                                // reports whether to remove a member that is not in the files
	Pause       func(ctx context.Context, d time.Duration) error // waits for the requested time, or until ctx ends
	hostChanged map[string]bool                                  // holds the app's http sources whose base URL the plan changes
}

// Member identifies something that a planner may remove: a repository (Kind "repository"), a field of the app
// (Kind "app"), or a member of one of the app's lists (Kind is the list's name).
type Member struct{ Kind, ID string }

var (
	lists  = []string{"modules", "authServices", "sources"} // the fields of an app with lists of named members
	fields = []string{"name", "settings", "signingSecret"}  // its other fields
)

// DefinedBy returns the repositories in files, the fields of their app, and the members of its lists.
func DefinedBy(set *files.Set) map[Member]bool {
	defined := map[Member]bool{}
	for _, definition := range set.Repositories {
		defined[Member{"repository", definition.ID}] = true
	}
	for _, field := range fields {
		defined[Member{"app", field}] = set.App.Has(field)
	}
	for _, list := range lists {
		for _, name := range set.App.Names(list) {
			defined[Member{list, name}] = true
		}
	}
	return defined
}

// Plan compares the files with the service. It changes nothing.
func (p *Planner) Plan(ctx context.Context) (*Plan, error) {
	app, err := p.appStep(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.Set.CheckWith(app.body); err != nil {
		return nil, err
	}
	result := &Plan{appID: p.Set.AppID, steps: []step{app}}
	stored := map[string]json.RawMessage{}
	var order []string
	if app.operation != opCreate {
		items, err := client.All[json.RawMessage](ctx, p.Service, client.Path("apps", p.Set.AppID, "repositories"))
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			var repository struct {
				ID string `json:"repositoryId"`
			}
			if err := client.Decode(item, &repository); err != nil {
				return nil, err
			}
			stored[repository.ID] = item
			order = append(order, repository.ID)
		}
	}
	for _, definition := range p.Set.Repositories {
		s := step{operation: opCreate, definition: definition, kind: "repository", id: definition.ID, body: definition.Body()}
		if current := stored[definition.ID]; current != nil {
			if err := p.compareRepository(ctx, &s, current); err != nil {
				return nil, err
			}
		}
		result.steps = append(result.steps, s)
		delete(stored, definition.ID)
	}
	for _, id := range order {
		if stored[id] == nil {
			continue
		}
		s := step{operation: opKeep, kind: "repository", id: id, body: stored[id]}
		if p.Removable(Member{"repository", id}) {
			s.operation = opRemove
		}
		result.steps = append(result.steps, s)
	}
	return result, nil
}

// appStep merges the files' app into the service's, and finds the http sources whose base URL changes.
func (p *Planner) appStep(ctx context.Context) (step, error) {
	path := client.Path("apps", p.Set.AppID)
	made := step{operation: opCreate, definition: p.Set.App, kind: "app", id: p.Set.AppID, body: p.Set.App.Body()}
	current, err := p.Service.Call(ctx, http.MethodGet, path, nil)
	if client.HasStatus(err, http.StatusNotFound) {
		return made, nil
	}
	if err != nil {
		return made, err
	}
	if made.body, err = merge(current, p.Set.App.Body(), p.Removable); err != nil {
		return made, err
	}
	withoutRemovals, err := merge(current, p.Set.App.Body(), func(Member) bool { return false })
	if err != nil {
		return made, err
	}
	if !bytes.Equal(withoutRemovals, made.body) {
		made.firstBody = withoutRemovals
	}

	app, err := repositories.DecodeApp(p.Set.AppID, made.body)
	if err != nil {
		return made, err
	}
	canonical, err := json.Marshal(app)
	if err != nil {
		return made, err
	}
	var before, after repositories.App
	if err := errors.Join(client.Decode(current, &before), client.Decode(canonical, &after)); err != nil {
		return made, err
	}
	p.hostChanged = map[string]bool{}
	for _, source := range after.Sources {
		old, existed := before.Source(source.Name)
		p.hostChanged[source.Name] = existed && old.BaseURL != source.BaseURL
	}
	err = p.compare(ctx, &made, canonical, current, path)
	return made, err
}

// merge lays the files' app over the service's: files that define only tools must not remove an app's modules
// and settings. Fields that the files do not mention stay unless they are removable. In lists, members of the same
// name are replaced in place, new ones are added, and others stay unless they are removable. Credentials that stay
// are the service's ***, which keeps them.
func merge(there, files []byte, removable func(Member) bool) ([]byte, error) {
	var body, given map[string]json.RawMessage
	if err := errors.Join(client.Decode(there, &body), client.Decode(files, &given)); err != nil {
		return nil, err
	}
	for _, name := range fields {
		if removable(Member{"app", name}) {
			delete(body, name)
		}
	}
	for name, value := range given {
		if !slices.Contains(lists, name) {
			body[name] = value
		}
	}
	for _, name := range lists {
		present, err := readMembers(body[name])
		if err != nil {
			return nil, err
		}
		added, err := readMembers(given[name])
		if err != nil {
			return nil, err
		}
		var merged []json.RawMessage
		for _, member := range present {
			index := slices.IndexFunc(added, func(m namedMember) bool { return m.name == member.name })
			switch {
			case index >= 0:
				merged = append(merged, added[index].body)
				added = slices.Delete(added, index, index+1)
			case !removable(Member{name, member.name}):
				merged = append(merged, member.body)
			}
		}
		for _, one := range added {
			merged = append(merged, one.body)
		}
		delete(body, name)
		if len(merged) > 0 {
			if body[name], err = json.Marshal(merged); err != nil {
				return nil, err
			}
		}
	}
	return json.Marshal(body)
}

type namedMember struct {
	name string
	body json.RawMessage
}

func readMembers(list json.RawMessage) ([]namedMember, error) {
	if len(list) == 0 {
		return nil, nil
	}
	var bodies []json.RawMessage
	if err := client.Decode(list, &bodies); err != nil {
		return nil, err
	}
	found := make([]namedMember, len(bodies))
	for i, body := range bodies {
		var value any
		if err := client.Decode(body, &value); err != nil {
			return nil, err
		}
		found[i] = namedMember{nameOf(value), body}
	}
	return found, nil
}

// compareRepository compares a repository. If a tool's source moves, its credentials are sent again: the
// service never sends them to another address than the one they were given for.
func (p *Planner) compareRepository(ctx context.Context, s *step, current []byte) error {
	repository, err := repositories.DecodeRepository(repositories.Scope{AppID: p.Set.AppID}, s.id, s.body)
	if err != nil {
		return err
	}
	canonical, err := json.Marshal(repository)
	if err != nil {
		return err
	}
	err = p.compare(ctx, s, canonical, current, client.Path("apps", p.Set.AppID, "repositories", s.id))
	if err != nil || s.operation != opLeave || !bytes.Contains(canonical, []byte(secret.Masked)) {
		return err
	}
	for _, tool := range repository.Tools {
		if p.hostChanged[tool.Source] {
			s.operation = opUpdate
			s.lines = append(s.lines, "tools/"+tool.Name+": its source moves, and its credentials are given again")
		}
	}
	return nil
}

// compare sets a step's operation and changed fields. If only credentials could differ, which are masked, it
// asks the service: a needless write would publish an event, and reset a triggerOnce repository.
func (p *Planner) compare(ctx context.Context, s *step, canonical, current []byte, path string) error {
	var was, is map[string]any
	if err := errors.Join(client.Decode(current, &was), client.Decode(canonical, &is)); err != nil {
		return err
	}
	ours := []string{"created", "updated"}
	if is["from"] != nil { // these tools come from a server
		ours = append(ours, "tools")
	}
	for _, name := range ours {
		delete(was, name)
		delete(is, name)
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
		return s.locate(err)
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

// preview asks the service what a write would do. The service limits comparisons of credentials per minute;
// preview waits for the requested time.
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
