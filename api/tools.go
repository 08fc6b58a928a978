package api

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/repositories"
	"earshot/repositories/bodies"
	"earshot/trigger/query"
	"earshot/trigger/scope"
)

// Tools lists the tools in scope.
type Tools interface {
	Tools(ctx context.Context, appID, sessionID, name, after string, limit int) (items []scope.Tool, next string, err error)
	// SearchTools lists the tools nearest to a text, the nearest first.
	SearchTools(ctx context.Context, appID, sessionID, text string, limit int) ([]scope.FoundTool, error)
	// Examples reports which examples of a written repository do not set off their tool.
	Examples(ctx context.Context, scope repositories.Scope, repositoryID string) []string
	// Usage returns the uses of each tool, by name.
	Usage(ctx context.Context, appID string) ([]query.ToolUse, error)
}

// scopedTools serves the tools in the scope of an app or session, as a model sees them.
type scopedTools struct {
	engine Tools
	bodies *bodies.Definitions
}

var toolsQuery = append([]string{"name"}, pageQuery...)

func (h scopedTools) routes() []route {
	const app, session = pathApp + "/tools", pathSession + "/tools"
	return []route{
		{method: http.MethodGet, path: app, handler: h.list, natsName: "tools", query: toolsQuery},
		{method: http.MethodGet, path: session, handler: h.list, natsName: "tools", query: toolsQuery},
		{method: http.MethodGet, path: app + "/usage", handler: h.usage, query: pageQuery},
		{method: http.MethodPost, path: app + "/search", handler: withBody(h.search), natsName: "search-tools", readsBody: true},
		{method: http.MethodPost, path: session + "/search", handler: withBody(h.search), natsName: "search-tools", readsBody: true},
	}
}

func (h scopedTools) list(c echo.Context) error {
	page, err := pageByID(c)
	if err != nil {
		return err
	}
	if page.After != "" && repositories.CheckToolName(page.After) != nil {
		return answer.BadCursor()
	}
	items, next, err := h.engine.Tools(c.Request().Context(), c.Param("appId"), c.Param("sessionId"), c.QueryParam("name"), page.After, page.Limit)
	return listPage(c, items, next, err)
}

func (h scopedTools) search(c echo.Context, body []byte) error {
	var asked struct {
		Text  string `json:"text"`
		Limit int    `json:"limit"`
	}
	if err := h.bodies.Decode("ToolSearch", body, &asked); err != nil {
		return err
	}
	found, err := h.engine.SearchTools(c.Request().Context(), c.Param("appId"), c.Param("sessionId"), asked.Text, asked.Limit)
	return answer.List(c, found, "", err)
}

// usage returns how often each tool was used in the last 24 hours.
func (h scopedTools) usage(c echo.Context) error {
	all, err := h.engine.Usage(c.Request().Context(), c.Param("appId"))
	if err != nil {
		return err
	}
	return listNamed(c, all, func(tool query.ToolUse) string { return tool.Name })
}
