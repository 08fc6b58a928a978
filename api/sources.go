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

	mu     sync.Mutex
	looked map[string]look // by host and port
}

// look is the result of a check.
type look struct {
	at    time.Time
	took  time.Duration
	fault string
}

// Bounds of the checks: how long a result is fresh, how long a check may take, how many a request runs at
// once, and how many results are kept.
const (
	lookFresh = 30 * time.Second
	lookTime  = 3 * time.Second
	lookMany  = 8
	looksKept = 1000
)

func (h *sources) routes() []route {
	return []route{{method: http.MethodGet, path: ofApp + "/sources", handle: h.list, query: pageQuery}}
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
	shown, next, err := pageNamed(c, app.Sources, func(source repositories.Source) string { return source.Name })
	if err != nil {
		return err
	}
	items, slots := make([]sourceState, len(shown)), make(chan struct{}, lookMany)
	var all sync.WaitGroup
	for i, source := range shown {
		items[i] = sourceState{Name: source.Name, Type: source.Type}
		host, port := addressOf(source)
		if host == "" || h.reach == nil {
			continue
		}
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			found := h.look(c.Request().Context(), host, port)
			reachable, s := found.fault == "", &items[i]
			s.Host, s.Reachable, s.Error, s.Checked, s.Took = host+":"+port, &reachable, found.fault, &found.at, found.took.Milliseconds()
		})
	}
	all.Wait()
	return listPage(c, items, next, nil)
}

// addressOf returns the host and port of a source; empty for a file.
func addressOf(source repositories.Source) (host, port string) {
	at := cmp.Or(source.BaseURL, source.URL)
	if at == "" {
		return source.Host, cmp.Or(source.Port, "5432")
	}
	base, err := url.Parse(at)
	if err != nil {
		return "", ""
	}
	if base.Scheme == "http" {
		return base.Hostname(), cmp.Or(base.Port(), "80")
	}
	return base.Hostname(), cmp.Or(base.Port(), "443")
}

// look connects to a host, unless a fresh result is cached.
func (h *sources) look(ctx context.Context, host, port string) look {
	name := host + " " + port
	h.mu.Lock()
	found, known := h.looked[name]
	h.mu.Unlock()
	if known && h.now().Sub(found.at) < lookFresh {
		return found
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	found = look{at: h.now().UTC()}
	if err := h.reach(ctx, host, port); err != nil {
		found.fault = err.Error()
	}
	found.took = h.now().Sub(found.at)
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.looked) >= looksKept {
		clear(h.looked)
	}
	h.looked[name] = found
	return found
}
