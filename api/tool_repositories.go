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
	"earshot/repositories/bodies"
	"earshot/repositories/fault"
	"earshot/repositories/lists"
	"earshot/repositories/store"
	"earshot/trigger/query"
	"earshot/trigger/scope"
)

type toolRepositories struct {
	store Store
	notes writeNotes
	offer Offer // nil: a write does not ask servers
	newID func() string
}

// Offer asks the server of an mcp source for its tools, with a short timeout. It notes what was left out.
// Its error is shown to the app's owner.
type Offer func(ctx context.Context, app *repositories.App, source string) (tools []repositories.Tool, notes []string, err error)

// offerTime is how long a write waits for an MCP server.
const offerTime = 10 * time.Second

func (h toolRepositories) routes() (all []route) {
	list := handleByID(repositories.IsID, func(ctx context.Context, scope repositories.Scope, page query.Page) ([]repositories.Repository, string, error) {
		items, next, err := h.store.Repositories(ctx, scope, page.After, page.Limit)
		shown := lists.Map(items, withTools)
		return shown, next, err
	})
	drop := withPrecondition(func(c echo.Context, precondition store.Precondition) error {
		return answer.Done(c, http.StatusNoContent, h.store.DeleteRepository(c.Request().Context(), scopeOf(c), c.Param("repositoryId"), precondition))
	})
	for _, owner := range []string{pathApp, pathSession} {
		change, remove, removeTool := audit.ChangeRepository, audit.DeleteRepository, audit.DeleteTool
		if owner == pathSession { // a session's own tools do not change the app
			change, remove, removeTool = "", "", ""
		}
		collection, one := owner+"/repositories", owner+"/repositories/:repositoryId"
		all = append(all,
			route{method: http.MethodGet, path: collection, access: toolKeys, handler: list, natsName: "repositories", query: pageQuery},
			route{method: http.MethodPost, path: collection, access: toolKeys, handler: withBody(h.post), natsName: "create-repository", readsBody: true, tagged: true, auditAction: change, createsID: "repositoryId"},
			route{method: http.MethodPut, path: one, access: toolKeys, handler: withBody(h.put), natsName: "repository", query: []string{"dryRun"}, readsBody: true, tagged: true, auditAction: change},
			route{method: http.MethodPatch, path: one, access: toolKeys, handler: withBody(h.patch), natsName: "patch-repository", readsBody: true, tagged: true, auditAction: change},
			route{method: http.MethodGet, path: one, access: toolKeys, handler: h.get, natsName: "get-repository", tagged: true},
			route{method: http.MethodDelete, path: one, access: toolKeys, handler: drop, natsName: "delete-repository", tagged: true, auditAction: remove},
			route{method: http.MethodDelete, path: one + "/tools/:toolName", access: toolKeys, handler: withPrecondition(h.deleteTool), natsName: "delete-tool", tagged: true, auditAction: removeTool},
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
	repository.ID = cmp.Or(createdID(c), h.newID())
	advice := h.readOffer(c.Request().Context(), repository)
	stored, _, err := h.store.ChangeRepository(c.Request().Context(), store.ReplaceChange(repository))
	if err != nil {
		return err
	}
	return h.respond(c, http.StatusCreated, c.Request().URL.Path+"/"+repository.ID, stored, advice...)
}

// decode reads a body on behalf of the caller: the owner of the app may grant its modules everywhere. The faults of
// a body include its references to what the app lacks.
func (h toolRepositories) decode(c echo.Context, id string, body []byte) (*repositories.Repository, error) {
	repository, err := repositories.DecodeRepository(scopeOf(c), id, body)
	if faults := (fault.List)(nil); errors.As(err, &faults) {
		ctx := c.Request().Context()
		if app, missing := h.store.App(ctx, c.Param("appId")); missing == nil {
			current, err := h.store.Repository(ctx, scopeOf(c), id)
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
	change := store.ReplaceChange(repository)
	if change.If, err = preconditionOf(c); err != nil {
		return err
	}
	if dryRun, err := isSet(c, "dryRun"); dryRun || err != nil {
		if err != nil {
			return err
		}
		operation, err := h.store.PreviewRepository(c.Request().Context(), change, auth.PrincipalOf(c).RootKey)
		if err != nil {
			return err
		}
		preview := repositoryPreview{Operation: operation, Notes: append(repository.NotesInWords(), h.notes.unconfirmed(c.Request().Context(), repository)...)}
		for i := range repository.Tools {
			tool := &repository.Tools[i]
			one := modelTool{Name: tool.Name, Description: matcher.Description(tool), InputSchema: tool.Params().ModelSchema(), Asks: map[string]string{}}
			for _, parameter := range matcher.Shown(tool.Params()) {
				if question := tool.Params().Ask(parameter.Name); question != "" && parameter.Required {
					one.Asks[parameter.Name] = question
				}
			}
			preview.Tools = append(preview.Tools, one)
		}
		return c.JSON(http.StatusOK, preview)
	}
	return h.change(c, change, h.readOffer(c.Request().Context(), repository)...)
}

// repositoryPreview is what a PUT would do, and the tools as a model sees them.
type repositoryPreview struct {
	Operation string      `json:"operation"`
	Notes     []string    `json:"notes,omitempty"`
	Tools     []modelTool `json:"tools,omitempty"`
}

// modelTool is a tool as a model sees it, with the questions for missing values.
type modelTool struct {
	Name        string            `json:"name"`
	Description string            `json:"description"`
	InputSchema json.RawMessage   `json:"inputSchema"`
	Asks        map[string]string `json:"asks,omitempty"`
}

// readOffer replaces the tools of a repository by those of its MCP server. An error does not fail the write: the
// server is asked again later.
func (h toolRepositories) readOffer(ctx context.Context, repository *repositories.Repository) (advice []string) {
	if repository.From == "" || h.offer == nil {
		return nil
	}
	app, err := h.store.App(ctx, repository.AppID)
	if err != nil || repository.Check(app) != nil {
		return nil // the write reports it
	}
	ctx, cancel := context.WithTimeout(ctx, offerTime)
	defer cancel()
	tools, advice, err := h.offer(ctx, app, repository.From)
	if err != nil {
		source, _ := app.Source(repository.From)
		return []string{fmt.Sprintf("the tools of source %q could not be read: %s; the repository keeps those that it had from it, and the server is asked again every %s",
			repository.From, err, source.RefreshEvery())}
	}
	repository.Tools = tools
	return advice
}

// change writes the next state of the path's repository.
func (h toolRepositories) change(c echo.Context, change store.RepositoryChange, advice ...string) error {
	stored, created, err := h.store.ChangeRepository(c.Request().Context(), change)
	if err != nil {
		return err
	}
	return h.respond(c, answer.Created(created), c.Request().URL.Path, stored, advice...)
}

func (h toolRepositories) patch(c echo.Context, body []byte) error {
	patch, err := repositories.DecodePatch(scopeOf(c), c.Param("repositoryId"), body)
	if err != nil {
		return err
	}
	if auth.PrincipalOf(c).Owner() {
		patch.GrantModules()
	}
	precondition, err := preconditionOf(c)
	if err != nil {
		return err
	}
	return patch.Located(h.change(c, store.RepositoryChange{Scope: scopeOf(c), ID: c.Param("repositoryId"), If: precondition, Next: patch.Next}))
}

func (h toolRepositories) get(c echo.Context) error {
	repository, err := h.store.Repository(c.Request().Context(), scopeOf(c), c.Param("repositoryId"))
	if err != nil {
		return err
	}
	return tagged(c, http.StatusOK, repository.Revision, withTools(repository))
}

// deleteTool removes one tool; the repository stays even without tools.
func (h toolRepositories) deleteTool(c echo.Context, precondition store.Precondition) error {
	_, _, err := h.store.ChangeRepository(c.Request().Context(), store.RepositoryChange{
		Scope: scopeOf(c), ID: c.Param("repositoryId"), If: ifExists(precondition), Removes: true,
		Next: func(current *repositories.Repository) (*repositories.Repository, error) {
			if current.Revision == "" {
				return nil, &repositories.NotFoundError{Kind: "repository", ID: current.ID}
			}
			return current.Without(c.Param("toolName"))
		},
	})
	return answer.Done(c, http.StatusNoContent, err)
}

// respond shows a repository as stored, with its times.
func (h toolRepositories) respond(c echo.Context, status int, location string, stored *repositories.Repository, advice ...string) error {
	if status == http.StatusCreated {
		c.Response().Header().Set(echo.HeaderLocation, location)
	}
	return tagged(c, status, stored.Revision, notedRepository{withTools(stored), append(advice, h.notes.ofWrite(c.Request().Context(), stored.Scope(), stored)...)})
}

// withTools copies a repository for an answer, with a list of tools even if it is empty.
func withTools(repository *repositories.Repository) repositories.Repository {
	result := *repository
	if result.Tools == nil {
		result.Tools = []repositories.Tool{}
	}
	return result
}

// scopedTools serves the tools in the scope of an app or session, as a model sees them.
type scopedTools struct {
	engine Engine
	bodies *bodies.Definitions
}

var toolsQuery = append([]string{"name"}, pageQuery...)

func (h scopedTools) routes() []route {
	const app, session = pathApp + "/tools", pathSession + "/tools"
	return []route{
		{method: http.MethodGet, path: app, access: listingKeys, handler: h.list, natsName: "tools", query: toolsQuery},
		{method: http.MethodGet, path: session, access: listingKeys, handler: h.list, natsName: "tools", query: toolsQuery},
		{method: http.MethodGet, path: app + "/usage", access: listingKeys, handler: h.usage, query: pageQuery},
		{method: http.MethodPost, path: app + "/search", access: listingKeys, handler: withBody(h.search), natsName: "search-tools", readsBody: true},
		{method: http.MethodPost, path: session + "/search", access: listingKeys, handler: withBody(h.search), natsName: "search-tools", readsBody: true},
	}
}

func (h scopedTools) list(c echo.Context) error {
	isName := func(name string) bool { return repositories.CheckToolName(name) == nil }
	return handleByID(isName, func(ctx context.Context, of repositories.Scope, page query.Page) ([]scope.Tool, string, error) {
		return h.engine.Tools(ctx, of.AppID, of.SessionID, c.QueryParam("name"), page.After, page.Limit)
	})(c)
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
