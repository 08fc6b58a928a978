package sealing

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"earshot/repositories/panics"
)

const (
	// interval is between two walks, and shortInterval while old keys are in use, or after a failed walk.
	interval      = time.Hour
	shortInterval = 5 * time.Minute
	// pauseRatio is the ratio of pause to work after each part of the walk, so that a walk takes at most a fifth of
	// one connection's share of Redis.
	pauseRatio = 4
	// maxPause bounds such a pause if the clock has jumped.
	maxPause = 10 * time.Second
)

// Watch periodically counts by which keys the data in Redis is sealed. It logs data that no key opens, and is a
// collector of the counts.
type Watch struct {
	walk  Walk
	log   *slog.Logger
	now   func() time.Time
	pause func(context.Context, time.Duration) error

	mu    sync.Mutex
	tally *Tally // nil before the first walk
}

// NewWatch returns a Watch before its first walk. It ignores walk.After.
func NewWatch(walk Walk, log *slog.Logger, now func() time.Time, pause func(context.Context, time.Duration) error) *Watch {
	return &Watch{walk: walk, log: log, now: now, pause: pause}
}

// Run walks until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	var last Tally
	for {
		began := w.now()
		walk := w.walk
		walk.After = func(ctx context.Context, _ Progress) error {
			err := w.pause(ctx, min(pauseRatio*w.now().Sub(began), maxPause))
			began = w.now()
			return err
		}
		var found Progress
		var err error
		ended := panics.Run(w.log, "sealing", "", func() { found, err = walk.Run(ctx) })
		next := shortInterval
		switch {
		case ctx.Err() != nil:
			return
		case !ended:
		case err != nil:
			w.log.Warn("secretkey.unread", "error", err.Error())
		default:
			tally := found.Tally
			w.mu.Lock()
			w.tally = &tally
			w.mu.Unlock()
			// Each request to a person is logged once.
			if none := tally.Sum(ByNone); none > 0 && none != last.Sum(ByNone) {
				w.log.Warn("secretkey.missing", "apps", tally.Apps.None, "repositories", tally.Repositories.None, "calls", tally.Calls.None,
					"warning", "no key of this replica decrypts the credentials of "+tally.Text(ByNone)+", and they cannot be used: give the key that encrypted them as EARSHOT_SECRET_KEY_OLD (--secret-key-old), run earshot reseal, and then leave it out")
			}
			if tally.Sum(ByOld) > 0 && last.Sum(ByOld) == 0 {
				w.log.Info("secretkey.old", "apps", tally.Apps.Old, "repositories", tally.Repositories.Old, "calls", tally.Calls.Old,
					"note", "EARSHOT_SECRET_KEY_OLD (--secret-key-old) has encrypted "+tally.Text(ByOld)+", and is needed until earshot reseal has run")
			}
			last = tally
			if last.Sum(ByOld)+last.Sum(ByNone) == 0 {
				next = interval
			}
		}
		if w.pause(ctx, next) != nil {
			return
		}
	}
}

var sealed = prometheus.NewDesc("earshot_sealed", "Apps, repositories and pending calls that hold credentials, by the key that encrypts them: current, old, or none that this replica has. Each replica looks at its start and each hour; every 5 minutes while some are not current.", []string{"what", "key"}, nil)

// Describe implements prometheus.Collector.
func (w *Watch) Describe(out chan<- *prometheus.Desc) { out <- sealed }

// Collect implements prometheus.Collector. Before the first walk there are no metrics.
func (w *Watch) Collect(out chan<- prometheus.Metric) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tally == nil {
		return
	}
	for what, keys := range map[string]Keys{"apps": w.tally.Apps, "repositories": w.tally.Repositories, "calls": w.tally.Calls} {
		for key, n := range map[string]int{"current": keys.Current, "old": keys.Old, "none": keys.None} {
			out <- prometheus.MustNewConstMetric(sealed, prometheus.GaugeValue, float64(n), what, key)
		}
	}
}
