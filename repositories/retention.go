package repositories

import (
	"cmp"
	"time"
)

// Retention is how much is kept of what is over. Zero fields have the defaults.
type Retention struct {
	// Done and Dead are how long the records of triggers are kept: of those that have
	// delivered everything, and of those that have failed.
	Done, Dead time.Duration
	// Messages are the newest of a session that stay in its history.
	Messages int
}

// Defaults of Retention.
const (
	DefaultRetention       = 7 * 24 * time.Hour
	DefaultDeadRetention   = 30 * 24 * time.Hour
	DefaultSessionMessages = 1000
)

func (r Retention) withDefaults() Retention {
	return Retention{
		Done: cmp.Or(r.Done, DefaultRetention), Dead: cmp.Or(r.Dead, DefaultDeadRetention),
		Messages: cmp.Or(r.Messages, DefaultSessionMessages),
	}
}

// longest is the longest that a record of a session that was closed is kept.
func (r Retention) longest() time.Duration { return max(r.Done, r.Dead) }

// Retention is how much is kept of what is over.
func (s *Store) Retention() Retention { return s.keep }
