package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/repositories"
	"earshot/repositories/audit"
	"earshot/repositories/store"
)

// VersionStore has the versions of the repositories of an app.
type VersionStore interface {
	Versions(ctx context.Context, appID, repositoryID string, before, limit int) (items []store.Version, next int, err error)
	// Version returns a version with its definition; nil if that write removed the repository.
	Version(ctx context.Context, appID, repositoryID string, number int) (store.Version, *repositories.Repository, error)
	// RestoreChange returns the change that restores a version; store.ErrDeleted if it has no definition.
	RestoreChange(ctx context.Context, appID, repositoryID string, number int) (store.RepositoryChange, error)
	// NextRepository returns what a change would write, or why it cannot.
	NextRepository(ctx context.Context, change store.RepositoryChange) (*repositories.Repository, error)
}

type versions struct {
	store  VersionStore
	writer RepositoryWriter
	notes  writeNotes
}

func (h versions) routes() []route {
	const all = pathApp + "/repositories/:repositoryId/versions"
	return []route{
		{method: http.MethodGet, path: all, handler: h.list, query: pageQuery},
		{method: http.MethodGet, path: all + "/:version", handler: h.get},
		{method: http.MethodPost, path: all + "/:version/restore", handler: withPrecondition(h.restore), tagged: true, auditAction: audit.ChangeRepository},
	}
}

func checkVersion(text string) error {
	if n, err := strconv.Atoi(text); err != nil || n < 1 || strconv.Itoa(n) != text {
		return errors.New("must be the number of a version, from 1")
	}
	return nil
}

func numberOf(c echo.Context) int {
	n, _ := strconv.Atoi(c.Param("version")) // checked by checkIDs
	return n
}

func (h versions) list(c echo.Context) error {
	page, err := pageByID(c)
	if err != nil {
		return err
	}
	before := 0
	if page.After != "" {
		if checkVersion(page.After) != nil {
			return answer.BadCursor()
		}
		before, _ = strconv.Atoi(page.After)
	}
	items, next, err := h.store.Versions(c.Request().Context(), c.Param("appId"), c.Param("repositoryId"), before, page.Limit)
	cursor := ""
	if next > 0 {
		cursor = strconv.Itoa(next)
	}
	return listPage(c, items, cursor, err)
}

// shownVersion is a version with its definition, null if it has none.
type shownVersion struct {
	store.Version
	Definition *repositories.Repository `json:"definition"`
}

func (h versions) get(c echo.Context) error {
	version, definition, err := h.store.Version(c.Request().Context(), c.Param("appId"), c.Param("repositoryId"), numberOf(c))
	if err != nil {
		return err
	}
	shown := shownVersion{Version: version}
	if definition != nil {
		whole := withTools(definition)
		shown.Definition = &whole
	}
	return answer.JSON(c, http.StatusOK, shown)
}

// restore writes a version as the newest one, with the checks of a PUT.
func (h versions) restore(c echo.Context, on store.Precondition) error {
	change, err := h.store.RestoreChange(c.Request().Context(), c.Param("appId"), c.Param("repositoryId"), numberOf(c))
	if err != nil {
		return err
	}
	change.If = on
	stored, created, err := h.writer.ChangeRepository(c.Request().Context(), change.WithGrantsOf(auth.PrincipalOf(c).Owner()))
	if err != nil {
		return err
	}
	return tagged(c, answer.Created(created), stored.Revision, notedRepository{withTools(stored), h.notes.ofWrite(c.Request().Context(), stored.Scope(), stored)})
}
