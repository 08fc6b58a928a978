// Package worker is one of the processes that work on a ledger: its goroutines, its leases, and the loop that
// finds due work and passes it to the queues of the process.
package worker

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	mathrand "math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"earshot/repositories/failpoint"
	"earshot/repositories/keyspace"
	"earshot/repositories/outages"
	"earshot/repositories/panics"
	"earshot/repositories/store"
	"earshot/repositories/tracing"
	"earshot/trigger/ledger"
	"earshot/trigger/usage"
)

// Defaults of Options.
const (
	defaultLease   = 15 * time.Second
	defaultPoll    = 250 * time.Millisecond
	defaultWorkers = 256
)

const (
	// shutdownGrace is how long Stop waits for interrupted work to release its leases.
	shutdownGrace = time.Second
	// heartbeats is the number of renewals of a lease within its length.
	heartbeats = 3
	// sweepInterval is how often expired records are removed, so that none stays much longer than a minute.
	sweepInterval = 10 * time.Second
	// maxIdle bounds the goroutines that wait for more work.
	maxIdle = 64
	// wakeCapacity bounds the queued requests to poll a partition.
	wakeCapacity = 256
)

// Options are the dependencies and settings of a Worker. DB and Store are required; zero values of
// the others mean the defaults.
type Options struct {
	DB      *keyspace.DB
	Store   *store.Store
	Log     *slog.Logger
	Metrics *Metrics
	Tracer  *tracing.Tracer // nil: none
	// Lease is the length of a lease: 15 s by default. The work of a dead process is resumed after that.
	Lease time.Duration
	// Poll is the interval at which the ledger is polled for due work: 250 ms by default.
	Poll time.Duration
	// Workers bounds the concurrent work of a process per queue: 256 by default. An app has at most a quarter.
	Workers int
	// Now, NewID and Jitter are injected by tests. Jitter spreads a pause; it defaults to ±20 %.
	Now    func() time.Time
	NewID  func() string
	Jitter func(time.Duration) time.Duration
	Usage  *usage.Counter // counts the use of apps
	// OnSweep is called with each sweep; nil for nothing.
	OnSweep func(context.Context)
}

// Worker is one process of the service. It is safe for concurrent use.
type Worker struct {
	Options
	Ledger  *ledger.Ledger
	Outages *outages.Log
	// Context ends when the worker must drop its work.
	Context context.Context

	cancel  context.CancelFunc
	running sync.WaitGroup // the work in progress
	handoff chan func()    // to idle goroutines, which wait for more work
	idle    atomic.Int64   // number of idle goroutines
	closing atomic.Bool    // leases are released
	name    string         // prefix of its tokens: 65 random bits
	tokens  atomic.Uint64  // number of tokens so far
	queues  map[keyspace.Lane]*queue
	wake    chan int // partitions to poll
	busy    sync.Map // members of queues in progress here
	unknown sync.Map // ledger entries logged as unknown
}

// New returns a Worker with no queue.
func New(o Options) (*Worker, error) {
	setDefault(&o.Lease, defaultLease)
	setDefault(&o.Poll, defaultPoll)
	setDefault(&o.Workers, defaultWorkers)
	setDefault(&o.Log, slog.New(slog.DiscardHandler))
	if o.Metrics == nil {
		o.Metrics = NewMetrics()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = rand.Text
	}
	if o.Jitter == nil {
		o.Jitter = func(pause time.Duration) time.Duration { // spreads retries of concurrent failures
			return time.Duration(float64(pause) * (0.8 + 0.4*mathrand.Float64()))
		}
	}
	if o.OnSweep == nil {
		o.OnSweep = func(context.Context) {}
	}
	if o.Lease < heartbeats*o.Poll {
		return nil, errors.New("the lease must be at least three times the interval at which the ledger is polled")
	}
	w := &Worker{
		Options: o, Ledger: ledger.New(o.DB), Outages: outages.New(o.Log),
		name: rand.Text()[:13] + ".", queues: map[keyspace.Lane]*queue{}, wake: make(chan int, wakeCapacity), handoff: make(chan func()),
	}
	w.Context, w.cancel = context.WithCancel(context.Background())
	return w, nil
}

func setDefault[T comparable](value *T, fallback T) {
	var zero T
	if *value == zero {
		*value = fallback
	}
}

// Go runs f in a goroutine that Stop waits for. A panic is logged and does not end the process: the work that f
// had leased is claimed again later, and the claim is counted.
//
// It reuses goroutines whose work has ended, since their stacks have grown: a new one copies its stack several
// times before it is in a statement of SQLite, which is a tenth of the CPU of a SELECT.
func (w *Worker) Go(f func()) {
	w.running.Add(1)
	select {
	case w.handoff <- f:
	default:
		go w.serve(f)
	}
}

// serve runs f, and then the work that Go hands over.
func (w *Worker) serve(f func()) {
	for {
		w.guard(f)
		if w.idle.Add(1) > maxIdle {
			w.idle.Add(-1)
			return
		}
		select {
		case f = <-w.handoff:
			w.idle.Add(-1)
		case <-w.Context.Done():
			return
		}
	}
}

// guard runs f, and logs its panic.
func (w *Worker) guard(f func()) {
	defer w.running.Done()
	defer func() {
		if fault := recover(); fault != nil {
			panics.Caught(w.Log, "worker.panicked", "", fault)
		}
	}()
	f()
}

// Background runs f for a request that does not wait for it. The context ends with the worker.
func (w *Worker) Background(f func(ctx context.Context)) { w.Go(func() { f(w.Context) }) }

// ErrPanicked means that the work on a request panicked. It is resumed when the lease has ended.
var ErrPanicked = errors.New("the work on the request failed inside Earshot")

// Detached runs the work of an accepted request, whether or not its client is still connected. It uses the
// request's own goroutine, so that a client that leaves has no more work in progress than one that waits.
func (w *Worker) Detached(work func() (json.RawMessage, error)) (answer json.RawMessage, err error) {
	w.running.Add(1)
	defer w.running.Done()
	defer func() {
		if fault := recover(); fault != nil {
			panics.Caught(w.Log, "worker.panicked", "", fault)
			answer, err = nil, ErrPanicked
		}
	}()
	return work()
}

// Stop waits for the work in progress, at most until ctx ends. Unfinished work is then interrupted, its leases
// are released if Redis answers, and another replica resumes it. Stop the senders of messages and Run first.
func (w *Worker) Stop(ctx context.Context) error {
	failpoint.At(failpoint.ShutdownBegun)
	w.closing.Store(true)
	idle := make(chan struct{})
	go func() {
		w.running.Wait()
		close(idle)
	}()
	defer w.cancel()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
	}
	w.cancel()
	select {
	case <-idle:
	case <-time.After(shutdownGrace):
	}
	return ctx.Err()
}

// ShutdownContext returns ctx, or a short extension if the worker was stopped, so that interrupted work is still
// recorded.
func (w *Worker) ShutdownContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if w.Context.Err() == nil {
		return ctx, func() {}
	}
	return context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
}

// Write repeats a write while Redis is unavailable and until ctx ends. Every script may run again, so a lost
// reply does no harm. An attempt that ctx cuts off gives no reason: Write returns the error of the one before.
func (w *Worker) Write(ctx context.Context, write func() error) (err error) {
	var pauses *backoff.ExponentialBackOff
	for {
		before := err
		err = write()
		switch {
		case !errors.Is(err, keyspace.ErrUnavailable):
			return err
		case before != nil && ctx.Err() != nil:
			return before
		}
		if pauses == nil {
			pauses = backoff.NewExponentialBackOff()
			pauses.InitialInterval, pauses.MaxInterval = 50*time.Millisecond, 2*time.Second
		}
		if !Sleep(ctx, pauses.NextBackOff()) {
			return err
		}
	}
}

// Sleep waits, and reports whether it waited for the whole time.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Pause returns the pause before the next poll of an object that another replica has leased; it grows with each poll.
func Pause(polls int) time.Duration {
	pauses := [...]time.Duration{10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond}
	return pauses[min(polls, len(pauses)-1)]
}

// Heartbeat returns the interval at which leases are renewed.
func (w *Worker) Heartbeat() time.Duration { return w.Lease / heartbeats }

// Every calls action at every interval until the returned function is called. action may cancel the context.
func (w *Worker) Every(ctx context.Context, interval time.Duration, action func(context.Context, context.CancelCauseFunc)) (context.Context, func()) {
	t := &periodic{interval: interval, action: action}
	t.ctx, t.cancel = context.WithCancelCause(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer = time.AfterFunc(interval, t.tick)
	return t.ctx, t.stop
}

// periodic calls action at every interval. It has a timer and no goroutine, as most turns end before the first tick.
type periodic struct {
	interval time.Duration
	action   func(context.Context, context.CancelCauseFunc)
	ctx      context.Context
	cancel   context.CancelCauseFunc
	mu       sync.Mutex
	timer    *time.Timer
}

func (t *periodic) tick() {
	t.action(t.ctx, t.cancel)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ctx.Err() == nil {
		t.timer.Reset(t.interval)
	}
}

func (t *periodic) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cancel(nil)
	t.timer.Stop()
}

// Token returns a new lease token of this process.
func (w *Worker) Token() string {
	var text [64]byte
	return string(strconv.AppendUint(append(text[:0], w.name...), w.tokens.Add(1), 36))
}

// IsOwnToken reports whether a token is from this process.
func (w *Worker) IsOwnToken(token string) bool { return strings.HasPrefix(token, w.name) }

// ReleaseIfTaken releases the leases that a token may have taken, if err does not say whether it took them. It
// returns at once.
func (w *Worker) ReleaseIfTaken(leases ledger.HeldLeases, err error) {
	var network *net.OpError
	unreached := errors.As(err, &network) && network.Op == "dial" // no lease was taken
	if errors.Is(err, keyspace.ErrUnavailable) && !errors.Is(err, keyspace.ErrReplicas) && !unreached {
		w.ReleaseLeases(leases)
	}
}

// releaseAttempts bounds the attempts at a release, at growing intervals, until a lease was released: a Redis that
// was suspended may run the script that takes a lease after the script that releases it.
const releaseAttempts = 5

// ReleaseLeases releases the leases that a token may have taken, and returns at once.
func (w *Worker) ReleaseLeases(leases ledger.HeldLeases) {
	w.Go(func() {
		ctx, cancel := context.WithTimeout(w.Context, max(w.Lease, keyspace.EventLease))
		defer cancel()
		for i := range releaseAttempts {
			released := false
			err := w.Write(ctx, func() (err error) {
				released, err = w.Ledger.Release(ctx, leases)
				return err
			})
			if released || err != nil {
				w.Wake(leases.App)
				return
			}
			if !Sleep(ctx, w.Jitter(time.Duration(i+1)*200*time.Millisecond)) {
				return
			}
		}
	})
}

// Wake makes Run poll the partition of an app at once.
func (w *Worker) Wake(appID string) {
	select {
	case w.wake <- keyspace.PartitionOf(appID):
	default: // the queue is full, so the next poll is near
	}
}

// WakeAfter makes Run poll the partition of an app after a pause.
func (w *Worker) WakeAfter(appID string, pause time.Duration) {
	time.AfterFunc(pause, func() { w.Wake(appID) })
}
