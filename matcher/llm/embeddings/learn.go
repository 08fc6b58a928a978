package embeddings

import (
	"context"

	"github.com/cenkalti/backoff/v5"
)

const (
	// queued is how many repositories may wait for their vectors; those of further ones are
	// made when a message needs them.
	queued = 256
	// batch is how many texts a request has: the least that servers allow by default.
	batch = 32
	// tries of a request about tools, with growing pauses in between.
	tries = 5
)

// task is texts of an app whose vectors are missing.
type task struct {
	appID  string
	texts  []string
	places []int // of the texts among those for whom they are; nil where nobody asks
}

// learn queues a task, unless too many wait.
func (s *Space) learn(next task) {
	select {
	case s.tasks <- next:
	default:
	}
}

// work makes vectors, one task after the other, so that no text is asked for twice here.
func (s *Space) work(ctx context.Context) {
	defer close(s.done)
	for {
		select {
		case <-ctx.Done():
			return
		case next := <-s.tasks:
			if err := s.make(ctx, next); err != nil && ctx.Err() == nil {
				s.options.Logger.WarnContext(ctx, "embeddings.unmade", "app", next.appID, "texts", len(next.texts), "error", err.Error())
			}
		}
	}
}

// make asks for the vectors that are neither in memory nor in the store, and keeps them.
func (s *Space) make(ctx context.Context, of task) error {
	missing := s.unknown(of)
	found, err := s.stored(ctx, missing)
	if err != nil {
		return err
	}
	var texts []string
	for i, said := range missing.texts {
		if found[i] == nil {
			texts = append(texts, said)
		}
	}
	for len(texts) > 0 {
		n := min(len(texts), batch)
		if err := s.ask(ctx, of.appID, texts[:n]); err != nil {
			return err
		}
		texts = texts[n:]
	}
	return nil
}

// unknown is what of a task is not in memory, each text once.
func (s *Space) unknown(of task) task {
	left, seen := task{appID: of.appID}, map[string]bool{}
	for _, said := range of.texts {
		if !seen[said] && !s.vectors.Contains(s.digest(said)) {
			left.texts = append(left.texts, said)
		}
		seen[said] = true
	}
	return left
}

// ask makes the vectors of a batch, and keeps them.
func (s *Space) ask(ctx context.Context, appID string, texts []string) error {
	made, err := backoff.Retry(ctx, func() ([]vector, error) {
		limited, cancel := context.WithTimeout(ctx, s.options.Timeout)
		defer cancel()
		return s.model.embed(limited, texts)
	}, backoff.WithMaxTries(tries), backoff.WithBackOff(backoff.NewExponentialBackOff()))
	if err != nil {
		return err
	}
	kept := map[string][]byte{}
	for i, said := range texts {
		kept[s.digest(said)] = pack(made[i])
		s.vectors.Add(s.digest(said), made[i])
	}
	return s.options.Store.KeepVectors(ctx, appID, kept)
}
