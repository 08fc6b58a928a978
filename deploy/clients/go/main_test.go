package earshot_test

import (
	"context"
	"flag"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"sync/atomic"
	"testing"

	earshot "earshot/deploy/clients/go"
)

// TestMain runs the examples where there is a service, which EARSHOT_URL names: an earshot dev.
func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv("EARSHOT_URL") == "" && flag.Lookup("test.run").Value.String() == "" {
		_ = flag.Set("test.run", "^Test")
	}
	os.Exit(m.Run())
}

// service is the one that EARSHOT_URL names, without which the test is skipped.
func service(t *testing.T) *earshot.Client {
	t.Helper()
	if os.Getenv("EARSHOT_URL") == "" {
		t.Skip("EARSHOT_URL names no service: EARSHOT_URL=http://127.0.0.1:8080 go test ./... beside an earshot dev")
	}
	client := got(earshot.FromEnvironment())(t)
	return client
}

func clinic(t *testing.T, through *earshot.Client, id string) *earshot.App {
	t.Helper()
	app := through.App(id)
	t.Cleanup(func() { _ = service(t).App(id).Delete(context.Background()) }) // the one of the test has ended
	_, err := app.Put(t.Context(), earshot.AppDefinition{Name: "Clinic"})
	must(t, err)
	_, err = app.PutRepository(t.Context(), earshot.Repository{RepositoryID: "desk", Tools: []earshot.Tool{{
		Name: "book", Description: "Book an appointment", Examples: []string{"I want an appointment on Friday"},
		Parameters: []earshot.Parameter{{Name: "day", Type: "string", Description: "wished day", AllowedValues: []any{"Monday", "Friday"}}},
	}}})
	must(t, err)
	return app
}

// losing is a client behind a proxy that loses answers after the service has given them.
func losing(t *testing.T, lose func(*http.Request) bool) (*earshot.Client, *atomic.Int32) {
	t.Helper()
	service(t)
	to := got(url.Parse(os.Getenv("EARSHOT_URL")))(t)
	var seen atomic.Int32
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval = -1
	proxy.ModifyResponse = func(response *http.Response) error {
		if lose(response.Request) {
			seen.Add(1)
			panic(http.ErrAbortHandler)
		}
		return nil
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	client := got(earshot.New(server.URL, earshot.WithKey(os.Getenv("EARSHOT_KEY")), earshot.WithHTTPClient(server.Client())))(t)
	return client, &seen
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// got is a value that comes with an error, which ends the test.
func got[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		must(t, err)
		return value
	}
}

func equal[T comparable](t *testing.T, want, got T) {
	t.Helper()
	if want != got {
		t.Fatalf("want %v\n got %v", want, got)
	}
}
