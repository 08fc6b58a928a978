package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/repositories"
	"earshot/repositories/audit"
	"earshot/repositories/bodies"
	"earshot/repositories/keyspace"
	"earshot/trigger/query"
	"earshot/trigger/usage"
	"earshot/trigger/webhooks"
)

// Usage returns what apps have used. usage.Counter implements it.
type Usage interface {
	Read(ctx context.Context, appID string, by usage.Step, from, to time.Time) (list []usage.Used, total usage.Used, err error)
	Hosts(ctx context.Context, appID string, by usage.Step, from, to time.Time) ([]usage.Host, error)
}

type usages struct {
	usage Usage
	now   func() time.Time
}

func (h usages) routes() []route {
	return []route{
		{method: http.MethodGet, path: pathApp + "/usage", handler: h.list, query: append([]string{"from", "to", "step", "since", "until"}, pageQuery...)},
		{method: http.MethodGet, path: pathApp + "/usage/hosts", handler: h.hosts, query: append([]string{"since", "until"}, pageQuery...)},
	}
}

var usageSteps = []string{usage.Minute.Name, usage.Hour.Name, usage.Day.Name}

// Default lengths of the list.
const (
	usageDays    = 30
	usageHours   = 24
	usageMinutes = 60
)

func (h usages) list(c echo.Context) error {
	a := &searchQuery{c: c}
	step, count := usage.Day, usageDays
	switch a.oneOf("step", usageSteps) {
	case usage.Minute.Name:
		step, count = usage.Minute, usageMinutes
	case usage.Hour.Name:
		step, count = usage.Hour, usageHours
	}
	from, to := a.usedTime(step, h.now(), count)
	if err := a.problem(); err != nil {
		return err
	}
	steps, total, err := h.usage.Read(c.Request().Context(), c.Param("appId"), step, from, to)
	if err != nil {
		return err
	}
	items, next, err := pageNamed(c, steps, func(used usage.Used) string { return used.Begins.Format(time.RFC3339) })
	return answer.Result(c, http.StatusOK, struct {
		Items []usage.Used `json:"items"`
		Next  string       `json:"next,omitempty"`
		Total usage.Used   `json:"total"`
	}{append([]usage.Used{}, items...), encodeCursor(c, next), total}, err)
}

// hosts lists hosts by minutes if these are kept for the whole time, otherwise by hours.
func (h usages) hosts(c echo.Context) error {
	a := &searchQuery{c: c}
	step, count := usage.Minute, usageMinutes
	if since := a.time("since"); !since.IsZero() && h.now().Sub(since) >= time.Duration(step.Kept-1)*step.Length {
		step, count = usage.Hour, usageHours
	}
	from, to := a.usedTime(step, h.now(), count)
	if err := a.problem(); err != nil {
		return err
	}
	items, err := h.usage.Hosts(c.Request().Context(), c.Param("appId"), step, from, to)
	if err != nil {
		return err
	}
	return listNamed(c, items, func(host usage.Host) string { return host.Name })
}

// usedTime reads the requested time range: since and until, or the days from and to. Its length is limited
// by how long its steps are kept.
func (a *searchQuery) usedTime(step usage.Step, now time.Time, count int) (from, to time.Time) {
	since, until, first, last := a.time("since"), a.time("until"), a.day("from"), a.day("to")
	days := !first.IsZero() || !last.IsZero()
	if days && (step != usage.Day || !since.IsZero() || !until.IsZero()) {
		a.fault("from and to name days, where step is day: name times by since and until")
	}
	if to = last; !days && !until.IsZero() {
		to = until.Add(-1) // until is exclusive
	}
	if to.IsZero() {
		to = now.UTC()
	}
	if from = first; !days {
		from = since
	}
	if from.IsZero() {
		from = to.Add(-time.Duration(count-1) * step.Length)
	}
	names := [2]string{"since", "until"}
	if days {
		names = [2]string{"from", "to"}
	}
	if count := int(to.Truncate(step.Length).Sub(from.Truncate(step.Length))/step.Length) + 1; to.Before(from) {
		a.fault(names[1] + " is before " + names[0])
	} else if count > step.Kept {
		a.fault(names[0] + " and " + names[1] + " are " + strconv.Itoa(count) + " " + step.Name + "s; ask for " + strconv.Itoa(step.Kept) + " at most, as long as they are kept")
	}
	return from, to
}

// unused implements Usage without any counts.
type unused struct{}

func (unused) Read(context.Context, string, usage.Step, time.Time, time.Time) ([]usage.Used, usage.Used, error) {
	return nil, usage.Used{}, nil
}

func (unused) Hosts(context.Context, string, usage.Step, time.Time, time.Time) ([]usage.Host, error) {
	return nil, nil
}

// Webhooks returns the state of webhooks. It fails with repositories.ErrNotFound without the app or
// webhook, keyspace.ErrUnavailable, or the stream's error.
type Webhooks interface {
	List(ctx context.Context, appID string) ([]webhooks.Webhook, error)
	Deliveries(ctx context.Context, appID, name, state string, page query.Page) (items []webhooks.Delivery, next string, err error)
	// Resend sends a webhook the events since a moment again, or without one those that failed to arrive.
	Resend(ctx context.Context, appID, name string, since *time.Time) error
}

type hooks struct {
	webhooks Webhooks
	bodies   *bodies.Definitions
}

func (h hooks) routes() []route {
	const all, one = pathApp + "/webhooks", pathApp + "/webhooks/:webhookName"
	list := func(c echo.Context) error {
		items, err := h.webhooks.List(c.Request().Context(), c.Param("appId"))
		if err != nil {
			return err
		}
		return listNamed(c, items, func(one webhooks.Webhook) string { return one.Name })
	}
	served := func(handle echo.HandlerFunc) echo.HandlerFunc {
		if h.webhooks == nil {
			return func(echo.Context) error { return eventsDisabled() }
		}
		return handle
	}
	return []route{
		{method: http.MethodGet, path: all, handler: served(list), query: pageQuery},
		{method: http.MethodGet, path: one + "/deliveries", handler: served(h.deliveries), query: append([]string{"state"}, pageQuery...)},
		{method: http.MethodPost, path: one + "/resend", handler: served(h.resend), readsBody: true, auditAction: audit.ResendWebhook},
	}
}

var deliveryStates = []string{webhooks.DeliveryWaiting, webhooks.DeliveryFailed}

func (h hooks) deliveries(c echo.Context) error {
	a := &searchQuery{c: c}
	state, page := a.oneOf("state", deliveryStates), a.page(pageByID)
	if err := a.problem(); err != nil {
		return err
	}
	items, next, err := h.webhooks.Deliveries(c.Request().Context(), c.Param("appId"), c.Param("webhookName"), state, page)
	return listPage(c, items, next, streamAway(err))
}

func (h hooks) resend(c echo.Context) error {
	body, err := readOptional(c)
	if err != nil {
		return err
	}
	var given struct {
		Since *time.Time `json:"since"`
	}
	if len(body) > 0 {
		if err := h.bodies.Decode("Resend", body, &given); err != nil {
			return err
		}
	}
	return answer.Done(c, http.StatusAccepted, streamAway(h.webhooks.Resend(c.Request().Context(), c.Param("appId"), c.Param("webhookName"), given.Since)))
}

// streamAway returns the problem for an event stream that cannot be read.
func streamAway(err error) error {
	if err == nil || errors.Is(err, repositories.ErrNotFound) || errors.Is(err, keyspace.ErrUnavailable) || errors.Is(err, query.ErrCursor) {
		return err
	}
	return answer.NewProblem(answer.EventsUnavailable, "the stream of events cannot be read now; send the request again").With("Retry-After", answer.Soon).Because(err)
}
