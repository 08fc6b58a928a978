package sermas_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/api/admission"
	"earshot/api/auth"
	"earshot/api/ratelimit"
	"earshot/api/sermas"
	"earshot/deploy/testbed"
	"earshot/deploy/testbed/redistest"
	"earshot/matcher"
	"earshot/repositories/keyspace"
	"earshot/repositories/secret"
	"earshot/repositories/store"
	"earshot/trigger"
	"earshot/trigger/effect"
)

func TestMain(m *testing.M) { redistest.Main(m) }

const adminKey = "correct-horse-battery-staple"

// service is the whole API with SERMAS's paths, on the real store and engine.
type service struct {
	t       testing.TB
	url     string
	handler http.Handler // the handler at url
	store   *store.Store
	now     time.Time
	log     *testbed.Lines
}

// bookings matches every message with the tool book; no model replies.
type bookings struct{}

func (bookings) Match(_ context.Context, request matcher.Request) (matcher.Result, error) {
	result := matcher.Result{Stage: matcher.StageLLM}
	for _, candidate := range request.Candidates {
		if request.Text == "down" {
			return result, &matcher.Unavailable{Reason: "it answered 500"}
		}
		result.Matches = append(result.Matches, matcher.Match{Candidate: candidate, Values: map[string]any{"day": request.Text}})
	}
	return result, nil
}

func (bookings) Reply(context.Context, matcher.Request, []matcher.PastCall) (string, error) {
	return "Done.", nil
}

// taken delivers every effect.
type taken struct{}

func (taken) Deliver(context.Context, effect.Effect) effect.Outcome {
	return effect.Outcome{Verdict: effect.Done, Status: 200, Result: json.RawMessage(`{"ok":true}`)}
}

func start(t testing.TB, change ...func(*sermas.Options)) *service {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: redistest.Mini(t).Addr()})
	db := &keyspace.DB{UniversalClient: client, Embedded: true}
	sealer, err := store.NewSealer(bytes.Repeat([]byte("k"), store.KeySize))
	require.NoError(t, err)
	s := &service{t: t, now: time.Now(), log: &testbed.Lines{}, store: store.New(db, store.Options{Sealer: sealer, SessionTTL: time.Hour})}
	engine, err := trigger.NewEngine(trigger.Options{DB: db, Store: s.store, Matcher: bookings{}, Events: taken{}, Calls: taken{}, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	s.store.OnChange(engine.Wake)
	running, end := context.WithCancel(t.Context())
	var run sync.WaitGroup
	run.Go(func() { engine.Run(running) })
	t.Cleanup(func() {
		end()
		run.Wait()
		require.NoError(t, engine.Stop(context.Background()))
		require.NoError(t, client.Close())
	})
	now := func() time.Time { return s.now }
	ids := 0
	options := sermas.Options{
		On: true, Walls: ratelimit.New(admission.Bounds{}, prometheus.NewRegistry(), nil), Store: s.store, Tokens: sealer, TokenTTL: 5 * time.Minute, Now: now, NewID: func() string { ids++; return strings.Repeat("i", ids) },
		Logger: slog.New(slog.NewJSONHandler(s.log, nil)),
		Auth:   auth.Authenticator{Admin: secret.New(adminKey), Keys: s.store, Tokens: sealer, Now: now},
		REST: api.New(api.Options{
			Store: s.store, Engine: engine, Keys: s.store, Tokens: sealer, Origins: s.store, AdminKey: secret.New(adminKey), Logger: slog.New(slog.DiscardHandler), Now: now,
		}),
	}
	for _, alter := range change {
		alter(&options)
	}
	s.handler = sermas.New(options)
	serving := httptest.NewServer(s.handler)
	t.Cleanup(serving.Close)
	s.url = serving.URL
	return s
}

// clinic is a service with two apps; the module avatar of one is only for clients.
func clinic(t testing.TB, change ...func(*sermas.Options)) *service {
	s := start(t, change...)
	s.call("PUT", "/v1/apps/clinic", clinicBody).is(201)
	s.call("PUT", "/v1/apps/other", `{"modules":[{"moduleId":"avatar","secret":"else-else-else-else"}]}`).is(201)
	return s
}

const clinicBody = `{"modules":[{"moduleId":"avatar","secret":"s3cret-of-the-avatar"},{"moduleId":"calendar","clientId":"cal","secret":"c4l-of-the-calendar","tokenUrl":"https://id.example.org/token"}],
	"settings":{"chatModeEnabled":true,"allowedOrigins":["https://clinic.example"]}}`

// reply is an answer.
type reply struct {
	t testing.TB
	*http.Response
	body string
}

// call sends a request with the admin key. Headers are "Name: value" and override.
func (s *service) call(method, path, body string, headers ...string) reply {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	require.NoError(s.t, err)
	request.Header.Set("Authorization", "Bearer "+adminKey)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
		if value == "" {
			request.Header.Del(name)
		}
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(s.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	return reply{s.t, response, string(text)}
}

func (r reply) is(status int) reply {
	r.t.Helper()
	require.Equal(r.t, status, r.StatusCode, r.body)
	return r
}

// into reads the JSON of an answer.
func (r reply) into(value any) {
	r.t.Helper()
	require.NoError(r.t, json.Unmarshal([]byte(r.body), value), r.body)
}

// tokens is the answer to a request for a token.
type tokens struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
	Expires int    `json:"expires_in"`
	Type    string `json:"token_type"`
	Scope   string
}

// signIn gets a token of the app clinic.
func (s *service) signIn() tokens {
	s.t.Helper()
	var got tokens
	s.call("POST", "/api/platform/token/access_token", `{"appId":"clinic","clientId":"avatar","clientSecret":"s3cret-of-the-avatar"}`, noKey).is(201).into(&got)
	return got
}

// with returns the header with a token.
func with(token string) string { return "Authorization: Bearer " + token }

const noKey = "Authorization: "
