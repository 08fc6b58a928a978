package sermas

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/repositories"
	"earshot/repositories/fault"
	"earshot/repositories/store"
)

type writing struct {
	id     string
	scope  repositories.Scope   // as requested
	places []repositories.Scope // the scopes with a repository of that id
	body   fields               // for REST
	// bare reports that the body was only the list of tools, to which pointers of faults refer.
	bare bool
}

// ofSERMAS are fields of SERMAS that are ignored in all bodies.
var ofSERMAS = []string{"clientId", "requestId", "userId", "ts", "created", "updated", "_id", "__v"}

// knownOptions are the supported options of repositories. SERMAS accepts any.
var knownOptions = []string{"triggerOnce", "exclusive", "template"}

var toolAccess = auth.Access{Scopes: []store.Permission{store.PermitTools}}

// readWriting reads a write request, and finds the places of the repository.
func (h *handler) readWriting(c echo.Context) (*writing, error) {
	body, err := readFields(c)
	if err != nil {
		return nil, err
	}
	w := &writing{id: c.Param("repositoryId"), body: body}
	var faults fault.List
	w.scope = repositories.Scope{AppID: body.text(&faults, "appId"), SessionID: body.text(&faults, "sessionId")}
	if id := body.text(&faults, "repositoryId"); id != "" && id != w.id {
		faults.Add(fault.Point("repositoryId"), "is %s, but the path says %s", fault.Show(id), fault.Show(w.id))
	}
	if raw, has := body["options"]; has {
		var options fields
		if json.Unmarshal(raw, &options) != nil {
			faults.Add(fault.Point("options"), "is not an object")
		}
		maps.DeleteFunc(options, func(name string, value json.RawMessage) bool {
			return !slices.Contains(knownOptions, name) || string(value) == "null"
		})
		w.body["options"], _ = json.Marshal(options)
	}
	w.body.without(append(slices.Clone(ofSERMAS), "appId", "sessionId", "repositoryId")...)
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return w, h.place(c, w)
}

// place finds the app of a write request, checks its permission, and finds the places of the repository.
func (h *handler) place(c echo.Context, w *writing) error {
	who := auth.PrincipalOf(c)
	appID, err := h.appOf(c, who, w.scope.AppID)
	if err != nil {
		return err
	}
	w.scope.AppID = appID
	if err := who.Check(toolAccess, w.scope.AppID, w.scope.SessionID); err != nil {
		return err
	}
	if err := repositories.CheckID("repositoryId", w.id); err != nil {
		return answer.NewProblem(answer.InvalidPath, err.Error())
	}
	w.places, err = h.Store.ScopesOf(c.Request().Context(), w.scope.AppID, w.id)
	return err
}

// noTools reports whether a body has an empty list of tools, which means deletion in SERMAS. A body without the list
// is a fault, of which REST knows more: the list may be misspelled.
func (f fields) noTools() bool {
	var tools []json.RawMessage
	return f["from"] == nil && json.Unmarshal(f["tools"], &tools) == nil && len(tools) == 0
}

// setTools replaces a repository, wherever it is; with an empty list of tools it is deleted.
func (h *handler) setTools(c echo.Context) error {
	w, err := h.readWriting(c)
	if err != nil {
		return err
	}
	if w.body.noTools() {
		return h.emptied(c, w, http.StatusCreated)
	}
	return h.write(c, w, http.StatusCreated)
}

// write puts a repository into its scope, and then deletes it in others: what is refused stays where it was.
func (h *handler) write(c echo.Context, w *writing, status int) error {
	body, err := json.Marshal(w.body)
	if err != nil {
		return err
	}
	path := repositoryPath(w.scope, w.id)
	others := slices.DeleteFunc(slices.Clone(w.places), func(at repositories.Scope) bool { return at == w.scope })
	if len(others) > 0 && c.Request().Header.Get("If-None-Match") == "*" {
		return answer.NewProblem(answer.PreconditionFailed, "the repository exists already, in the app or another session: leave out If-None-Match to move it")
	}
	got, err := h.ask(c, http.MethodPut, path, body)
	if err == nil && !failed(got) {
		unconditional(c.Request())
		if refused, err := h.remove(c, others, w.id); err != nil || refused != nil {
			return relay(c, refused, status, err)
		}
	}
	if err == nil && failed(got) && w.bare {
		faults := strings.ReplaceAll(got.Body.String(), `"pointer":"/tools/`, `"pointer":"/`)
		got.Body.Reset()
		got.Body.WriteString(faults)
	}
	return relay(c, got, status, err)
}

// remove deletes a repository in some scopes. A missing one is no fault.
func (h *handler) remove(c echo.Context, places []repositories.Scope, id string) (refused *answer.Recorder, err error) {
	for _, at := range places {
		got, err := h.ask(c, http.MethodDelete, repositoryPath(at, id), nil)
		if err != nil || failed(got) && got.Status != http.StatusNotFound {
			return got, err
		}
	}
	return nil, nil
}

// emptied deletes a repository that is written without tools, and answers with the request.
func (h *handler) emptied(c echo.Context, w *writing, status int) error {
	if _, err := h.Store.App(c.Request().Context(), w.scope.AppID); err != nil {
		return err
	}
	if refused, err := h.remove(c, w.places, w.id); err != nil || refused != nil {
		return relay(c, refused, status, err)
	}
	return h.echo(c, w, status)
}

// echo answers with a repository without tools, as it was sent.
func (h *handler) echo(c echo.Context, w *writing, status int) error {
	h.allowOrigin(c, w.scope.AppID)
	sent := map[string]any{"appId": w.scope.AppID, "repositoryId": w.id, "tools": []any{}}
	if w.scope.SessionID != "" {
		sent["sessionId"] = w.scope.SessionID
	}
	if options, given := w.body["options"]; given {
		sent["options"] = options
	}
	return answer.JSON(c, status, sent)
}

// addTools adds tools to a repository where it exists, or creates it.
func (h *handler) addTools(c echo.Context) error {
	w, err := h.readWriting(c)
	if err != nil {
		return err
	}
	if w.body["tools"] == nil && w.body["from"] == nil {
		return h.write(c, w, http.StatusOK) // which REST refuses: a PATCH may lack them
	}
	if len(w.places) == 0 && w.body.noTools() {
		return h.echo(c, w, http.StatusOK)
	}
	if len(w.places) > 0 && !slices.Contains(w.places, w.scope) {
		w.scope = w.places[0]
	}
	body, err := json.Marshal(w.body)
	if err != nil {
		return err
	}
	got, err := h.ask(c, http.MethodPatch, repositoryPath(w.scope, w.id), body)
	return relay(c, got, http.StatusOK, err)
}

// removeTools deletes a repository wherever it is. Like in SERMAS, a missing one is no fault.
func (h *handler) removeTools(c echo.Context) error {
	if _, err := answer.ReadBody(c.Request().Body); err != nil {
		return err
	}
	w := &writing{id: c.Param("repositoryId")}
	if err := h.place(c, w); err != nil {
		return err
	}
	if refused, err := h.remove(c, w.places, w.id); err != nil || refused != nil {
		return relay(c, refused, http.StatusOK, err)
	}
	h.allowOrigin(c, w.scope.AppID)
	return c.NoContent(http.StatusOK)
}

// setAppTools writes the tools of the repository with its app's id, and keeps its options.
func (h *handler) setAppTools(c echo.Context) error {
	body, tree, err := readBody(c)
	if err != nil {
		return err
	}
	tools, is := tree.([]any)
	if !is {
		return fault.List{{Detail: "is no list of tools; an empty one, [], deletes them"}}
	}
	w := &writing{id: c.Param("appId"), scope: repositories.Scope{AppID: c.Param("appId")}, body: fields{}, bare: true}
	if err := h.place(c, w); err != nil {
		return err
	}
	if len(tools) == 0 {
		return h.emptied(c, w, http.StatusOK)
	}
	w.body["tools"] = body
	if slices.Contains(w.places, w.scope) {
		got, err := h.ask(c, http.MethodGet, repositoryPath(w.scope, w.id), nil)
		if err != nil {
			return err
		}
		var there struct{ Options json.RawMessage }
		if !failed(got) && json.Unmarshal(got.Body.Bytes(), &there) == nil && there.Options != nil { // otherwise the write fails as well
			w.body["options"] = there.Options
		}
	}
	return h.write(c, w, http.StatusOK)
}
