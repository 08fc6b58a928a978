package webhooks

import (
	"context"
	"slices"
	"strconv"
	"time"

	"earshot/repositories"
	"earshot/trigger/ledger"
	"earshot/trigger/query"
)

// stateFailing is the state of an active webhook without a delivery since its last failure. The others are
// repositories.WebhookEnabled and repositories.WebhookDisabled: by its app, or by Earshot, with a Reason.
const stateFailing = "failing"

// Webhook is a webhook with its delivery state.
type Webhook struct {
	Name   string   `json:"name"`
	URL    string   `json:"url"`
	Types  []string `json:"types"`
	State  string   `json:"state"`
	Reason string   `json:"reason,omitempty"`
	// Since is when it was added.
	Since         *time.Time `json:"since,omitempty"`
	FailingSince  *time.Time `json:"failingSince,omitempty"`
	DisabledAt    *time.Time `json:"disabledAt,omitempty"`
	LastDelivered *time.Time `json:"lastDeliveredAt,omitempty"`
	Delivered     int        `json:"delivered"`
	Waiting       int        `json:"waiting"` // for a retry
	Failed        int        `json:"failed"`  // given up
	Gone          int        `json:"gone"`    // removed from the stream before delivery
}

// States of an undelivered event.
const (
	DeliveryWaiting = "waiting" // it will be sent again
	DeliveryFailed  = "failed"
)

// Delivery is an undelivered event.
type Delivery struct {
	EventID   string     `json:"eventId"` // webhook-id
	Type      string     `json:"type"`
	Time      time.Time  `json:"ts"`
	SessionID string     `json:"sessionId,omitempty"`
	State     string     `json:"state"`
	Attempts  int        `json:"attempts"`
	Status    int        `json:"status,omitempty"` // of the last response, if any
	First     time.Time  `json:"firstAt"`
	Next      *time.Time `json:"nextAt,omitempty"`
}

// List lists the webhooks of an app, in its order.
//
// Errors: repositories.ErrNotFound without the app, keyspace.ErrUnavailable.
func (h *Webhooks) List(ctx context.Context, appID string) ([]Webhook, error) {
	app, err := h.Apps.App(ctx, appID)
	if err != nil {
		return nil, err
	}
	states, err := h.ledger.States(ctx, appID, namesOf(app))
	if err != nil {
		return nil, err
	}
	list := make([]Webhook, len(states))
	for i, s := range states {
		definition := app.Settings.Webhooks[i]
		webhook := Webhook{
			Name: definition.Name, URL: definition.URL, Types: slices.Clone(definition.Types), State: repositories.WebhookEnabled, Reason: s.Reason,
			Since: nonZero(s.Since), FailingSince: nonZero(s.Failing), DisabledAt: nonZero(s.Disabled), LastDelivered: nonZero(s.Arrived),
			Delivered: s.Delivered, Waiting: s.Waiting, Failed: s.Failed, Gone: s.Gone,
		}
		if webhook.Types == nil {
			webhook.Types = []string{}
		}
		switch {
		case !definition.Enabled() || webhook.DisabledAt != nil:
			webhook.State = repositories.WebhookDisabled
		case webhook.FailingSince != nil:
			webhook.State = stateFailing
		}
		list[i] = webhook
	}
	return list, nil
}

func nonZero(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}

func (h *Webhooks) webhook(ctx context.Context, appID, name string) (repositories.Webhook, error) {
	app, err := h.Apps.App(ctx, appID)
	if err != nil {
		return repositories.Webhook{}, err
	}
	webhook, exists := app.Webhook(name)
	if !exists {
		return webhook, &repositories.NotFoundError{Kind: "webhook", ID: name}
	}
	return webhook, nil
}

// Deliveries lists the undelivered events of a webhook, oldest first: in one state, or in both if state is
// empty. Events that the stream has removed are left out.
//
// Errors: repositories.ErrNotFound without the app or the webhook, query.ErrCursor, keyspace.ErrUnavailable, and that
// of the stream.
func (h *Webhooks) Deliveries(ctx context.Context, appID, name, state string, page query.Page) (items []Delivery, next string, err error) {
	if _, err := h.webhook(ctx, appID, name); err != nil {
		return nil, "", err
	}
	after := uint64(0)
	if page.After != "" {
		if after, err = strconv.ParseUint(page.After, 10, 64); err != nil {
			return nil, "", query.ErrCursor
		}
	}
	deliveries, err := h.ledger.Deliveries(ctx, appID, name)
	if err != nil {
		return nil, "", err
	}
	deliveries = slices.DeleteFunc(deliveries, func(d ledger.WebhookDelivery) bool {
		return d.Sequence <= after || state == DeliveryFailed && !d.Next.IsZero() || state == DeliveryWaiting && d.Next.IsZero()
	})
	if len(deliveries) > page.Limit {
		deliveries = deliveries[:page.Limit]
		next = strconv.FormatUint(deliveries[page.Limit-1].Sequence, 10)
	}
	events, err := h.Events.At(ctx, sequencesOf(deliveries))
	if err != nil {
		return nil, "", err
	}
	for i, undelivered := range deliveries {
		event := events[i]
		if event == nil {
			continue
		}
		item := Delivery{
			EventID: event.ID, Type: event.Kind, Time: event.Time, SessionID: event.SessionID,
			State: DeliveryFailed, Attempts: undelivered.Attempts, Status: undelivered.Status, First: undelivered.First, Next: nonZero(undelivered.Next),
		}
		if item.Next != nil {
			item.State = DeliveryWaiting
		}
		items = append(items, item)
	}
	return items, next, nil
}

// Resend sends a webhook all events of the stream since a moment, or without one the undelivered events. It
// enables a webhook that Earshot has disabled.
//
// Errors: repositories.ErrNotFound without the app or the webhook, keyspace.ErrUnavailable, and that of the stream.
func (h *Webhooks) Resend(ctx context.Context, appID, name string, since *time.Time) error {
	webhook, err := h.webhook(ctx, appID, name)
	if err != nil {
		return err
	}
	var after *uint64
	if since != nil {
		from, err := h.Worker.Store.LifeSince(ctx, appID, "") // before, there may have been another app of that id
		if err != nil {
			return err
		}
		if since.After(from) {
			from = *since
		}
		place, err := h.Events.Before(ctx, from)
		if err != nil {
			return err
		}
		after = &place
	}
	exists, err := h.ledger.Resend(ctx, appID, name, after, webhook.Enabled())
	if err == nil && !exists {
		return &repositories.NotFoundError{Kind: "webhook", ID: name}
	}
	if err == nil {
		h.Worker.Wake(appID)
	}
	return err
}
