// Package emitter publishes the events of Earshot on NATS JetStream, and reads its streams. It delivers the
// effects of kind event for package trigger, finds the answers that effects of kind answer wait for, and passes
// events to subscribers.
//
// Delivery is at least once. An attempt is one synchronous publish that waits for the acknowledgement of stream
// EARSHOT. All attempts of an event have the same Nats-Msg-Id, by which the stream drops duplicates within ten
// minutes. Consumers recognize later duplicates by their ce-id.
//
// The emitter never decides when to retry, and keeps nothing in memory: an unacknowledged event stays pending
// in the ledger. The connection therefore buffers nothing while it is down. A message that the client library
// sent after a reconnect could overtake an earlier one of its session.
//
// Messages are CloudEvents 1.0 in binary mode, according to the NATS protocol binding.
package emitter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"earshot/repositories/failpoint"
	"earshot/repositories/keyspace"
	"earshot/repositories/version"
	"earshot/trigger/effect"
)

const (
	// DefaultMaxAge lets a consumer that failed on a Friday evening catch up on Monday.
	DefaultMaxAge = 7 * 24 * time.Hour
	// DefaultTimeout bounds one delivery. It outlasts a leader election; an acknowledgement takes 1 to 20 ms.
	DefaultTimeout = 2 * time.Second
	// DuplicateWindow is how long the stream remembers ids: long enough for five attempts with the longest
	// pauses.
	DuplicateWindow = 10 * time.Minute
)

// Options configures an Emitter. The zero value suits one NATS server.
type Options struct {
	// MaxAge is how long the stream keeps events, at least a second. If it is less than DuplicateWindow, it
	// shortens that.
	MaxAge time.Duration
	// MaxBytes bounds the stream: a full one refuses events, which wait in the ledger. Zero keeps the stream's
	// bound.
	MaxBytes int64
	// Replicas is how many servers hold the streams, 1 to 5. Zero keeps the stream's number, 1 for a new one.
	Replicas int
	// Timeout bounds one delivery, and Ready; default DefaultTimeout.
	Timeout time.Duration
	// Login holds credentials besides those in the URLs.
	Login Login
	// Logger defaults to slog.Default().
	Logger *slog.Logger
	// Now is the clock of denials and outages; default time.Now.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	o.MaxAge, o.Timeout, o.Logger = cmp.Or(o.MaxAge, DefaultMaxAge), cmp.Or(o.Timeout, DefaultTimeout), cmp.Or(o.Logger, slog.Default())
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Emitter publishes events on JetStream. It is safe for concurrent use. Two events keep their order if the
// second delivery begins after the first has ended.
type Emitter struct {
	conn    *nats.Conn
	js      jetstream.JetStream
	link    *link
	stream  *stream
	options Options

	// inFlight is read-locked by requests and locked by Close.
	inFlight sync.RWMutex
	closed   bool
}

var _ effect.Deliverer = (*Emitter)(nil)

// Connect returns an emitter with its own connection to a comma-separated list of servers. It does not wait for
// the connection: until then, deliveries ask for a Retry. It fails for an invalid list or number of replicas,
// and never shows a credential.
func Connect(list string, options Options) (*Emitter, error) {
	o := options.withDefaults()
	if o.Replicas < 0 || o.Replicas > 5 {
		return nil, fmt.Errorf("%d replicas of the stream are not possible; give 1 to 5, and no more than the cluster has servers", o.Replicas)
	}
	hosts, err := servers(list)
	if err != nil {
		return nil, err
	}
	l := &link{
		logger: o.Logger, hosts: hosts, now: o.Now, pending: map[*request]struct{}{}, reported: map[string]bool{},
		deniedAt: map[string]time.Time{}, deniedAnswers: map[string]bool{},
	}
	conn, err := connect(list, o.Login, nats.Name("earshot"), nats.ReconnectBufSize(-1), // see the package's comment
		nats.ConnectHandler(l.connected), nats.ReconnectHandler(l.connected), nats.DisconnectErrHandler(l.disconnected),
		nats.ReconnectErrHandler(l.connectFailed), nats.ErrorHandler(l.asyncError))
	if err != nil {
		return nil, fmt.Errorf("connect to NATS at %s: %w", hosts, err)
	}
	js, err := jetstream.New(conn)
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("use JetStream: %w", err)
	}
	return &Emitter{conn: conn, js: js, link: l, stream: newStream(js, o), options: o}, nil
}

// Close waits for running deliveries, at most twice the time limit. Later ones ask for a Retry.
func (e *Emitter) Close() {
	e.inFlight.Lock()
	defer e.inFlight.Unlock()
	if !e.closed {
		e.closed = true
		e.conn.Close()
	}
}

// Deliver publishes an event once, and waits for the acknowledgement until the time limit or the end of ctx.
// Without one, it repairs the stream for the next attempt. It returns at once while NATS is known to be down. A
// duplicate that the stream drops is Done. Unpublishable events are Dead. Any other failure asks for a Retry,
// which is Forbidden if NATS denies it to our user.
func (e *Emitter) Deliver(ctx context.Context, delivery effect.Effect) effect.Outcome {
	switch event := delivery.Event; {
	case delivery.Kind != effect.KindEvent || event == nil:
		return effect.Outcome{Verdict: effect.Dead, Error: fmt.Sprintf("effect %s of kind %q holds no event to publish", delivery.ID, delivery.Kind)}
	case delivery.ID == "":
		return effect.Outcome{Verdict: effect.Dead, Error: fmt.Sprintf("the event for %s has no id to tell its repeats by", event.Subject)}
	case !isEventSubject(event.Subject):
		return effect.Outcome{Verdict: effect.Dead, Error: fmt.Sprintf("%q is not a subject of stream %s, which has %s", event.Subject, Stream, subjectList())}
	}
	subject, checked := delivery.Event.Subject, e.stream.checks.Load()
	err := e.withTimeout(ctx, subject, func(ctx context.Context) error { return e.publish(ctx, delivery) })
	if isUnanswered(err) && ctx.Err() == nil {
		repairErr := e.withTimeout(ctx, subject, func(ctx context.Context) error { return e.stream.ensure(ctx, checked) })
		if repairErr != nil && !errors.Is(repairErr, errDown) && !isUnanswered(repairErr) {
			err = fmt.Errorf("%w: %w", err, repairErr) // the stream's fault is the cause
		}
	}
	return outcomeOf(err)
}

// isUnanswered reports whether no stream acknowledged a publish. A missing stream looks the same if subscribers
// without JetStream receive the message.
func isUnanswered(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, jetstream.ErrInvalidJSAck)
}

// withTimeout runs do within the time limit, while the connection is up and the subject is not denied.
func (e *Emitter) withTimeout(ctx context.Context, subject string, do func(context.Context) error) (err error) {
	e.inFlight.RLock()
	defer e.inFlight.RUnlock()
	ctx, cancel := context.WithTimeout(ctx, e.options.Timeout)
	defer cancel()
	tracked, denied := e.link.track(subject, cancel)
	defer func() {
		if cause := e.link.untrack(tracked); err != nil && cause != nil {
			err = cause
		}
	}()
	if err := cmp.Or(e.connected(), denied); err != nil {
		return err
	}
	return do(ctx)
}

func (e *Emitter) connected() error {
	status := e.conn.Status()
	switch lastErr := e.conn.LastError(); {
	case e.closed:
		return fmt.Errorf("%w: the emitter is closed", errDown)
	case status == nats.CONNECTED:
		return nil
	case lastErr != nil:
		return fmt.Errorf("%w: the connection is %s after: %w", errDown, status, lastErr)
	}
	return fmt.Errorf("%w: the connection is %s", errDown, status)
}

// publish repairs the stream before the first event, and again if no stream accepts the event.
func (e *Emitter) publish(ctx context.Context, delivery effect.Effect) error {
	checked := e.stream.checks.Load()
	if checked == 0 {
		if err := e.stream.ensure(ctx, checked); err != nil {
			return err
		}
		checked = e.stream.checks.Load()
	}
	err := e.send(ctx, delivery, sendOnce)
	if !errors.Is(err, jetstream.ErrNoStreamResponse) && !errors.Is(err, jetstream.ErrStreamNotFound) && code(err) != codeOtherStream {
		return err
	}
	if err := e.stream.ensure(ctx, checked); err != nil {
		return err
	}
	return e.send(ctx, delivery, sendRetrying)
}

// Some servers do not know a new stream or leader at once: they answer some tens of milliseconds later.
var (
	sendOnce     = []jetstream.PublishOpt{jetstream.WithRetryAttempts(0)}
	sendRetrying = []jetstream.PublishOpt{jetstream.WithRetryAttempts(10), jetstream.WithRetryWait(50 * time.Millisecond)}
)

func (e *Emitter) send(ctx context.Context, delivery effect.Effect, options []jetstream.PublishOpt) error {
	h := headerPool.Get().(*headers)
	defer headerPool.Put(h) // the client has written it when it returns
	message := messageOf(delivery, h)
	failpoint.At(failpoint.PublishBefore)
	if deadline, hasDeadline := ctx.Deadline(); hasDeadline && !time.Now().Before(deadline) {
		return context.DeadlineExceeded // a suspended process notices this before its timers fire
	}
	_, err := e.js.PublishMsg(ctx, message, options...)
	failpoint.At(failpoint.PublishAcked)
	e.stream.fullness.published(message.Size(), err)
	e.stream.silence.published(e.options.Now(), err)
	limit := ""
	switch {
	case err == nil:
		e.link.clearDenial(message.Subject)
	case errors.Is(err, nats.ErrMaxPayload):
		limit = fmt.Sprintf("the NATS server's max_payload is %d", e.conn.MaxPayload())
	case errors.Is(err, jetstream.ErrStreamMessageExceedsMaximum): // set by the operator
		limit = "it is over the max_msg_size of stream " + Stream
	}
	if limit == "" {
		return err
	}
	return fmt.Errorf("%w: the message on %s has %d bytes with its headers, and %s: raise it, or send less",
		errTooLarge, message.Subject, message.Size()-len(message.Subject), limit)
}

// Ready returns nil if an event could be published now: NATS is connected and denies nothing, and the stream is
// correct, repaired if needed, with a leader and room, and acknowledges events.
func (e *Emitter) Ready(ctx context.Context) error {
	err := e.withTimeout(ctx, "", func(ctx context.Context) error {
		return e.stream.ensure(ctx, e.stream.checks.Load())
	})
	e.link.mu.Lock()
	lastErr := e.link.last
	e.link.mu.Unlock()
	if errors.Is(err, errDown) && lastErr != nil {
		err = fmt.Errorf("%w: %w", err, lastErr)
	}
	if denied := e.link.denied(); err == nil && len(denied) > 0 {
		err = fmt.Errorf("%w for %q (%d denied in all)", errDenied, denied[0], len(denied))
	}
	if err == nil {
		err = cmp.Or(e.stream.health(), e.stream.silence.health(e.options.Now()))
	}
	return withPublicText(err)
}

// Usage returns how many bytes the stream holds, and may hold; zero without a bound.
func (e *Emitter) Usage(ctx context.Context) (used, limit int64, err error) {
	err = e.withTimeout(ctx, "", func(ctx context.Context) error {
		current, err := e.js.Stream(ctx, Stream)
		if err == nil {
			used, limit = int64(current.CachedInfo().State.Bytes), max(0, current.CachedInfo().Config.MaxBytes)
		}
		return err
	})
	return used, limit, err
}

var (
	fullDesc   = prometheus.NewDesc("earshot_stream_full", "1 while the stream takes no new events, else 0.", nil, nil)
	deniedDesc = prometheus.NewDesc("earshot_publish_denied", "Subjects on which NATS does not let the user of Earshot publish.", nil, nil)
)

// Describe implements prometheus.Collector.
func (e *Emitter) Describe(out chan<- *prometheus.Desc) { prometheus.DescribeByCollect(e, out) }

// Collect implements prometheus.Collector.
func (e *Emitter) Collect(out chan<- prometheus.Metric) {
	value, full := 0.0, e.stream.fullness
	full.mu.Lock()
	if full.full {
		value = 1
	}
	full.mu.Unlock()
	out <- prometheus.MustNewConstMetric(fullDesc, prometheus.GaugeValue, value)
	out <- prometheus.MustNewConstMetric(deniedDesc, prometheus.GaugeValue, float64(len(e.link.denied())))
}

var (
	errDown     = errors.New("NATS is not connected")
	errTooLarge = errors.New("the event is too large")
)

// outcomeOf maps an error to a verdict. Unknown errors may be temporary: Retry. An attempt is deferred if the
// connection was down before anything was sent.
func outcomeOf(err error) effect.Outcome {
	text, matches := "", func(target error) bool { return errors.Is(err, target) }
	switch {
	case err == nil:
		return effect.Outcome{Verdict: effect.Done}
	case errors.Is(err, errTooLarge):
		return effect.Outcome{Verdict: effect.Dead, Error: err.Error()}
	case errors.Is(err, errDenied):
		return effect.Outcome{Verdict: effect.Retry, Forbidden: true, Error: err.Error()}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		text = "NATS did not acknowledge the event in time: "
	case errors.Is(err, jetstream.ErrNoStreamResponse):
		text = "stream " + Stream + " does not answer: "
	case code(err) == codeOtherStream:
		text = "another stream than " + Stream + " holds the subject, take it from that one: "
	case slices.Contains(fullCodes, code(err)):
		text = "stream " + Stream + " takes no more, raise its limits or shorten its max age: "
	}
	return effect.Outcome{Verdict: effect.Retry, Deferred: slices.ContainsFunc(connectionErrors, matches), Error: text + err.Error()}
}

var connectionErrors = []error{errDown, nats.ErrReconnectBufExceeded, nats.ErrConnectionClosed, nats.ErrConnectionReconnecting, nats.ErrConnectionDraining}

// refusals are the errors of a server that refuses the connection.
var refusals = []error{nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrAuthRevoked, nats.ErrAccountAuthExpired}

// withPublicText adds a public text to an error of NATS.
func withPublicText(err error) error {
	if _, known := errors.AsType[*public](err); err == nil || known {
		return err
	}
	if api, is := errors.AsType[*jetstream.APIError](err); is {
		return &refused{public{err, "refuses what its stream needs"}, fmt.Sprintf("%s (%d)", api.Description, api.ErrorCode)}
	}
	if errors.Is(err, nats.ErrNoResponders) {
		return &refused{public{err, "answers without JetStream"}, nats.ErrNoResponders.Error()}
	}
	if index := slices.IndexFunc(refusals, func(target error) bool { return errors.Is(err, target) }); index >= 0 {
		return &refused{public{err, "refuses the connection"}, refusals[index].Error()}
	}
	return err
}

// public is an error with a public text, without hosts, apps or subjects.
type public struct {
	error
	publicText string
}

// Unwrap returns the error for operators.
func (p *public) Unwrap() error { return p.error }

// Public returns the public text, which follows the word NATS.
func (p *public) Public() string { return p.publicText }

type refused struct {
	public
	text string
}

// Detail returns the text of NATS.
func (r *refused) Detail() string { return r.text }

// messageOf returns the event as a CloudEvent in binary mode. NATS header names are case-sensitive. The
// expected stream keeps another stream with our subjects from acknowledging.
func messageOf(delivery effect.Effect, h *headers) *nats.Msg {
	event := delivery.Event
	clear(h.Header)
	h.set("ce-specversion", "1.0")
	h.set("ce-id", escape(event.ID))
	h.set("ce-type", escape(event.Type))
	h.set("ce-source", escape(event.Source))
	h.set("ce-time", escape(event.Time.UTC().Format(time.RFC3339Nano)))
	h.set("ce-earshotversion", escape(version.Current().Version))
	h.set("content-type", "application/json")
	if delivery.TraceParent != "" {
		h.set("traceparent", escape(delivery.TraceParent))
	}
	h.set(jetstream.MsgIDHeader, delivery.ID)
	h.set(jetstream.ExpectedStreamHeader, Stream)
	return &nats.Msg{Subject: event.Subject, Header: h.Header, Data: event.Data}
}

// headers stores the one-value lists of a header in one array. Its map is used again for later messages.
type headers struct {
	nats.Header
	values [maxHeaders]string
}

const maxHeaders = 10

var headerPool = sync.Pool{New: func() any { return &headers{Header: make(nats.Header, maxHeaders)} }}

func (h *headers) set(name, value string) {
	n := len(h.Header)
	h.values[n] = value
	h.Header[name] = h.values[n : n+1 : n+1]
}

// escape percent-encodes all but printable ASCII, and the space, the double quote and the percent sign
// (CloudEvents).
func escape(value string) string {
	first := strings.IndexFunc(value, func(r rune) bool { return mustEscape(byte(min(r, 0xff))) })
	if first < 0 {
		return value
	}
	var b strings.Builder
	b.WriteString(value[:first])
	for _, c := range []byte(value[first:]) {
		if mustEscape(c) {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func mustEscape(c byte) bool { return c <= ' ' || c > '~' || c == '"' || c == '%' }

// isEventSubject reports whether the stream accepts the subject; other events would wait forever.
func isEventSubject(subject string) bool {
	if strings.ContainsAny(subject, "*> \t\r\n") || strings.Contains(subject, "..") || strings.HasSuffix(subject, ".") {
		return false
	}
	first, rest, _ := strings.Cut(subject, ".")
	second, _, _ := strings.Cut(rest, ".")
	switch first {
	case "app":
		return strings.Count(subject, ".") == 3
	case "chat":
		return (second == "message" || second == "failed") && strings.Count(subject, ".") == 3
	}
	return first == "tool" && slices.Contains(toolKinds, second) && strings.Count(subject, ".") > 1
}

// toolKinds lists the second words of subjects under tool.
var toolKinds = []string{"trigger", "result", "rejected", "notmatching", "changed", "confirm", "cancelled", "duplicate", "webhook"}

// audience is the scope of an event or a subscription: a session, or without one the whole app.
type audience struct{ app, session string }

var errNotAnEvent = errors.New("not an event of ours")

// readEvent parses a stream message. Its audience comes from its subject, as only we may publish on it. The
// subjects of emitters' events, tool.changed and tool.webhook have no session; ce-source names it.
func readEvent(msg jetstream.Msg) (effect.Published, audience, error) {
	metadata, err := msg.Metadata()
	if err != nil {
		return effect.Published{}, audience{}, err
	}
	target, err := audienceOf(msg.Subject(), msg.Headers().Get("ce-source"))
	return effect.Published{
		Sequence: metadata.Sequence.Stream, Subject: msg.Subject(), SessionID: target.session, Time: timeOf(msg.Headers(), metadata.Timestamp), Data: msg.Data(),
	}, target, err
}

// timeOf returns the time of an event. Another publisher may give none: it is then when it was stored.
func timeOf(header nats.Header, stored time.Time) time.Time {
	if at, err := time.Parse(time.RFC3339Nano, header.Get("ce-time")); err == nil {
		return at
	}
	return stored
}

func audienceOf(subject, source string) (target audience, err error) {
	tokens := strings.Split(subject, ".")
	switch {
	case !isEventSubject(subject):
		err = errNotAnEvent
	case tokens[0] == "app":
		target = audience{tokens[1], sessionOf(source, tokens[1])}
	case tokens[1] == "changed", tokens[1] == "webhook":
		target = audience{tokens[2], sessionOf(source, tokens[2])}
	case len(tokens) < 4:
		err = errNotAnEvent
	case tokens[3] == keyspace.NoSession:
		target = audience{app: tokens[2]}
	default:
		target = audience{tokens[2], tokens[3]}
	}
	return target, err
}

// sessionOf returns the session in a ce-source of the app.
func sessionOf(source, appID string) string {
	session, ok := strings.CutPrefix(source, "/apps/"+appID+"/sessions/")
	if !ok || session == keyspace.NoSession {
		return ""
	}
	return session
}

// filters returns the subjects of an audience's events; those without a session must be filtered by ce-source.
func (a audience) filters() []string {
	suffix := a.app + ".>"
	if a.session != "" {
		suffix = a.app + "." + a.session
	}
	session := cmp.Or(a.session, "*")
	filters := []string{"app." + a.app + ".*.*", "chat.message." + a.app + "." + session, "chat.failed." + a.app + "." + session}
	for _, kind := range toolKinds {
		subject := "tool." + kind + "." + suffix
		switch {
		case kind == "changed", kind == "webhook":
			subject = "tool." + kind + "." + a.app + ".*"
		case a.session != "" && kind != "notmatching":
			subject += ".*"
		}
		filters = append(filters, subject)
	}
	return filters
}
