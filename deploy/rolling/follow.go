package main

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
)

// follow reads the events of a session as a browser does: where its stream ends it connects
// again behind the last event that it has. It closes following when it hears.
func (l *load) follow(ctx context.Context, session string, following chan struct{}) {
	last := ""
	for ctx.Err() == nil {
		request, err := l.request(ctx, http.MethodGet, app+"/sessions/"+session+"/events", "")
		if err != nil {
			return
		}
		if last != "" {
			request.Header.Set("Last-Event-ID", last)
		}
		response, err := streams.Do(request)
		if err != nil {
			wait(ctx, checkEvery)
			continue
		}
		if response.StatusCode == http.StatusOK {
			last = l.events(response, session, last, following)
		}
		_ = response.Body.Close()
		wait(ctx, checkEvery)
	}
}

var streams = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// events reads one stream to its end, and returns the id of its last event.
func (l *load) events(response *http.Response, session, last string, following chan struct{}) string {
	kind, lines := "", bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			last = value
			select {
			case <-following:
			default:
				close(following)
			}
		case "event":
			kind = value
		case "data":
			if kind == "tool.trigger" {
				l.heard(session, value)
			}
		}
	}
	return last
}

func (l *load) heard(session, payload string) {
	var event struct{ ID string }
	_ = json.Unmarshal([]byte(payload), &event) // one that cannot be read is missed
	l.mu.Lock()
	defer l.mu.Unlock()
	l.followed[session] = append(l.followed[session], event.ID)
}
