package api

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"earshot/trigger"
)

// matched is the answer of what was done to all failed triggers that match.
type matched struct {
	Triggers int `json:"triggers"`
}

// retryAll makes all failed triggers due again, those of a session or of a tool where
// the query names one.
func (h triggers) retryAll(c echo.Context) error {
	count, err := h.engine.RetryAll(c.Request().Context(), failedQuery(c))
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusAccepted, matched{count})
}

// purge removes failed triggers. The state has to be named, so that nobody who leaves
// the query out loses the records of an app.
func (h triggers) purge(c echo.Context) error {
	if state := c.QueryParam("state"); state != trigger.StateFailed {
		return badRequest("only failed triggers can be purged: add ?state=failed")
	}
	count, err := h.engine.Purge(c.Request().Context(), failedQuery(c))
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, matched{count})
}

func failedQuery(c echo.Context) trigger.Query {
	return trigger.Query{AppID: c.Param("appId"), SessionID: c.QueryParam("session"), Name: c.QueryParam("name"), State: trigger.StateFailed}
}
