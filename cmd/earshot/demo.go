package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"earshot/cmd/earshot/client"
	"earshot/cmd/earshot/terminal"
)

// demoRepository is registered by the demo; SINK is replaced by its own endpoint.
//
//go:embed demo.json
var demoRepository string

const demoText = "Good morning, I want an appointment for 2 people at desk B"

// runDemo plays all parties around Earshot: an author who registers tools, a user who posts a message, and an
// endpoint that is called. The screen or the log shows the effects, until ctx ends.
func runDemo(ctx context.Context, remote client.Client, out io.Writer, show *screen) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	endpoint := &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, _, _ := r.BasicAuth()
		if show != nil {
			show.show(terminal.Event{Kind: "endpoint", App: "demo", Says: fmt.Sprintf("is called: %s %s as user %q", r.Method, r.URL.Path, user)})
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"booked":true}`)
	})}
	go endpoint.Serve(listener) //nolint:errcheck // ends with Close
	defer endpoint.Close()

	fmt.Fprintln(out)
	desk := strings.ReplaceAll(demoRepository, "SINK", "http://"+listener.Addr().String())
	for _, one := range []struct{ method, path, body string }{
		{http.MethodPut, client.Path("apps", "demo"), `{"name":"Demo clinic"}`},
		{http.MethodPut, client.Path("apps", "demo", "repositories", "desk"), desk},
		{http.MethodPost, client.Path("apps", "demo", "sessions", "s1", "messages"), fmt.Sprintf(`{"actor":"user","text":%q}`, demoText)},
	} {
		if _, err := remote.Call(ctx, one.method, one.path, []byte(one.body)); err != nil {
			return err
		}
	}

	key := ""
	if !remote.Key.Empty() {
		key = "\n    -H \"Authorization: Bearer $EARSHOT_ADMIN_KEY\" \\"
	}
	fmt.Fprintf(out, "\nIt was told %q\nNow say something yourself, with earshot chat --app demo, or:\n"+
		"  curl %s/v1/apps/demo/sessions/s1/messages \\%s\n    -H 'Content-Type: application/json' \\\n    -d '{\"actor\":\"user\",\"text\":\"When are you open?\"}'\n\n", demoText, remote.Server, key)
	<-ctx.Done()
	return nil
}
