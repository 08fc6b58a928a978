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
	"earshot/repositories/lists"
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
	// mostPerRun bounds the triggers of one outbox that are written and published together.
	mostPerRun = 64
	// behindWait is how long a read or a message waits for answered triggers to be written, since nothing is written while
	// Redis is unavailable.
	behindWait = time.Second
)

// writeBehind has the triggers that are answered but not written. Their calls change nothing, so a record lost in a
// crash does no harm. Triggers of one outbox are written in order, each run after the events of the previous
// one are published.
type writeBehind struct {
	*Deliveries
	mu       sync.Mutex
	outboxes map[string]map[string]*behindOutbox // by app and outbox
	ready    map[int][]*behindOutbox             // by shard: outboxes without a run in progress
	urgent   map[int]chan struct{}               // by shard: signals that a reader waits for the writer
	count    int
	size     int
	// pendingWrites has, by app, a channel for each answered decision: closed when it is fully written.
	pendingWrites map[string]map[chan struct{}]*Decision
}

// behindOutbox has the answered triggers of one outbox.
type behindOutbox struct {
	app, box   string
	queued     []*behindTrigger
	queuedDone chan struct{} // closed when the queued triggers are written; nil for none
	runDone    chan struct{} // closed when the run in progress is written; nil for none
}

// behindTrigger is a trigger that is answered but not written.
type behindTrigger struct {
	decision    *Decision
	generations ledger.Generations
	commitment  func() (ledger.Commitment, error)
	call        attempt
	size        int // approximate bytes
}

func newWriteBehind(d *Deliveries) *writeBehind {
	return &writeBehind{Deliveries: d, outboxes: map[string]map[string]*behindOutbox{}, ready: map[int][]*behindOutbox{}, urgent: map[int]chan struct{}{}, pendingWrites: map[string]map[chan struct{}]*Decision{}}
}

// RegisterPendingWrite registers a committed decision that is answered but not yet fully written. Reads of the app, and
// the next message or direct trigger of its outbox, wait until the returned function is called.
func (d *Deliveries) RegisterPendingWrite(decision *Decision) (end func()) {
	b, appID, done := d.writeBehind, decision.App, make(chan struct{})
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pendingWrites[appID] == nil {
		b.pendingWrites[appID] = map[chan struct{}]*Decision{}
	}
	b.pendingWrites[appID][done] = decision
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if delete(b.pendingWrites[appID], done); len(b.pendingWrites[appID]) == 0 {
			delete(b.pendingWrites, appID)
		}
		close(done)
	}
}

// AwaitPendingWrites waits until the answered decisions of an outbox are written, a second at most.
func (d *Deliveries) AwaitPendingWrites(ctx context.Context, appID, box string) {
	d.awaitDecisions(ctx, appID, behindWait, func(one *Decision) bool { return one.Box == box })
}

// AwaitOutbox waits like AwaitPendingWrites, but only as long as an answer waits for its events, and not for decisions that
// wait for others themselves. Events that find the outbox empty are a batch; behind others they cost twice as much.
func (d *Deliveries) AwaitOutbox(ctx context.Context, appID, box string) {
	d.awaitDecisions(ctx, appID, eventWait, func(one *Decision) bool { return one.Box == box && one.HoldsOutbox() })
}

func (d *Deliveries) awaitDecisions(ctx context.Context, appID string, most time.Duration, waitFor func(*Decision) bool) {
	b := d.writeBehind
	b.mu.Lock()
	var writes []chan struct{}
	for done, decision := range b.pendingWrites[appID] {
		if waitFor(decision) {
			writes = append(writes, done)
		}
	}
	b.mu.Unlock()
	if len(writes) > 0 {
		d.awaitHurried(ctx, d.Ledger.Shard(appID), writes, most)
	}
}

// awaitHurried waits until requests of a shard are written, but not longer than most, and hurries their settlements.
func (d *Deliveries) awaitHurried(ctx context.Context, shard int, writes []chan struct{}, most time.Duration) {
	defer d.flusher.hurry(shard)()
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	awaitAll(ctx, writes...)
}

// BeginCall makes the first attempt at the call of a decision, its last effect, before the commit. The attempt may
// be lost, so the call must change nothing.
func (d *Deliveries) BeginCall(decision *Decision) {
	call := attempt{Planned: decision.Effects[len(decision.Effects)-1]}
	decision.earlyCall = make(chan attempt, 1)
	ends := time.Now().Add(time.Duration(call.Entry.Lease) * time.Millisecond)
	d.Go(func() {
		ctx, cancel := context.WithDeadline(d.Context, ends)
		defer cancel()
		decision.earlyCall <- d.try(ctx, call)
	})
}

// AwaitCall waits at most wait for the call that BeginCall made. It reports whether it was delivered; if not, the
// decision must be committed, and First continues the call.
func (d *Deliveries) AwaitCall(decision *Decision, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case a := <-decision.earlyCall:
		decision.earlyCall <- a
		if a.outcome.Verdict != effect.Done {
			return false
		}
		decision.Answer.Matches[a.Match].Call = new(a.callState())
		return true
	case <-timer.C:
		return false
	}
}

// CanWriteBehind reports whether a trigger may be written behind its answer: the queue is not full.
func (d *Deliveries) CanWriteBehind() bool {
	b := d.writeBehind
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.count < mostBehind && b.size < mostBehindBytes
}

// WriteBehind queues a trigger for writing, and returns at once. AwaitCall must have reported its call as delivered.
// commitment returns the document that would have been committed.
func (d *Deliveries) WriteBehind(decision *Decision, generations ledger.Generations, commitment func() (ledger.Commitment, error)) {
	trigger := &behindTrigger{decision: decision, generations: generations, commitment: commitment, call: <-decision.earlyCall}
	trigger.size = 3 * len(trigger.call.outcome.Result)
	for _, e := range decision.Effects {
		trigger.size += 2 * len(e.Entry.Body)
		if e.Event != nil { // its body is only a reference
			trigger.size += 2 * len(e.Event.Data)
		}
	}
	b := d.writeBehind
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count, b.size = b.count+1, b.size+trigger.size
	d.Metrics.BehindWaiting.Set(float64(b.count))
	box := decision.outboxIn(b)
	if box.queued = append(box.queued, trigger); box.queuedDone == nil {
		box.queuedDone = make(chan struct{})
	}
	if len(box.queued) == 1 && box.runDone == nil {
		b.markReady(box)
	}
}

// outboxIn returns the queued triggers of the decision's outbox.
func (d *Decision) outboxIn(queue *writeBehind) *behindOutbox {
	boxes := queue.outboxes[d.App]
	if boxes == nil {
		boxes = map[string]*behindOutbox{}
		queue.outboxes[d.App] = boxes
	}
	if boxes[d.Box] == nil {
		boxes[d.Box] = &behindOutbox{app: d.App, box: d.Box}
	}
	return boxes[d.Box]
}

// takeRun removes the next run from the queue: triggers of one generation, at most mostPerRun. It returns them with
// the channel to close when they are written.
func (o *behindOutbox) takeRun() ([]*behindTrigger, chan struct{}) {
	n := 1
	for n < min(len(o.queued), mostPerRun) && o.queued[n].generations == o.queued[0].generations {
		n++
	}
	run := slices.Clone(o.queued[:n])
	if o.queued = o.queued[n:]; len(o.queued) == 0 {
		o.runDone, o.queued, o.queuedDone = o.queuedDone, nil, nil
	} else {
		o.runDone = make(chan struct{})
	}
	return run, o.runDone
}

// markReady queues an outbox without a run in progress for writing. The caller holds the lock.
func (b *writeBehind) markReady(box *behindOutbox) {
	shard := b.Ledger.Shard(box.app)
	b.ready[shard] = append(b.ready[shard], box)
	if b.urgent[shard] != nil {
		return // its writer runs
	}
	urgent := make(chan struct{}, 1)
	b.urgent[shard] = urgent
	b.Go(func() { b.writeShard(shard, urgent) })
}

// awaitApp waits until the answered triggers of an app are written, or ctx ends.
func (b *writeBehind) awaitApp(ctx context.Context, appID string) {
	shard := b.Ledger.Shard(appID)
	b.mu.Lock()
	var writes []chan struct{}
	for _, box := range b.outboxes[appID] {
		for _, done := range []chan struct{}{box.runDone, box.queuedDone} {
			if done != nil {
				writes = append(writes, done)
			}
		}
	}
	if len(writes) > 0 {
		select {
		case b.urgent[shard] <- struct{}{}:
		default:
		}
	}
	writes = slices.AppendSeq(writes, maps.Keys(b.pendingWrites[appID]))
	b.mu.Unlock()
	b.awaitHurried(ctx, shard, writes, behindWait)
}

// behindRun is one run of one outbox.
type behindRun struct {
	ledger.Behind
	outbox   *behindOutbox
	triggers []*behindTrigger
	events   []attempt // of all triggers, in the order of publishing
	done     chan struct{}
}

// writeShard writes the ready outboxes of a shard until none is left. Triggers that are answered during a write
// are written together in the next one.
func (b *writeBehind) writeShard(shard int, urgent chan struct{}) {
	for {
		select {
		case <-urgent:
		case <-time.After(behindWindow):
		case <-b.Context.Done():
		}
		b.mu.Lock()
		boxes := b.ready[shard]
		runs := make([]*behindRun, len(boxes))
		for i, box := range boxes {
			runs[i] = &behindRun{outbox: box}
			runs[i].triggers, runs[i].done = box.takeRun()
		}
		if delete(b.ready, shard); len(runs) == 0 {
			delete(b.urgent, shard)
		}
		b.mu.Unlock()
		if len(runs) == 0 {
			return
		}
		panics.Run(b.Log, "behind", "", func() { b.writeRuns(runs) })
	}
}

// writeRuns writes runs in one round trip, and publishes their events. A faulty run does not affect the others.
func (b *writeBehind) writeRuns(runs []*behindRun) {
	if failpoint.Planted(failpoint.LostBehind) {
		b.giveUp(runs[1:], errors.New("it is planted"))
		runs = runs[:1]
	}
	runs = slices.DeleteFunc(runs, func(run *behindRun) bool {
		err := b.compose(run)
		if err != nil {
			b.giveUp([]*behindRun{run}, err)
		}
		return err != nil
	})
	documents := lists.Map(runs, func(run *behindRun) ledger.Behind { return run.Behind })
	var sentAt time.Time
	var written []ledger.Written
	write := func(ctx context.Context) error {
		return b.Write(ctx, func() (err error) {
			sentAt = time.Now()
			written, err = ledger.WriteBehind(ctx, b.Ledger, documents)
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
		b.giveUp(runs, err)
		return
	}
	for i, run := range runs {
		switch result := written[i]; {
		case result.Err != nil:
			b.giveUp([]*behindRun{run}, result.Err)
		case result.Gone:
			b.endRun(run, "dropped")
		case result.Batch:
			b.countRun(run, "written")
			b.Go(func() { b.publish(run, sentAt) })
		default: // its events wait for earlier ones in the outbox
			b.endRun(run, "written")
			b.Wake(run.outbox.app)
		}
	}
}

// giveUp gives up runs that cannot be written.
func (b *writeBehind) giveUp(runs []*behindRun, err error) {
	for _, run := range runs {
		b.Log.Error("behind.lost", "app", run.outbox.app, "triggers", len(run.triggers), "error", err.Error())
		b.endRun(run, "lost")
	}
}

// countRun counts the outcome of a run and ends the wait for it.
func (b *writeBehind) countRun(run *behindRun, outcome string) {
	b.Metrics.Behind.WithLabelValues(outcome).Add(float64(len(run.triggers)))
	close(run.done)
}

func (b *writeBehind) endRun(run *behindRun, outcome string) {
	b.countRun(run, outcome)
	b.release(run)
}

// release removes the triggers of a run from the queue, and marks their outbox ready if it has more.
func (b *writeBehind) release(run *behindRun) {
	box := run.outbox
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, trigger := range run.triggers {
		b.count, b.size = b.count-1, b.size-trigger.size
	}
	b.Metrics.BehindWaiting.Set(float64(b.count))
	if box.runDone = nil; len(box.queued) > 0 {
		b.markReady(box)
		return
	}
	if delete(b.outboxes[box.app], box.box); len(b.outboxes[box.app]) == 0 {
		delete(b.outboxes, box.app)
	}
}

// compose builds the ledger's document of a run.
func (b *writeBehind) compose(run *behindRun) error {
	decision := run.triggers[0].decision
	run.Behind = ledger.Behind{
		Turn: ledger.Turn{App: decision.App, Session: decision.Session}, Box: decision.Box, Token: b.Token(), Generations: run.triggers[0].generations,
		TTL: b.Store.SessionTTL(),
	}
	for i, trigger := range run.triggers {
		doc, err := trigger.commitment()
		if err != nil {
			return err
		}
		result, err := b.resultOf(trigger.call)
		if err != nil {
			return err
		}
		log, err := trigger.call.lines()
		if err != nil {
			return err
		}
		for _, e := range append(trigger.decision.ownEvents(), result) {
			e.Match = i // of the run
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
func (b *writeBehind) publish(run *behindRun, sentAt time.Time) {
	defer b.release(run)
	deadline := sentAt.Add(keyspace.EventLease / 2)
	var attempts []attempt
	if time.Now().Before(deadline) { // else an erased session could come back
		attempts = b.publishInOrder(b.Context, run.events, deadline)
	}
	if len(attempts) < len(run.events) || slices.ContainsFunc(attempts, func(a attempt) bool { return a.outcome.Verdict != effect.Done }) {
		err := b.handOver(ledger.Report{App: run.App, Session: run.Session, Box: run.Box, Token: run.Token}, attempts)
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
		state, stateErr := event.Encode()
		if err != nil || stateErr != nil {
			b.Log.Error("behind.unsettled", "app", run.App, "trigger", a.TriggerID)
			return
		}
		firing := &s.Firings[a.Match]
		firing.Attempts += lines + "\n"
		if a.Entry.Part == effect.PartEvent {
			firing.States.Event = state
		} else {
			firing.States.Emitter = state
		}
	}
	awaitAll(b.Context, b.queueSettlement(s).written)
}

// handOver leaves a batch to the ledger, with the outcomes of the events that were tried.
func (d *Deliveries) handOver(r ledger.Report, attempts []attempt) error {
	ctx, cancel := d.ShutdownContext(d.Context)
	defer cancel()
	err := d.Write(ctx, func() error { return d.Ledger.Unpack(ctx, r.App, r.Box, r.Token) })
	r.Next = d.NextHolder()
	r, fault := report(r, attempts)
	if err = errors.Join(err, fault); err == nil {
		_, err = d.finish(ctx, r)
	}
	return err
}
