package earshot

import (
	"context"
	"errors"
	"net/http"
	"sync"
)

// Version is that of the client, which is that of the service it belongs to.
const Version = "0.1.0"

// UserAgent is how the client calls itself to the service.
const UserAgent = "earshot-go/" + Version

// tokens is the key or the token that is sent. It is a function, so that it is not printed with the client.
type tokens struct {
	mu      sync.Mutex
	known   func() string
	renewal func(context.Context) (string, error)
}

func (t *tokens) get(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil && t.renewal != nil {
		made, err := t.renewal(ctx)
		if err != nil {
			return "", err
		}
		t.known = func() string { return made }
	}
	if t.known == nil {
		return "", nil
	}
	return t.known(), nil
}

// renews reports whether a token that ends can be followed by another one.
func (t *tokens) renews() bool { return t.renewal != nil }

// renew lets the next request ask for another token.
func (t *tokens) renew() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.renews() {
		t.known = nil
	}
}

// refused reports whether it is the token that was refused, and another one may do.
func (t *tokens) refused(err error) bool {
	var problem *Problem
	if !t.renews() || !errors.As(err, &problem) || problem.Status != http.StatusUnauthorized {
		return false
	}
	t.renew()
	return true
}
