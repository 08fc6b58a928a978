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
	"earshot/trigger/effect"
	"earshot/trigger/ledger"
	"earshot/trigger/payload"
	"earshot/trigger/worker"
)

const (
	// lease is the lease of a webhook, beginning how long requests may begin in it, and sending how long they
	// may take.
	lease     = 40 * time.Second
	beginning = 15 * time.Second
	sending   = 26 * time.Second
	// mostAtOnce bounds the events sent in one lease, sideBySide the concurrent ones: as many requests as
	// httpcall allows an app to a host.
	mostAtOnce = 64
	sideBySide = 8
	// shortest and longest bound the pause of an idle webhook. A hint ends the pause, so it only matters if the
	// hint was lost, or while other replicas do not know a new webhook.
	shortest = time.Second
	longest  = 30 * time.Second
	// unreadable is the pause after the stream could not be read.
	unreadable = 5 * time.Second
	// givenUp is how long an event is retried, disabledAfter how long all deliveries may fail.
	givenUp       = 3 * 24 * time.Hour
	disabledAfter = 5 * 24 * time.Hour
)

// pauses are the pauses before an event is sent again; the last repeats.
var pauses = []time.Duration{
	5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour,
}

// probes are the pauses between two attempts at a server considered down.
var probes = []time.Duration{10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute}

// step returns the nth element, or the last.
func step(of []time.Duration, n int) time.Duration { return of[min(n, len(of)-1)] }

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
	namesKept  = 4096
	namesFresh = 10 * time.Second
)

// New returns Webhooks, which handle the worker's due webhooks.
func New(o Options) *Webhooks {
	h := &Webhooks{Options: o, ledger: ledger.NewWebhooks(o.Worker.Ledger), names: expirable.NewLRU[string, []string](namesKept, nil, namesFresh), hints: map[string]bool{}}
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
	if _, under := h.hints[appID]; under {
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

// hint makes the webhooks of an app due. If it fails, they find the event at their next look.
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
	if len(names) > 0 && h.ledger.Hint(h.Worker.Context, appID, names) == nil {
		h.Worker.Wake(appID)
	}
}

func namesOf(app *repositories.App) []string {
	names := make([]string, len(app.Settings.Webhooks))
	for i, one := range app.Settings.Webhooks {
		names[i] = one.Name
	}
	return names
}

// take serves a webhook that is due, if its lease is free.
func (h *Webhooks) take(_ context.Context, appID, name string) error {
	if h.Sender == nil {
		return nil
	}
	token := h.Worker.Token()
	ctx, cancel := context.WithTimeout(h.Worker.Context, sending)
	defer cancel()
	claim, err := h.ledger.Claim(ctx, appID, name, token, lease, mostAtOnce)
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
	to, there := app.Webhook(name)
	if !there || !to.Enabled() {
		return nil
	}
	r := ledger.WebhookReport{App: appID, Name: name, Token: token, Claim: claim, Position: claim.Position, Positioned: claim.Positioned, Streak: claim.Streak}
	t := &turn{Webhooks: h, app: app, to: to, claim: claim, report: &r}
	if err := t.serve(ctx); err != nil {
		h.Worker.Outages.Trouble(ctx, "webhooks", "", "webhooks.unread", "error", err.Error())
		r.Pause = unreadable
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
	ctx, expire := context.WithTimeout(ctx, lease-sending)
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
	for _, one := range r.Again {
		if one.Next.IsZero() {
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

// turn is the work on one webhook in one lease.
type turn struct {
	*Webhooks
	app    *repositories.App
	to     repositories.Webhook
	claim  *ledger.WebhookClaim
	report *ledger.WebhookReport

	mu   sync.Mutex // of what follows, and of the report while events are sent
	lost int        // failures
	gone bool       // the server answered 410 Gone
	wait time.Duration
}

// delivery is an event with its attempts so far.
type delivery struct {
	ledger.WebhookDelivery
	event *effect.StoredEvent
	again bool // it is one of the resends
}

// serve sends the due events. Its error is the stream's; the report has the events sent before.
func (t *turn) serve(ctx context.Context) error {
	all, err := t.gather(ctx)
	if err != nil {
		return err
	}
	begin, cancel := context.WithTimeout(ctx, beginning)
	defer cancel()
	sessions, order := map[string][]*delivery{}, []string{}
	for _, one := range all {
		session := one.event.SessionID
		if session == "" {
			session = one.event.ID // events without a session have no order
		}
		if sessions[session] == nil {
			order = append(order, session)
		}
		sessions[session] = append(sessions[session], one)
	}
	group := errgroup.Group{}
	group.SetLimit(sideBySide)
	for _, session := range order {
		group.Go(func() error {
			for _, one := range sessions[session] {
				t.send(ctx, begin, one)
			}
			return nil
		})
	}
	_ = group.Wait() // none fails
	t.conclude()
	return nil
}

// gather reads the events to send: those due for a retry, then new ones.
func (t *turn) gather(ctx context.Context) (all []*delivery, err error) {
	if !t.claim.Positioned {
		if t.report.Position, err = t.Events.Before(ctx, t.claim.Since); err != nil {
			return nil, err
		}
		t.report.Positioned = true
	}
	found, err := t.Events.At(ctx, placesOf(t.claim.Due))
	if err != nil {
		return nil, err
	}
	for i, due := range t.claim.Due {
		event := found[i]
		if event == nil {
			t.report.Done, t.report.Gone = append(t.report.Done, due.Sequence), t.report.Gone+1
			continue
		}
		all = append(all, &delivery{due, event, true})
	}
	limit, more := mostAtOnce, false
	if t.claim.Streak >= ledger.WebhookBrink {
		limit = 1
	}
	if room := min(limit-len(all), ledger.MostResends-t.claim.Resends); room > 0 {
		var events []effect.StoredEvent
		if events, t.report.Position, more, err = t.Events.After(ctx, t.app.ID, t.to.Types, t.report.Position, room); err != nil {
			return nil, err
		}
		for _, one := range events {
			all = append(all, &delivery{event: &one, WebhookDelivery: ledger.WebhookDelivery{Sequence: one.Sequence, First: t.claim.Now}})
		}
	}
	if t.report.Pause = t.idle(); more || len(all) == limit {
		t.report.Pause = 0
	}
	return all, nil
}

func placesOf(deliveries []ledger.WebhookDelivery) []uint64 {
	places := make([]uint64, len(deliveries))
	for i, one := range deliveries {
		places[i] = one.Sequence
	}
	return places
}

// idle returns the pause until the next look when nothing is left; it grows with the webhook's age.
func (t *turn) idle() time.Duration {
	return t.Worker.Jitter(min(longest, max(shortest, t.claim.Now.Sub(t.claim.Since)/10)))
}

// send makes an attempt unless begin has ended, and reports the outcome.
func (t *turn) send(ctx, begin context.Context, one *delivery) {
	outcome := effect.Outcome{Verdict: effect.Retry, Deferred: true}
	if begin.Err() == nil && !t.ended() {
		outcome = t.Sender.Post(ctx, t.app, t.to, *one.event, one.Attempts+1)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case outcome.Verdict == effect.Done:
		t.report.Delivered++
		if one.again {
			t.report.Done = append(t.report.Done, one.Sequence)
		}
		return
	case outcome.Deferred:
		one.Next = t.claim.Now.Add(outcome.After)
	default:
		t.lost++
		one.Attempts, one.Status = one.Attempts+1, outcome.Status
		t.gone = t.gone || outcome.Status == http.StatusGone
		t.wait = max(t.wait, outcome.After)
		pause := max(outcome.After, t.Worker.Jitter(step(pauses, one.Attempts-1)))
		if one.Next = t.claim.Now.Add(pause); one.Next.Sub(one.First) > givenUp {
			one.Next = time.Time{}
		}
		t.Worker.Log.Info("webhook.undelivered", "app", t.app.ID, "webhook", t.to.Name, "event", one.event.ID, "attempt", one.Attempts, "status", outcome.Status, "error", outcome.Error)
	}
	t.report.Again = append(t.report.Again, one.WebhookDelivery)
}

// ended reports whether this turn must send no more: too many failures and no delivery, or 410 Gone.
func (t *turn) ended() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.gone || t.lost > 0 && t.report.Delivered == 0 && t.claim.Streak+t.lost >= ledger.WebhookBrink
}

// conclude sets the time of the next look, and decides whether the webhook is disabled.
func (t *turn) conclude() {
	r := t.report
	slices.SortFunc(r.Again, func(a, b ledger.WebhookDelivery) int { return int(int64(a.Sequence) - int64(b.Sequence)) })
	if r.Delivered > 0 {
		r.Streak = 0
	} else {
		r.Streak += t.lost
	}
	if r.Streak >= ledger.WebhookBrink && t.lost > 0 {
		r.Pause = max(t.wait, t.Worker.Jitter(step(probes, r.Streak-ledger.WebhookBrink)))
	}
	switch {
	case t.gone:
		r.Disabled = "its server answered 410 Gone: there is no webhook any more"
	case t.lost > 0 && r.Delivered == 0 && !t.claim.Failing.IsZero() && t.claim.Now.Sub(t.claim.Failing) > disabledAfter:
		r.Disabled = "nothing has arrived for five days"
	default:
		return
	}
	event, err := t.disabling(r.Disabled)
	if err != nil { // it is disabled at the next failure
		t.Worker.Log.Error("webhook.unended", "app", t.app.ID, "webhook", t.to.Name, "error", err.Error())
		r.Disabled = ""
		return
	}
	r.Event = event
}

// disabling returns the event of the webhook's disabling.
func (t *turn) disabling(reason string) (*keyspace.Entry, error) {
	header := payload.Header{ID: t.Worker.NewID(), Time: t.Worker.Now().UTC(), AppID: t.app.ID}
	says := payload.Webhook{Header: header, Name: t.to.Name, State: repositories.WebhookDisabled, Reason: reason}
	if !t.claim.Failing.IsZero() {
		says.FailingSince = &t.claim.Failing
	}
	event, _, err := payload.EventOf(payload.KindWebhook, header, t.to.Name, says)
	if err != nil {
		return nil, err
	}
	event.Subject = payload.KindWebhook + "." + t.app.ID + "." + t.to.Name
	body, err := exactjson.Encode(event)
	entry := keyspace.EventEntry(header.ID, "", "", string(body))
	return &entry, err
}
