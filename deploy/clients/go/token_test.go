package earshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestATokenThatIsRefusedIsFollowedByAnother(t *testing.T) {
	var seen []string // one request is under way at a time
	streams := 0
	ctx, end := context.WithCancel(t.Context())
	defer end()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Authorization")+" "+r.Header.Get("User-Agent"))
		switch {
		case !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer good"):
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"status":401,"title":"Unauthorized"}`)
		case strings.HasSuffix(r.URL.Path, "/events"):
			w.Header().Set("Content-Type", "text/event-stream")
			if streams++; streams > 1 {
				end() // all that was to be seen was
				return
			}
			_, _ = io.WriteString(w, "id: 1\n\nevent: token.expired\ndata: {}\n\n")
		default:
			fmt.Fprint(w, `{}`)
		}
	}))
	t.Cleanup(service.Close)
	clientOf := func(renew func(context.Context) (string, error)) *Client {
		client, err := New(service.URL, WithToken(renew))
		if err != nil {
			t.Fatal(err)
		}
		return client
	}
	made := 0
	client := clientOf(func(context.Context) (string, error) {
		made++
		return []string{"none", "good1", "good2", "good3"}[min(made-1, 3)], nil
	})
	client.waiting = func(context.Context, time.Duration) error { return nil }
	for range 2 {
		if _, err := client.WhoAmI(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"Bearer none " + UserAgent, "Bearer good1 " + UserAgent, "Bearer good1 " + UserAgent}; fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Fatalf("%v, not %v", seen, want)
	}
	followed, err := client.App("a").Follow(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	defer followed.Close()
	for range followed.All() {
		t.Error("the end of a token is no event")
	}
	if len(seen) != 5 || !strings.HasPrefix(seen[4], "Bearer good2") {
		t.Errorf("%v: the events go on under another token", seen)
	}

	hopeless := clientOf(func(context.Context) (string, error) { return "none", nil })
	seen = nil
	if _, err := hopeless.WhoAmI(t.Context()); !errors.Is(err, ErrUnauthorized) || len(seen) != 2 {
		t.Errorf("%v after %v: it is renewed once", err, seen)
	}
	without := clientOf(func(context.Context) (string, error) { return "", errors.New("the back-end is down") })
	if _, err := without.WhoAmI(t.Context()); err == nil || !strings.Contains(err.Error(), "the function for the token failed: the back-end is down") {
		t.Error(err)
	}
}
