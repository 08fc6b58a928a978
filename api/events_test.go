package api_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/deploy/testbed"
	"earshot/deploy/testbed/natstest"
	"earshot/emitter"
	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/parameters"
	"earshot/trigger/effect"
)

const (
	sessionEvents = "/v1/apps/clinic/sessions/s1/events"
	appEvents     = "/v1/apps/clinic/events"
)

// stage is a live world whose event streams read a real NATS server.
type stage struct {
	world
	emitter *emitter.Emitter
	closing chan struct{}
}

func onStage(t *testing.T, change ...func(*api.Options)) stage {
	server := natstest.Run(t)
	out, err := emitter.Connect(server.URL(), emitter.Options{Timeout: 5 * time.Second, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(out.Close)
	tail := out.Tail(0)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { tail.Run(ctx) })
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	closing := make(chan struct{})
	w := live(t, everything, append([]func(*api.Options){func(o *api.Options) { o.Events, o.Closing = tail, closing }}, change...)...)
	w.call("PUT", "/v1/apps/clinic", `{}`).is(201, "")
	return stage{w, out, closing}
}

// publish puts an event of a session on the stream.
func (s stage) publish(subject, session, payload string) {
	s.t.Helper()
	id := fmt.Sprint(time.Now().UnixNano())
	outcome := s.emitter.Deliver(s.t.Context(), effect.Effect{ID: id, Kind: effect.KindEvent, Event: &effect.Event{
		Subject: subject, ID: id, Type: "earshot.tool", Source: "/apps/clinic/sessions/" + session, Time: time.Now(), Data: json.RawMessage(payload),
	}})
	require.Equal(s.t, effect.Done, outcome.Verdict, outcome.Error)
}

// told is one server-sent event.
type told struct{ id, event, data string }

// stream is an open event stream.
type stream struct {
	*http.Response
	t     *testing.T
	lines *bufio.Scanner
	first string // the id that came before any event
}

func (s stage) open(path, credential string, headers ...string) *stream {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), "GET", s.url+path, nil)
	require.NoError(s.t, err)
	for _, header := range append([]string{bearer(credential)}, headers...) {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = response.Body.Close() })
	opened := &stream{Response: response, t: s.t.(*testing.T), lines: bufio.NewScanner(response.Body)}
	opened.lines.Buffer(nil, 1<<20)
	if response.StatusCode == 200 {
		opened.first = opened.block().id
	}
	return opened
}

// block reads up to the next empty line; it is empty at the end of the stream.
func (s *stream) block() (got told) {
	for s.lines.Scan() {
		name, value, _ := strings.Cut(s.lines.Text(), ": ")
		switch name {
		case "":
			return got
		case "id":
			got.id = value
		case "event":
			got.event = value
		case "data":
			got.data += value
		}
	}
	return told{}
}

// next reads the next event, behind comments.
func (s *stream) next() told {
	s.t.Helper()
	for {
		got := s.block()
		if got.data != "" || got == (told{}) {
			return got
		}
	}
}

// ends checks that the server ends the stream, by itself and as a whole answer.
func (s *stream) ends() {
	s.t.Helper()
	_, err := io.Copy(io.Discard, s.Body)
	require.NoError(s.t, err)
}

func TestAStreamShowsTheEventsOfItsSession(t *testing.T) {
	s := onStage(t)
	mine, all := s.open(sessionEvents, adminKey), s.open(appEvents, adminKey)
	require.Equal(t, "text/event-stream", mine.Header.Get("Content-Type"))
	require.Equal(t, "no-store", mine.Header.Get("Cache-Control"))
	s.publish("tool.trigger.clinic.s2.book", "s2", `{"n":1}`)
	s.publish("tool.trigger.clinic.s1.book", "s1", `{"n":2}`)
	s.publish("app.clinic.calendar.request", "s1", "{\"n\":\r\n3}")
	require.Equal(t, told{"2", "tool.trigger", `{"n":2}`}, mine.next())
	require.Equal(t, told{"3", "app.clinic", `{"n":3}`}, mine.next())
	require.Equal(t, told{"1", "tool.trigger", `{"n":1}`}, all.next())
	require.Equal(t, told{"2", "tool.trigger", `{"n":2}`}, all.next())
}

func TestAStreamResumesBehindTheLastEvent(t *testing.T) {
	s := onStage(t)
	s.publish("tool.trigger.clinic.s1.book", "s1", `{"n":1}`)
	var begun *stream
	require.Eventually(t, func() bool {
		begun = s.open(sessionEvents, adminKey)
		return begun.first == "1"
	}, 10*time.Second, 10*time.Millisecond, "even one that has seen nothing knows where it is")
	s.publish("tool.trigger.clinic.s1.book", "s1", `{"n":2}`)
	s.publish("tool.result.clinic.s1.book", "s1", `{"n":3}`)
	require.Equal(t, "2", begun.next().id)
	again := s.open(sessionEvents, adminKey, "Last-Event-ID: 2")
	s.publish("tool.trigger.clinic.s1.book", "s1", `{"n":4}`)
	require.Equal(t, told{"3", "tool.result", `{"n":3}`}, again.next())
	require.Equal(t, "4", again.next().id)
	require.Equal(t, "2", s.open(sessionEvents, adminKey, "Last-Event-ID: 1").next().id)
	s.call("GET", sessionEvents, "", "Last-Event-ID: x").problem(400, "Last-Event-ID")

	for _, path := range []string{sessionEvents, appEvents} { // what cannot set a header says it in the query
		require.Equal(t, "3", s.open(path+"?lastEventId=2", adminKey).next().id)
		require.Equal(t, "4", s.open(path+"?lastEventId=1", adminKey, "Last-Event-ID: 3").next().id, "it has read on since it made its query")
		require.Equal(t, "4", s.open(path+"?lastEventId=", adminKey).first)
		s.call("GET", path+"?lastEventId=-1", "").problem(400, "lastEventId")
	}
}

// A chat goes on where it broke off, with a token that its page has got in time.
func TestAStreamSaysWhenItsTokenEnds(t *testing.T) {
	clock := testbed.NewClock(time.Now())
	s := onStage(t, func(o *api.Options) { o.Now = clock.Now })
	hour := func(key string) made {
		return s.call("POST", "/v1/apps/clinic/sessions/s1/token", `{"expiresIn":"1h"}`, bearer(key)).made()
	}
	key := s.call("POST", keysPath, `{"scopes":["messages"],"expiresIn":"2h"}`).made()
	token := hour(adminKey)
	chat, other := s.open(sessionEvents, token.Token), s.open(appEvents, key.Key)
	ends := `{"expiresAt":"` + token.Expires.Format(time.RFC3339) + `"}`
	s.publish("chat.message.clinic.s1", "s1", `{"n":1}`)
	require.Equal(t, told{"1", "chat.message", `{"n":1}`}, chat.next())
	clock.Advance(59*time.Minute + 5*time.Second)
	require.Equal(t, told{"", "token.expiring", ends}, chat.next())
	require.Equal(t, told{"", "token.expiring", ends}, s.open(sessionEvents, token.Token).next(), "at once, where it is less than a minute")
	s.publish("chat.failed.clinic.s1", "s1", `{"n":2}`)
	require.Equal(t, told{"2", "chat.failed", `{"n":2}`}, chat.next(), "it goes on")
	clock.Advance(time.Minute)
	require.Equal(t, told{"", "token.expired", ends}, chat.next())
	chat.ends()

	again := s.open(sessionEvents+"?lastEventId=1&access_token="+hour(key.Key).Token, "", "Authorization: none")
	require.Equal(t, told{"2", "chat.failed", `{"n":2}`}, again.next())
	s.call("DELETE", keysPath+"/"+key.KeyID, "").is(204, "")
	last := again.next()
	require.Equal(t, "token.expired", last.event)
	require.Contains(t, last.data, `"detail":"the key is`)
	again.ends()
	require.Equal(t, "1", other.next().id)
	require.Equal(t, "2", other.next().id)
	require.Equal(t, "token.expired", other.next().event, "a key that ends says so as well")
	other.ends()
}

func TestAStreamEndsWithItsKeyOrToken(t *testing.T) {
	clock := testbed.NewClock(time.Now())
	s := onStage(t, func(o *api.Options) { o.Now = clock.Now })
	key := s.call("POST", keysPath, `{"scopes":["messages"]}`).made()
	token := s.call("POST", "/v1/apps/clinic/sessions/s1/token", "", bearer(key.Key)).made()
	byKey, byToken, other := s.open(appEvents, key.Key), s.open(sessionEvents, token.Token), s.open(sessionEvents, adminKey)
	s.call("DELETE", keysPath+"/"+key.KeyID, "").is(204, "")
	byKey.ends()
	byToken.ends()

	brief := s.call("POST", "/v1/apps/clinic/sessions/s1/token", `{"expiresIn":"1h"}`).made()
	ending := s.open(sessionEvents, brief.Token)
	clock.Advance(time.Hour)
	ending.ends()
	s.publish("tool.trigger.clinic.s1.book", "s1", `{"n":1}`)
	require.Equal(t, `{"n":1}`, other.next().data, "others go on")

	elsewhere := s.open(appEvents, adminKey)
	s.call("DELETE", "/v1/apps/clinic/sessions/s1", "").is(204, "")
	other.ends()
	s.publish("tool.trigger.clinic.s2.book", "s2", `{"n":2}`)
	require.Equal(t, `{"n":2}`, elsewhere.next().data, "those of the app go on")
}

func TestAStreamOfAFrontEndShowsNoDefinitions(t *testing.T) {
	s := onStage(t)
	token := s.call("POST", "/v1/apps/clinic/sessions/s1/token", "").made()
	browser, backEnd := s.open(sessionEvents+"?access_token="+token.Token, "", "Authorization: none"), s.open(sessionEvents, adminKey)
	require.Equal(t, 200, browser.StatusCode, "EventSource sends no header")
	s.publish("tool.changed.clinic.r", "s1", `{"record":{"url":"https://internal"}}`)
	s.publish("tool.trigger.clinic.s1.book", "s1", `{"n":1}`)
	require.Equal(t, "tool.trigger", browser.next().event)
	require.Equal(t, "tool.changed", backEnd.next().event)
	require.NotContains(t, s.log.String(), token.Token)
	for path, status := range map[string]int{
		sessionEvents + "?access_token=" + adminKey: 401, messagesPath + "?access_token=" + token.Token: 401,
		"/v1/apps/clinic/sessions/s2/events?access_token=" + token.Token: 403,
	} {
		require.Equal(t, status, s.open(path, "", "Authorization: none").StatusCode, path)
	}
}

func TestStreamsAreCounted(t *testing.T) {
	s := onStage(t, func(o *api.Options) { o.Streams = 2 })
	first := s.open(sessionEvents, adminKey)
	s.open(appEvents, adminKey)
	got := s.call("GET", appEvents, "")
	got.problem(429, "an app may have 2")
	require.NotEmpty(t, got.Header.Get("Retry-After"))
	require.NoError(t, first.Body.Close())
	require.Eventually(t, func() bool { return s.open(appEvents, adminKey).StatusCode == 200 }, time.Minute, 10*time.Millisecond)
}

func TestOneSessionCannotTakeAllStreamsOfItsApp(t *testing.T) {
	s := onStage(t)
	for range 100 {
		require.Equal(t, 200, s.open(sessionEvents, adminKey).StatusCode)
	}
	require.Equal(t, 429, s.open(sessionEvents, adminKey).StatusCode)
	require.Equal(t, 200, s.open("/v1/apps/clinic/sessions/s2/events", adminKey).StatusCode)
}

func TestStreamsEndWhenTheServiceDoes(t *testing.T) {
	s := onStage(t)
	opened := s.open(sessionEvents, adminKey)
	close(s.closing)
	opened.ends()
}

func TestASlowReaderIsCutOffAndOthersGoOn(t *testing.T) {
	s := onStage(t, func(o *api.Options) { o.WriteTime = brief })
	slow, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	require.NoError(t, err)
	defer slow.Close()
	require.NoError(t, slow.(*net.TCPConn).SetReadBuffer(1024))
	_, err = io.WriteString(slow, "GET "+sessionEvents+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+adminKey+"\r\n\r\n")
	require.NoError(t, err)
	_, err = bufio.NewReaderSize(slow, 16).ReadString('\n') // it is open, and then reads no more
	require.NoError(t, err)
	quick := s.open(sessionEvents, adminKey)
	payload := `{"text":"` + strings.Repeat("x", 64<<10) + `"}`
	for range 20 { // a MiB more than the sockets of the slow one hold
		s.publish("tool.trigger.clinic.s1.book", "s1", payload)
		require.Len(t, quick.next().data, len(payload))
	}
	require.Eventually(t, func() bool {
		return strings.Count(s.log.String(), `"route":"/v1/apps/:appId/sessions/:sessionId/events"`) == 1
	}, 30*time.Second, 50*time.Millisecond)
}

func TestWithoutAStreamToReadItIs503(t *testing.T) {
	s := start(t)
	s.store.apps = []*repositories.App{{ID: "clinic"}}
	s.call("GET", sessionEvents, "").problem(503)
	s.store.err = repositories.ErrNotFound
	s.call("GET", sessionEvents, "").problem(404)
	w := live(t, everything, func(o *api.Options) { o.Events = quietEvents{} })
	w.call("PUT", "/v1/apps/clinic", `{}`).is(201, "")
	require.Equal(t, 200, w.call("HEAD", sessionEvents, "").StatusCode)
}

// byText lets the text of a message say what the matcher finds.
func byText(request matcher.Request) (matcher.Result, error) {
	switch request.Text {
	case "reject":
		return matcher.Result{Rejected: []matcher.Rejected{{
			Candidate: request.Candidates[0], Values: map[string]any{}, Missing: []string{"date"},
			Errors: []parameters.ValueFault{{Parameter: "date", Detail: "is required"}},
		}}}, nil
	case "nothing":
		return matcher.Result{}, nil
	case "fail":
		return matcher.Result{}, &matcher.Unavailable{Reason: "the model is away"}
	default:
		return everything(request)
	}
}

// heldTools are tools whose triggers wait for a yes, or stand for others with their values.
const heldTools = `{"tools":[{"name":"refund","confirm":"always","answer":{"within":"1m"}},{"name":"order","dedupe":{"within":"10m"}}]}`

// A front-end learns from its stream what is asked, and shows or says it.
func TestAStreamSaysWhatWaitsForAYes(t *testing.T) {
	s := onStage(t)
	s.call("PUT", "/v1/apps/clinic/repositories/held", heldTools).is(201, "")
	s.call("PUT", "/v1/apps/other", `{}`).is(201, "")
	mine := s.open(sessionEvents, s.credentials()["token"])
	fire := func(name, triggerID string) {
		s.call("POST", "/v1/apps/clinic/sessions/s1/triggers", `{"name":"`+name+`","source":"ui","triggerId":"`+triggerID+`"}`).is(201, "")
	}
	fire("refund", "t1")
	s.call("POST", "/v1/apps/clinic/triggers/t1/deny", "").is(202, "")
	fire("order", "t2")
	fire("order", "t3")
	for _, event := range s.sink.all() {
		if strings.HasPrefix(event.Subject, "tool.") && !strings.HasPrefix(event.Subject, "tool.changed") {
			s.publish(event.Subject, "s1", string(event.Data))
		}
	}
	for _, want := range []struct{ event, part string }{
		{"tool.confirm", `"question":"`}, {"tool.cancelled", `"reason":"deny"`}, {"tool.trigger", `"name":"order"`}, {"tool.duplicate", `"of":"t2"`},
	} {
		got := mine.next()
		require.Equal(t, want.event, got.event)
		require.Contains(t, got.data, want.part)
		require.NotContains(t, got.data, `"answer":`, "nobody waits for one yet")
	}
}

func TestWhatIsPublishedIsWhatTheDescriptionOfTheEventsSays(t *testing.T) {
	s := live(t, byText)
	events := s.document("/asyncapi.json")
	described := newDescription(t, events)

	s.call("PUT", "/v1/apps/clinic", clinicBody).is(201, "")
	s.call("PATCH", "/v1/apps/clinic", `{"settings":{"chatEvents":true}}`).is(200, "")
	s.call("PUT", bookingPath, strings.Replace(bookingBody, `"url"`, `"emitter":"calendar.request","url"`, 1)).is(201, "")
	for _, text := range []string{"fire", "reject", "nothing"} {
		s.call("POST", messagesPath, `{"actor":"user","text":"`+text+`"}`).is(200, "")
	}
	s.call("POST", messagesPath, `{"actor":"user","text":"fail"}`).problem(502)
	s.call("PUT", "/v1/apps/clinic/repositories/held", heldTools).is(201, "")
	for _, name := range []string{"refund", "order", "order"} {
		s.call("POST", "/v1/apps/clinic/sessions/s1/triggers", `{"name":"`+name+`","source":"ui"}`).is(201, "")
	}
	s.call("POST", "/v1/apps/clinic/sessions/s1/triggers", `{"name":"refund","source":"ui","triggerId":"t1"}`).is(201, "")
	s.call("POST", "/v1/apps/clinic/triggers/t1/cancel", "").is(202, "")

	seen := map[string]bool{}
	require.Eventually(t, func() bool {
		for _, event := range s.sink.all() {
			seen[described.channelOf(t, event)] = true
		}
		return len(seen) == len(events["channels"].(map[string]any))-1 // on one we listen
	}, 10*time.Second, 20*time.Millisecond, "%v", seen)
}

// channelOf finds the channel of an event by its subject and holds the event against
// the channel's message.
func (d description) channelOf(t *testing.T, event effect.Event) string {
	for name, channel := range d.at("/channels") {
		channel := channel.(map[string]any)
		address := regexp.QuoteMeta(channel["address"].(string))
		if !regexp.MustCompile("^" + regexp.MustCompile(`\\{\w+\\}`).ReplaceAllString(address, `[^.]+`) + "$").MatchString(event.Subject) {
			continue
		}
		for message := range channel["messages"].(map[string]any) {
			payload, err := jsonschema.UnmarshalJSON(bytes.NewReader(event.Data))
			require.NoError(t, err)
			require.NoError(t, d.compile(t, "/components/schemas/"+strings.ToUpper(message[:1])+message[1:]).Validate(payload), event.Subject)
			require.Equal(t, d.at("/components/messages/" + message)["name"], event.Type)
		}
		return name
	}
	require.Fail(t, "no channel describes "+event.Subject)
	return ""
}
