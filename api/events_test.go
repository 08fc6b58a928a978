package api_test

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/deploy/testbed"
	"earshot/deploy/testbed/apitest"
	"earshot/matcher"
	"earshot/repositories/parameters"
	"earshot/trigger/effect"
)

const (
	sessionEvents = "/v1/apps/clinic/sessions/s1/events"
	appEvents     = "/v1/apps/clinic/events"
)

// told is a server-sent event.
type told struct{ id, event, data string }

type stream struct {
	*http.Response
	t     *testing.T
	lines *bufio.Scanner
	first string // the id before any event
}

func open(s apitest.Stage, path, credential string, headers ...string) *stream {
	s.T.Helper()
	request, err := http.NewRequestWithContext(s.T.Context(), "GET", s.URL+path, nil)
	require.NoError(s.T, err)
	apitest.SetHeaders(request, append([]string{apitest.Bearer(credential)}, headers...)...)
	response, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(s.T, err)
	s.T.Cleanup(func() { _ = response.Body.Close() })
	opened := &stream{Response: response, t: s.T.(*testing.T), lines: bufio.NewScanner(response.Body)}
	opened.lines.Buffer(nil, 1<<20)
	if response.StatusCode == 200 {
		opened.first = opened.block().id
	}
	return opened
}

// block reads up to the next empty line; empty at the end of the stream.
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

// next reads the next event, skipping comments.
func (s *stream) next() told {
	s.t.Helper()
	for {
		got := s.block()
		if got.data != "" || got == (told{}) {
			return got
		}
	}
}

// ends checks that the server ends the stream properly.
func (s *stream) ends() {
	s.t.Helper()
	_, err := io.Copy(io.Discard, s.Body)
	require.NoError(s.t, err)
}

func TestAStreamShowsTheEventsOfItsSession(t *testing.T) {
	s := apitest.OnStage(t)
	mine, all := open(s, sessionEvents, apitest.AdminKey), open(s, appEvents, apitest.AdminKey)
	require.Equal(t, "text/event-stream", mine.Header.Get("Content-Type"))
	require.Equal(t, "no-store", mine.Header.Get("Cache-Control"))
	s.Publish("tool.trigger.clinic.s2.book", "s2", `{"n":1}`)
	s.Publish("tool.trigger.clinic.s1.book", "s1", `{"n":2}`)
	s.Publish("app.clinic.calendar.request", "s1", "{\"n\":\r\n3}")
	require.Equal(t, told{"2", "tool.trigger", `{"n":2}`}, mine.next())
	require.Equal(t, told{"3", "app.clinic", `{"n":3}`}, mine.next())
	require.Equal(t, told{"1", "tool.trigger", `{"n":1}`}, all.next())
	require.Equal(t, told{"2", "tool.trigger", `{"n":2}`}, all.next())
}

func TestAStreamResumesBehindTheLastEvent(t *testing.T) {
	s := apitest.OnStage(t)
	s.Publish("tool.trigger.clinic.s1.book", "s1", `{"n":1}`)
	var begun *stream
	require.Eventually(t, func() bool {
		begun = open(s, sessionEvents, apitest.AdminKey)
		return begun.first == "1"
	}, time.Minute, 10*time.Millisecond, "even one that has seen nothing knows where it is")
	s.Publish("tool.trigger.clinic.s1.book", "s1", `{"n":2}`)
	s.Publish("tool.result.clinic.s1.book", "s1", `{"n":3}`)
	require.Equal(t, "2", begun.next().id)
	again := open(s, sessionEvents, apitest.AdminKey, "Last-Event-ID: 2")
	s.Publish("tool.trigger.clinic.s1.book", "s1", `{"n":4}`)
	require.Equal(t, told{"3", "tool.result", `{"n":3}`}, again.next())
	require.Equal(t, "4", again.next().id)
	require.Equal(t, "2", open(s, sessionEvents, apitest.AdminKey, "Last-Event-ID: 1").next().id)
	wrong := s.Call("GET", sessionEvents, "", "Last-Event-ID: x")
	wrong.Problem(400, "Last-Event-ID")
	require.Contains(t, string(wrong.Body), `"code":"invalid_header"`)

	for _, path := range []string{sessionEvents, appEvents} { // clients that cannot set a header use the query
		require.Equal(t, "3", open(s, path+"?lastEventId=2", apitest.AdminKey).next().id)
		require.Equal(t, "4", open(s, path+"?lastEventId=1", apitest.AdminKey, "Last-Event-ID: 3").next().id, "it has read on since it made its query")
		require.Equal(t, "4", open(s, path+"?lastEventId=", apitest.AdminKey).first)
		s.Call("GET", path+"?lastEventId=-1", "").Problem(400, "lastEventId")
	}
}

// A chat continues where it broke off, with a token that its page got in time.
func TestAStreamSaysWhenItsTokenEnds(t *testing.T) {
	clock := testbed.NewClock(time.Now())
	s := apitest.OnStage(t, func(o *api.Options) { o.Now = clock.Now })
	hour := func(key string) apitest.Made {
		return s.Call("POST", "/v1/apps/clinic/sessions/s1/token", `{"expiresIn":"1h"}`, apitest.Bearer(key)).Made()
	}
	key := s.Call("POST", keysPath, `{"scopes":["messages"],"expiresIn":"2h"}`).Made()
	token := hour(apitest.AdminKey)
	chat, other := open(s, sessionEvents, token.Token), open(s, appEvents, key.Key)
	ends := `{"expiresAt":"` + token.Expires.Format(time.RFC3339) + `"}`
	s.Publish("chat.message.clinic.s1", "s1", `{"n":1}`)
	require.Equal(t, told{"1", "chat.message", `{"n":1}`}, chat.next())
	clock.Advance(59*time.Minute + 5*time.Second)
	require.Equal(t, told{"", "token.expiring", ends}, chat.next())
	require.Equal(t, told{"", "token.expiring", ends}, open(s, sessionEvents, token.Token).next(), "at once, where it is less than a minute")
	s.Publish("chat.failed.clinic.s1", "s1", `{"n":2}`)
	require.Equal(t, told{"2", "chat.failed", `{"n":2}`}, chat.next(), "it goes on")
	clock.Advance(time.Minute)
	require.Equal(t, told{"", "token.expired", ends}, chat.next())
	chat.ends()

	again := open(s, sessionEvents+"?lastEventId=1&access_token="+hour(key.Key).Token, "", "Authorization: none")
	require.Equal(t, told{"2", "chat.failed", `{"n":2}`}, again.next())
	s.Call("DELETE", keysPath+"/"+key.KeyID, "").Is(204, "")
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
	s := apitest.OnStage(t)
	key := s.Call("POST", keysPath, `{"scopes":["messages"]}`).Made()
	token := s.Call("POST", tokenPath, "", apitest.Bearer(key.Key)).Made()
	byKey, byToken, other := open(s, appEvents, key.Key), open(s, sessionEvents, token.Token), open(s, sessionEvents, apitest.AdminKey)
	s.Call("DELETE", keysPath+"/"+key.KeyID, "").Is(204, "")
	byKey.ends()
	byToken.ends()
	s.Publish("tool.trigger.clinic.s1.book", "s1", `{"n":1}`)
	require.Equal(t, `{"n":1}`, other.next().data, "others go on")
}

func TestAStreamEndsWithItsSession(t *testing.T) {
	s := apitest.OnStage(t)
	visits := func() *stream { return open(s, sessionEvents, s.Call("POST", tokenPath, "").Made().Token) }
	visitor, other, elsewhere := visits(), open(s, sessionEvents, apitest.AdminKey), open(s, appEvents, apitest.AdminKey)
	s.Call("DELETE", "/v1/apps/clinic/sessions/s1", "").Is(204, "")
	other.ends()
	visitor.ends()
	s.Publish("tool.trigger.clinic.s2.book", "s2", `{"n":2}`)
	require.Equal(t, `{"n":2}`, elsewhere.next().data, "those of the app go on")
	visitor = visits()
	s.Call("DELETE", "/v1/apps/clinic", "").Is(204, "")
	visitor.ends()
}

// A session's id may be used again, by somebody else.
func TestATokenFollowsThePresentLifeOfItsSession(t *testing.T) {
	s := apitest.OnStage(t)
	token := func() string { return s.Call("POST", "/v1/apps/clinic/sessions/s1/token", "").Made().Token }
	old := open(s, sessionEvents, token())
	s.Publish("chat.message.clinic.s1", "s1", `{"n":1}`)
	require.Equal(t, `{"n":1}`, old.next().data)
	s.Call("DELETE", "/v1/apps/clinic/sessions/s1", "").Is(204, "")
	s.Publish("chat.message.clinic.s1", "s1", `{"n":2}`)
	require.Equal(t, "token.expired", old.next().event, "it does not tell what the next one says")

	present := token()
	require.Equal(t, `{"n":2}`, open(s, sessionEvents, present, "Last-Event-ID: 0").next().data)
	require.Equal(t, `{"n":2}`, open(s, sessionEvents+"?lastEventId=0", present).next().data)
	page, _ := dial(s.Service, present, "?lastEventId=0")
	require.JSONEq(t, `{"n":2}`, string(page.next().Data))
	require.Equal(t, `{"n":1}`, open(s, sessionEvents, apitest.AdminKey, "Last-Event-ID: 0").next().data, "the app sees all lives")
}

// An app's id may be used again, by another tenant.
func TestAStreamBeginsWithItsApp(t *testing.T) {
	s := apitest.OnStage(t)
	s.Publish("chat.message.clinic.s1", "s1", `{"n":1}`)
	s.Call("DELETE", "/v1/apps/clinic", "").Is(204, "")
	s.Call("PUT", "/v1/apps/clinic", `{}`).Is(201, "")
	s.Call("PUT", "/v1/apps/clinic", `{"name":"another"}`).Is(200, "")
	s.Publish("chat.message.clinic.s1", "s1", `{"n":2}`)
	key := s.Call("POST", keysPath, `{"scopes":["messages"]}`).Made().Key
	token := s.Call("POST", "/v1/apps/clinic/sessions/s1/token", "", apitest.Bearer(key)).Made().Token
	for _, stream := range [][2]string{{appEvents, key}, {sessionEvents, key}, {sessionEvents, token}, {appEvents, apitest.AdminKey}} {
		require.Equal(t, `{"n":2}`, open(s, stream[0], stream[1], "Last-Event-ID: 0").next().data, stream)
	}
}

func TestAStreamOfAFrontEndShowsNoDefinitions(t *testing.T) {
	s := apitest.OnStage(t)
	token := s.Call("POST", "/v1/apps/clinic/sessions/s1/token", "").Made()
	browser, backEnd := open(s, sessionEvents+"?access_token="+token.Token, "", "Authorization: none"), open(s, sessionEvents, apitest.AdminKey)
	require.Equal(t, 200, browser.StatusCode, "EventSource sends no header")
	s.Publish("tool.changed.clinic.r", "s1", `{"record":{"url":"https://internal"}}`)
	s.Publish("tool.trigger.clinic.s1.book", "s1", `{"n":1}`)
	require.Equal(t, "tool.trigger", browser.next().event)
	require.Equal(t, "tool.changed", backEnd.next().event)
	require.NotContains(t, s.Log.String(), token.Token)
	for path, status := range map[string]int{
		sessionEvents + "?access_token=" + apitest.AdminKey: 401, apitest.MessagesPath + "?access_token=" + token.Token: 401,
		"/v1/apps/clinic/sessions/s2/events?access_token=" + token.Token: 403,
	} {
		require.Equal(t, status, open(s, path, "", "Authorization: none").StatusCode, path)
	}
}

func TestStreamsAreCounted(t *testing.T) {
	s := apitest.OnStage(t, func(o *api.Options) { o.Streams = 2 })
	first := open(s, sessionEvents, apitest.AdminKey)
	open(s, appEvents, apitest.AdminKey)
	got := s.Call("GET", appEvents, "")
	got.Problem(429, "an app may have 2")
	require.NotEmpty(t, got.Header.Get("Retry-After"))
	const listens = `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	s.Call("POST", "/v1/apps/clinic/mcp", listens, "Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: subscriptions/listen").Problem(429, "an app may have 2")
	require.NoError(t, first.Body.Close())
	require.Eventually(t, func() bool { return open(s, appEvents, apitest.AdminKey).StatusCode == 200 }, time.Minute, 10*time.Millisecond)
}

func TestOneSessionCannotTakeAllStreamsOfItsApp(t *testing.T) {
	s := apitest.OnStage(t)
	for range 100 {
		require.Equal(t, 200, open(s, sessionEvents, apitest.AdminKey).StatusCode)
	}
	require.Equal(t, 429, open(s, sessionEvents, apitest.AdminKey).StatusCode)
	require.Equal(t, 200, open(s, "/v1/apps/clinic/sessions/s2/events", apitest.AdminKey).StatusCode)
}

func TestStreamsEndWhenTheServiceDoes(t *testing.T) {
	s := apitest.OnStage(t)
	opened := open(s, sessionEvents, apitest.AdminKey)
	close(s.Closing)
	opened.ends()
}

func TestASlowReaderIsCutOffAndOthersGoOn(t *testing.T) {
	s := apitest.OnStage(t, func(o *api.Options) { o.WriteTime = brief })
	slow, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	require.NoError(t, err)
	defer slow.Close()
	require.NoError(t, slow.(*net.TCPConn).SetReadBuffer(1024))
	_, err = io.WriteString(slow, "GET "+sessionEvents+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+apitest.AdminKey+"\r\n\r\n")
	require.NoError(t, err)
	_, err = bufio.NewReaderSize(slow, 16).ReadString('\n') // it is open, and then reads no more
	require.NoError(t, err)
	quick := open(s, sessionEvents, apitest.AdminKey)
	payload := `{"text":"` + strings.Repeat("x", 64<<10) + `"}`
	for range 20 { // a MiB more than the slow reader's sockets hold
		s.Publish("tool.trigger.clinic.s1.book", "s1", payload)
		require.Len(t, quick.next().data, len(payload))
	}
	require.Eventually(t, func() bool {
		return strings.Count(s.Log.String(), `"route":"/v1/apps/:appId/sessions/:sessionId/events"`) == 1
	}, time.Minute, 50*time.Millisecond)
}

func TestWithoutAStreamToReadItIs503(t *testing.T) {
	s := atClinic(t)
	s.Call("GET", sessionEvents, "").Problem(503)
	s.Call("GET", strings.Replace(sessionEvents, "clinic", "none", 1), "").Problem(404)
	w := atClinic(t, func(o *api.Options) { o.Events = apitest.QuietEvents{} })
	require.Equal(t, 200, w.Call("HEAD", sessionEvents, "").StatusCode)
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
		return apitest.Everything(request)
	}
}

// heldTools are tools whose triggers await confirmation, or are duplicates of others.
const heldTools = `{"tools":[{"name":"refund","confirm":"always","answer":{"within":"1m"}},{"name":"order","dedupe":{"within":"10m"}}]}`

// A front-end learns from its stream which question to show.
func TestAStreamSaysWhatWaitsForAYes(t *testing.T) {
	s := apitest.OnStage(t)
	s.Call("PUT", "/v1/apps/clinic/repositories/held", heldTools).Is(201, "")
	mine := open(s, sessionEvents, credentials(s.World)["token"])
	fire := func(name, triggerID string) {
		s.Call("POST", "/v1/apps/clinic/sessions/s1/triggers", `{"name":"`+name+`","source":"ui","triggerId":"`+triggerID+`"}`).Is(201, "")
	}
	fire("refund", "t1")
	s.Call("POST", "/v1/apps/clinic/triggers/t1/deny", "").Is(202, "")
	fire("order", "t2")
	fire("order", "t3")
	for _, event := range s.Sink.All() {
		if strings.HasPrefix(event.Subject, "tool.") && !strings.HasPrefix(event.Subject, "tool.changed") {
			s.Publish(event.Subject, "s1", string(event.Data))
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
	s := apitest.Live(t, byText)
	events := s.Document("/asyncapi.json")
	described := apitest.NewDescription(t, events)

	s.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(201, "")
	s.Call("PATCH", "/v1/apps/clinic", `{"settings":{"chatEvents":true}}`).Is(200, "")
	s.Call("PUT", apitest.BookingPath, strings.Replace(apitest.BookingBody, `"url"`, `"emitter":"calendar.request","url"`, 1)).Is(201, "")
	for _, text := range []string{"fire", "reject", "nothing"} {
		s.Call("POST", apitest.MessagesPath, `{"actor":"user","text":"`+text+`"}`).Is(200, "")
	}
	s.Call("POST", apitest.MessagesPath, `{"actor":"user","text":"fail"}`).Problem(502)
	s.Call("PUT", "/v1/apps/clinic/repositories/held", heldTools).Is(201, "")
	for _, name := range []string{"refund", "order", "order"} {
		s.Call("POST", "/v1/apps/clinic/sessions/s1/triggers", `{"name":"`+name+`","source":"ui"}`).Is(201, "")
	}
	s.Call("POST", "/v1/apps/clinic/sessions/s1/triggers", `{"name":"refund","source":"ui","triggerId":"t1"}`).Is(201, "")
	s.Call("POST", "/v1/apps/clinic/triggers/t1/cancel", "").Is(202, "")

	seen, sent := map[string]bool{}, 0
	for _, operation := range events["operations"].(map[string]any) {
		if operation.(map[string]any)["action"] == "send" {
			sent++ // see package webhooks for a disabled webhook
		}
	}
	require.Eventually(t, func() bool {
		for _, event := range s.Sink.All() {
			seen[channelOf(described, t, event)] = true
		}
		return len(seen) == sent-1
	}, time.Minute, 20*time.Millisecond, "%v", seen)
}

// channelOf finds the channel of an event by its subject, and validates the event against the channel's
// message.
func channelOf(d apitest.Description, t *testing.T, event effect.Event) string {
	for name, channel := range d.At("/channels") {
		channel := channel.(map[string]any)
		address, _ := channel["address"].(string) // that of replies matches any subject
		if !regexp.MustCompile("^" + regexp.MustCompile(`\\{\w+\\}`).ReplaceAllString(regexp.QuoteMeta(address), `[^.]+`) + "$").MatchString(event.Subject) {
			continue
		}
		for message := range channel["messages"].(map[string]any) {
			payload, err := jsonschema.UnmarshalJSON(bytes.NewReader(event.Data))
			require.NoError(t, err)
			require.NoError(t, d.Compile(t, "/components/schemas/"+strings.ToUpper(message[:1])+message[1:]).Validate(payload), event.Subject)
			require.Equal(t, d.At("/components/messages/" + message)["name"], event.Type)
		}
		return name
	}
	require.Fail(t, "no channel describes "+event.Subject)
	return ""
}
