package api

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/repositories"
	"earshot/trigger/query"
)

// Bounds of a page of a list.
const (
	defaultLimit = 50
	maxLimit     = 200
	maxCursor    = 1024 // bytes: the longest messageId, 128 characters of up to 4 bytes, in base64
)

// pageQuery are the parameters of every list.
var pageQuery = []string{"limit", "after"}

// knownQuery refuses parameters that the route does not take, and one that is given twice.
func knownQuery(taken []string) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if c.Request().URL.RawQuery == "" {
				return next(c)
			}
			given, err := url.ParseQuery(c.Request().URL.RawQuery)
			if err != nil {
				return answer.BadRequest("the query is not well-formed: " + err.Error())
			}
			var wrong []string
			for name, values := range given {
				switch {
				case !slices.Contains(taken, name):
					wrong = append(wrong, "query parameter "+answer.Quote(name)+" is not known here")
				case len(values) > 1:
					wrong = append(wrong, "query parameter "+strconv.Quote(name)+" is given more than once")
				}
			}
			if wrong == nil {
				return next(c)
			}
			slices.Sort(wrong)
			return answer.BadRequest(strings.Join(wrong, "; ") + "; this version takes " + cmp.Or(strings.Join(taken, ", "), "none"))
		}
	}
}

// pageOf reads limit and after.
func pageOf(c echo.Context) (query.Page, error) {
	page := query.Page{After: c.QueryParam("after"), Limit: defaultLimit}
	if len(page.After) > maxCursor {
		return page, answer.BadCursor()
	}
	text := c.QueryParam("limit")
	if text == "" {
		return page, nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil || limit < 1 || limit > maxLimit {
		return page, answer.BadRequest("limit " + answer.Quote(text) + " is no whole number from 1 to " + strconv.Itoa(maxLimit))
	}
	page.Limit = limit
	return page, nil
}

// listByID answers with a page of a list whose cursors are ids.
func listByID[T any](c echo.Context, read func(ctx context.Context, after string, limit int) (items []T, next string, err error)) error {
	page, err := pageOf(c)
	if err != nil {
		return err
	}
	if page.After != "" && repositories.CheckID("after", page.After) != nil {
		return answer.BadCursor()
	}
	items, next, err := read(c.Request().Context(), page.After, page.Limit)
	return answer.List(c, items, next, err)
}

// idsKey is where checkedIDs leaves the ids of the path, for the log.
const idsKey = "earshot.ids"

// checkedIDs refuses a path whose ids are none, naming every one. Behind it, c.Param gives ids that are safe as
// a subject token and as part of a key.
func checkedIDs(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		values := c.ParamValues()
		var ids []slog.Attr
		var wrong []string
		for i, name := range c.ParamNames() {
			// The router matches the raw path, so that an encoded slash stays within its part.
			if plain, err := url.PathUnescape(values[i]); err == nil && c.Request().URL.RawPath != "" {
				values[i] = plain
			}
			if err := checkPathID(name, values[i]); err != nil {
				wrong = append(wrong, err.Error())
			}
			ids = append(ids, slog.String(name, values[i]))
		}
		if len(wrong) > 0 {
			return answer.BadRequest(strings.Join(wrong, "; "))
		}
		c.Set(idsKey, ids)
		return next(c)
	}
}

func checkPathID(name, id string) error {
	switch name {
	case "messageId":
		if err := checkMessageID(id); err != nil {
			return fmt.Errorf("%s %w", name, err)
		}
		return nil
	case "toolName":
		return repositories.CheckToolName(id)
	}
	return repositories.CheckID(name, id)
}

func scopeOf(c echo.Context) repositories.Scope {
	return repositories.Scope{AppID: c.Param("appId"), SessionID: c.Param("sessionId")}
}
