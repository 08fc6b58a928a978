package api_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/deploy/testbed/apitest"
	"earshot/repositories/secret"
)

// discarding is a client that ignores the answer.
type discarding struct {
	header http.Header
	status int
}

func (u *discarding) Header() http.Header { return u.header }

func (u *discarding) WriteHeader(status int) { u.status = status }

func (u *discarding) Write(text []byte) (int, error) { return len(text), nil }

// BenchmarkMessage measures a message without the engine and the connection.
func BenchmarkMessage(b *testing.B) {
	engine, keys := &engineDouble{}, &storeDouble{}
	engine.answer = json.RawMessage(`{"messageId":"m1","matches":[]}`)
	handler := api.New(api.Options{
		Store: keys, Keys: keys, Engine: engine, AdminKey: secret.New(apitest.AdminKey), Metrics: prometheus.NewRegistry(),
		Logger: slog.New(slog.NewJSONHandler(io.Discard, nil)),
	})
	const body = `{"messageId":"m1","actor":"user","text":"I would like to come in on Friday, please [[book-table day=Friday]]"}`
	b.ReportAllocs()
	for b.Loop() {
		engine.calls = engine.calls[:0]
		request := httptest.NewRequest(http.MethodPost, "/v1/apps/clinic/sessions/s1/messages", strings.NewReader(body))
		request.Header.Set("Authorization", "Bearer "+apitest.AdminKey)
		request.Header.Set("Content-Type", "application/json")
		client := &discarding{header: http.Header{}}
		handler.ServeHTTP(client, request)
		require.Equal(b, http.StatusOK, client.status)
	}
}
