package emitter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"earshot/repositories/failpoint"
	"earshot/trigger/effect"
)

// Emitter publishes events on JetStream. It is safe for concurrent use; the order of
// two events is kept where the second is delivered after the first was.
type Emitter struct {
	conn    *nats.Conn
	owned   bool
	log     *connectionLog // nil where the connection is somebody else's
	js      jetstream.JetStream
	link    *connectionWatch
	stream  *stream
	denials *denials
	options Options

	// inFlight is held for reading by deliveries, and for writing by Close.
	inFlight sync.RWMutex
	closed   bool
}

var _ effect.Deliverer = (*Emitter)(nil)

// New returns an emitter that publishes over conn, which stays the caller's to close.
// Make it with nats.ReconnectBufSize(-1); a connection that buffers can put events
// out of order. What its user may not do is told to its own error handler, and is a
// missing answer here. The error is one of options.
func New(conn *nats.Conn, options Options) (*Emitter, error) {
	options = options.withDefaults()
	return newEmitter(conn, options, newDenials(options))
}

func newEmitter(conn *nats.Conn, options Options, denied *denials) (*Emitter, error) {
	if err := options.check(); err != nil {
		return nil, err
	}
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, fmt.Errorf("use JetStream: %w", err)
	}
	return &Emitter{
		conn: conn, js: js, link: watch(conn, denied.requests), stream: newStream(js, options), denials: denied, options: options,
	}, nil
}

// Deliver publishes an event effect once, and waits for the stream's acknowledgement
// until the time limit or the end of ctx; where none comes it asks for as long again
// whether the stream is there. It returns at once where NATS is known to be down. A
// repeat that the stream dropped is Done. Events that cannot be published ever, for
// their size or their subject, are Dead; all other trouble asks for a Retry, which is
// Forbidden where NATS denies it to our user.
func (e *Emitter) Deliver(ctx context.Context, delivery effect.Effect) effect.Outcome {
	e.inFlight.RLock()
	defer e.inFlight.RUnlock()
	if err := check(delivery); err != nil {
		return effect.Outcome{Verdict: effect.Dead, Error: err.Error()}
	}
	subject, seen := delivery.Event.Subject, e.stream.checks.Load()
	err := e.bounded(ctx, subject, func(ctx context.Context) error {
		return e.publish(ctx, delivery)
	})
	if unanswered(err) && ctx.Err() == nil {
		err = e.explainMissingAck(ctx, delivery, seen, err)
	}
	return outcome(err)
}

// explainMissingAck asks whether the stream is there, which is made if it is not, for the next
// attempt. What is wrong with it explains the error of the publish.
func (e *Emitter) explainMissingAck(ctx context.Context, delivery effect.Effect, seen uint64, err error) error {
	found := e.bounded(ctx, delivery.Event.Subject, func(ctx context.Context) error {
		return e.stream.ensure(ctx, seen)
	})
	if found == nil || errors.Is(found, errDown) || unanswered(found) {
		return err
	}
	return fmt.Errorf("%w: %w", err, found)
}

// unanswered reports whether a publish had no answer, or one that is none of a stream's.
// Who subscribes to an event without JetStream is asked as well if there is no
// stream, so that nothing says that it is missing.
func unanswered(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, jetstream.ErrInvalidJSAck)
}

// bounded does what while the connection is up, the server does not deny the subject,
// and the time limit is not reached.
func (e *Emitter) bounded(ctx context.Context, subject string, what func(context.Context) error) error {
	if e.closed {
		return fmt.Errorf("%w: the emitter is closed", errDown)
	}
	ctx, cancel := context.WithTimeout(ctx, e.options.Timeout)
	defer cancel()
	ctx, begun := e.denials.requests.begin(ctx, subject)
	defer e.denials.requests.done(begun)
	if err := e.connected(); err != nil {
		return err
	}
	if err := e.denials.unanswered(); err != nil {
		return err
	}
	err := what(ctx)
	if cause := context.Cause(ctx); err != nil && (errors.Is(cause, errLost) || errors.Is(cause, errDenied) || errors.Is(cause, ErrInDenied)) {
		return cause
	}
	return err
}

func check(delivery effect.Effect) error {
	switch {
	case delivery.Kind != effect.KindEvent || delivery.Event == nil:
		return fmt.Errorf("effect %s of kind %q holds no event to publish", delivery.ID, delivery.Kind)
	case delivery.ID == "":
		return fmt.Errorf("the event for %s has no id to tell its repeats by", delivery.Event.Subject)
	case !isEventSubject(delivery.Event.Subject):
		return fmt.Errorf("%q is no subject of stream %s: they are %s",
			delivery.Event.Subject, Stream, subjectList())
	}
	return nil
}

// publish looks after the stream before the first event, and again when there is none
// that takes the event.
func (e *Emitter) publish(ctx context.Context, delivery effect.Effect) error {
	seen := e.stream.checks.Load()
	if seen == 0 {
		if err := e.stream.ensure(ctx, seen); err != nil {
			return err
		}
		seen = e.stream.checks.Load()
	}
	err := e.send(ctx, delivery, sendOnce)
	if !streamMissing(err) {
		return err
	}
	if err := e.stream.ensure(ctx, seen); err != nil {
		return err
	}
	return e.send(ctx, delivery, sendAgain)
}

// A stream that was just made, or has just changed its leader, is not known to every
// server of a cluster at once: asked some tens of milliseconds later, they answer.
const (
	settleWait  = 50 * time.Millisecond
	settleTries = 10
)

// sendOnce and sendAgain say how often a publish is tried where nobody answers.
var (
	sendOnce  = []jetstream.PublishOpt{jetstream.WithRetryAttempts(0)}
	sendAgain = []jetstream.PublishOpt{jetstream.WithRetryAttempts(settleTries), jetstream.WithRetryWait(settleWait)}
)

func (e *Emitter) send(ctx context.Context, delivery effect.Effect, tries []jetstream.PublishOpt) error {
	out := message(delivery)
	failpoint.At(failpoint.PublishBefore)
	if ends, bounded := ctx.Deadline(); bounded && !time.Now().Before(ends) {
		return context.DeadlineExceeded // a process that was stopped finds it out before its timers do
	}
	_, err := e.js.PublishMsg(ctx, out, tries...)
	failpoint.At(failpoint.PublishAcked)
	switch {
	case err == nil:
		if e.stream.fullness.isFull() {
			e.stream.fullness.stored(out.Size())
		}
		e.denials.allowed(out.Subject)
	case slices.Contains(fullCodes, code(err)):
		e.stream.fullness.refused(out.Size(), err)
	case errors.Is(err, nats.ErrMaxPayload):
		return tooLarge(out, fmt.Sprintf("the NATS server's max_payload is %d", e.conn.MaxPayload()))
	case errors.Is(err, jetstream.ErrStreamMessageExceedsMaximum):
		return tooLarge(out, "it is over the max_msg_size of stream "+Stream)
	}
	return err
}

func (e *Emitter) connected() error {
	status := e.conn.Status()
	if status == nats.CONNECTED {
		return nil
	}
	if last := e.conn.LastError(); last != nil {
		return fmt.Errorf("%w: the connection is %s after: %w", errDown, status, last)
	}
	return fmt.Errorf("%w: the connection is %s", errDown, status)
}

// Ready returns nil where an event could be published now: NATS is connected and denies
// us no subject that is tried, and the stream is as it should be, made or repaired if
// need be, has a leader and has room.
func (e *Emitter) Ready(ctx context.Context) error { return inItsWords(e.ready(ctx)) }

func (e *Emitter) ready(ctx context.Context) error {
	e.inFlight.RLock()
	defer e.inFlight.RUnlock()
	err := e.bounded(ctx, "", func(ctx context.Context) error {
		return e.stream.ensure(ctx, e.stream.checks.Load())
	})
	if errors.Is(err, errDown) && e.log != nil && e.log.why() != nil {
		return fmt.Errorf("%w: %w", err, e.log.why())
	}
	if err != nil {
		return err
	}
	if err := e.denials.err(); err != nil {
		return err
	}
	return errors.Join(e.stream.led(), e.stream.room())
}

// StreamIn is the name of the stream of what others publish for Earshot; see package intake.
// What NATS denies of it holds up no event.
const StreamIn = "EARSHOT_IN"

// ErrInDenied means that NATS denies our user what StreamIn needs.
var ErrInDenied = errors.New("the NATS user of Earshot has no permission for what stream " + StreamIn + " needs")

// In makes requests about StreamIn within the time limit. They end early when the connection
// is lost, and with ErrInDenied where NATS denies one.
func (e *Emitter) In(ctx context.Context, what func(context.Context, jetstream.JetStream) error) error {
	e.inFlight.RLock()
	defer e.inFlight.RUnlock()
	return e.bounded(ctx, StreamIn, func(ctx context.Context) error { return what(ctx, e.js) })
}

// Close waits for the deliveries under way, at most twice the time limit, and closes
// the connection where it is the emitter's own. Deliveries that come later ask for a
// Retry.
func (e *Emitter) Close() {
	e.inFlight.Lock()
	defer e.inFlight.Unlock()
	if e.closed {
		return
	}
	e.closed = true
	e.link.close()
	if e.owned {
		e.conn.Close()
	}
}

// Room asks how many bytes the stream holds, and how many it may; zero where nothing bounds it.
// The error says that the stream is not there, or that NATS does not answer.
func (e *Emitter) Room(ctx context.Context) (used, limit int64, err error) {
	e.inFlight.RLock()
	defer e.inFlight.RUnlock()
	err = e.bounded(ctx, "", func(ctx context.Context) error {
		held, err := e.js.Stream(ctx, Stream)
		if err == nil {
			used, limit = int64(held.CachedInfo().State.Bytes), max(0, held.CachedInfo().Config.MaxBytes)
		}
		return err
	})
	return used, limit, err
}

var (
	fullDesc   = prometheus.NewDesc("earshot_stream_full", "1 while the stream takes no more events.", nil, nil)
	deniedDesc = prometheus.NewDesc("earshot_publish_denied", "Subjects that NATS lets nobody publish on with our user.", nil, nil)
)

// Describe implements prometheus.Collector.
func (e *Emitter) Describe(out chan<- *prometheus.Desc) { prometheus.DescribeByCollect(e, out) }

// Collect implements prometheus.Collector.
func (e *Emitter) Collect(out chan<- prometheus.Metric) {
	value := 0.0
	if e.stream.fullness.isFull() {
		value = 1
	}
	out <- prometheus.MustNewConstMetric(fullDesc, prometheus.GaugeValue, value)
	out <- prometheus.MustNewConstMetric(deniedDesc, prometheus.GaugeValue, float64(len(e.denials.denied())))
}
