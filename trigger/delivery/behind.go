package delivery

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"earshot/repositories/failpoint"
	"earshot/repositories/keyspace"
	"earshot/repositories/panics"
	"earshot/trigger/effect"
	"earshot/trigger/ledger"
)

const (
	// behindWindow is how long an answered trigger waits for others to be written with it.
	behindWindow = 20 * time.Millisecond
	// mostBehind and mostBehindBytes bound the answered triggers that are not yet written and published.
	mostBehind      = 10_000
	mostBehindBytes = 64 << 20
	// behindRun bounds the triggers of one outbox that are written and published together.
	behindRun = 64
	// behindWait is how long a read waits for answered triggers to be written, since nothing is written while
	// Redis is unavailable.
	behindWait = time.Second
)

// behind has the triggers that are answered but not written. Their calls change nothing, so a record lost in a
// crash does no harm. Triggers of one outbox are written in order, each run after the events of the previous
// one are published.
type behind struct {
	*Deliveries
	mu     sync.Mutex
	lines  map[string]map[string]*unwritten // by app and outbox
	idle   map[int][]*unwritten             // by shard: lines without a run in progress
	hurry  map[int]chan struct{}            // by shard: signals that a reader waits for the writer
	count  int
	weight int
	// following has, by app, a channel for each answered request, with its outbox: closed when the request is
	// fully written.
	following map[string]map[chan struct{}]string
}

// unwritten has the triggers of one outbox.
type unwritten struct {
	app, box string
	waiting  []*answered
	written  chan struct{} // closed when the waiting ones are written; nil for none
	writing  chan struct{} // closed when the run in progress is written; nil for none
}

// answered is a trigger that is answered but not written.
type answered struct {
	of         *Decision
	lives      ledger.Lives
	commitment func() (ledger.Commitment, error)
	call       attempt
	weight     int // approximate bytes
}

func newBehind(d *Deliveries) *behind {
	return &behind{Deliveries: d, lines: map[string]map[string]*unwritten{}, idle: map[int][]*unwritten{}, hurry: map[int]chan struct{}{}, following: map[string]map[chan struct{}]string{}}
}

// Following registers a request of an app that is answered but not yet fully written. Reads of the app, and the
// next message of its outbox, wait until the returned function is called.
func (d *Deliveries) Following(appID, box string) (end func()) {
	b, written := d.behind, make(chan struct{})
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.following[appID] == nil {
		b.following[appID] = map[chan struct{}]string{}
	}
	b.following[appID][written] = box
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if delete(b.following[appID], written); len(b.following[appID]) == 0 {
			delete(b.following, appID)
		}
		close(written)
	}
}

// AwaitFollowing waits until the answered requests of an outbox are written, a second at most.
func (d *Deliveries) AwaitFollowing(ctx context.Context, appID, box string) {
	b := d.behind
	b.mu.Lock()
	var list []chan struct{}
	for written, of := range b.following[appID] {
		if of == box {
			list = append(list, written)
		}
	}
	b.mu.Unlock()
	if len(list) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, behindWait)
	defer cancel()
	awaitAll(ctx, list)
}

// Begin makes the first attempt at the call of a decision, its last effect, before the commit. The attempt may
// be lost, so the call must change nothing.
func (d *Deliveries) Begin(of *Decision) {
	call := attempt{Planned: of.Effects[len(of.Effects)-1]}
	of.begun = make(chan attempt, 1)
	ends := time.Now().Add(time.Duration(call.Entry.Lease) * time.Millisecond)
	d.Go(func() {
		ctx, cancel := context.WithDeadline(d.Context, ends)
		defer cancel()
		of.begun <- d.try(ctx, call)
	})
}

// Delivered waits at most wait for the call that Begin made. It reports whether it was delivered; if not, the
// decision must be committed, and First continues the call.
func (d *Deliveries) Delivered(of *Decision, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case a := <-of.begun:
		of.begun <- a
		if a.outcome.Verdict != effect.Done {
			return false
		}
		state := a.callState()
		of.Answer.Matches[a.Match].Call = &state
		return true
	case <-timer.C:
		return false
	}
}

// HasRoom reports whether a trigger may be written behind its answer, as few enough wait.
func (d *Deliveries) HasRoom() bool {
	b := d.behind
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.count < mostBehind && b.weight < mostBehindBytes
}

// WriteBehind queues a trigger whose call was Delivered for writing, and returns at once. commitment returns
// the document that would have been committed.
func (d *Deliveries) WriteBehind(of *Decision, lives ledger.Lives, commitment func() (ledger.Commitment, error)) {
	one := &answered{of: of, lives: lives, commitment: commitment, call: <-of.begun}
	one.weight = 3 * len(one.call.outcome.Result)
	for _, e := range of.Effects {
		one.weight += 2 * len(e.Entry.Body)
		if e.Event != nil { // its body is only a reference
			one.weight += 2 * len(e.Event.Data)
		}
	}
	b := d.behind
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count, b.weight = b.count+1, b.weight+one.weight
	d.Metrics.BehindWaiting.Set(float64(b.count))
	l := of.line(b)
	if l.waiting = append(l.waiting, one); l.written == nil {
		l.written = make(chan struct{})
	}
	if len(l.waiting) == 1 && l.writing == nil {
		b.ready(l)
	}
}

// line returns the unwritten triggers of the decision's outbox.
func (d *Decision) line(in *behind) *unwritten {
	of := in.lines[d.App]
	if of == nil {
		of = map[string]*unwritten{}
		in.lines[d.App] = of
	}
	if of[d.Box] == nil {
		of[d.Box] = &unwritten{app: d.App, box: d.Box}
	}
	return of[d.Box]
}

// take removes the next run from the line: triggers of one life, at most behindRun. It returns them with the
// channel to close when they are written.
func (l *unwritten) take() ([]*answered, chan struct{}) {
	n := 1
	for n < min(len(l.waiting), behindRun) && l.waiting[n].lives == l.waiting[0].lives {
		n++
	}
	list := slices.Clone(l.waiting[:n])
	if l.waiting = l.waiting[n:]; len(l.waiting) == 0 {
		l.writing, l.waiting, l.written = l.written, nil, nil
	} else {
		l.writing = make(chan struct{})
	}
	return list, l.writing
}

// ready queues a line without a run in progress for writing. The caller holds the lock.
func (b *behind) ready(l *unwritten) {
	shard := b.Ledger.Shard(l.app)
	b.idle[shard] = append(b.idle[shard], l)
	if b.hurry[shard] != nil {
		return // its writer runs
	}
	hurry := make(chan struct{}, 1)
	b.hurry[shard] = hurry
	b.Go(func() { b.writeLines(shard, hurry) })
}

// awaitApp waits until the answered triggers of an app are written, or ctx ends.
func (b *behind) awaitApp(ctx context.Context, appID string) {
	shard := b.Ledger.Shard(appID)
	b.mu.Lock()
	var list []chan struct{}
	for _, l := range b.lines[appID] {
		for _, written := range []chan struct{}{l.writing, l.written} {
			if written != nil {
				list = append(list, written)
			}
		}
	}
	if len(list) > 0 {
		select {
		case b.hurry[shard] <- struct{}{}:
		default:
		}
	}
	list = slices.AppendSeq(list, maps.Keys(b.following[appID]))
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, behindWait)
	defer cancel()
	awaitAll(ctx, list)
}

// behindOf is one run of one line.
type behindOf struct {
	ledger.Behind
	line   *unwritten
	list   []*answered
	events []attempt // of all triggers, in the order of publishing
	done   chan struct{}
}

// writeLines writes the ready lines of a shard until none is left. Triggers answered meanwhile are written
// together in the next round.
func (b *behind) writeLines(shard int, hurry chan struct{}) {
	for {
		select {
		case <-hurry:
		case <-time.After(behindWindow):
		case <-b.Context.Done():
		}
		b.mu.Lock()
		lines := b.idle[shard]
		runs := make([]*behindOf, len(lines))
		for i, l := range lines {
			runs[i] = &behindOf{line: l}
			runs[i].list, runs[i].done = l.take()
		}
		if delete(b.idle, shard); len(runs) == 0 {
			delete(b.hurry, shard)
		}
		b.mu.Unlock()
		if len(runs) == 0 {
			return
		}
		panics.Run(b.Log, "behind", "", func() { b.writeRuns(runs) })
	}
}

// writeRuns writes runs in one round trip, and publishes their events. A faulty run is lost alone.
func (b *behind) writeRuns(runs []*behindOf) {
	if failpoint.Planted(failpoint.LostBehind) {
		b.lost(runs[1:], errors.New("it is planted"))
		runs = runs[:1]
	}
	var list []ledger.Behind
	runs = slices.DeleteFunc(runs, func(run *behindOf) bool {
		err := b.compose(run)
		if err != nil {
			b.lost([]*behindOf{run}, err)
		}
		return err != nil
	})
	for _, run := range runs {
		list = append(list, run.Behind)
	}
	var begun time.Time
	var written []ledger.Written
	write := func(ctx context.Context) error {
		return b.Write(ctx, func() (err error) {
			begun = time.Now()
			written, err = ledger.WriteBehind(ctx, b.Ledger, list)
			return err
		})
	}
	err := write(b.Context)
	if err != nil && b.Context.Err() != nil { // the process ends
		ctx, cancel := b.ShutdownContext(b.Context)
		defer cancel()
		err = write(ctx)
	}
	if err != nil {
		b.lost(runs, err)
		return
	}
	for i, run := range runs {
		switch of := written[i]; {
		case of.Err != nil:
			b.lost([]*behindOf{run}, of.Err)
		case of.Gone:
			b.ended(run, "dropped")
		case of.Batch:
			b.noted(run, "written")
			b.Go(func() { b.publish(run, begun) })
		default: // its events are behind others
			b.ended(run, "written")
			b.Wake(run.line.app)
		}
	}
}

// lost gives up runs that cannot be written.
func (b *behind) lost(runs []*behindOf, err error) {
	for _, run := range runs {
		b.Log.Error("behind.lost", "app", run.line.app, "triggers", len(run.list), "error", err.Error())
		b.ended(run, "lost")
	}
}

// noted counts the outcome of a run and ends the wait for it.
func (b *behind) noted(run *behindOf, outcome string) {
	b.Metrics.Behind.WithLabelValues(outcome).Add(float64(len(run.list)))
	close(run.done)
}

func (b *behind) ended(run *behindOf, outcome string) {
	b.noted(run, outcome)
	b.release(run)
}

// release makes the triggers that wait behind a run ready.
func (b *behind) release(run *behindOf) {
	l := run.line
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range run.list {
		b.count, b.weight = b.count-1, b.weight-one.weight
	}
	b.Metrics.BehindWaiting.Set(float64(b.count))
	if l.writing = nil; len(l.waiting) > 0 {
		b.ready(l)
		return
	}
	if delete(b.lines[l.app], l.box); len(b.lines[l.app]) == 0 {
		delete(b.lines, l.app)
	}
}

// compose builds the ledger's document of a run.
func (b *behind) compose(run *behindOf) error {
	of := run.list[0].of
	run.Behind = ledger.Behind{
		Turn: ledger.Turn{App: of.App, Session: of.Session}, Box: of.Box, Token: b.Token(), Lives: run.list[0].lives,
		TTL: b.Store.SessionTTL().Milliseconds(),
	}
	for at, one := range run.list {
		doc, err := one.commitment()
		if err != nil {
			return err
		}
		result, err := b.resultOf(one.call)
		if err != nil {
			return err
		}
		log, err := one.call.lines()
		if err != nil {
			return err
		}
		for _, e := range append(one.of.own(), result) {
			e.Match = at // of the run
			run.events, run.Events = append(run.events, e), append(run.Events, e.Entry)
		}
		firing := doc.Firings[0]
		firing.Open = len(doc.Events) + 1
		run.Firings, run.Attempts = append(run.Firings, firing), append(run.Attempts, log+"\n")
	}
	return nil
}

// publish publishes the events of a run, which are a batch, and settles it. It leaves unpublished events to the
// ledger.
func (b *behind) publish(run *behindOf, begun time.Time) {
	defer b.release(run)
	ends := begun.Add(keyspace.EventLease / 2)
	var tried []attempt
	if time.Now().Before(ends) { // else an erased session could come back
		tried = b.publishInOrder(b.Context, run.events, ends)
	}
	if len(tried) < len(run.events) || slices.ContainsFunc(tried, func(a attempt) bool { return a.outcome.Verdict != effect.Done }) {
		err := b.handOver(ledger.Report{App: run.App, Session: run.Session, Box: run.Box, Token: run.Token}, tried)
		if err != nil {
			b.Log.Warn("behind.unpublished", "app", run.App, "session", run.Session, "error", err.Error())
		}
		return
	}
	s := ledger.Settlement{
		Turn: run.Turn, Box: run.Box, Token: run.Token, Next: b.NextHolder(), Keep: b.Store.Retention().Done, Trigger: run.Firings[0].ID,
	}
	for i, f := range run.Firings {
		s.Firings = append(s.Firings, ledger.Settled{ID: f.ID, Attempts: run.Attempts[i]})
	}
	for _, a := range run.events {
		if a.Entry.Part == effect.PartResult {
			continue // the record has only a given-up result
		}
		lines, err := a.lines()
		event := a.eventState()
		state, failed := event.Encode()
		if err != nil || failed != nil {
			b.Log.Error("behind.unsettled", "app", run.App, "trigger", a.TriggerID)
			return
		}
		of := &s.Firings[a.Match]
		of.Attempts += lines + "\n"
		if a.Entry.Part == effect.PartEvent {
			of.States.Event = state
		} else {
			of.States.Emitter = state
		}
	}
	b.settle(s)
	b.AwaitFlush(b.Context, run.App, run.Box)
}

// handOver leaves a batch to the ledger, with the outcomes of its tried events.
func (d *Deliveries) handOver(r ledger.Report, tried []attempt) error {
	ctx, cancel := d.ShutdownContext(d.Context)
	defer cancel()
	err := d.Write(ctx, func() error { return d.Ledger.Unpack(ctx, r.App, r.Box, r.Token) })
	r.Next = d.NextHolder()
	r, fault := report(r, tried)
	if err = errors.Join(err, fault); err == nil {
		_, err = d.finish(ctx, r)
	}
	return err
}
