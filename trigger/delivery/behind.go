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
	// behindWindow is how long an answered trigger waits for others, to be written with them.
	behindWindow = 10 * time.Millisecond
	// mostBehind and mostBehindBytes bound what is answered and not written and published yet.
	mostBehind      = 10_000
	mostBehindBytes = 64 << 20
	// behindRun is how many triggers of one outbox are written and published together.
	behindRun = 64
	// behindWait is how long a read waits for what was answered before: while Redis is away nothing is written.
	behindWait = time.Second
)

// behind has the triggers that are answered and not written yet. Their calls change nothing, so that
// nobody misses the record of one that a crash has lost. Those of one outbox are written in their
// order, and none before the events of those before it are out.
type behind struct {
	*Deliveries
	mu     sync.Mutex
	lines  map[string]map[string]*unwritten // by app and outbox
	idle   map[int][]*unwritten             // by shard: those of which nothing is under way
	hurry  map[int]chan struct{}            // by shard: somebody waits for what its writer has still to write
	count  int
	weight int
	// following has, by app, a channel for each request that is answered, with its outbox: closed when all
	// of it is written.
	following map[string]map[chan struct{}]string
}

// unwritten are the triggers of one outbox.
type unwritten struct {
	app, box string
	waiting  []*answered
	written  chan struct{} // closed when those that wait are written; nil if none do
	writing  chan struct{} // closed when those before them are; nil if none are under way
}

// answered is a trigger that is answered and not written.
type answered struct {
	of         *Decision
	lives      ledger.Lives
	commitment func() (ledger.Commitment, error)
	call       attempt
	weight     int // bytes, about
}

func newBehind(d *Deliveries) *behind {
	return &behind{Deliveries: d, lines: map[string]map[string]*unwritten{}, idle: map[int][]*unwritten{}, hurry: map[int]chan struct{}{}, following: map[string]map[chan struct{}]string{}}
}

// Following says that a request of an app is answered and that what it has said is still to be written.
// Reads of the app wait until the returned function is called, and the next message of its outbox.
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

// AwaitFollowing waits until what was answered of an outbox is written, a second at most.
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

// Begin makes the first attempt at the call of a decision, its last effect, that is not committed yet.
// It may be lost, so that it must change nothing.
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

// Delivered waits for the call that was begun, at most so long. It reports whether it was delivered;
// otherwise the decision is to be committed, and First goes on with the call.
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

// HasRoom reports whether a trigger may be written behind its answer: few enough wait.
func (d *Deliveries) HasRoom() bool {
	b := d.behind
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.count < mostBehind && b.weight < mostBehindBytes
}

// WriteBehind has a trigger written whose call was Delivered, and returns at once. commitment is
// what would have been committed of it.
func (d *Deliveries) WriteBehind(of *Decision, lives ledger.Lives, commitment func() (ledger.Commitment, error)) {
	one := &answered{of: of, lives: lives, commitment: commitment, call: <-of.begun}
	one.weight = 3 * len(one.call.outcome.Result)
	for _, e := range of.Effects {
		one.weight += 2 * len(e.Entry.Body)
		if e.Event != nil { // its body is a reference
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

// line is what is unwritten of the decision's outbox.
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

// take takes the first of the line: those of one life, no more than are written together. It
// returns them with the channel that says when they are written.
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

// ready has a line written, of which nothing is under way. Its caller has the lock.
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

// awaitApp waits until what was answered in an app is written, or ctx ends.
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

// behindOf is what is written of one line in one go.
type behindOf struct {
	ledger.Behind
	line   *unwritten
	list   []*answered
	events []attempt // of all, in the order in which they are published
	done   chan struct{}
}

// writeLines writes what is ready of a shard until nothing is. What is answered meanwhile is written
// together, in the next go.
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

// writeRuns writes runs in one round trip, and has their events published. One at fault is lost alone.
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
		ctx, cancel := b.Lasting(b.Context)
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

// lost gives runs up that cannot be written.
func (b *behind) lost(runs []*behindOf, err error) {
	for _, run := range runs {
		b.Log.Error("behind.lost", "app", run.line.app, "triggers", len(run.list), "error", err.Error())
		b.ended(run, "lost")
	}
}

// noted says what has become of a run: nobody waits for it any more.
func (b *behind) noted(run *behindOf, outcome string) {
	b.Metrics.Behind.WithLabelValues(outcome).Add(float64(len(run.list)))
	close(run.done)
}

func (b *behind) ended(run *behindOf, outcome string) {
	b.noted(run, outcome)
	b.release(run)
}

// release lets those that wait behind a run be written.
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

// compose makes what the ledger is to write of a run.
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

// publish publishes the events of a run, which are a batch, and has that settled. What cannot be
// published is left to the ledger.
func (b *behind) publish(run *behindOf, begun time.Time) {
	defer b.release(run)
	ends := begun.Add(keyspace.EventLease / 2)
	var tried []attempt
	if time.Now().Before(ends) { // else a session that was erased since could come back
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
			continue // the record tells of a result only where it was given up
		}
		lines, err := a.lines()
		event := a.eventState()
		state, failed := event.Kept()
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

// handOver leaves a batch to the ledger, with what came of those of its events that were tried.
func (d *Deliveries) handOver(r ledger.Report, tried []attempt) error {
	ctx, cancel := d.Lasting(d.Context)
	defer cancel()
	err := d.Write(ctx, func() error { return d.Ledger.Unpack(ctx, r.App, r.Box, r.Token) })
	r.Next = d.NextHolder()
	r, fault := report(r, tried)
	if err = errors.Join(err, fault); err == nil {
		_, err = d.finish(ctx, r)
	}
	return err
}
