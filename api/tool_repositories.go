package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/audit"
	"earshot/repositories/fault"
	"earshot/repositories/store"
	"earshot/trigger/query"
)

type toolRepositories struct {
	reader  RepositoryReader
	writer  RepositoryWriter
	preview Previewer
	notes   notes
	offer   Offer // nil: a write does not ask servers
	newID   func() string
}

// Offer asks the server of an mcp source for its tools, with a short timeout. It notes what was left out.
// Its error is shown to the app's owner.
type Offer func(ctx context.Context, app *repositories.App, source string) (tools []repositories.Tool, notes []string, err error)

// offerTime is how long a write waits for an MCP server.
const offerTime = 10 * time.Second

func (h toolRepositories) routes() (all []route) {
	list := handleByID(func(ctx context.Context, of repositories.Scope, page query.Page) ([]repositories.Repository, string, error) {
		items, next, err := h.reader.Repositories(ctx, of, page.After, page.Limit)
		shown := make([]repositories.Repository, len(items))
		for i, item := range items {
			shown[i] = withTools(item)
		}
		return shown, next, err
	})
	drop := withCondition(func(c echo.Context, on store.Condition) error {
		return answer.Done(c, http.StatusNoContent, h.writer.DeleteRepository(c.Request().Context(), scopeOf(c), c.Param("repositoryId"), on))
	})
	for _, owner := range []string{ofApp, ofSession} {
		change, remove, removeTool := audit.ChangeRepository, audit.DeleteRepository, audit.DeleteTool
		if owner == ofSession { // a session's own tools do not change the app
			change, remove, removeTool = "", "", ""
		}
		every, one := owner+"/repositories", owner+"/repositories/:repositoryId"
		all = append(all,
			route{method: http.MethodGet, path: every, handle: list, nats: "repositories", query: pageQuery},
			route{method: http.MethodPost, path: every, handle: withBody(h.post), nats: "create-repository", reads: true, tagged: true, act: change, makes: "repositoryId"},
			route{method: http.MethodPut, path: one, handle: withBody(h.put), nats: "repository", query: []string{"dryRun"}, reads: true, tagged: true, act: change},
			route{method: http.MethodPatch, path: one, handle: withBody(h.patch), nats: "patch-repository", reads: true, tagged: true, act: change},
			route{method: http.MethodGet, path: one, handle: h.get, nats: "get-repository", tagged: true},
			route{method: http.MethodDelete, path: one, handle: drop, nats: "delete-repository", tagged: true, act: remove},
			route{method: http.MethodDelete, path: one + "/tools/:toolName", handle: withCondition(h.deleteTool), nats: "delete-tool", tagged: true, act: removeTool},
		)
	}
	return all
}

func (h toolRepositories) post(c echo.Context, body []byte) error {
	repository, err := h.decode(c, "", body)
	if err != nil {
		return err
	}
	if repository.ID != "" {
		return fault.List{{Pointer: "/repositoryId", Detail: "is generated here; PUT the repository under the id that it is to have"}}
	}
	repository.ID = cmp.Or(madeID(c), h.newID())
	noted := h.read(c.Request().Context(), repository)
	stored, _, err := h.writer.ChangeRepository(c.Request().Context(), store.ToRepository(repository))
	if err != nil {
		return err
	}
	return h.answer(c, http.StatusCreated, c.Request().URL.Path+"/"+repository.ID, stored, noted...)
}

// decode reads a body on behalf of the caller: the owner of the app may grant its modules everywhere. The faults of
// a body include its references to what the app lacks.
func (h toolRepositories) decode(c echo.Context, id string, body []byte) (*repositories.Repository, error) {
	repository, err := repositories.DecodeRepository(scopeOf(c), id, body)
	if faults := (fault.List)(nil); errors.As(err, &faults) {
		ctx := c.Request().Context()
		if app, missing := h.notes.apps.App(ctx, c.Param("appId")); missing == nil {
			current, err := h.reader.Repository(ctx, scopeOf(c), id)
			if errors.Is(err, repositories.ErrNotFound) {
				current = &repositories.Repository{}
			}
			faults.Join(repositories.Unresolved(app, scopeOf(c), id, body, current))
		}
		return nil, faults
	}
	if err == nil && auth.PrincipalOf(c).Owner() {
		repository.GrantModules()
	}
	return repository, err
}

func (h toolRepositories) put(c echo.Context, body []byte) error {
	repository, err := h.decode(c, c.Param("repositoryId"), body)
	if err != nil {
		return err
	}
	change := store.ToRepository(repository)
	if change.On, err = conditionOf(c); err != nil {
		return err
	}
	if dry, err := isSet(c, "dryRun"); dry || err != nil {
		if err != nil {
			return err
		}
		operation, err := h.preview.PreviewRepository(c.Request().Context(), change, auth.PrincipalOf(c).RootKey)
		if err != nil {
			return err
		}
		preview := repositoryPreview{Operation: operation, Notes: append(repository.NotesInWords(), h.notes.unconfirmed(c.Request().Context(), repository)...)}
		for i := range repository.Tools {
			tool := &repository.Tools[i]
			one := shownTool{Name: tool.Name, Description: matcher.Description(tool), InputSchema: tool.Params().ModelSchema(), Asks: map[string]string{}}
			for _, parameter := range matcher.Shown(tool.Params()) {
				if question := tool.Params().Ask(parameter.Name); question != "" && parameter.Required {
					one.Asks[parameter.Name] = question
				}
			}
			preview.Tools = append(preview.Tools, one)
		}
		return c.JSON(http.StatusOK, preview)
	}
	return h.change(c, change, h.read(c.Request().Context(), repository)...)
}

// repositoryPreview is what a PUT would do, and the tools as a model sees them.
type repositoryPreview struct {
	Operation string      `json:"operation"`
	Notes     []string    `json:"notes,omitempty"`
	Tools     []shownTool `json:"tools,omitempty"`
}

// shownTool is a tool as a model sees it, with the questions for missing values.
type shownTool struct {
	Name        string            `json:"name"`
	Description string            `json:"description"`
	InputSchema json.RawMessage   `json:"inputSchema"`
	Asks        map[string]string `json:"asks,omitempty"`
}

// read replaces the tools of a repository by those of its MCP server. An error does not fail the write: the
// server is asked again later.
func (h toolRepositories) read(ctx context.Context, repository *repositories.Repository) (noted []string) {
	if repository.From == "" || h.offer == nil {
		return nil
	}
	app, err := h.notes.apps.App(ctx, repository.AppID)
	if err != nil || repository.Check(app) != nil {
		return nil // the write reports it
	}
	ctx, cancel := context.WithTimeout(ctx, offerTime)
	defer cancel()
	tools, noted, err := h.offer(ctx, app, repository.From)
	if err != nil {
		source, _ := app.Source(repository.From)
		return []string{fmt.Sprintf("the tools of source %q could not be read: %s; the repository keeps those that it had from it, and the server is asked again every %s",
			repository.From, err, source.RefreshEvery())}
	}
	repository.Tools = tools
	return noted
}

// change writes the next state of the path's repository.
func (h toolRepositories) change(c echo.Context, change store.RepositoryChange, noted ...string) error {
	stored, created, err := h.writer.ChangeRepository(c.Request().Context(), change)
	if err != nil {
		return err
	}
	return h.answer(c, answer.Created(created), c.Request().URL.Path, stored, noted...)
}

func (h toolRepositories) patch(c echo.Context, body []byte) error {
	patch, err := repositories.DecodePatch(scopeOf(c), c.Param("repositoryId"), body)
	if err != nil {
		return err
	}
	if auth.PrincipalOf(c).Owner() {
		patch.GrantModules()
	}
	on, err := conditionOf(c)
	if err != nil {
		return err
	}
	return h.change(c, store.RepositoryChange{Scope: scopeOf(c), ID: c.Param("repositoryId"), On: on, To: patch.Next})
}

func (h toolRepositories) get(c echo.Context) error {
	repository, err := h.reader.Repository(c.Request().Context(), scopeOf(c), c.Param("repositoryId"))
	if err != nil {
		return err
	}
	return tagged(c, http.StatusOK, repository.Revision, withTools(repository))
}

// deleteTool removes one tool; the repository stays even without tools.
func (h toolRepositories) deleteTool(c echo.Context, on store.Condition) error {
	_, _, err := h.writer.ChangeRepository(c.Request().Context(), store.RepositoryChange{
		Scope: scopeOf(c), ID: c.Param("repositoryId"), On: ifThere(on), Removes: true,
		To: func(there *repositories.Repository) (*repositories.Repository, error) {
			if there.Revision == "" {
				return nil, &repositories.NotFoundError{Kind: "repository", ID: there.ID}
			}
			return there.Without(c.Param("toolName"))
		},
	})
	return answer.Done(c, http.StatusNoContent, err)
}

// answer shows a repository as stored, with its times.
func (h toolRepositories) answer(c echo.Context, status int, location string, stored *repositories.Repository, noted ...string) error {
	if status == http.StatusCreated {
		c.Response().Header().Set(echo.HeaderLocation, location)
	}
	return tagged(c, status, stored.Revision, notedRepository{withTools(stored), append(noted, h.notes.on(c.Request().Context(), stored.Scope(), stored)...)})
}

// withTools copies a repository for an answer, with a list of tools even if it is empty.
func withTools(repository *repositories.Repository) repositories.Repository {
	shown := *repository
	if shown.Tools == nil {
		shown.Tools = []repositories.Tool{}
	}
	return shown
}
