package api

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"earshot/repositories"
)

// apps serves /v1/apps.
type apps struct {
	store   AppStore
	preview Previewer
}

func (h apps) routes() []route {
	const one = "/v1/apps/:appId"
	return []route{
		{method: http.MethodGet, path: "/v1/apps", handle: h.list, query: pageQuery},
		{method: http.MethodPut, path: one, handle: h.put, query: previewQuery, reads: true},
		{method: http.MethodGet, path: one, handle: h.get},
		{method: http.MethodDelete, path: one, handle: h.delete},
	}
}

func (h apps) list(c echo.Context) error {
	page, err := pageByID(c)
	if err != nil {
		return err
	}
	items, next, err := h.store.Apps(c.Request().Context(), page.After, page.Limit)
	if err != nil {
		return err
	}
	return writeList(c, items, next)
}

func (h apps) put(c echo.Context) error {
	body, err := readBody(c)
	if err != nil {
		return err
	}
	app, err := repositories.DecodeApp(c.Param("appId"), body)
	if err != nil {
		return err
	}
	if err := h.mayPut(c); err != nil {
		return err
	}
	if dry, err := isPreview(c); dry || err != nil {
		return previewed(c, err, func() (string, error) {
			return h.preview.PreviewApp(c.Request().Context(), app, principalOf(c).rootKey)
		})
	}
	created, err := h.store.PutApp(c.Request().Context(), app)
	if err != nil {
		return err
	}
	return writeJSON(c, createdOr(http.StatusOK, created), app)
}

// mayPut keeps an app's key from creating the app anew when it has just been deleted.
func (h apps) mayPut(c echo.Context) error {
	if principalOf(c).admin {
		return nil
	}
	_, err := h.store.App(c.Request().Context(), c.Param("appId"))
	if errors.Is(err, repositories.ErrNotFound) {
		return forbidden()
	}
	return err
}

func (h apps) get(c echo.Context) error {
	app, err := h.store.App(c.Request().Context(), c.Param("appId"))
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, app)
}

func (h apps) delete(c echo.Context) error {
	if err := h.store.DeleteApp(c.Request().Context(), c.Param("appId")); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
