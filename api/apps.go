package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/repositories"
	"earshot/repositories/audit"
	"earshot/repositories/fault"
	"earshot/repositories/store"
	"earshot/trigger/query"
)

type apps struct {
	store  Store
	models Models // nil: settings may name any
	notes  writeNotes
}

func (h apps) routes() []route {
	list := handleByID(repositories.IsID, func(ctx context.Context, _ repositories.Scope, page query.Page) ([]*repositories.App, string, error) {
		return h.store.Apps(ctx, page.After, page.Limit)
	})
	remove := withPrecondition(func(c echo.Context, precondition store.Precondition) error {
		return answer.Done(c, http.StatusNoContent, h.store.DeleteApp(c.Request().Context(), c.Param("appId"), precondition))
	})
	return []route{
		{method: http.MethodGet, path: "/v1/apps", handler: list, query: pageQuery},
		{method: http.MethodPut, path: pathApp, access: appKeys, handler: withBody(h.put), query: []string{"force", "dryRun"}, readsBody: true, tagged: true, auditAction: audit.ChangeApp},
		{method: http.MethodPatch, path: pathApp, access: appKeys, handler: withBody(h.patch), query: []string{"force", "dryRun"}, readsBody: true, tagged: true, auditAction: audit.ChangeApp},
		{method: http.MethodGet, path: pathApp, access: appKeys, handler: h.get, tagged: true},
		{method: http.MethodDelete, path: pathApp, handler: remove, tagged: true, auditAction: audit.DeleteApp},
	}
}

// fail answers with a problem. If an app is missing, the admin also gets the nearest app id as a hint.
func (o Options) fail(err error, c echo.Context) {
	if missing, ok := errors.AsType[*repositories.NotFoundError](err); ok && missing.Kind == "app" && auth.PrincipalOf(c).Admin {
		known, _, _ := o.Store.Apps(c.Request().Context(), "", maxLimit) // for the hint alone
		near := *missing
		for _, one := range known {
			near.Known = append(near.Known, one.ID)
		}
		err = &near
	}
	answer.WriteError(err, c)
}

func (h apps) put(c echo.Context, body []byte) error {
	app, err := repositories.DecodeApp(c.Param("appId"), body)
	if err != nil {
		return h.withUnstored(c, err, body)
	}
	if err := h.checkModel(c, app.Settings.LLM.Tools); err != nil {
		return err
	}
	precondition, err := preconditionOf(c)
	if err != nil {
		return err
	}
	return h.change(c, precondition, func(*repositories.App) (*repositories.App, error) { return app.Clone(), nil })
}

func (h apps) patch(c echo.Context, body []byte) error {
	patch, err := repositories.DecodeAppPatch(c.Param("appId"), body)
	if err != nil {
		return h.withUnstored(c, err, body)
	}
	precondition, err := preconditionOf(c)
	if err != nil {
		return err
	}
	return h.change(c, ifExists(precondition), func(current *repositories.App) (*repositories.App, error) {
		if current.Revision == "" {
			return nil, &repositories.NotFoundError{Kind: "app", ID: current.ID}
		}
		next, err := patch.Next(current)
		if err == nil && next.Settings.LLM.Tools != current.Settings.LLM.Tools {
			err = h.checkModel(c, next.Settings.LLM.Tools)
		}
		return next, err
	})
}

// withUnstored adds the masks without a stored credential to the faults of a body.
func (h apps) withUnstored(c echo.Context, err error, body []byte) error {
	var faults fault.List
	if !errors.As(err, &faults) {
		return err
	}
	current, err := h.store.App(c.Request().Context(), c.Param("appId"))
	if errors.Is(err, repositories.ErrNotFound) {
		current, err = &repositories.App{ID: c.Param("appId")}, nil
	}
	if err == nil {
		faults.Join(repositories.UnstoredOf(current, body))
	}
	return faults
}

func (h apps) change(c echo.Context, precondition store.Precondition, nextApp func(current *repositories.App) (*repositories.App, error)) error {
	if !auth.PrincipalOf(c).Admin { // an app's key must not create the app again after its deletion
		_, err := h.store.App(c.Request().Context(), c.Param("appId"))
		if errors.Is(err, repositories.ErrNotFound) {
			return auth.Forbidden()
		}
		if err != nil {
			return err
		}
	}
	force, err := isSet(c, "force")
	if err != nil {
		return err
	}
	change := store.AppChange{AppID: c.Param("appId"), If: precondition, Next: nextApp, Force: force}
	if dryRun, err := isSet(c, "dryRun"); dryRun || err != nil {
		if err != nil {
			return err
		}
		operation, err := h.store.PreviewApp(c.Request().Context(), change, auth.PrincipalOf(c).RootKey)
		return answer.Result(c, http.StatusOK, struct {
			Operation string `json:"operation"`
		}{operation}, err)
	}
	app, created, err := h.store.ChangeApp(c.Request().Context(), change)
	if err != nil {
		return err
	}
	return tagged(c, answer.Created(created), app.Revision,
		notedApp{app, append(app.NotesInWords(), h.notes.ofWrite(c.Request().Context(), repositories.Scope{AppID: app.ID}, nil)...)})
}

// checkModel refuses settings that name a model which this service cannot ask: each message would be
// answered with 502. Prefer: handling=lenient (RFC 7240) accepts them, as the service may get its key
// later.
func (h apps) checkModel(c echo.Context, model string) error {
	if h.models == nil || model == "" {
		return nil
	}
	modelErr := h.models.CheckModel(model)
	if modelErr == nil || prefers(c.Request().Header, "handling=lenient") {
		return nil
	}
	return fault.List{{Pointer: fault.Point("settings", "llm", "tools"), Detail: modelErr.Error()}}
}

func (h apps) get(c echo.Context) error {
	app, err := h.store.App(c.Request().Context(), c.Param("appId"))
	if err != nil {
		return err
	}
	return tagged(c, http.StatusOK, app.Revision, app)
}

// Reach checks whether a host accepts connections at a port. Its error is shown to the app's owner.
type Reach func(ctx context.Context, host, port string) error

// sources serves the sources of an app and whether this replica reaches them.
type sources struct {
	store Store
	reach Reach
	now   func() time.Time

	mu      sync.Mutex
	results map[string]reachability // by host and port
}

// reachability is the result of a check.
type reachability struct {
	at       time.Time
	duration time.Duration
	fault    string
}

// Bounds of the checks: how long a result is fresh, how long a check may take, how many a request runs at
// once, and how many results are kept.
const (
	checkTTL     = 30 * time.Second
	checkTimeout = 3 * time.Second
	maxChecks    = 8
	maxResults   = 1000
)

func (h *sources) routes() []route {
	return []route{{method: http.MethodGet, path: pathApp + "/sources", access: appKeys, handler: h.list, query: pageQuery}}
}

// sourceState is a source in the list. Sources without a host, such as files, are not checked.
type sourceState struct {
	Name      string     `json:"name"`
	Type      string     `json:"type"`
	Host      string     `json:"host,omitempty"`
	Reachable *bool      `json:"reachable,omitempty"`
	Error     string     `json:"error,omitempty"`
	Checked   *time.Time `json:"checked,omitempty"`
	Took      int64      `json:"ms,omitempty"`
}

// list checks all hosts of a page at once.
func (h *sources) list(c echo.Context) error {
	app, err := h.store.App(c.Request().Context(), c.Param("appId"))
	if err != nil {
		return err
	}
	listed, next, err := pageNamed(c, app.Sources, func(source repositories.Source) string { return source.Name })
	if err != nil {
		return err
	}
	items, slots := make([]sourceState, len(listed)), make(chan struct{}, maxChecks)
	var checks sync.WaitGroup
	for i, source := range listed {
		items[i] = sourceState{Name: source.Name, Type: source.Type}
		host, port := addressOf(source)
		if host == "" || h.reach == nil {
			continue
		}
		checks.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			result := h.check(c.Request().Context(), host, port)
			reachable, s := result.fault == "", &items[i]
			s.Host, s.Reachable, s.Error, s.Checked, s.Took = host+":"+port, &reachable, result.fault, &result.at, result.duration.Milliseconds()
		})
	}
	checks.Wait()
	return listPage(c, items, next, nil)
}

// addressOf returns the host and port of a source; empty for a file.
func addressOf(source repositories.Source) (host, port string) {
	address := cmp.Or(source.BaseURL, source.URL)
	if address == "" {
		return source.Host, source.DatabasePort()
	}
	base, err := url.Parse(address)
	if err != nil {
		return "", ""
	}
	if base.Scheme == "http" {
		return base.Hostname(), cmp.Or(base.Port(), "80")
	}
	return base.Hostname(), cmp.Or(base.Port(), "443")
}

// check connects to a host, unless a fresh result is cached. A check that its client breaks off says nothing of the host.
func (h *sources) check(request context.Context, host, port string) reachability {
	name := host + " " + port
	h.mu.Lock()
	result, cached := h.results[name]
	h.mu.Unlock()
	if cached && h.now().Sub(result.at) < checkTTL {
		return result
	}
	ctx, cancel := context.WithTimeout(request, checkTimeout)
	defer cancel()
	result = reachability{at: h.now().UTC()}
	if err := h.reach(ctx, host, port); err != nil {
		result.fault = err.Error()
	}
	result.duration = h.now().Sub(result.at)
	if request.Err() != nil {
		return result
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.results) >= maxResults {
		clear(h.results)
	}
	h.results[name] = result
	return result
}
