// Package webhooks sends the events of an app to URLs that it names in settings.webhooks.
//
// The stream has the events; Redis has for each webhook its position in the stream and its undelivered events
// (trigger/ledger/webhook.go). The holder of a webhook's lease sends the events after that position and those
// due for a retry, and records the outcomes in one script. If a process dies in between, some events are sent
// again under the same ids. So each event that the stream keeps is delivered at least once, or is listed as
// failed. Events erased from the stream with their session are no longer sent.
//
// Events of a session are sent in order, those of different sessions concurrently. A failed event blocks
// nothing: it is retried for three days. After five failures in a row the server is considered down, and one
// event at a time probes it. After five days without a delivery the webhook is disabled, which is an event too.
package webhooks

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/expirable"
	"golang.org/x/sync/errgroup"

	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/failpoint"
	"earshot/repositories/keyspace"
	"earshot/repositories/lists"
	"earshot/trigger/effect"
	"earshot/trigger/ledger"
	"earshot/trigger/payload"
	"earshot/trigger/worker"
)

const (
	// lease is the lease of a webhook, beginWithin the time in which its requests may begin, and sendWithin the time
	// after which they end.
	lease       = 40 * time.Second
	beginWithin = 15 * time.Second
	sendWithin  = 26 * time.Second
	// mostPerLease bounds the events sent in one lease, concurrency the concurrent ones: as many requests as
	// httpcall allows an app to a host.
	mostPerLease = 64
	concurrency  = 8
	// shortestPause and longestPause bound the pause of an idle webhook. A hint ends the pause, so it only matters if the
	// hint was lost, or while other replicas do not know a new webhook.
	shortestPause = time.Second
	longestPause  = 30 * time.Second
	// unreadablePause is the pause after the stream could not be read.
	unreadablePause = 5 * time.Second
	// giveUpAfter is how long an event is retried, disabledAfter how long all deliveries may fail.
	giveUpAfter   = 3 * 24 * time.Hour
	disabledAfter = 5 * 24 * time.Hour
)

// retryPauses are the pauses before an event is sent again; the last repeats.
var retryPauses = []time.Duration{
	5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour,
}

// probePauses are the pauses between two attempts at a server considered down.
var probePauses = []time.Duration{10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute}

// nthPause returns the nth pause, or the last.
func nthPause(list []time.Duration, n int) time.Duration { return list[min(n, len(list)-1)] }

// Events is the stream.
type Events interface {
	// After reads at most most events of an app after a place, and the place up to which it has read; more
	// reports that others follow.
	After(ctx context.Context, appID string, kinds []string, after uint64, most int) (events []effect.StoredEvent, reached uint64, more bool, err error)
	// At reads the events at places; nil for a missing one.
	At(ctx context.Context, places []uint64) ([]*effect.StoredEvent, error)
	// Before returns the place after which events stored since a moment follow.
	Before(ctx context.Context, moment time.Time) (uint64, error)
}

// Sender makes one attempt to send an event to a webhook, signed with its Secret.
type Sender interface {
	Post(ctx context.Context, app *repositories.App, to repositories.Webhook, event effect.StoredEvent, attempt int) effect.Outcome
}

// Options are the dependencies of Webhooks. Worker and Apps are required.
type Options struct {
	Worker *worker.Worker
	Apps   effect.Apps
	Events Events
	Sender Sender // nil: nothing is sent
}

// Webhooks serves the webhooks of all apps. It is safe for concurrent use.
type Webhooks struct {
	Options
	ledger *ledger.Webhooks
	names  *expirable.LRU[string, []string] // of the webhooks of an app
	mu     sync.Mutex
	hints  map[string]bool // apps with a hint in progress; true if another is requested
}

const (
	cachedNames = 4096
	namesTTL    = 10 * time.Second
)

// New returns Webhooks, which handle the worker's due webhooks.
func New(o Options) *Webhooks {
	h := &Webhooks{Options: o, ledger: ledger.NewWebhooks(o.Worker.Ledger), names: expirable.NewLRU[string, []string](cachedNames, nil, namesTTL), hints: map[string]bool{}}
	o.Worker.Handle(keyspace.LaneWebhooks, h.take)
	return h
}

// Published hints that an event of an app was stored. It returns at once.
func (h *Webhooks) Published(appID string) {
	if names, cached := h.names.Get(appID); h.Sender == nil || cached && len(names) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, inProgress := h.hints[appID]; inProgress {
		h.hints[appID] = true
		return
	}
	h.hints[appID] = false
	h.Worker.Go(func() {
		for more := true; more; {
			h.hint(appID)
			h.mu.Lock()
			if more = h.hints[appID]; more {
				h.hints[appID] = false
			} else {
				delete(h.hints, appID)
			}
			h.mu.Unlock()
		}
	})
}

// hint makes the webhooks of an app due. If it fails, their next claim finds the event.
func (h *Webhooks) hint(appID string) {
	names, cached := h.names.Get(appID)
	if !cached {
		app, err := h.Apps.App(h.Worker.Context, appID)
		if err != nil {
			return
		}
		names = namesOf(app)
		h.names.Add(appID, names)
	}
	if len(names) > 0 && h.ledger.Wake(h.Worker.Context, appID, names) == nil {
		h.Worker.Wake(appID)
	}
}

func namesOf(app *repositories.App) []string {
	return lists.Map(app.Settings.Webhooks, func(webhook repositories.Webhook) string { return webhook.Name })
}

// take serves a webhook that is due, if its lease is free.
func (h *Webhooks) take(_ context.Context, appID, name string) error {
	if h.Sender == nil {
		return nil
	}
	token := h.Worker.Token()
	ctx, cancel := context.WithTimeout(h.Worker.Context, sendWithin)
	defer cancel()
	claim, err := h.ledger.Claim(ctx, appID, name, token, lease, mostPerLease)
	if err != nil || claim == nil {
		return err
	}
	failpoint.At(failpoint.WebhookClaimed)
	app, err := h.Apps.App(ctx, appID)
	if errors.Is(err, repositories.ErrNotFound) {
		return nil // its webhooks are deleted with it
	}
	if err != nil {
		return err
	}
	webhook, exists := app.Webhook(name)
	if !exists || !webhook.Enabled() {
		return nil
	}
	r := ledger.WebhookReport{App: appID, Name: name, Token: token, Claim: claim, Position: claim.Position, Positioned: claim.Positioned, Streak: claim.Streak}
	work := &round{Webhooks: h, app: app, webhook: webhook, claim: claim, report: &r}
	if err := work.serve(ctx); err != nil {
		h.Worker.Outages.Trouble(ctx, "webhooks", "", "webhooks.unread", "error", err.Error())
		r.Pause = unreadablePause
	} else {
		h.Worker.Outages.Over(ctx, "webhooks", "webhooks.read")
	}
	failpoint.At(failpoint.WebhookSent)
	return h.write(r)
}

// write records the outcomes of a lease's deliveries, until Redis has answered or the lease is over.
func (h *Webhooks) write(r ledger.WebhookReport) error {
	ctx, cancel := h.Worker.ShutdownContext(h.Worker.Context)
	defer cancel()
	ctx, expire := context.WithTimeout(ctx, lease-sendWithin)
	defer expire()
	if failpoint.Planted(failpoint.ForgottenResend) {
		r.Again = nil
	}
	written := false
	err := h.Worker.Write(ctx, func() (err error) {
		written, err = h.ledger.Report(ctx, r)
		return err
	})
	failpoint.At(failpoint.WebhookReply)
	if err != nil || !written {
		return err
	}
	dead := 0
	for _, resend := range r.Again {
		if resend.Next.IsZero() {
			dead++
		}
	}
	h.count("delivered", r.Delivered)
	h.count("gone", r.Gone)
	h.count("failed", dead)
	h.count("retry", len(r.Again)-dead)
	if r.Disabled != "" {
		h.count("disabled", 1)
		h.Worker.Log.Warn("webhook.disabled", "app", r.App, "webhook", r.Name, "error", r.Disabled)
	}
	if r.Pause == 0 || r.Disabled != "" {
		h.Worker.Wake(r.App)
	}
	return nil
}

func (h *Webhooks) count(outcome string, n int) {
	h.Worker.Metrics.Webhooks.WithLabelValues(outcome).Add(float64(n))
}

// round is the work on one webhook in one lease.
type round struct {
	*Webhooks
	app     *repositories.App
	webhook repositories.Webhook
	claim   *ledger.WebhookClaim
	report  *ledger.WebhookReport

	mu          sync.Mutex // of the following fields, and of the report while events are sent
	failures    int
	isGone      bool // the server answered 410 Gone
	serverPause time.Duration
}

// delivery is an event with its attempts so far.
type delivery struct {
	ledger.WebhookDelivery
	event    *effect.StoredEvent
	isResend bool
}

// serve sends the due events. Its error is the stream's; the report has the events sent before.
func (t *round) serve(ctx context.Context) error {
	deliveries, err := t.readDue(ctx)
	if err != nil {
		return err
	}
	begin, cancel := context.WithTimeout(ctx, beginWithin)
	defer cancel()
	sessions, order := map[string][]*delivery{}, []string{}
	for _, next := range deliveries {
		session := next.event.SessionID
		if session == "" {
			session = next.event.ID // events without a session have no order
		}
		if sessions[session] == nil {
			order = append(order, session)
		}
		sessions[session] = append(sessions[session], next)
	}
	group := errgroup.Group{}
	group.SetLimit(concurrency)
	for _, session := range order {
		group.Go(func() error {
			for _, next := range sessions[session] {
				t.send(ctx, begin, next)
			}
			return nil
		})
	}
	_ = group.Wait() // none fails
	t.finish()
	return nil
}

// readDue reads the events to send: those due for a retry, then new ones.
func (t *round) readDue(ctx context.Context) (deliveries []*delivery, err error) {
	if !t.claim.Positioned {
		if t.report.Position, err = t.Events.Before(ctx, t.claim.Since); err != nil {
			return nil, err
		}
		t.report.Positioned = true
	}
	events, err := t.Events.At(ctx, sequencesOf(t.claim.Due))
	if err != nil {
		return nil, err
	}
	for i, due := range t.claim.Due {
		event := events[i]
		if event == nil {
			t.report.Done, t.report.Gone = append(t.report.Done, due.Sequence), t.report.Gone+1
			continue
		}
		deliveries = append(deliveries, &delivery{due, event, true})
	}
	limit, more := mostPerLease, false
	if t.claim.Streak >= ledger.WebhookProbeAfter {
		limit = 1
	}
	if room := min(limit-len(deliveries), ledger.MostResends-t.claim.Resends); room > 0 {
		var newEvents []effect.StoredEvent
		if newEvents, t.report.Position, more, err = t.Events.After(ctx, t.app.ID, t.webhook.Types, t.report.Position, room); err != nil {
			return nil, err
		}
		for _, event := range newEvents {
			deliveries = append(deliveries, &delivery{event: &event, WebhookDelivery: ledger.WebhookDelivery{Sequence: event.Sequence, First: t.claim.Now}})
		}
	}
	if t.report.Pause = t.idlePause(); more || len(deliveries) == limit {
		t.report.Pause = 0
	}
	return deliveries, nil
}

func sequencesOf(deliveries []ledger.WebhookDelivery) []uint64 {
	return lists.Map(deliveries, func(next ledger.WebhookDelivery) uint64 { return next.Sequence })
}

// idlePause returns the pause before the next claim if no event is left; it grows with the webhook's age.
func (t *round) idlePause() time.Duration {
	return t.Worker.Jitter(min(longestPause, max(shortestPause, t.claim.Now.Sub(t.claim.Since)/10)))
}

// send makes an attempt unless begin has ended, and reports the outcome.
func (t *round) send(ctx, begin context.Context, next *delivery) {
	outcome := effect.Outcome{Verdict: effect.Retry, Deferred: true}
	if begin.Err() == nil && !t.mustStop() {
		outcome = t.Sender.Post(ctx, t.app, t.webhook, *next.event, next.Attempts+1)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case outcome.Verdict == effect.Done:
		t.report.Delivered++
		if next.isResend {
			t.report.Done = append(t.report.Done, next.Sequence)
		}
		return
	case outcome.Deferred:
		next.Next = t.claim.Now.Add(outcome.After)
	default:
		t.failures++
		next.Attempts, next.Status = next.Attempts+1, outcome.Status
		t.isGone = t.isGone || outcome.Status == http.StatusGone
		t.serverPause = max(t.serverPause, outcome.After)
		pause := max(outcome.After, t.Worker.Jitter(nthPause(retryPauses, next.Attempts-1)))
		if next.Next = t.claim.Now.Add(pause); next.Next.Sub(next.First) > giveUpAfter {
			next.Next = time.Time{}
		}
		t.Worker.Log.Info("webhook.undelivered", "app", t.app.ID, "webhook", t.webhook.Name, "event", next.event.ID, "attempt", next.Attempts, "status", outcome.Status, "error", outcome.Error)
	}
	t.report.Again = append(t.report.Again, next.WebhookDelivery)
}

// mustStop reports whether this round must send no more: too many failures and no delivery, or 410 Gone.
func (t *round) mustStop() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.isGone || t.failures > 0 && t.report.Delivered == 0 && t.claim.Streak+t.failures >= ledger.WebhookProbeAfter
}

// finish sets the time of the next claim, and decides whether the webhook is disabled.
func (t *round) finish() {
	r := t.report
	slices.SortFunc(r.Again, func(a, b ledger.WebhookDelivery) int { return int(int64(a.Sequence) - int64(b.Sequence)) })
	if r.Delivered > 0 {
		r.Streak = 0
	} else {
		r.Streak += t.failures
	}
	if r.Streak >= ledger.WebhookProbeAfter && t.failures > 0 {
		r.Pause = max(t.serverPause, t.Worker.Jitter(nthPause(probePauses, r.Streak-ledger.WebhookProbeAfter)))
	}
	switch {
	case t.isGone:
		r.Disabled = "its server answered 410 Gone: there is no webhook any more"
	case t.failures > 0 && r.Delivered == 0 && !t.claim.Failing.IsZero() && t.claim.Now.Sub(t.claim.Failing) > disabledAfter:
		r.Disabled = "nothing has arrived for five days"
	default:
		return
	}
	event, err := t.disabledEvent(r.Disabled)
	if err != nil { // it is disabled at the next failure
		t.Worker.Log.Error("webhook.unended", "app", t.app.ID, "webhook", t.webhook.Name, "error", err.Error())
		r.Disabled = ""
		return
	}
	r.Event = event
}

// disabledEvent returns the event that the webhook is disabled.
func (t *round) disabledEvent(reason string) (*keyspace.Entry, error) {
	header := payload.Header{ID: t.Worker.NewID(), Time: t.Worker.Now().UTC(), AppID: t.app.ID}
	content := payload.Webhook{Header: header, Name: t.webhook.Name, State: repositories.WebhookDisabled, Reason: reason}
	if !t.claim.Failing.IsZero() {
		content.FailingSince = &t.claim.Failing
	}
	event, _, err := payload.EventOf(payload.KindWebhook, t.webhook.Name, content)
	if err != nil {
		return nil, err
	}
	event.Subject = payload.KindWebhook + "." + t.app.ID + "." + t.webhook.Name
	body, err := exactjson.Text(event)
	entry := keyspace.EventEntry(header.ID, "", "", body)
	return &entry, err
}
