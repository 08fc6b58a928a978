package trigger

import (
	lru "github.com/hashicorp/golang-lru/v2"

	"earshot/repositories"
	"earshot/repositories/store"
	"earshot/trigger/ledger"
)

// appCache keeps what apps own, compiled, by the version that every change of the app
// or of its repositories renews. The version is compared in the script that accepts a
// message, so that no replica ever decides by an old one.
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

// get returns what is cached of an app; an empty state where nothing is.
func (c appCache) get(appID string) *appState {
	if state, hit := c.states.Get(appID); hit {
		return state
	}
	return &appState{}
}

// load returns the state of those fields, and keeps it. Without a record it is the
// state that the caller had, whose version the script has found to be the current.
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
