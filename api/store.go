package api

import (
	"context"

	"earshot/repositories"
)

// Store is what the API needs of the definitions. Every method returns an error that
// is repositories.ErrNotFound where the app or the thing itself is missing.
type Store interface {
	AppStore
	RepositoryReader
	RepositoryWriter
	Previewer
	SessionCloser
}

// AppStore keeps apps.
type AppStore interface {
	PutApp(ctx context.Context, app *repositories.App) (created bool, err error)
	App(ctx context.Context, appID string) (*repositories.App, error)
	Apps(ctx context.Context, after string, limit int) (items []*repositories.App, next string, err error)
	DeleteApp(ctx context.Context, appID string) error
}

// RepositoryReader reads the repositories of one scope.
type RepositoryReader interface {
	Repository(ctx context.Context, scope repositories.Scope, id string) (*repositories.Repository, error)
	Repositories(ctx context.Context, scope repositories.Scope, after string, limit int) (items []*repositories.Repository, next string, err error)
}

// RepositoryWriter changes repositories. What does not fit the app, such as a module
// that it lacks, comes back as repositories.Faults.
type RepositoryWriter interface {
	PutRepository(ctx context.Context, repository *repositories.Repository) (created bool, err error)
	PatchRepository(ctx context.Context, scope repositories.Scope, id string, patch *repositories.Patch) (repository *repositories.Repository, created bool, err error)
	DeleteRepository(ctx context.Context, scope repositories.Scope, id string) error
}

// Previewer says what a write would do, one of repositories.WouldCreate, WouldUpdate and
// WouldLeave, and fails as the write would, or with a *repositories.CompareError. by is
// who asks: the root of a key, empty for the admin.
type Previewer interface {
	PreviewApp(ctx context.Context, app *repositories.App, by string) (operation string, err error)
	PreviewRepository(ctx context.Context, repository *repositories.Repository, by string) (operation string, err error)
}

// SessionCloser ends sessions.
type SessionCloser interface {
	CloseSession(ctx context.Context, appID, sessionID string) error
}
