package api

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/repositories"
	"earshot/repositories/fault"
)

// toolRepositories serves the repositories of an app and of a session.
type toolRepositories struct {
	reader  RepositoryReader
	writer  RepositoryWriter
	preview Previewer
	newID   func() string
}

func (h toolRepositories) routes() []route {
	return append(h.under("/v1/apps/:appId"), h.under("/v1/apps/:appId/sessions/:sessionId")...)
}

func (h toolRepositories) under(owner string) []route {
	all, one := owner+"/repositories", owner+"/repositories/:repositoryId"
	return []route{
		{method: http.MethodGet, path: all, handle: h.list, query: pageQuery},
		{method: http.MethodPost, path: all, handle: h.post, reads: true},
		{method: http.MethodPut, path: one, handle: h.put, query: previewQuery, reads: true},
		{method: http.MethodPatch, path: one, handle: h.patch, reads: true},
		{method: http.MethodGet, path: one, handle: h.get},
		{method: http.MethodDelete, path: one, handle: h.delete},
	}
}

func (h toolRepositories) list(c echo.Context) error {
	page, err := pageByID(c)
	if err != nil {
		return err
	}
	items, next, err := h.reader.Repositories(c.Request().Context(), scopeOf(c), page.After, page.Limit)
	if err != nil {
		return err
	}
	shown := make([]repositories.Repository, len(items))
	for i, item := range items {
		shown[i] = withTools(item)
	}
	return answer.List(c, shown, next)
}

func (h toolRepositories) post(c echo.Context) error {
	body, err := readBody(c)
	if err != nil {
		return err
	}
	repository, err := decodeRepository(c, "", body)
	if err != nil {
		return err
	}
	if repository.ID != "" {
		return fault.List{{Pointer: "/repositoryId", Detail: "is generated here; PUT the repository under the id that it is to have"}}
	}
	repository.ID = h.newID()
	if _, err := h.writer.PutRepository(c.Request().Context(), repository); err != nil {
		return err
	}
	return h.answer(c, http.StatusCreated, c.Request().URL.Path+"/"+repository.ID, repository)
}

// decodeRepository reads a body for whom it is of: the owner of the app may have a module
// used anywhere.
func decodeRepository(c echo.Context, id string, body []byte) (*repositories.Repository, error) {
	repository, err := repositories.DecodeRepository(scopeOf(c), id, body)
	if err == nil && auth.PrincipalOf(c).Owner() {
		repository.GrantModules()
	}
	return repository, err
}

func (h toolRepositories) put(c echo.Context) error {
	body, err := readBody(c)
	if err != nil {
		return err
	}
	repository, err := decodeRepository(c, c.Param("repositoryId"), body)
	if err != nil {
		return err
	}
	if dry, err := isPreview(c); dry || err != nil {
		return previewed(c, err, func() (string, error) {
			return h.preview.PreviewRepository(c.Request().Context(), repository, auth.PrincipalOf(c).RootKey)
		})
	}
	created, err := h.writer.PutRepository(c.Request().Context(), repository)
	if err != nil {
		return err
	}
	return h.answer(c, answer.CreatedOr(http.StatusOK, created), c.Request().URL.Path, repository)
}

func (h toolRepositories) patch(c echo.Context) error {
	body, err := readBody(c)
	if err != nil {
		return err
	}
	patch, err := repositories.DecodePatch(scopeOf(c), c.Param("repositoryId"), body)
	if err != nil {
		return err
	}
	if auth.PrincipalOf(c).Owner() {
		patch.GrantModules()
	}
	repository, created, err := h.writer.PatchRepository(c.Request().Context(), scopeOf(c), c.Param("repositoryId"), patch)
	if err != nil {
		return err
	}
	return answer.JSON(c, answer.CreatedOr(http.StatusOK, created), withTools(repository))
}

func (h toolRepositories) get(c echo.Context) error {
	repository, err := h.reader.Repository(c.Request().Context(), scopeOf(c), c.Param("repositoryId"))
	if err != nil {
		return err
	}
	return answer.JSON(c, http.StatusOK, withTools(repository))
}

func (h toolRepositories) delete(c echo.Context) error {
	if err := h.writer.DeleteRepository(c.Request().Context(), scopeOf(c), c.Param("repositoryId")); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// answer shows a repository that was put as it is stored, with its times.
func (h toolRepositories) answer(c echo.Context, status int, location string, put *repositories.Repository) error {
	if status == http.StatusCreated {
		c.Response().Header().Set(echo.HeaderLocation, location)
	}
	return answer.JSON(c, status, withTools(h.stored(c.Request().Context(), put)))
}

// stored reads back what was put. The write is done: where another has removed it
// since, or the store went away, the client learns what it wrote.
func (h toolRepositories) stored(ctx context.Context, put *repositories.Repository) *repositories.Repository {
	stored, err := h.reader.Repository(ctx, put.Scope(), put.ID)
	if err != nil {
		return put
	}
	return stored
}

// withTools copies a repository for an answer, whose tools are a list even when there
// are none.
func withTools(repository *repositories.Repository) repositories.Repository {
	shown := *repository
	if shown.Tools == nil {
		shown.Tools = []repositories.Tool{}
	}
	return shown
}
