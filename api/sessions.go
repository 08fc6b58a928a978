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
	engine Engine
	bodies *bodies.Definitions
}

func (h sessions) routes() []route {
	return []route{
		{method: http.MethodPut, path: ofSession, handle: withBody(h.put), reads: true},
		{method: http.MethodGet, path: ofSession, handle: func(c echo.Context) error { return h.show(c, http.StatusOK) }},
		{method: http.MethodGet, path: ofApp + "/sessions", handle: h.list, query: pageQuery},
	}
}

// shownSession is a session with the calls that wait for values.
type shownSession struct {
	*repositories.Session
	Open []scope.OpenCall `json:"open"`
}

func (h sessions) put(c echo.Context, body []byte) error {
	session, err := decodeSession(h.bodies, body, c.Param("appId"), c.Param("sessionId"))
	if err != nil {
		return err
	}
	created, err := h.store.PutSession(c.Request().Context(), session)
	if err != nil {
		return err
	}
	return h.show(c, answer.Created(created))
}

func (h sessions) show(c echo.Context, status int) error {
	ctx, appID, sessionID := c.Request().Context(), c.Param("appId"), c.Param("sessionId")
	session, err := h.store.Session(ctx, appID, sessionID)
	if err != nil {
		return err
	}
	open, err := h.engine.Open(ctx, appID, sessionID)
	return answer.Result(c, status, shownSession{session, open}, err)
}

func (h sessions) list(c echo.Context) error {
	return listByID(c, func(ctx context.Context, after string, limit int) ([]*repositories.Session, string, error) {
		return h.store.Sessions(ctx, c.Param("appId"), after, limit)
	})
}
