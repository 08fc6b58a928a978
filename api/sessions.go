package api

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// sessions closes sessions; they begin with their first use.
type sessions struct{ store SessionCloser }

func (h sessions) routes() []route {
	return []route{{method: http.MethodDelete, path: "/v1/apps/:appId/sessions/:sessionId", handle: h.close}}
}

func (h sessions) close(c echo.Context) error {
	if err := h.store.CloseSession(c.Request().Context(), c.Param("appId"), c.Param("sessionId")); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
