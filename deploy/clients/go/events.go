package earshot

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"
)

// Event is one event of a session or an app.
type Event struct {
	ID   string          // for Events, to continue after this event; empty for events about the connection
	Kind string          // the first two words of the subject, as tool.trigger, tool.result, tool.rejected or chat.message
	Data json.RawMessage // the payload: /asyncapi.json describes each
}

// Payload is what the events of triggers have in common. Fields that an event does not have are zero.
type Payload struct {
	ID           string         `json:"id"` // of the trigger; of tool.result, of the event
	TriggerID    string         `json:"triggerId"`
	Time         time.Time      `json:"ts"`
	AppID        string         `json:"appId"`
	SessionID    string         `json:"sessionId"` // empty for triggers of the app
	MessageID    string         `json:"messageId"`
	Actor        string         `json:"actor"` // of chat.message: who said it, user or agent
	Text         string         `json:"text"`  // what was said
	RepositoryID string         `json:"repositoryId"`
	Source       string         `json:"source"` // message, ui, task or agent
	Name         string         `json:"name"`
	Values       Values         `json:"values"`
	Metadata     map[string]any `json:"metadata"`

	// Of tool.result: OK and Result, or Reason and Error.
	OK     bool            `json:"ok"`
	Status int             `json:"status"`
	Result json.RawMessage `json:"result"`
	Reason string          `json:"reason"`
	Error  string          `json:"error"`
	// Of tool.rejected.
	Missing []string     `json:"missing"`
	Errors  []ValueFault `json:"errors"`
	Ask     string       `json:"ask"`
	// Of tool.confirm.
	Digest    string    `json:"digest"`
	Question  string    `json:"question"`
	ExpiresAt time.Time `json:"expiresAt"`
	// Of a trigger that a subscriber answers.
	Answer *struct {
		Subject string `json:"subject"`
		URL     string `json:"url"`
	} `json:"answer"`
}

// Payload reads what the event says.
func (e Event) Payload() (Payload, error) {
	var payload Payload
	err := decode(e.Data, &payload)
	return payload, err
}

// Events follows the events from now on, or those after an event by its id; "0" is from the first that is kept. A lost
// connection is made again without a gap. It ends with the context, with the token of a session, or by yielding an error
// that a retry does not fix. It connects when the loop begins: use Follow to miss nothing from an earlier moment.
func (s *scope) Events(ctx context.Context, after string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		followed, err := s.Follow(ctx, after)
		if err != nil {
			if ctx.Err() == nil {
				yield(Event{}, err)
			}
			return
		}
		defer followed.Close()
		for event, err := range followed.All() {
			if !yield(event, err) {
				return
			}
		}
	}
}

// Followed is a connection to the events of a session or an app. It is for one goroutine.
type Followed struct {
	scope *scope
	ctx   context.Context
	end   context.CancelFunc
	after string
	body  io.ReadCloser
	lines *bufio.Reader
	alive *time.Timer // closes a connection on which nothing comes
	begun time.Time
}

// Follow connects to the events, and returns when the service sends them. Close ends it.
func (s *scope) Follow(ctx context.Context, after string) (*Followed, error) {
	ctx, end := context.WithCancel(ctx)
	f := &Followed{scope: s, ctx: ctx, end: end, after: after}
	if err := f.connect(s.client.again); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Close ends the connection.
func (f *Followed) Close() {
	f.end()
	f.leave()
}

// silence is how long nothing may come: the service sends a comment every 15 seconds.
const silence = 45 * time.Second

// connect makes the connection, repeatedly; without end if times is negative.
func (f *Followed) connect(times int) error {
	client := f.scope.client
	return client.retry(f.ctx, times, true, func() error {
		open := get(f.scope.path+"/events").with("Last-Event-ID", f.after).with("Accept", "text/event-stream")
		response, err := client.open(f.ctx, open, nil)
		if err != nil {
			return err
		}
		f.leave()
		f.body, f.lines, f.begun = response.Body, bufio.NewReader(response.Body), time.Now()
		f.alive = time.AfterFunc(silence, func() { _ = response.Body.Close() }) // ends the read that waits
		first, err := f.read()                                                  // the place from which events come
		switch {
		case err != nil:
			return &lost{err}
		case first.Kind != "":
			return fmt.Errorf("earshot: %s is no stream of events", response.Request.URL)
		}
		return nil
	})
}

func (f *Followed) leave() {
	if f.body != nil {
		f.alive.Stop()
		_ = f.body.Close() // all that was to be read of it was
	}
}

// All yields the events as they come. It ends as [Session.Events] does.
func (f *Followed) All() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for f.ctx.Err() == nil {
			event, err := f.read()
			if err == nil && f.ends(event) {
				f.scope.client.tokens.renew()
				err = &lost{errors.New("the token ends")}
			}
			if err != nil {
				if err = f.connect(-1); err != nil {
					if f.ctx.Err() == nil {
						yield(Event{}, err)
					}
					return
				}
				continue
			}
			if event.Kind != "" && !yield(event, nil) || event.Kind == "token.expired" {
				return
			}
		}
	}
}

// goodWhile is how long a connection has lived whose token is good for a while.
const goodWhile = 5 * time.Second

// ends reports whether the token of the connection ends, and can be followed by another one.
func (f *Followed) ends(event Event) bool {
	return f.scope.client.tokens.renews() && (event.Kind == "token.expired" || event.Kind == "token.expiring" && time.Since(f.begun) > goodWhile)
}

// read reads up to the end of one event; that of one without a kind says where the stream is.
func (f *Followed) read() (Event, error) {
	var event Event
	var data []string
	for {
		line, err := f.lines.ReadString('\n')
		if err != nil {
			return event, err
		}
		f.alive.Reset(silence)
		line = strings.TrimRight(line, "\r\n")
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && (event.Kind != "" || event.ID != ""):
			if event.Data = json.RawMessage(strings.Join(data, "\n")); event.ID != "" {
				f.after = event.ID
			}
			return event, nil
		case name == "id":
			event.ID = value
		case name == "event":
			event.Kind = value
		case name == "data":
			data = append(data, value)
		}
	}
}
