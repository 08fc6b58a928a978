package trigger

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	lru "github.com/hashicorp/golang-lru/v2"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/parameters"
	"earshot/repositories/store"
	"earshot/trigger/ledger"
)

// scope is the set of repositories whose tools can be fired: the app's and, in a session,
// also the session's.
type scope struct {
	app     *repositories.App
	own     []*repositories.Repository
	session []*repositories.Repository
	// claims are the verified claims of the user who asks.
	claims parameters.Claims
}

// loadScope reads what is in scope now.
func (e *Engine) loadScope(ctx context.Context, appID, sessionID string) (scope, error) {
	fields, session, err := e.ledger.Definitions(ctx, appID, sessionID)
	if err != nil {
		return scope{}, err
	}
	if fields.Record == "" {
		return scope{}, noApp(appID)
	}
	state, err := e.apps.load(e.store, appID, nil, fields)
	if err != nil {
		return scope{}, err
	}
	sessions, err := loadAll(e.store, appID, session)
	return scope{app: state.app, own: state.repositories, session: sessions}, err
}

func noApp(appID string) error { return fmt.Errorf("app %q: %w", appID, repositories.ErrNotFound) }

// ranked lists the repositories in the order in which they win a name: the session's
// before the app's, exclusive ones before others, then by id.
func (s scope) ranked() []*repositories.Repository {
	all := slices.Concat(s.session, s.own)
	slices.SortFunc(all, func(a, b *repositories.Repository) int {
		return cmp.Or(
			trueFirst(a.SessionID != "", b.SessionID != ""),
			trueFirst(a.Options.Exclusive, b.Options.Exclusive),
			cmp.Compare(a.ID, b.ID))
	})
	return all
}

func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}

// candidates lists the tools in scope, one of each name, sorted by name. A tool that
// requires a verified user, or takes a value from the user's token, is in scope only for
// requests with such a token. The catch-all is returned separately: it fires when nothing
// else matches.
func (s scope) candidates() (tools []matcher.Candidate, catchAll *matcher.Candidate) {
	seen := map[string]bool{}
	for _, repository := range s.ranked() {
		for i := range repository.Tools {
			if seen[repository.Tools[i].Name] {
				continue
			}
			tool, err := repository.Tools[i].For(s.claims)
			if err != nil {
				continue
			}
			seen[tool.Name] = true
			candidate := matcher.Candidate{Repository: repository, Tool: tool}
			if tool.Name == repositories.CatchAll {
				catchAll = &candidate
				continue
			}
			tools = append(tools, candidate)
		}
	}
	slices.SortFunc(tools, func(a, b matcher.Candidate) int { return cmp.Compare(a.Tool.Name, b.Tool.Name) })
	return tools, catchAll
}

// find returns the tool that a program names, in the repository that it names or in
// the one that wins the name.
func (s scope) find(name, repositoryID string) (matcher.Candidate, bool) {
	for _, repository := range s.ranked() {
		if repositoryID != "" && repository.ID != repositoryID {
			continue
		}
		if tool := repository.Tool(name); tool != nil {
			return matcher.Candidate{Repository: repository, Tool: tool}, true
		}
	}
	return matcher.Candidate{}, false
}

// exclusive reports whether a non-empty exclusive repository is in scope.
func (s scope) exclusive() bool {
	return slices.ContainsFunc(s.ranked(), func(r *repositories.Repository) bool {
		return r.Options.Exclusive && len(r.Tools) > 0
	})
}

// appCache keeps apps with their compiled repositories, by a version that every change of
// the app or of its repositories renews. The version is compared in the script that accepts
// a message, so that no replica ever decides by an old one.
type appCache struct {
	states *lru.Cache[string, *appState]
}

type appState struct {
	version      string
	app          *repositories.App
	repositories []*repositories.Repository
}

const cachedApps = 1024

func newAppCache() appCache {
	states, _ := lru.New[string, *appState](cachedApps) // fails for a size of 0 only
	return appCache{states: states}
}

// get returns the cached state of an app, or an empty state.
func (c appCache) get(appID string) *appState {
	if state, hit := c.states.Get(appID); hit {
		return state
	}
	return &appState{}
}

// load returns the state of those fields, and keeps it. Without a record, the state that
// the caller had is current, as the script has found by its version.
func (c appCache) load(store *store.Store, appID string, had *appState, fields ledger.AppFields) (*appState, error) {
	if fields.Record == "" {
		return had, nil
	}
	app, err := store.LoadApp(appID, fields.Revision, fields.Record)
	if err != nil {
		return nil, err
	}
	own, err := loadAll(store, appID, fields.Repositories)
	if err != nil {
		return nil, err
	}
	state := &appState{version: fields.Version, app: app, repositories: own}
	c.states.Add(appID, state)
	return state, nil
}

func loadAll(store *store.Store, appID string, stored []string) ([]*repositories.Repository, error) {
	list := make([]*repositories.Repository, len(stored))
	for i, text := range stored {
		repository, err := store.Load(appID, text)
		if err != nil {
			return nil, err
		}
		list[i] = repository
	}
	return list, nil
}
