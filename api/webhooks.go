package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/repositories"
	"earshot/repositories/audit"
	"earshot/repositories/bodies"
	"earshot/repositories/keyspace"
	"earshot/trigger/query"
	"earshot/trigger/webhooks"
)

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
