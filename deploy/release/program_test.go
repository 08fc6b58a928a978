package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

const (
	someCommit = "4bf92f3577b34da6a3ce929d0e0e47364bf92f35"
	someDate   = "2026-12-01T08:30:00Z"
)

// TestTheProgramSaysItsVersionEverywhere links the program as a release is, starts it, and looks
// wherever the version is told. What the linker is given to link is compiled as for other tests,
// since that of a release takes minutes; its flags of the compiler are those of the small program.
func TestTheProgramSaysItsVersionEverywhere(t *testing.T) {
	made, err := time.Parse(time.RFC3339, someDate)
	require.NoError(t, err)
	r := &release{options: options{out: t.TempDir(), platforms: here}, version: "1.2.3", commit: someCommit, made: made}
	released := filepath.Join(r.out, program)
	said, err := exec.Command("go", "build", "-ldflags", r.linked(), "-o", released, "earshot/cmd/earshot").CombinedOutput()
	require.NoError(t, err, string(said))

	calls := make(chan string, 1)
	endpoint := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { calls <- r.UserAgent() }))
	t.Cleanup(endpoint.Close)
	log := testbed.Start(t, t.TempDir(), testbed.Environment(), released, "dev", "--addr", "127.0.0.1:0")
	s := &running{t, log.Await(t, `Earshot listens on (http://\S+)\s`)}

	s.ask("PUT", "/v1/apps/clinic", `{}`)
	s.ask("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"ring","description":"Ring the bell","url":"`+endpoint.URL+`"}]}`)
	s.ask("POST", "/v1/apps/clinic/triggers", `{"name":"ring","source":"task"}`)
	require.Equal(t, "earshot/1.2.3", <-calls)
	require.Equal(t, []string{"1.2.3"}, s.event()["ce-earshotversion"])
	for _, description := range []string{"/openapi.json", "/asyncapi.json"} {
		var document struct{ Info struct{ Version string } }
		require.NoError(t, json.Unmarshal([]byte(s.ask("GET", description, "")), &document))
		require.Equal(t, "1.2.3", document.Info.Version, description)
	}
	require.Regexp(t, `(?m)^earshot_build_info\{commit="`+someCommit+`",go="go1[^"]*",version="1\.2\.3"\} 1$`, s.ask("GET", "/metrics", ""))

	list, err := r.writeSBOM(t.Context(), []string{released})
	require.NoError(t, err)
	checkSBOM(t, list)
	require.Greater(t, len(readSBOM(t, list).Components), 50)
}

// running is an earshot dev.
type running struct {
	t   *testing.T
	url string
}

func (s *running) ask(method, path, body string) string {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	require.NoError(s.t, err)
	request.Header.Set("Authorization", "Bearer "+testbed.AdminKey)
	response, err := http.DefaultClient.Do(request)
	require.NoError(s.t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	require.Less(s.t, response.StatusCode, 300, "%s %s: %s", method, path, answer)
	return string(answer)
}

// event returns the headers of the first event of a trigger.
func (s *running) event() nats.Header {
	s.t.Helper()
	var caller struct{ NATSURL string }
	require.NoError(s.t, json.Unmarshal([]byte(s.ask("GET", "/v1/whoami", "")), &caller))
	connection, err := nats.Connect(caller.NATSURL)
	require.NoError(s.t, err)
	s.t.Cleanup(connection.Close)
	stream, err := jetstream.New(connection)
	require.NoError(s.t, err)
	consumer, err := stream.OrderedConsumer(s.t.Context(), "EARSHOT", jetstream.OrderedConsumerConfig{FilterSubjects: []string{"tool.trigger.>"}})
	require.NoError(s.t, err)
	event, err := consumer.Next(jetstream.FetchMaxWait(testbed.Patience))
	require.NoError(s.t, err)
	return event.Headers()
}
