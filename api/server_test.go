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
	"earshot/api/server"
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
	serving := server.New("", api.New(api.Options{Store: &storeDouble{}, Engine: &engineDouble{}}))
	go serving.Serve(listener) //nolint:errcheck // ends with Close
	t.Cleanup(func() { serving.Close() })

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
