package api_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/api"
)

func TestTheServerLimitsWhatAClientMaySend(t *testing.T) {
	handler := http.NotFoundHandler()
	server := api.NewServer("127.0.0.1:0", handler)
	require.Equal(t, "127.0.0.1:0", server.Addr)
	require.NotNil(t, server.Handler)
	require.Equal(t, 10*time.Second, server.ReadHeaderTimeout)
	require.Equal(t, 30*time.Second, server.ReadTimeout)
	require.Greater(t, server.IdleTimeout, time.Minute)
	require.Zero(t, server.WriteTimeout, "answers wait for tools and streams stay open")
}

func TestAHeaderOver64KiBIsRefused(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := api.NewServer("", api.New(api.Options{Store: &storeDouble{}, Engine: &engineDouble{}}))
	go server.Serve(listener) //nolint:errcheck // ends with Close
	t.Cleanup(func() { server.Close() })

	connection, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	defer connection.Close()
	_, err = io.WriteString(connection, "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Large: "+strings.Repeat("x", 80<<10)+"\r\n\r\n")
	require.NoError(t, err)
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, response.StatusCode)
}
