package api

import (
	"log/slog"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"earshot/repositories"
)

// idsKey is where checkedIDs leaves the ids of the path, for the log.
const idsKey = "earshot.ids"

// checkedIDs refuses a path whose ids are none, naming every one of them. Behind it,
// c.Param gives ids that are safe as a subject token and as part of a key.
func checkedIDs(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		values := c.ParamValues()
		var ids []slog.Attr
		var wrong []string
		for i, name := range c.ParamNames() {
			values[i] = decoded(c.Request().URL, values[i])
			if err := repositories.CheckID(name, values[i]); err != nil {
				wrong = append(wrong, err.Error())
			}
			ids = append(ids, slog.String(name, values[i]))
		}
		if len(wrong) > 0 {
			return badRequest(strings.Join(wrong, "; "))
		}
		c.Set(idsKey, ids)
		return next(c)
	}
}

// decoded undoes the percent-encoding of a part of the path. The router matches the
// raw path where there is one, so that an encoded slash stays within its part.
func decoded(from *url.URL, part string) string {
	if from.RawPath == "" {
		return part
	}
	plain, err := url.PathUnescape(part)
	if err != nil {
		return part
	}
	return plain
}

// scopeOf reads whose repositories the path speaks of.
func scopeOf(c echo.Context) repositories.Scope {
	return repositories.Scope{AppID: c.Param("appId"), SessionID: c.Param("sessionId")}
}
