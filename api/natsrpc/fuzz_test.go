package natsrpc

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats.go"

	"earshot/api"
	"earshot/api/ratelimit"
	"earshot/emitter"
	"earshot/repositories"
	"earshot/repositories/secret"
	"earshot/trigger"
	"earshot/trigger/explain"
	"earshot/trigger/query"
)

type place struct{ appID, sessionID string }

// asked is REST, and notes what its engine was asked for, and with which headers.
type asked struct {
	api.Engine
	rest    http.Handler
	headers http.Header
	places  []place
}

func (a *asked) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	a.headers = request.Header.Clone()
	a.rest.ServeHTTP(answer, request)
}

func (a *asked) took(appID, sessionID string) { a.places = append(a.places, place{appID, sessionID}) }

func (a *asked) Post(_ context.Context, m trigger.Message) (json.RawMessage, error) {
	a.took(m.AppID, m.SessionID)
	return json.RawMessage(`{}`), nil
}

func (a *asked) PostAsync(_ context.Context, m trigger.Message) (string, error) {
	a.took(m.AppID, m.SessionID)
	return m.ID, nil
}

func (a *asked) Draft(ctx context.Context, m trigger.Message) (json.RawMessage, error) {
	return a.Post(ctx, m)
}

func (a *asked) DryRun(ctx context.Context, m trigger.Message) (query.Answer, explain.Explanation, error) {
	_, err := a.Post(ctx, m)
	return query.Answer{}, explain.Explanation{}, err
}

func (a *asked) Fire(_ context.Context, d trigger.Direct) (json.RawMessage, error) {
	a.took(d.AppID, d.SessionID)
	return json.RawMessage(`{"triggerId":"t1"}`), nil
}

// anyApp is a store in which there is every app.
type anyApp struct{ api.Store }

func (anyApp) App(_ context.Context, appID string) (*repositories.App, error) {
	return &repositories.App{ID: appID}, nil
}

// matches reports whether NATS delivers a subject to a pattern.
func matches(pattern, subject string) bool {
	wanted, sent := strings.Split(pattern, "."), strings.Split(subject, ".")
	for i, token := range wanted {
		if i == len(sent) || token != "*" && token != ">" && token != sent[i] {
			return false
		}
		if token == ">" {
			return true
		}
	}
	return len(wanted) == len(sent)
}

// serverTakes reports whether a subject can be published: NATS ends it at a space.
func serverTakes(subject string) bool {
	return subject == "" || !strings.ContainsAny(subject, " \t\r\n\x00") && !strings.Contains("."+subject+".", "..")
}

const planted = "planted-admin-key"

// FuzzRequest sends requests as NATS delivers them. The engine is only called for the subject's app and
// session, whatever else is sent, and REST sees only the passed headers. No reply contains the admin's key, or
// goes to a subject of the service or of NATS.
func FuzzRequest(f *testing.F) {
	for _, seed := range [][6]string{
		{"", "_INBOX.x.1", "earshot.v1.message.clinic.s1", "corp_token", "t", `{"messageId":"m1","actor":"user","text":"hello"}`},
		{"_INBOX_web, my.inbox.>", "_INBOX_web.x", "earshot.v1.message.clinic.s1", "prefer", "respond-async", `{"actor":"user","text":"hello"}`},
		{">", "tool.trigger.clinic.s1.book", "earshot.v1.message.clinic.s1", "traceparent", "00-1-2-01", `{"actor":"user","text":"hello","draft":true}`},
		{">", "$JS.API.STREAM.DELETE.EARSHOT", "earshot.v1.trigger.clinic", "Authorization", "Bearer other", `{"name":"book","source":"task","values":{"date":"x"},"appId":"other"}`},
		{">", "earshot.v1.trigger.other", "earshot.v1.trigger.clinic.s1", "X-Forwarded-For", "10.0.0.1", `{"name":"book","source":"ui","metadata":{"a":"b"}}`},
		{"chat", "chat.message.a.b", "earshot.v1.trigger.a/b?c=#.%2e%2e", "Content-Type", "text/plain", `{"name":"book","source":"ui"}`},
		{"_INBOX", "_INBOX", "earshot.v1.message.%2F.\xff", "Transfer-Encoding", "chunked\r\nHost: x", "\x00"},
		{"", "", "earshot.v1.trigger.clinic/sessions/s2", "Prefer", "", `{"name":"book","source":"ui"}`},
		{"", "", "earshot.v1.message.clinic.s1/messages#", "tracestate", "a=b", `{"actor":"user","text":"hello"}`},
		{">", "answer.x", "earshot.v1.message.*.>", "Cookie", "c", `null`},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3], seed[4], []byte(seed[5]))
	}
	engine := &asked{}
	engine.rest = api.New(api.Options{Store: anyApp{}, Engine: engine, AdminKey: secret.New(planted), Logger: slog.New(slog.DiscardHandler)})
	f.Fuzz(func(t *testing.T, prefixes, reply, subject, name, value string, body []byte) {
		replies, err := ParseReplies(prefixes)
		if err != nil || !serverTakes(reply) || !serverTakes(subject) {
			t.Skip("nobody could send it")
		}
		service := New(Options{REST: engine, AdminKey: secret.New(planted), Replies: replies, AtOnce: 1, Logger: slog.New(slog.DiscardHandler), Now: time.Now})
		message := &nats.Msg{Subject: subject, Reply: reply, Data: body, Header: nats.Header{name: {value}}}
		engine.headers, engine.places = nil, nil
		for _, e := range service.endpoints {
			if !matches(e.Subject, subject) {
				continue
			}
			keepsIDs(t, e, subject)
			if e.Counts != ratelimit.Nothing && e.Name != "commit" { // the engine handles messages and triggers
				service.answers(t, e, message, engine)
			}
		}
	})
}

// keepsIDs checks that REST is asked at the path of the endpoint, with the ids of the subject.
func keepsIDs(t *testing.T, e *endpoint, subject string) {
	method, path := e.target(subject)
	if method+" "+e.Path != e.Operation {
		t.Errorf("%s is asked for by %s", e.Operation, method)
	}
	ids, asked := strings.Split(subject, ".")[3:], strings.Split(path, "/")
	for i, part := range strings.Split(e.Path, "/") {
		if !strings.HasPrefix(part, ":") {
			if asked[i] != part {
				t.Errorf("%q asks for %s", subject, path)
			}
			continue
		}
		if id, err := url.PathUnescape(asked[i]); err != nil || id != ids[0] {
			t.Errorf("%q asks for %s", subject, path)
		}
		ids = ids[1:]
	}
	if len(asked) != strings.Count(e.Path, "/")+1 || len(ids) > 0 {
		t.Errorf("%q asks for %s", subject, path)
	}
}

// answers checks what comes of a request.
func (s *Service) answers(t *testing.T, e *endpoint, message *nats.Msg, engine *asked) {
	if !s.options.Replies.allow(message.Reply) {
		s.take(e, message)
		s.working.Wait()
		if message.Reply != "" && engine.headers != nil {
			t.Fatalf("%q was done, whose reply may not go to %q", message.Subject, message.Reply)
		}
	} else if heard := listener(message.Reply); heard != "" {
		t.Fatalf("a reply goes to %q, which is one of %s", message.Reply, heard)
	}
	engine.places = nil
	got := s.ask(e, message)
	ids := strings.Split(message.Subject, ".")[3:]
	want := place{ids[0], strings.Join(ids[1:], ".")}
	for _, at := range engine.places {
		if at != want {
			t.Errorf("%q was asked for %q, not for %q", message.Subject, at, want)
		}
	}
	refused := got.Status == http.StatusUnauthorized // it has its own key
	if got.Status >= http.StatusInternalServerError || got.Status < http.StatusBadRequest != (len(engine.places) == 1) || refused != isKeyed(message) {
		t.Errorf("%q %q is answered %d %s, and the engine was asked for %q", message.Subject, message.Data, got.Status, &got.Body, engine.places)
	}
	for name, values := range engine.headers {
		if !isCarried(name) && !(name == keyHeader && len(values) == 1 && values[0] == "Bearer "+planted) {
			t.Errorf("REST sees %s: %q", name, values)
		}
	}
	text, _ := describe(got)
	if bytes.Contains(got.Body.Bytes(), []byte(planted)) || strings.ContainsAny(text, "\r\n") || !utf8.ValidString(text) || len(text) > maxDescription+len("…") {
		t.Errorf("the answer is %s, in a line %q", &got.Body, text)
	}
}

func isKeyed(message *nats.Msg) bool {
	for name, values := range message.Header {
		if strings.EqualFold(name, keyHeader) && values[0] != "" && values[0] != "Bearer "+planted {
			return true
		}
	}
	return false
}

func isCarried(name string) bool {
	return api.ForwardsHeader(name) || strings.EqualFold(name, keyHeader)
}

// listener returns a pattern of the service or of NATS that matches a subject; empty for none.
func listener(subject string) string {
	heard := append(emitter.Subjects(), "answer.>", "$SRV.>", "$JS.>", "$SYS.>", "$KV.>")
	for _, e := range endpoints() {
		heard = append(heard, e.Subject)
	}
	for _, pattern := range heard {
		if matches(pattern, subject) {
			return pattern
		}
	}
	return ""
}
