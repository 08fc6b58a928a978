package api_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"earshot/api"
	"earshot/deploy/testbed/apitest"
	"earshot/repositories"
)

// FuzzNoRequestIsAnInternalError sends arbitrary requests: the answer is never a 5xx, and every error is a
// problem.
func FuzzNoRequestIsAnInternalError(f *testing.F) {
	for _, seed := range [][3]string{
		{"POST", apitest.MessagesPath, apitest.HelloBody},
		{"POST", apitest.MessagesPath + "?dryRun=%zz", `{"actor":1e999,"text":"\ud800"}`},
		{"PUT", "/v1/apps/clinic", `{"modules":[{"moduleId":1}],"settings":null}`},
		{"PUT", "/v1/apps/a/repositories/r", `{"tools":[{"name":"a","schema":[{"parameter":"x","type":"array"}]}]}`},
		{"PATCH", "/v1/apps/a/sessions/s/repositories/r", `{"tools":[{"name":"a","parameters":{"type":"object","properties":{"a":{"$ref":"#"}}}}]}`},
		{"POST", "/v1/apps/a/repositories", `{"tools":[{"name":"a","url":"http://[::1","request":{"timeout":"-1s"}}]}`},
		{"POST", "/v1/apps/a/triggers", `{"name":"x","values":{"a":[[[[]]]]}}`},
		{"GET", "/v1/apps/%2e%2e/triggers?limit=%00&after=;", ""},
		{"DELETE", "//v1//apps/%ff", "\x00"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	store, engine := &storeDouble{}, &engineDouble{}
	store.created = true
	store.apps, store.repositories = []*repositories.App{{ID: "a"}}, []*repositories.Repository{{ID: "r"}}
	engine.answer = json.RawMessage(fired)
	engine.records = recordsOfOne()
	handler := api.New(api.Options{Store: store, Keys: store, Engine: engine, Logger: slog.New(slog.DiscardHandler)})
	f.Fuzz(func(t *testing.T, method, target, body string) {
		request, err := http.NewRequestWithContext(t.Context(), method, "http://x"+target, strings.NewReader(body))
		if err != nil {
			t.Skip("no client could send it")
		}
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		if recorder.Code >= 500 {
			t.Fatalf("%s %q %q: %d %s", method, target, body, recorder.Code, recorder.Body)
		}
		kind := recorder.Header().Get("Content-Type")
		if recorder.Code >= 400 && method != http.MethodHead && kind != "application/problem+json" {
			t.Fatalf("%s %q: %d is no problem but %q", method, target, recorder.Code, kind)
		}
	})
}
