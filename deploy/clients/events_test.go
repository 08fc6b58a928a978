package clients

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/apitest"
	"earshot/deploy/testbed/natstest"
)

func describe(t *testing.T, s *service) apitest.Description {
	read := testbed.Got(jsonschema.UnmarshalJSON(bytes.NewReader(s.Call("GET", "/asyncapi.json", ""))))(t)
	document := read.(map[string]any)
	for _, schema := range document["components"].(map[string]any)["schemas"].(map[string]any) {
		if schema := schema.(map[string]any); schema["properties"] != nil {
			schema["additionalProperties"] = false // what is not described is not sent
		}
	}
	return apitest.NewDescription(t, document)
}

func fits(t *testing.T, described apitest.Description, msg jetstream.Msg) (channel string) {
	channel = described.Channel(t, msg.Subject())
	headers := map[string]any{}
	for name, values := range msg.Headers() {
		headers[name] = values[0]
	}
	payload := testbed.Got(jsonschema.UnmarshalJSON(bytes.NewReader(msg.Data())))(t)
	for _, message := range described.At("/channels/" + channel + "/messages") {
		at := strings.TrimPrefix(message.(map[string]any)["$ref"].(string), "#")
		for part, value := range map[string]any{"payload": payload, "headers": any(headers)} {
			require.NoError(t, described.Compile(t, at+"/"+part).Validate(value), "%s %s: %s", msg.Subject(), part, msg.Data())
		}
	}
	return channel
}

const shop = `{"tools":[
	{"name":"ring","description":"Ring the bell at the desk","examples":["ring the bell"],"emitter":"desk.bell","url":"%URL%"},
	{"name":"fail","description":"Ask the manager","examples":["ask the manager"],"url":"%URL%/fails"},
	{"name":"book","description":"Book a table","examples":["I want a table"],"schema":[{"parameter":"day","type":"string","required":true,"allowedValues":["Monday","Friday"]}]},
	{"name":"refund","confirm":"always","answer":{"within":"1m"},"schema":[{"parameter":"order","type":"string"}]},{"name":"order","dedupe":{"within":"10m"}}]}`

func TestEventsThatAreSentAreThoseThatAreDescribed(t *testing.T) {
	s := dev(t)
	described := describe(t, s)
	endpoint := testbed.Serve(t, "", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/fails":
			w.WriteHeader(http.StatusNotFound)
		case "/gone": // a webhook, which is disabled for it
			w.WriteHeader(http.StatusGone)
		}
		_, _ = w.Write([]byte(`{"rung":true}`))
	}))
	s.Call("PUT", "/v1/apps/shop", `{"name":"Shop","signingSecret":"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw","settings":{"chatEvents":true,"webhooks":[{"name":"left","url":"`+endpoint+`/gone"}]}}`)
	s.Call("PUT", "/v1/apps/shop/repositories/desk", strings.ReplaceAll(shop, "%URL%", endpoint))
	s.Call("PUT", "/v1/apps/shop/sessions/s1/repositories/own", `{"tools":[{"name":"own"}]}`)
	s.Call("PUT", "/v1/apps/shop/sessions/s1", `{"metadata":{"channel":"phone"}}`) // is in each event of the session
	for _, text := range []string{"ring the bell", "ask the manager", "I want a table", "The weather was fine in Paris last year"} {
		body := testbed.Got(json.Marshal(map[string]string{"actor": "user", "text": text}))(t)
		s.Call("POST", "/v1/apps/shop/sessions/s1/messages", string(body))
	}
	for _, name := range []string{"ring", "order", "order"} {
		s.Call("POST", "/v1/apps/shop/triggers", `{"name":"`+name+`","source":"task"}`)
	}
	s.Call("POST", "/v1/apps/shop/sessions/s1/triggers", `{"name":"refund","source":"ui","triggerId":"t1","values":{"order":"A1"}}`)
	s.Call("POST", "/v1/apps/shop/triggers/t1/deny", "")

	seen := map[string]int{}
	stream := s.stream()
	sent := -1 // no model fails
	for _, operation := range described.At("/operations") {
		if operation.(map[string]any)["action"] == "send" {
			sent++
		}
	}
	for len(seen) < sent {
		msg, err := stream.Next(jetstream.FetchMaxWait(testbed.Patience))
		require.NoError(t, err, "channels that had an event: %v", seen)
		seen[fits(t, described, msg)]++
	}
}

func (s *service) stream() jetstream.Consumer {
	s.T.Helper()
	return testbed.Got(natstest.JetStream(s.T, s.NATS).OrderedConsumer(s.T.Context(), "EARSHOT", jetstream.OrderedConsumerConfig{}))(s.T)
}
