package api

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/repositories"
	"earshot/repositories/fault"
	"earshot/repositories/store"
)

// apps serves /v1/apps.
type apps struct {
	store   AppStore
	preview Previewer
	models  Models // nil: settings may name any
	notes   notes
}

func (h apps) routes() []route {
	const one = "/v1/apps/:appId"
	return []route{
		{method: http.MethodGet, path: "/v1/apps", handle: h.list, query: pageQuery},
		{method: http.MethodPut, path: one, handle: h.put, query: changeQuery, reads: true, tagged: true},
		{method: http.MethodPatch, path: one, handle: h.patch, query: changeQuery, reads: true, tagged: true},
		{method: http.MethodGet, path: one, handle: h.get, tagged: true},
		{method: http.MethodDelete, path: one, handle: h.delete, tagged: true},
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
	return answer.List(c, items, next)
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
	if err := h.checkModel(c, app.Settings.LLM.Tools); err != nil {
		return err
	}
	on, err := conditionOf(c)
	if err != nil {
		return err
	}
	return h.change(c, on, func(*repositories.App) (*repositories.App, error) { return app.Clone(), nil })
}

// patch merges a body into an app that is there.
func (h apps) patch(c echo.Context) error {
	body, err := readBody(c)
	if err != nil {
		return err
	}
	patch, err := repositories.DecodeAppPatch(c.Param("appId"), body)
	if err != nil {
		return err
	}
	on, err := conditionOf(c)
	if err != nil {
		return err
	}
	return h.change(c, ifThere(on), func(there *repositories.App) (*repositories.App, error) {
		if there.Revision == "" {
			return nil, fmt.Errorf("app %q: %w", there.ID, repositories.ErrNotFound)
		}
		next, err := patch.Next(there)
		if err == nil && next.Settings.LLM.Tools != there.Settings.LLM.Tools {
			err = h.checkModel(c, next.Settings.LLM.Tools)
		}
		return next, err
	})
}

// change writes the next state of the app of the path, or says what that would do.
func (h apps) change(c echo.Context, on store.Condition, to func(there *repositories.App) (*repositories.App, error)) error {
	if err := h.mayPut(c); err != nil {
		return err
	}
	force, err := isSet(c, "force")
	if err != nil {
		return err
	}
	change := store.AppChange{AppID: c.Param("appId"), On: on, To: to, Force: force}
	if dry, err := isPreview(c); dry || err != nil {
		return previewed(c, err, func() (string, error) {
			return h.preview.PreviewApp(c.Request().Context(), change, auth.PrincipalOf(c).RootKey)
		})
	}
	app, created, err := h.store.ChangeApp(c.Request().Context(), change)
	if err != nil {
		return err
	}
	return tagged(c, answer.CreatedOr(http.StatusOK, created), app.Revision,
		notedApp{app, append(app.NotesInWords(), h.notes.on(c.Request().Context(), repositories.Scope{AppID: app.ID}, nil)...)})
}

// checkModel refuses settings that name a model which this service cannot ask: each message
// would be answered 502. Who applies files may prefer them to be taken all the same, as the
// service may be given its key later: Prefer: handling=lenient (RFC 7240).
func (h apps) checkModel(c echo.Context, named string) error {
	if h.models == nil || named == "" {
		return nil
	}
	wrong := h.models.CheckModel(named)
	if wrong == nil {
		return nil
	}
	if prefers(c.Request().Header, "handling=lenient") {
		return nil
	}
	var faults fault.List
	faults.Add(fault.Point("settings", "llm", "tools"), "%s", wrong)
	return faults.Err()
}

// mayPut keeps an app's key from creating the app anew when it has just been deleted.
func (h apps) mayPut(c echo.Context) error {
	if auth.PrincipalOf(c).Admin {
		return nil
	}
	_, err := h.store.App(c.Request().Context(), c.Param("appId"))
	if errors.Is(err, repositories.ErrNotFound) {
		return auth.Forbidden()
	}
	return err
}

func (h apps) get(c echo.Context) error {
	app, err := h.store.App(c.Request().Context(), c.Param("appId"))
	if err != nil {
		return err
	}
	return tagged(c, http.StatusOK, app.Revision, app)
}

func (h apps) delete(c echo.Context) error {
	on, err := conditionOf(c)
	if err != nil {
		return err
	}
	if err := h.store.DeleteApp(c.Request().Context(), c.Param("appId"), on); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// previewQuery is the parameter of a write that can say what it would do.
var previewQuery = []string{"dryRun"}

// changeQuery are the parameters of a write of an app.
var changeQuery = append([]string{"force"}, previewQuery...)

// preview is the answer to a write with dryRun: what it would have done.
type preview struct {
	Operation string `json:"operation"`
}

// isPreview reports whether a write is only to say what it would do.
func isPreview(c echo.Context) (bool, error) { return isSet(c, "dryRun") }

// isSet reports whether a parameter of the query is true. Anything but true and false is
// refused: a dryRun that was not understood would write.
func isSet(c echo.Context, name string) (bool, error) {
	given, there := c.QueryParams()[name]
	switch {
	case !there || given[0] == "false":
		return false, nil
	case given[0] == "true":
		return true, nil
	}
	return false, answer.BadRequest(name + " " + answer.Quote(given[0]) + " is neither true nor false")
}

// previewed answers with what the write would do.
func previewed(c echo.Context, err error, ask func() (string, error)) error {
	if err != nil {
		return err
	}
	operation, err := ask()
	if err != nil {
		return err
	}
	return answer.JSON(c, http.StatusOK, preview{operation})
}
