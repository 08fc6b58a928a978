package repositories

import (
	"context"
	"errors"
	"slices"
)

// AllowsOrigin reports whether the app's settings let pages of the origin call it. An
// app that is not there allows none. The settings may be KeyFresh old.
func (s *Store) AllowsOrigin(ctx context.Context, appID, origin string) (bool, error) {
	allowed, err := s.origins.get(appID, func() ([]string, error) {
		app, err := s.App(context.WithoutCancel(ctx), appID)
		if err != nil {
			return nil, err
		}
		return app.Settings.AllowedOrigins, nil
	})
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return slices.Contains(allowed, origin) || slices.Contains(allowed, "*"), err
}
