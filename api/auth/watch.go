package auth

import (
	"context"
	"time"

	"earshot/api/answer"
)

const (
	// Recheck is how often a stream looks whether its key is still good; with the age
	// that the answer may have it is less than the second that a revocation may take.
	Recheck = 500 * time.Millisecond
	// unchecked is how long a stream stays open while its key cannot be looked up.
	unchecked = 30 * time.Second
)

// Watch is whether what keeps a stream open is still good, such as a key. It is not safe for
// concurrent use.
type Watch struct {
	good    func(ctx context.Context) error
	now     func() time.Time
	checked time.Time // when it was last known to be good
}

// NewWatch begins with what is good now.
func NewWatch(now func() time.Time, good func(ctx context.Context) error) *Watch {
	return &Watch{good, now, now()}
}

// Over returns why the stream has to end, and nil while it need not: what cannot be looked up
// is taken for good for half a minute.
func (w *Watch) Over(ctx context.Context) error {
	err := w.good(ctx)
	switch {
	case err == nil:
		w.checked = w.now()
	case answer.IsUnavailable(err) && w.now().Sub(w.checked) < unchecked:
		return nil
	}
	return err
}
