package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"
)

// tool writes a repository of the app clinic with one tool.
func (w *world) tool(fields string) {
	w.t.Helper()
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book",`+fields+`}]}`)
}

func TestCallCarriesTheTokenOfItsWayOfAuthentication(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		request string
		fields  map[string]string // of the token request; none without one
		want    string            // Authorization of the call
	}{
		"client credentials": {
			`"auth":"bearer","bearer":{"clientType":"client_credentials","clientId":"cli","clientSecret":"s3cret","audience":"calendar","scopes":["read","write"],"tokenUrl":"ISSUER"}`,
			map[string]string{"grant_type": "client_credentials", "client_id": "cli", "client_secret": "s3cret", "audience": "calendar", "scope": "read write"}, "Bearer token-1",
		},
		"password": {
			`"auth":"bearer","bearer":{"clientType":"password","clientId":"cli","username":"ann","password":"s3cret&=+","tokenUrl":"ISSUER"}`,
			map[string]string{"grant_type": "password", "client_id": "cli", "username": "ann", "password": "s3cret&=+"}, "Bearer token-1",
		},
		"module": {
			`"auth":"module","moduleId":"calendar"`,
			map[string]string{"grant_type": "client_credentials", "client_id": "calendar-client", "client_secret": "module-s3cret", "audience": "all"}, "Bearer token-1",
		},
		"basic": {`"auth":"basic","basic":{"username":"ann","password":"s3cret"}`, nil, "Basic YW5uOnMzY3JldA=="},
		"none":  {`"auth":"none"`, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			issuer, sink := newIssuer(t, "token"), newSink(t)
			w := serving(t, 1)
			w.put("/v1/apps/clinic", `{"modules":[{"moduleId":"calendar","clientId":"calendar-client","secret":"module-s3cret","audience":"all","tokenUrl":"`+issuer.URL+`"}]}`)
			w.tool(`"url":"` + sink.URL + `","request":{` + strings.ReplaceAll(test.request, "ISSUER", issuer.URL) + `}`)
			for _, got := range together(12, func(int) httpAnswer {
				return w.ask(w.replicas[0], "POST", messagesPath("s1"), messageBody("", "call book {}"))
			}) {
				require.Equal(t, "delivered", read[posted](t, got).Matches[0].Call.State, got.Body)
			}
			require.Len(t, sink.requests(), 12)
			for _, call := range sink.requests() {
				require.Equal(t, test.want, call.Header.Get("Authorization"))
			}
			if test.fields == nil {
				require.Empty(t, issuer.requests())
				return
			}
			require.Len(t, issuer.requests(), 1, "one token is enough for many calls")
			fields := map[string]string{}
			for field, values := range issuer.requests()[0].form(t) {
				fields[field] = strings.Join(values, "|")
			}
			require.Equal(t, test.fields, fields)
		})
	}
}

func TestWithoutATokenThereIsNoCall(t *testing.T) {
	t.Parallel()
	w, sink := serving(t, 1), newSink(t)
	issuer := newEndpoint(t, func(out http.ResponseWriter, _ received) {
		out.Header().Set("Content-Type", "application/json")
		out.WriteHeader(http.StatusUnauthorized)
		_, _ = out.Write([]byte(`{"error":"invalid_client"}`))
	})
	w.put("/v1/apps/clinic", `{"modules":[{"moduleId":"calendar","secret":"wrong","tokenUrl":"`+issuer.URL+`"}]}`)
	w.tool(`"url":"` + sink.URL + `","request":{"auth":"module","moduleId":"calendar"}`)
	call := w.say("s1", "m1", "call book {}").Matches[0].Call
	require.Equal(t, []string{"failed", "auth"}, []string{call.State, call.Reason})
	require.Contains(t, call.Error, "invalid_client")
	w.rest()
	results := w.events("tool.result.clinic.s1.book")
	require.Len(t, results, 1)
	require.Equal(t, false, results[0].Payload["ok"])
	require.Equal(t, "auth", results[0].Payload["reason"])
	require.Empty(t, sink.requests())
	require.Contains(t, w.call(200, "GET", "/v1/apps/clinic/triggers?state=failed", "").Body, `"book"`)
}

func TestRefusedTokenIsRenewedOnce(t *testing.T) {
	t.Parallel()
	w, issuer := serving(t, 1), newIssuer(t, "token")
	sink := newEndpoint(t, func(out http.ResponseWriter, r received) {
		if r.Header.Get("Authorization") == "Bearer token-1" {
			out.WriteHeader(http.StatusUnauthorized)
		}
	})
	w.put("/v1/apps/clinic", `{"modules":[{"moduleId":"calendar","secret":"s","tokenUrl":"`+issuer.URL+`"}]}`)
	w.tool(`"url":"` + sink.URL + `","request":{"auth":"module","moduleId":"calendar"}`)
	require.Equal(t, "delivered", w.say("s1", "m1", "call book {}").Matches[0].Call.State)
	require.Len(t, sink.requests(), 2)
	require.Len(t, issuer.requests(), 2)
}

func TestValuesArriveEscapedWhereTheyStandInTheURL(t *testing.T) {
	t.Parallel()
	w, sink := serving(t, 1), newSink(t)
	w.tool(`"url":"` + sink.URL + `/v1/:appId/:id/:idCard/by-:who-x?q=:q&id=:id&none=:none","request":{"method":"PUT","headers":{"X-Desk":"A"}},
		"schema":[{"parameter":"id","type":"string"},{"parameter":"idCard","type":"integer"},{"parameter":"who","type":"string"},
			{"parameter":"q","type":"string"},{"parameter":"none","type":"string"}]`)
	match := w.fire("s1", "book", `{"id":"a/../b?c#d%2F","idCard":9007199254740993,"who":"Zoë & co","q":"1&admin=true#x +y"}`)
	require.Equal(t, "delivered", match.Call.State, match.Call.Error)
	require.Len(t, sink.requests(), 1)
	got := sink.requests()[0]
	require.Equal(t, "PUT", got.Method)
	require.Equal(t, "/v1/clinic/a%2F..%2Fb%3Fc%23d%252F/9007199254740993/by-Zo%C3%AB%20&%20co-x?q=1%26admin%3Dtrue%23x+%2By&id=a%2F..%2Fb%3Fc%23d%252F&none=", got.URI)
	require.Equal(t, "A", got.Header.Get("X-Desk"))
	require.Contains(t, got.Body, `"idCard":9007199254740993`, "a 64-bit integer is unharmed")

	w.call(201, "POST", "/v1/apps/clinic/sessions/s1/triggers", `{"name":"book","source":"ui","values":{"id":"..","idCard":1,"who":"x"}}`)
	require.Len(t, sink.requests(), 1, "a value that would make the path another one calls nothing")
}

func TestCallAndEventsCarryOneTriggerAndTheTraceOfTheMessage(t *testing.T) {
	t.Parallel()
	w, sink := serving(t, 1), newSink(t)
	w.put("/v1/apps/clinic", `{"signingSecret":"whsec_c2lnbmluZy1zZWNyZXQ="}`)
	w.tool(`"url":"` + sink.URL + `","emitter":"calendar.request","schema":[{"parameter":"day","type":"string","value":"monday"}]`)
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	match := w.say("s1", "m1", "call book {}", "traceparent", "00-"+trace+"-00f067aa0ba902b7-01").Matches[0]

	call := sink.requests()[0]
	require.Equal(t, match.TriggerID, call.Header.Get("Webhook-Id"))
	require.Equal(t, match.TriggerID, call.Header.Get("Idempotency-Key"))
	require.Regexp(t, "^00-"+trace+"-[0-9a-f]{16}-01$", call.Header.Get("Traceparent"))
	require.Equal(t, "application/json", call.Header.Get("Content-Type"))
	verifier, err := standardwebhooks.NewWebhook("whsec_c2lnbmluZy1zZWNyZXQ=")
	require.NoError(t, err)
	require.NoError(t, verifier.Verify([]byte(call.Body), call.Header))

	w.rest()
	ids := map[string]bool{}
	for subject, kind := range map[string]string{
		"tool.trigger.clinic.s1.book": "earshot.tool.trigger", "app.clinic.calendar.request": "earshot.tool.trigger", "tool.result.clinic.s1.book": "earshot.tool.result",
	} {
		stored := w.events(subject)
		require.Len(t, stored, 1, subject)
		header := stored[0].Header
		require.Equal(t, "1.0", header.Get("ce-specversion"))
		require.Equal(t, kind, header.Get("ce-type"))
		require.Equal(t, "/apps/clinic/sessions/s1", header.Get("ce-source"))
		require.Equal(t, stored[0].Payload["id"], header.Get("ce-id"))
		require.NotEmpty(t, header.Get("ce-time"))
		require.Equal(t, "application/json", header.Get("content-type"))
		require.Regexp(t, "^00-"+trace+"-", header.Get("traceparent"))
		ids[header.Get("Nats-Msg-Id")] = true
	}
	require.Len(t, ids, 3, "each event has an id of its own")
	require.JSONEq(t, string(w.events("tool.trigger.clinic.s1.book")[0].Data), call.Body, "the call's body is the event")
	result := w.events("tool.result.clinic.s1.book")[0].Payload
	require.Equal(t, match.TriggerID, result["triggerId"])
	require.Equal(t, 200.0, result["status"])
	require.Equal(t, map[string]any{"ok": true}, result["result"])
}

func TestEventHasWhatSubscribersAreToldAndNothingElse(t *testing.T) {
	t.Parallel()
	w, sink := serving(t, 1), newSink(t)
	w.tool(`"url":"` + sink.URL + `","request":{"auth":"basic","basic":{"username":"ann","password":"s3cret"},"headers":{"X-Desk":"A"}},
		"schema":[{"parameter":"day","type":"string","description":"wished day"}]`)
	w.say("s1", "m1", `call book {"day":"monday"}`)
	payload := w.events("tool.trigger.clinic.s1.book")[0].Payload
	for field, want := range map[string]any{
		"messageId": "m1", "text": `call book {"day":"monday"}`, "appId": "clinic", "sessionId": "s1", "repositoryId": "desk",
		"source": "message", "name": "book", "values": map[string]any{"day": "monday"},
		"schema": []any{map[string]any{"parameter": "day", "type": "string", "description": "wished day"}},
	} {
		require.Equal(t, want, payload[field], field)
	}
	require.Len(t, payload, 11, "these, the id and the time")

	w.call(201, "POST", "/v1/apps/clinic/triggers", `{"name":"book","source":"task","values":{"day":"friday"}}`)
	w.rest()
	stored := w.events("tool.trigger.clinic._.book")
	require.Len(t, stored, 1)
	require.NotContains(t, stored[0].Payload, "sessionId")
	require.Equal(t, "task", stored[0].Payload["source"])
	require.Equal(t, "/apps/clinic/sessions/_", stored[0].Header.Get("ce-source"))
}

func TestFailingCallIsTriedAgainUnderTheSameID(t *testing.T) {
	t.Parallel()
	w := serving(t, 2)
	var sink *endpoint
	sink = newEndpoint(t, func(out http.ResponseWriter, _ received) {
		if len(sink.requests()) == 1 {
			out.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	w.tool(`"url":"` + sink.URL + `"`)
	match := w.say("s1", "m1", "call book {}").Matches[0]
	require.Equal(t, "pending", match.Call.State)
	w.rest()
	require.Len(t, sink.requests(), 2)
	for _, attempt := range sink.requests() {
		require.Equal(t, match.TriggerID, attempt.Header.Get("Idempotency-Key"))
	}
	var record struct {
		State    string
		Attempts []json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(w.call(200, "GET", "/v1/apps/clinic/triggers/"+match.TriggerID, "").Body), &record))
	require.Equal(t, "delivered", record.State)
	require.Len(t, w.events("tool.result.clinic.s1.book"), 1)
}

func TestPrivateAddressesAreClosedToCallsUnlessTheOperatorOpensThem(t *testing.T) {
	t.Parallel()
	w, sink := newWorld(t), newSink(t)
	delete(w.env, "EARSHOT_PRIVATE_URLS")
	w.serve()
	w.put("/v1/apps/clinic", `{}`)
	w.tool(`"url":"` + sink.URL + `"`)
	call := w.say("s1", "m1", "call book {}").Matches[0].Call
	require.Equal(t, []string{"failed", "blocked"}, []string{call.State, call.Reason})
	require.Empty(t, sink.requests())
	require.Zero(t, w.replicas[0].stop())

	w.env["EARSHOT_PRIVATE_URLS"] = "10.0.0.0/8,127.0.0.0/8"
	w.replicas = nil
	r := w.serve()
	trigger := w.events("tool.trigger.clinic.s1.book")[0].Payload["id"].(string)
	require.Equal(t, http.StatusAccepted, w.ask(r, "POST", "/v1/apps/clinic/triggers/"+trigger+"/retry", "").Status)
	w.rest()
	require.Len(t, sink.requests(), 1, "what had failed is delivered")
	require.Contains(t, w.call(200, "GET", "/v1/apps/clinic/triggers/"+trigger, "").Body, `"state":"delivered"`)
}

func TestMessageThatNobodyWaitsForIsAnsweredByItsEventsAndTheHistory(t *testing.T) {
	t.Parallel()
	w, sink := serving(t, 1), newSink(t)
	w.tool(`"url":"` + sink.URL + `"`)
	got := w.call(202, "POST", messagesPath("s1"), messageBody("m1", "call book {}"), "Prefer", "respond-async")
	require.JSONEq(t, `{"messageId":"m1"}`, got.Body)
	w.until("its result is told", func() bool { return len(w.events("tool.result.clinic.s1.book")) == 1 })
	w.rest()
	found := read[history](t, w.call(200, "GET", messagesPath("s1"), "")).Items[0]
	require.Equal(t, "decided", found.State)
	require.Equal(t, "delivered", found.Triggers[0].Call.State)
	require.Equal(t, found.Triggers[0].TriggerID, w.say("s1", "m1", "call book {}").Matches[0].TriggerID)
}
