// Command load posts messages to a running service and prints how long they took. The
// messages set off a tool without parameters, so that the figures are Earshot's own
// and not a model's:
//
//	go run ./cmd/earshot dev &
//	go run ./deploy/load -messages 5000 -clients 32
//
// Each client has a session of its own. A message that is not answered with exactly
// one published match counts as a failure, and any failure makes the exit code 1.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"
)

type load struct {
	url      string
	key      string
	messages int
	clients  int
	http     *http.Client
}

func main() {
	l := load{}
	flag.StringVar(&l.url, "url", "http://127.0.0.1:8080", "where the service is")
	flag.StringVar(&l.key, "key", os.Getenv("EARSHOT_ADMIN_KEY"), "its admin key, where it has one")
	flag.IntVar(&l.messages, "messages", 2000, "how many messages are posted")
	flag.IntVar(&l.clients, "clients", 16, "by how many clients at the same time")
	flag.Parse()
	l.http = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: l.clients}}
	if err := l.run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// run registers a tool, posts the messages and prints the figures.
func (l load) run(ctx context.Context, out io.Writer) error {
	if l.clients < 1 || l.messages < l.clients {
		return fmt.Errorf("%d messages by %d clients: give at least one client, and a message for each", l.messages, l.clients)
	}
	if err := l.send(ctx, http.MethodPut, "/v1/apps/load", map[string]any{"name": "load", "settings": map[string]any{"limits": nil}}, nil); err != nil {
		return err
	}
	tool := map[string]any{"tools": []any{map[string]any{"name": "ring", "description": "Ring the bell"}}}
	if err := l.send(ctx, http.MethodPut, "/v1/apps/load/repositories/bell", tool, nil); err != nil {
		return err
	}
	started := time.Now()
	times, failures := l.postAll(ctx)
	took := time.Since(started)
	slices.Sort(times)
	at := func(share float64) time.Duration {
		return times[int(share*float64(len(times)-1))].Round(10 * time.Microsecond)
	}
	fmt.Fprintf(out, "%d messages by %d clients in %s: %.0f/s, p50 %s, p99 %s, longest %s, %d failed\n",
		l.messages, l.clients, took.Round(time.Millisecond), float64(l.messages)/took.Seconds(), at(0.5), at(0.99), at(1), len(failures))
	if len(failures) > 0 {
		return fmt.Errorf("%d failures, the first: %w", len(failures), failures[0])
	}
	return nil
}

// postAll lets every client post its share, one message after the other.
func (l load) postAll(ctx context.Context) (times []time.Duration, failures []error) {
	var mu sync.Mutex
	var group sync.WaitGroup
	for client := range l.clients {
		group.Go(func() {
			for i := client; i < l.messages; i += l.clients {
				started := time.Now()
				err := l.post(ctx, fmt.Sprintf("s%d", client))
				mu.Lock()
				times = append(times, time.Since(started))
				if err != nil {
					failures = append(failures, err)
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return times, failures
}

func (l load) post(ctx context.Context, session string) error {
	var answer struct {
		Matches []struct {
			Event struct{ State string }
		}
	}
	err := l.send(ctx, http.MethodPost, "/v1/apps/load/sessions/"+session+"/messages", map[string]any{"actor": "user", "text": "ring"}, &answer)
	if err == nil && (len(answer.Matches) != 1 || answer.Matches[0].Event.State != "published") {
		err = fmt.Errorf("a message was answered with %+v", answer.Matches)
	}
	return err
}

func (l load) send(ctx context.Context, method, path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, l.url+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if l.key != "" {
		request.Header.Set("Authorization", "Bearer "+l.key)
	}
	response, err := l.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s: %.200s", method, path, response.Status, answer)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}
