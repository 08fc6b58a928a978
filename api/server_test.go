package api_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/api/server"
	"earshot/deploy/testbed/apitest"
	"earshot/repositories/secret"
	"earshot/trigger"
	"earshot/trigger/query"
)

func TestTheServerLimitsWhatAClientMaySend(t *testing.T) {
	handler := http.NotFoundHandler()
	serving := server.New("127.0.0.1:0", handler)
	require.Equal(t, "127.0.0.1:0", serving.Addr)
	require.NotNil(t, serving.Handler)
	require.Equal(t, 10*time.Second, serving.ReadHeaderTimeout)
	require.Equal(t, 30*time.Second, serving.ReadTimeout)
	require.Greater(t, serving.IdleTimeout, time.Minute)
	require.Zero(t, serving.WriteTimeout, "answers wait for tools and streams stay open")
}

func TestAHeaderOver64KiBIsRefused(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	serving := server.New("", api.New(api.Options{Store: &storeDouble{}, Keys: keysOf{}, Engine: &engineDouble{}}))
	go serving.Serve(listener) //nolint:errcheck // ends with Close
	t.Cleanup(func() { serving.Close() })

	connection := dialed(t, listener.Addr().String(), false)
	text := "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Large: " + strings.Repeat("x", 80<<10) + "\r\n\r\n"
	require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, answerErrors(t, connection, text, "GET"))
}

// brief replaces the 30 s that a client may stall.
const brief = 500 * time.Millisecond

// patience is how long a test waits for an event that is immediate on an idle machine.
const patience = 30 * time.Second

// sockets is the real server on a real listener.
type sockets struct {
	address string
	closed  chan struct{} // one element per ended connection
}

// onSockets runs the server with these deadlines.
func onSockets(t *testing.T, secure bool, read, write time.Duration, change ...func(*api.Options)) sockets {
	options := api.Options{
		Store: &storeDouble{}, Keys: keysOf{}, Engine: &engineDouble{}, AdminKey: secret.New(apitest.AdminKey),
		Logger: slog.New(slog.DiscardHandler), WriteTime: write,
	}
	for _, alter := range change {
		alter(&options)
	}
	serving := server.New("", api.New(options))
	serving.ReadTimeout = read
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := sockets{inner.Addr().String(), make(chan struct{}, 1000)}
	serving.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			s.closed <- struct{}{}
		}
	}
	listener := server.Listener{Listener: inner, Within: write}
	if secure {
		borrowed := httptest.NewUnstartedServer(nil)
		borrowed.StartTLS()
		serving.TLSConfig = &tls.Config{Certificates: borrowed.TLS.Certificates}
		borrowed.Close()
		go serving.ServeTLS(listener, "", "") //nolint:errcheck // ends with Close
	} else {
		go serving.Serve(listener) //nolint:errcheck // ends with Close
	}
	t.Cleanup(func() { serving.Close() })
	return s
}

// ends waits until the server has closed count connections.
func (s sockets) ends(t *testing.T, count int) {
	t.Helper()
	late := time.After(patience)
	for range count {
		select {
		case <-s.closed:
		case <-late:
			require.Fail(t, "the server holds connections whose clients do not read")
		}
	}
}

func dialed(t *testing.T, address string, secure bool) net.Conn {
	connection, err := net.Dial("tcp", address)
	require.NoError(t, err)
	if secure {
		connection = tls.Client(connection, &tls.Config{InsecureSkipVerify: true})
	}
	t.Cleanup(func() { connection.Close() })
	require.NoError(t, connection.SetDeadline(time.Now().Add(patience)))
	return connection
}

// answerErrors sends text, reads one answer, and checks that the connection is closed after it.
func answerErrors(t *testing.T, connection net.Conn, text, method string) int {
	t.Helper()
	_, err := io.WriteString(connection, text)
	require.NoError(t, err)
	reader := bufio.NewReader(connection)
	response, err := http.ReadResponse(reader, &http.Request{Method: method})
	require.NoError(t, err, text[:min(len(text), 80)])
	_, err = io.Copy(io.Discard, response.Body)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, reader)
	var timeout net.Error
	require.False(t, errors.As(err, &timeout) && timeout.Timeout(), "the connection is still open")
	return response.StatusCode
}

func TestHalfABodyHoldsNoConnection(t *testing.T) {
	const json = "Content-Type: application/json\r\n"
	key := "Authorization: Bearer " + apitest.AdminKey + "\r\n"
	half := "Content-Length: 200000\r\n\r\n" + strings.Repeat(" ", 1000)
	chunked := "Transfer-Encoding: chunked\r\n\r\n3e8\r\n" + strings.Repeat(" ", 1000)
	for _, secure := range []bool{false, true} {
		address := onSockets(t, secure, brief, patience).address
		for name, c := range map[string]struct {
			method, path, rest string
			status             int
		}{
			"probe":                {"GET", "/healthz", half, 408},
			"probe, chunked":       {"GET", "/healthz", chunked, 408},
			"metrics":              {"GET", "/metrics", half, 408},
			"head":                 {"HEAD", "/healthz", half, 408},
			"options":              {"OPTIONS", "/v1/apps", half, 408},
			"preflight":            {"OPTIONS", "/v1/apps/clinic", "Origin: https://a.example\r\nAccess-Control-Request-Method: GET\r\n" + half, 408},
			"no such path":         {"POST", "/nothing", half, 408},
			"no such method":       {"TRACE", "/v1/apps", half, 408},
			"without a key":        {"POST", apitest.MessagesPath, json + half, 408},
			"without, chunked":     {"POST", apitest.MessagesPath, json + chunked, 408},
			"with a key":           {"POST", apitest.MessagesPath, key + json + half, 408},
			"with a key, chunked":  {"POST", apitest.MessagesPath, key + json + chunked, 408},
			"not JSON":             {"POST", apitest.MessagesPath, key + "Content-Type: text/plain\r\n" + half, 408},
			"a body for a GET":     {"GET", apitest.MessagesPath, key + half, 408},
			"an event stream":      {"GET", sessionEvents, key + half, 408},
			"longer than is read":  {"POST", apitest.MessagesPath, key + json + "Content-Length: 2000000\r\n\r\nx", 413},
			"asks first, no key":   {"POST", apitest.MessagesPath, json + "Expect: 100-continue\r\n" + half, 401},
			"asks first, no route": {"POST", "/nothing", "Expect: 100-continue\r\n" + half, 404},
		} {
			t.Run(fmt.Sprintf("%s, TLS %t", name, secure), func(t *testing.T) {
				t.Parallel()
				request := c.method + " " + c.path + " HTTP/1.1\r\nHost: x\r\n" + c.rest
				require.Equal(t, c.status, answerErrors(t, dialed(t, address, secure), request, c.method))
			})
		}
	}
}

func TestEveryRouteTellsThatTheBodyDidNotCome(t *testing.T) {
	s := start(t)
	address := onSockets(t, false, brief, patience).address
	for path, item := range s.Description.At("/paths") {
		for method := range item.(map[string]any) {
			name := strings.ToUpper(method)
			if name != "GET" && name != "PUT" && name != "POST" && name != "PATCH" && name != "DELETE" {
				continue
			}
			filled := strings.NewReplacer("{", "", "}", "").Replace(path)
			t.Run(name+" "+path, func(t *testing.T) {
				t.Parallel()
				request := name + " " + filled + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + apitest.AdminKey + "\r\nContent-Length: 200000\r\n\r\n{"
				require.Equal(t, 408, answerErrors(t, dialed(t, address, false), request, name))
			})
		}
	}
}

func TestAChunkedBodyThatIsTooLongIs413(t *testing.T) {
	connection := dialed(t, onSockets(t, false, patience, patience).address, false)
	request := "POST " + apitest.MessagesPath + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + apitest.AdminKey +
		"\r\nTransfer-Encoding: chunked\r\n\r\n200000\r\n" + strings.Repeat(" ", 1<<20+4096)
	go io.WriteString(connection, request) //nolint:errcheck // the server may close before it has read all
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	require.NoError(t, err)
	require.Equal(t, 413, response.StatusCode)
}

// Some clients read nothing before they have sent all, and close after it.
func TestABodyThatIsTooLongIs413ForAClientThatSendsItAll(t *testing.T) {
	address := onSockets(t, false, patience, patience).address
	for name, body := range map[string]string{
		"with its length": "Content-Length: 16777216\r\n\r\n" + strings.Repeat(" ", 16<<20),
		"chunked":         "Transfer-Encoding: chunked\r\n\r\n1000000\r\n" + strings.Repeat(" ", 16<<20) + "\r\n0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			request := "POST " + apitest.MessagesPath + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer " + apitest.AdminKey + "\r\n" + body
			require.Equal(t, 413, answerErrors(t, dialed(t, address, false), request, "POST"))
		})
	}
}

func TestTheReadDeadlineEndsWithTheBody(t *testing.T) {
	w := &waitingEngine{release: make(chan struct{}), began: make(chan struct{}, 8)}
	const within = 2 * time.Second // a loaded machine may need this to send a few bytes
	connection := dialed(t, onSockets(t, false, within, patience, func(o *api.Options) { o.Engine = w }).address, false)
	request := "POST " + apitest.MessagesPath + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + apitest.AdminKey +
		fmt.Sprintf("\r\nContent-Length: %d\r\n\r\n", len(apitest.HelloBody)) + apitest.HelloBody
	reader := bufio.NewReader(connection)
	for range 2 { // the second shows that the connection is kept
		_, err := io.WriteString(connection, request)
		require.NoError(t, err)
		<-w.began
		<-time.After(within + within/2) // the deadline has passed
		w.release <- struct{}{}
		response, err := http.ReadResponse(reader, nil)
		require.NoError(t, err)
		require.Equal(t, 200, response.StatusCode)
		_, err = io.Copy(io.Discard, response.Body)
		require.NoError(t, err)
	}
}

// waitingEngine answers a message on demand, or when its client is gone.
type waitingEngine struct {
	engineDouble
	began, release chan struct{}
}

func (e *waitingEngine) Post(ctx context.Context, _ trigger.Message) (json.RawMessage, error) {
	e.began <- struct{}{}
	select {
	case <-e.release:
		return json.RawMessage(apitest.NoMatch), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// heavy is a history page larger than a socket buffer.
func heavy(o *api.Options) {
	text := strings.Repeat("x", 32<<10)
	entries := make([]query.Entry, 30)
	for i := range entries {
		entries[i] = query.Entry{MessageID: fmt.Sprint(i), Text: text}
	}
	o.Engine = &engineDouble{entries: entries}
}

// unread requests a path and does not read, with a small window.
func unread(t *testing.T, address string, secure bool, requests int) {
	connection, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { connection.Close() })
	require.NoError(t, connection.(*net.TCPConn).SetReadBuffer(4096))
	if secure {
		connection = tls.Client(connection, &tls.Config{InsecureSkipVerify: true})
	}
	request := "GET " + apitest.MessagesPath + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + apitest.AdminKey + "\r\n\r\n"
	_, err = io.WriteString(connection, strings.Repeat(request, requests))
	require.NoError(t, err)
}

func TestAClientThatReadsNothingIsCutOff(t *testing.T) {
	for name, secure := range map[string]bool{"plain": false, "TLS": true} {
		t.Run(name, func(t *testing.T) {
			s := onSockets(t, secure, patience, brief, heavy)
			unread(t, s.address, secure, 1)
			unread(t, s.address, secure, 50) // sequentially on one connection
			s.ends(t, 2)
		})
	}
}

func TestAStreamOfHTTP2ThatGrantsNoWindowIsCutOff(t *testing.T) {
	s := onSockets(t, true, patience, brief, heavy)
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true,
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10, MaxReceiveBufferPerConnection: 1 << 20},
	}
	defer transport.CloseIdleConnections()
	ask := func(path string) *http.Response {
		request, err := http.NewRequestWithContext(t.Context(), "GET", "https://"+s.address+path, nil)
		require.NoError(t, err)
		request.Header.Set("Authorization", "Bearer "+apitest.AdminKey)
		response, err := transport.RoundTrip(request)
		require.NoError(t, err)
		require.Equal(t, 2, response.ProtoMajor)
		return response
	}
	slow := ask(apitest.MessagesPath)
	defer slow.Body.Close()
	<-time.After(2 * brief) // no stall exceeds the limit
	_, err := io.Copy(io.Discard, slow.Body)
	require.Error(t, err)
	quick := ask("/healthz")
	defer quick.Body.Close()
	require.Equal(t, 200, quick.StatusCode, "others on the connection go on")
}

func TestASlowClientThatTakesSomethingGetsAllOfIt(t *testing.T) {
	s := onSockets(t, false, patience, 2*time.Second, heavy)
	connection := dialed(t, s.address, false)
	_, err := io.WriteString(connection, "GET "+apitest.MessagesPath+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+apitest.AdminKey+"\r\n\r\n")
	require.NoError(t, err)
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	require.NoError(t, err)
	sips := time.NewTicker(100 * time.Millisecond)
	defer sips.Stop()
	var got, n int64
	for err = nil; err == nil; got += n {
		<-sips.C
		n, err = io.CopyN(io.Discard, response.Body, 40<<10)
	}
	require.ErrorIs(t, err, io.EOF)
	require.Greater(t, got, int64(900<<10))
}
