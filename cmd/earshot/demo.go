package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"earshot/cmd/earshot/activity"
	"earshot/cmd/earshot/client"
	"earshot/cmd/earshot/terminal"
)

// demoRepository is what the demo registers; SINK stands for its own endpoint.
//
//go:embed demo.json
var demoRepository string

const demoText = "Good morning, I want an appointment for 2 people at desk B"

// runDemo plays everybody around Earshot: an author who registers tools, a user who says
// something, and an endpoint that is called. The screen shows what comes of it, until ctx
// ends; without one it is logged.
func runDemo(ctx context.Context, remote client.Client, out io.Writer, screen *activity.Screen) error {
	endpoint, err := startDemoEndpoint(screen)
	if err != nil {
		return err
	}
	defer endpoint.Close()
	fmt.Fprintln(out)
	if err := playDemo(ctx, remote, "http://"+endpoint.Addr); err != nil {
		return err
	}
	invite(out, remote)
	<-ctx.Done()
	return nil
}

// playDemo registers the app and says something to it.
func playDemo(ctx context.Context, remote client.Client, endpoint string) error {
	if _, err := remote.Call(ctx, http.MethodPut, client.Path("apps", "demo"), []byte(`{"name":"Demo clinic"}`)); err != nil {
		return err
	}
	desk := strings.ReplaceAll(demoRepository, "SINK", endpoint)
	if _, err := remote.Call(ctx, http.MethodPut, client.Path("apps", "demo", "repositories", "desk"), []byte(desk)); err != nil {
		return err
	}
	body, err := json.Marshal(map[string]string{"actor": "user", "text": demoText})
	if err != nil {
		return err
	}
	_, err = remote.Call(ctx, http.MethodPost, client.Path("apps", "demo", "sessions", "s1", "messages"), body)
	return err
}

// invite says how to go on.
func invite(out io.Writer, remote client.Client) {
	key := ""
	if !remote.Key.Empty() {
		key = "\n    -H \"Authorization: Bearer $EARSHOT_ADMIN_KEY\" \\"
	}
	fmt.Fprintf(out, "\nIt was told %q\nNow say something yourself, with earshot chat --app demo, or:\n"+
		"  curl %s/v1/apps/demo/sessions/s1/messages \\%s\n    -H 'Content-Type: application/json' \\\n    -d '{\"actor\":\"user\",\"text\":\"When are you open?\"}'\n\n", demoText, remote.Server, key)
}

// startDemoEndpoint starts the endpoint that the demo's tool calls.
func startDemoEndpoint(screen *activity.Screen) (*http.Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &http.Server{Addr: listener.Addr().String(), ReadHeaderTimeout: 5 * time.Second, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			user, _, _ := r.BasicAuth()
			if screen != nil {
				screen.Show(terminal.Event{Kind: "endpoint", App: "demo", Says: fmt.Sprintf("is called: %s %s as user %q", r.Method, r.URL.Path, user)})
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"booked":true}`)
		})}
	go server.Serve(listener) //nolint:errcheck // ends with Close
	return server, nil
}
