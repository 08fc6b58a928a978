package api

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/repositories"
	"earshot/repositories/bodies"
	"earshot/trigger/scope"
)

// sessions serves what is known of conversations. They begin with their first use, and need
// not be put.
type sessions struct {
	store  SessionStore
	calls  openCalls
	bodies *bodies.Definitions
}

type openCalls interface {
	Open(ctx context.Context, appID, sessionID string) ([]scope.OpenCall, error)
}

func (h sessions) routes() []route {
	return []route{
		{method: http.MethodPut, path: ofSession, handle: h.put, reads: true},
		{method: http.MethodGet, path: ofSession, handle: h.get},
		{method: http.MethodGet, path: ofApp + "/sessions", handle: h.list, query: pageQuery},
	}
}

// shownSession is a session with the calls that wait for values.
type shownSession struct {
	*repositories.Session
	Open []scope.OpenCall `json:"open"`
}

func (h sessions) put(c echo.Context) error {
	body, err := readBody(c)
	if err != nil {
		return err
	}
	session, err := decodeSession(h.bodies, body, c.Param("appId"), c.Param("sessionId"))
	if err != nil {
		return err
	}
	created, err := h.store.PutSession(c.Request().Context(), session)
	if err != nil {
		return err
	}
	return h.show(c, answer.CreatedOr(http.StatusOK, created))
}

func (h sessions) get(c echo.Context) error { return h.show(c, http.StatusOK) }

func (h sessions) show(c echo.Context, status int) error {
	ctx, appID, sessionID := c.Request().Context(), c.Param("appId"), c.Param("sessionId")
	session, err := h.store.Session(ctx, appID, sessionID)
	if err != nil {
		return err
	}
	open, err := h.calls.Open(ctx, appID, sessionID)
	if err != nil {
		return err
	}
	return answer.JSON(c, status, shownSession{session, open})
}

func (h sessions) list(c echo.Context) error {
	page, err := pageByID(c)
	if err != nil {
		return err
	}
	items, next, err := h.store.Sessions(c.Request().Context(), c.Param("appId"), page.After, page.Limit)
	if err != nil {
		return err
	}
	return answer.List(c, items, next)
}
