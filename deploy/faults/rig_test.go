package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/faults/endpoints"
	"earshot/deploy/faults/servers"
	"earshot/repositories/failpoint"
)

func TestScheduleHangsOnItsSeedAloneAndComesToEveryPoint(t *testing.T) {
	choices := func(seed int64) (list []string) {
		plan := newSchedule(seed, failpoint.Points())
		plan.arm(len(failpoint.Points()))
		for plan.pending() {
			_, env := plan.next()
			list = append(list, env)
		}
		return list
	}
	require.Equal(t, choices(1), choices(1))
	require.NotEqual(t, choices(1), choices(2))
	seen := map[string]bool{}
	for _, env := range choices(3) {
		seen[strings.Split(strings.TrimPrefix(env, "EARSHOT_CRASH="), ":")[0]] = true
	}
	require.Len(t, seen, len(failpoint.Points()))
}

func TestScheduleIsQuietWhenNobodyIsOnTheWayToAPoint(t *testing.T) {
	plan := newSchedule(1, failpoint.Points())
	plan.arm(1)
	plan.next()
	require.False(t, plan.pending())
	require.False(t, plan.quiet())
	plan.over()
	require.True(t, plan.quiet())
}

func TestPointThatWasMissedComesAgain(t *testing.T) {
	plan := newSchedule(1, failpoint.Points())
	plan.arm(len(failpoint.Points()))
	first, _ := plan.next()
	plan.missed(first)
	var last failpoint.Point
	for plan.pending() {
		last, _ = plan.next()
	}
	require.Equal(t, first, last)
}

// echo is a server that answers every line with itself.
func echo(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					fmt.Fprintln(conn, lines.Text())
				}
			}()
		}
	}()
	return listener.Addr().String()
}

func TestProxySwallowsAReplyAndClosesTheConnection(t *testing.T) {
	p, err := servers.NewProxy(echo(t), 1)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	conn, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	answers := bufio.NewReader(conn)
	fmt.Fprintln(conn, "one")
	line, err := answers.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "one\n", line)
	p.Loss.Store(1000)
	fmt.Fprintln(conn, "two")
	_, err = answers.ReadString('\n')
	require.Error(t, err)
	require.EqualValues(t, 1, p.Lost.Load())
}

func TestSinkDoesAsItsPathsSay(t *testing.T) {
	secrets := plant()
	s := endpoints.NewSink(secrets.token, secrets.look)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	ask := func(path string) int {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, strings.NewReader("{}"))
		require.NoError(t, err)
		request.Header.Set("webhook-id", "t1")
		client := http.Client{Timeout: 300 * time.Millisecond}
		response, err := client.Do(request)
		if err != nil {
			return 0
		}
		_ = response.Body.Close()
		return response.StatusCode
	}
	for _, test := range []struct {
		path          string
		first, second int
	}{{"/ok", 200, 200}, {"/busy", 503, 200}, {"/dead", 404, 200}, {"/hang", 0, 200}, {"/drip", 200, 200}, {"/giga", 200, 200}} {
		require.Equal(t, test.first, ask(test.path), test.path)
		require.Equal(t, test.second, ask(test.path), test.path)
	}
	require.Len(t, s.All(), 12)
	require.Empty(t, secrets.all())
}

func TestPlantedCredentialsAreFoundInEveryForm(t *testing.T) {
	secrets := plant()
	secrets.look("a log", "all is well")
	require.Empty(t, secrets.all())
	for _, word := range secrets.words() {
		secrets.look("a log", "x"+word+"y")
	}
	require.GreaterOrEqual(t, len(secrets.all()), len(secrets.words()))
}

func TestModelRefusesAFlakyTextOnce(t *testing.T) {
	secrets := plant()
	server := httptest.NewServer(endpoints.NewModel(secrets.look))
	t.Cleanup(server.Close)
	for _, want := range []int{503, 200} {
		response, err := http.Post(server.URL, "application/json", strings.NewReader(`{"messages":[{"content":"call note {\"day\":\"flaky\"}"}]}`))
		require.NoError(t, err)
		text := endpoints.ReadAll(response.Body)
		require.NoError(t, response.Body.Close())
		require.Equal(t, want, response.StatusCode)
		if want == 200 {
			require.Contains(t, text, `"name":"note"`)
		}
	}
}

func TestQuantileIsTheValueThatAPartDoesNotExceed(t *testing.T) {
	list := []time.Duration{3 * time.Second, time.Second, 2 * time.Second}
	require.Equal(t, 2*time.Second, quantile(list, 0.5))
	require.Equal(t, 3*time.Second, quantile(list, 1))
	require.Zero(t, quantile(nil, 1))
}
