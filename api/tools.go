package api

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/repositories"
	"earshot/trigger"
)

// Tools lists the tools in scope.
type Tools interface {
	Tools(ctx context.Context, appID, sessionID string, page trigger.Page) (items []trigger.Tool, next string, err error)
}

// scopedTools serves the tools of an app and of a session, each as a model sees it.
type scopedTools struct{ engine Tools }

func (h scopedTools) routes() []route {
	return []route{
		{method: http.MethodGet, path: "/v1/apps/:appId/tools", handle: h.list, query: pageQuery},
		{method: http.MethodGet, path: "/v1/apps/:appId/sessions/:sessionId/tools", handle: h.list, query: pageQuery},
	}
}

func (h scopedTools) list(c echo.Context) error {
	page, err := pageOf(c)
	if err != nil {
		return err
	}
	if page.After != "" && repositories.CheckToolName(page.After) != nil {
		return answer.BadCursor()
	}
	items, next, err := h.engine.Tools(c.Request().Context(), c.Param("appId"), c.Param("sessionId"), page)
	if err != nil {
		return err
	}
	return answer.List(c, items, next)
}
