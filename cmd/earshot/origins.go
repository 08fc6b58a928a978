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

// mostRefused bounds the origins that are kept as told of: pages choose them.
const mostRefused = 100

// localOrigins lets pages of this machine call, on whichever port they are served, beside those that apps allow.
// A page of elsewhere cannot pass for one, whatever its name resolves to: a browser sends the name as its origin.
type localOrigins struct {
	api.Origins
	log *slog.Logger

	mu      sync.Mutex
	refused []string // of which the log tells
}

// AllowsOrigin implements api.Origins. A browser hides from its page why it was refused, so that the log says it, once.
func (l *localOrigins) AllowsOrigin(ctx context.Context, appID, origin string) (bool, error) {
	if isLocal(origin) {
		return true, nil
	}
	allowed, err := l.Origins.AllowsOrigin(ctx, appID, origin)
	if err == nil && !allowed {
		l.tell(appID, origin)
	}
	return allowed, err
}

func (l *localOrigins) tell(appID, origin string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one := appID + " " + origin; len(l.refused) < mostRefused && !slices.Contains(l.refused, one) {
		l.refused = append(l.refused, one)
		l.log.Warn("origin.refused", "app", appID, "origin", origin, "warning", "a page of this origin may not call; add the origin to settings.allowedOrigins of the app")
	}
}

// isLocal reports whether an origin is localhost or a loopback address, with or without a port.
func isLocal(origin string) bool {
	page, err := url.Parse(origin)
	if err != nil || page.Scheme != "http" && page.Scheme != "https" || origin != page.Scheme+"://"+page.Host {
		return false
	}
	address, err := netip.ParseAddr(page.Hostname())
	return strings.EqualFold(page.Hostname(), "localhost") || err == nil && address.IsLoopback()
}
