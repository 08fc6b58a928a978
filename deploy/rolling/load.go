package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"earshot/deploy/rolling/stage"
)

const (
	app  = "/v1/apps/clinic"
	desk = `{"tools":[{"name":"ring","description":"Ring the bell at the desk","examples":["Ring the bell"],"url":"http://%s/ok"}]}`
	// breath is the pause of a client between two requests.
	breath = 5 * time.Millisecond
	// patience is how long an answer may take, and all that is owed in the end.
	patience = 30 * time.Second
)

// load are clients that use the service, with the books that they keep.
type load struct {
	stage   *stage.Stage
	base    string
	http    *http.Client
	stop    context.CancelFunc
	running sync.WaitGroup

	quiet   atomic.Bool // clients are to send nothing new
	mu      sync.Mutex
	talking int // clients that have not stopped yet
	report
	sessions map[string][]string // ids of the triggers that were set off in it, in order
	followed map[string][]string // and those that its follower got, in theirs
}

// begin defines an app and has clients use it until the load is ended.
func begin(ctx context.Context, s *stage.Stage, base string, clients int) (*load, error) {
	l := &load{stage: s, base: base, http: &http.Client{Timeout: patience}, sessions: map[string][]string{}, followed: map[string][]string{}, talking: clients}
	for _, put := range [][2]string{{app, `{"settings":{"limits":null}}`}, {app + "/repositories/desk", fmt.Sprintf(desk, s.Sink.Addr)}} {
		if status, answer, err := l.ask(ctx, http.MethodPut, put[0], put[1]); err != nil || status >= 300 {
			return nil, fmt.Errorf("PUT %s: %d %s %w", put[0], status, answer, err)
		}
	}
	ctx, l.stop = context.WithCancel(ctx)
	for n := range clients {
		session := fmt.Sprintf("s%d", n+1)
		following := make(chan struct{})
		l.running.Go(func() { l.follow(ctx, session, following) })
		l.running.Go(func() {
			<-following
			l.talk(ctx, session)
		})
	}
	return l, nil
}

// talk sends messages and direct triggers, one after the other.
func (l *load) talk(ctx context.Context, session string) {
	defer l.silent()
	for n := 0; !l.quiet.Load(); n++ {
		if n%3 == 2 {
			l.twice(session, "/triggers", fmt.Sprintf(`{"name":"ring","source":"ui","triggerId":"%s-t%d"}`, session, n), func([]byte) []string {
				return []string{fmt.Sprintf("%s-t%d", session, n)}
			})
		} else {
			l.twice(session, "/messages", fmt.Sprintf(`{"messageId":"m%d","actor":"user","text":"Ring the bell"}`, n), matched)
		}
		wait(ctx, breath)
	}
}

func (l *load) silent() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.talking--
}

// matched are the triggers that a message set off.
func matched(answer []byte) (ids []string) {
	var said struct {
		Matches []struct{ TriggerID string }
	}
	_ = json.Unmarshal(answer, &said) // one that cannot be read has no match, which is noticed
	for _, match := range said.Matches {
		ids = append(ids, match.TriggerID)
	}
	return ids
}

// twice sends a request, and once more where it was not answered as it should be.
func (l *load) twice(session, path, body string, fired func(answer []byte) []string) {
	status, answer, err := l.ask(context.Background(), http.MethodPost, app+"/sessions/"+session+path, body)
	again := err != nil || status >= 500
	first := fmt.Sprint(status, " ", string(answer), " ", err)
	if again {
		status, answer, err = l.ask(context.Background(), http.MethodPost, app+"/sessions/"+session+path, body)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests++
	if again {
		l.retried = append(l.retried, first)
	}
	ids := fired(answer)
	if err != nil || status >= 300 || len(ids) != 1 {
		l.failed = append(l.failed, fmt.Sprintf("%s %s: %s, then %d %s %v", path, body, first, status, answer, err))
		return
	}
	l.sessions[session] = append(l.sessions[session], ids...)
}

func (l *load) ask(ctx context.Context, method, path, body string) (int, []byte, error) {
	request, err := l.request(ctx, method, path, body)
	if err != nil {
		return 0, nil, err
	}
	response, err := l.http.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, text, err
}

func (l *load) request(ctx context.Context, method, path, body string) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, method, l.base+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+stage.AdminKey)
	request.Header.Set("Content-Type", "application/json")
	return request, nil
}
