package main

import (
	"context"
	"log/slog"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"

	"earshot/api"
)

// mostRefused bounds the remembered refusals: pages choose their origins.
const mostRefused = 100

// localOrigins allows pages of this machine, on any port, besides those that apps allow. A remote page cannot
// pass for one by DNS: browsers send the page's name as its origin.
type localOrigins struct {
	api.Origins
	log *slog.Logger

	mu      sync.Mutex
	refused []string // already logged
}

// AllowsOrigin implements api.Origins. It logs a refusal once, as browsers hide the reason from the page.
func (l *localOrigins) AllowsOrigin(ctx context.Context, appID, origin string) (bool, error) {
	if isLocal(origin) {
		return true, nil
	}
	allowed, err := l.Origins.AllowsOrigin(ctx, appID, origin)
	if allowed || err != nil {
		return allowed, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if one := appID + " " + origin; len(l.refused) < mostRefused && !slices.Contains(l.refused, one) {
		l.refused = append(l.refused, one)
		l.log.Warn("origin.refused", "app", appID, "origin", origin, "warning", "a page of this origin may not call; add the origin to settings.allowedOrigins of the app")
	}
	return false, nil
}

// isLocal reports whether an origin is localhost or a loopback address, on any port.
func isLocal(origin string) bool {
	page, err := url.Parse(origin)
	if err != nil || page.Scheme != "http" && page.Scheme != "https" || origin != page.Scheme+"://"+page.Host {
		return false
	}
	address, err := netip.ParseAddr(page.Hostname())
	return strings.EqualFold(page.Hostname(), "localhost") || err == nil && address.IsLoopback()
}
