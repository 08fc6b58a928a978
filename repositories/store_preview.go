package repositories

import (
	"bytes"
	"context"
	"maps"

	"earshot/repositories/secret"
)

// What a write would do to what is stored.
const (
	WouldCreate = "created"
	WouldUpdate = "updated"
	WouldLeave  = "unchanged"
)

// PreviewApp says what PutApp would do, and fails as it would. Credentials are compared
// as well, which nobody can do outside: there they are masked. by is the root of the key
// that asks, empty for the admin; it fails with a *CompareError where that asks too often.
func (s *Store) PreviewApp(ctx context.Context, given *App, by string) (string, error) {
	if err := s.mayCompare(ctx, given.ID, by, given.credentials()); err != nil {
		return "", err
	}
	there, revision, err := s.appAsStored(ctx, given.ID)
	if err != nil {
		return "", err
	}
	app := given.clone()
	if err := keepMasked(app, app.credentials(), there.credentials()); err != nil {
		return "", err
	}
	there.ID = given.ID
	return would(revision, app, there, app.credentials(), there.credentials())
}

// PreviewRepository says what PutRepository would do, in the way of PreviewApp.
func (s *Store) PreviewRepository(ctx context.Context, given *Repository, by string) (string, error) {
	if err := s.mayCompare(ctx, given.AppID, by, given.credentials()); err != nil {
		return "", err
	}
	app, there, err := s.forChange(ctx, given.Scope(), given.ID)
	if err != nil {
		return "", err
	}
	next := given.clone()
	if err := next.settle(app, there); err != nil {
		return "", err
	}
	next.Created, next.Updated = there.Created, there.Updated
	return would(there.Revision, next, there, next.credentials(), there.credentials())
}

// would compares what is to be with what is.
func would(revision string, next, there any, given, stored []credential) (string, error) {
	if revision == "" {
		return WouldCreate, nil
	}
	nextText, err := Encode(next)
	if err != nil {
		return "", err
	}
	thereText, err := Encode(there)
	if err != nil {
		return "", err
	}
	if bytes.Equal(nextText, thereText) && maps.Equal(revealed(given), revealed(stored)) {
		return WouldLeave, nil
	}
	return WouldUpdate, nil
}

// revealed lists credentials by name, to compare them. The same text for another
// destination is another credential.
func revealed(list []credential) map[string]secret.Secret {
	texts := map[string]secret.Secret{}
	for _, c := range list {
		texts[c.name] = c.get()
	}
	return texts
}
