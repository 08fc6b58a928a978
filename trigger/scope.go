package trigger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/parameters"
	"earshot/repositories/store"
	"earshot/trigger/explain"
	"earshot/trigger/ledger"
)

// scope is the set of repositories whose tools can be fired: the app's and, in a session,
// also the session's.
type scope struct {
	*appState
	session []*repositories.Repository
	// claims are the verified claims of the user who asks.
	claims parameters.Claims
}

// loadScope reads what is in scope now.
func (e *Engine) loadScope(ctx context.Context, appID, sessionID string) (scope, error) {
	had := e.apps.get(appID)
	fields, session, err := e.ledger.Definitions(ctx, appID, sessionID, had.version)
	if err != nil {
		return scope{}, err
	}
	if fields.Version == "" {
		return scope{}, noApp(appID)
	}
	state, err := e.apps.load(e.store, appID, had, fields)
	if err != nil {
		return scope{}, err
	}
	sessions, err := loadAll(e.store, appID, session)
	return scope{appState: state, session: sessions}, err
}

func noApp(appID string) error { return fmt.Errorf("app %q: %w", appID, repositories.ErrNotFound) }

// ranked lists the repositories in the order in which they win a name: the session's
// before the app's, exclusive ones before others, then by id.
func (s scope) ranked() []*repositories.Repository {
	return slices.Concat(s.rankedSession(), s.repositories)
}

func (s scope) rankedSession() []*repositories.Repository {
	if len(s.session) == 0 {
		return nil
	}
	return inRank(slices.Clone(s.session))
}

// inRank sorts the repositories of an app, or of a session.
func inRank(list []*repositories.Repository) []*repositories.Repository {
	slices.SortFunc(list, func(a, b *repositories.Repository) int {
		return cmp.Or(trueFirst(a.Options.Exclusive, b.Options.Exclusive), cmp.Compare(a.ID, b.ID))
	})
	return list
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

// find returns the tool that a program names, in the repository that it names or in
// the one that wins the name.
func (s scope) find(name, repositoryID string) (matcher.Candidate, bool) {
	in := s.rankedSession()
	if repositoryID != "" {
		in = s.ranked()
	}
	for _, repository := range in {
		if repositoryID != "" && repository.ID != repositoryID {
			continue
		}
		if tool := repository.Tool(name); tool != nil {
			return matcher.Candidate{Repository: repository, Tool: tool}, true
		}
	}
	if repositoryID != "" {
		return matcher.Candidate{}, false
	}
	return s.tools.winner(name)
}

// exclusive reports whether a non-empty exclusive repository is in scope.
func (s scope) exclusive() bool {
	return s.tools.exclusive || slices.ContainsFunc(s.session, isExclusive)
}

// appCache keeps apps with their compiled repositories, by a version that every change of
// the app or of its repositories renews. The version is compared in the script that accepts
// a message, so that no replica ever decides by an old one.
type appCache struct {
	states *lru.Cache[string, *appState]
	packer *explain.Packer
}

type appState struct {
	version      string
	app          *repositories.App
	repositories []*repositories.Repository // in the order in which they win a name
	tools        *appTools
	// facts are what explanations need of it; nil before it is loaded.
	facts func() *explain.AppFacts
}

const cachedApps = 1024

func newAppCache(packer *explain.Packer) appCache {
	states, _ := lru.New[string, *appState](cachedApps) // fails for a size of 0 only
	return appCache{states: states, packer: packer}
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
	if known, hit := c.states.Get(appID); hit && known.version == fields.Version {
		return known, nil // with all that has been compiled of it
	}
	app, err := store.LoadApp(appID, fields.Revision, fields.Record)
	if err != nil {
		return nil, err
	}
	own, err := loadAll(store, appID, fields.Repositories)
	if err != nil {
		return nil, err
	}
	state := &appState{version: fields.Version, app: app, repositories: inRank(own)}
	state.tools = newAppTools(state.repositories)
	state.facts = sync.OnceValue(func() *explain.AppFacts { return c.packer.FactsOf(app, state.repositories) })
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
