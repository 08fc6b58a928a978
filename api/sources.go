package api

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"earshot/repositories"
)

// Reach checks whether a host accepts connections at a port. Its error is shown to the app's owner.
type Reach func(ctx context.Context, host, port string) error

// sources serves the sources of an app and whether this replica reaches them.
type sources struct {
	store appReader
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
	return []route{{method: http.MethodGet, path: pathApp + "/sources", handler: h.list, query: pageQuery}}
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
		return source.Host, cmp.Or(source.Port, "5432")
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

// check connects to a host, unless a fresh result is cached.
func (h *sources) check(ctx context.Context, host, port string) reachability {
	name := host + " " + port
	h.mu.Lock()
	result, cached := h.results[name]
	h.mu.Unlock()
	if cached && h.now().Sub(result.at) < checkTTL {
		return result
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	result = reachability{at: h.now().UTC()}
	if err := h.reach(ctx, host, port); err != nil {
		result.fault = err.Error()
	}
	result.duration = h.now().Sub(result.at)
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.results) >= maxResults {
		clear(h.results)
	}
	h.results[name] = result
	return result
}
