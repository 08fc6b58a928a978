package repositories

import (
	"errors"
	"fmt"
)

// ErrFull means that an app has as many of something as it may have.
var ErrFull = errors.New("there is no room")

// LimitError means that a write would exceed a count that the app's settings limit.
type LimitError struct {
	Limit string // as settings.limits names it
	Most  int
}

// Error names the limit and its number.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%s is limited to %d: remove what is not needed, or raise settings.limits.%[1]s of the app", e.Limit, e.Most)
}

// checkTools holds a repository against the limit on its tools. One that is over a
// limit that was set later stays as it is until it is written.
func (l Limits) checkTools(r *Repository) error {
	if l.ToolsPerRepository > 0 && len(r.Tools) > l.ToolsPerRepository {
		return &LimitError{Limit: "toolsPerRepository", Most: l.ToolsPerRepository}
	}
	return nil
}

// repositories is how many a scope may have; 0 for any number. Only sessions are limited.
func (l Limits) repositories(scope Scope) int {
	if scope.SessionID == "" {
		return 0
	}
	return l.RepositoriesPerSession
}
