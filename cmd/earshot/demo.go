package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"earshot/cmd/earshot/client"
)

// demoRepository is what the demo registers; SINK stands for its own endpoint.
//
//go:embed demo.json
var demoRepository string

const demoText = "Good morning, I want an appointment for 2 people at desk B"

// runDemo plays everybody around Earshot: an author who registers tools, a user who says
// something, a back end that subscribes to the events, and an endpoint that is called. It
// prints on out what each of them sees, until ctx ends.
func runDemo(ctx context.Context, remote client.Client, natsURL string, out io.Writer) error {
	screen := &demoScreen{out: out}
	sink, err := startDemoEndpoint(screen)
	if err != nil {
		return err
	}
	defer sink.Close()
	conn, err := nats.Connect(natsURL)
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, subject := range []string{"tool.*.demo.>", "app.demo.>"} {
		if _, err := conn.Subscribe(subject, func(m *nats.Msg) { screen.show("event", m.Subject, m.Data) }); err != nil {
			return err
		}
	}
	if err := conn.FlushTimeout(5 * time.Second); err != nil {
		return err
	}
	if err := playDemo(ctx, remote, "http://"+sink.Addr, screen); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// playDemo registers the app and says something to it.
func playDemo(ctx context.Context, remote client.Client, sink string, screen *demoScreen) error {
	if _, err := remote.Call(ctx, http.MethodPut, client.Path("apps", "demo"), []byte(`{"name":"Demo clinic"}`)); err != nil {
		return err
	}
	desk := strings.ReplaceAll(demoRepository, "SINK", sink)
	if _, err := remote.Call(ctx, http.MethodPut, client.Path("apps", "demo", "repositories", "desk"), []byte(desk)); err != nil {
		return err
	}
	body, err := json.Marshal(map[string]string{"actor": "user", "text": demoText})
	if err != nil {
		return err
	}
	screen.show("says", demoText, nil)
	messages := client.Path("apps", "demo", "sessions", "s1", "messages")
	answer, err := remote.Call(ctx, http.MethodPost, messages, body)
	if err != nil {
		return err
	}
	screen.show("answer", "", answer)
	key := ""
	if !remote.Key.Empty() {
		key = ` -H "Authorization: Bearer $EARSHOT_ADMIN_KEY"`
	}
	screen.show("try", fmt.Sprintf(`curl -s %s%s -d '{"actor":"user","text":"When are you open?"}' -H 'Content-Type: application/json'%s`, remote.Server, messages, key), nil)
	return nil
}

// startDemoEndpoint starts the endpoint that the demo's tool calls.
func startDemoEndpoint(screen *demoScreen) (*http.Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &http.Server{Addr: listener.Addr().String(), ReadHeaderTimeout: 5 * time.Second, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			user, _, _ := r.BasicAuth()
			body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
			screen.show("call", fmt.Sprintf("%s %s as user %q", r.Method, r.URL.Path, user), body)
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"booked":true}`)
		})}
	go server.Serve(listener) //nolint:errcheck // ends with Close
	return server, nil
}

// demoScreen is the output of the demo, which several of its parts write to at once.
type demoScreen struct {
	mu  sync.Mutex
	out io.Writer
}

func (s *demoScreen) show(what, text string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, "\n%-7s %s\n", what, text)
	if len(data) == 0 {
		return
	}
	var pretty bytes.Buffer
	if json.Indent(&pretty, data, "        ", "  ") != nil {
		pretty.Write(data)
	}
	fmt.Fprintf(s.out, "        %s\n", pretty.String())
}
