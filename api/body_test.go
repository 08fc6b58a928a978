package api_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const mib = 1 << 20

func TestABodyOverOneMiBIs413(t *testing.T) {
	s := start(t)
	s.call("POST", messagesPath, strings.Repeat(" ", mib+1)).problem(413, "1048576 bytes")
	require.Zero(t, s.engine.count())
}

func TestABodyOverOneMiBIs413WhenItsLengthIsNotSaid(t *testing.T) {
	s := start(t)
	request, err := http.NewRequestWithContext(t.Context(), "POST", s.url+messagesPath, io.MultiReader(strings.NewReader(strings.Repeat(" ", mib+1))))
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+adminKey)
	require.EqualValues(t, 0, request.ContentLength)
	s.send(request).problem(413, "1048576 bytes")
	require.Zero(t, s.engine.count())
}

func TestABodyOfOneMiBIsRead(t *testing.T) {
	s := start(t)
	s.engine.answer = json.RawMessage(noMatch)
	s.call("POST", messagesPath, hello+strings.Repeat(" ", mib-len(hello))).is(200, noMatch)
}

func TestOnlyPlainJSONIsRead(t *testing.T) {
	s := start(t)
	s.engine.answer = json.RawMessage(noMatch)
	for kind, status := range map[string]int{
		"application/json": 200, "application/json; charset=utf-8": 200, "Application/JSON;charset=UTF-8": 200, "application/problem+json": 200, "": 200,
		"text/plain": 415, "application/x-www-form-urlencoded": 415, "application/json; charset=utf-16": 415, "application/xml": 415, "json": 415, ";;": 415, "text/x+json": 415,
	} {
		got := s.call("POST", messagesPath, hello, "Content-Type: "+kind)
		require.Equal(t, status, got.StatusCode, kind)
		if status == 415 {
			got.problem(415, "send application/json")
			require.Equal(t, "application/json", got.Header.Get("Accept"))
		}
	}
}

func TestACompressedBodyIsRefused(t *testing.T) {
	s := start(t)
	s.call("POST", messagesPath, hello, "Content-Encoding: gzip").problem(415, `Content-Encoding "gzip"`)
	s.engine.answer = json.RawMessage(noMatch)
	s.call("POST", messagesPath, hello, "Content-Encoding: identity").is(200, noMatch)
}

func TestAMissingBodyIsA400(t *testing.T) {
	s := start(t)
	for path, method := range map[string]string{messagesPath: "POST", "/v1/apps/clinic/triggers": "POST", "/v1/apps/clinic": "PUT", "/v1/apps/clinic/repositories": "POST"} {
		s.call(method, path, "").problem(400, "a JSON body is needed")
	}
}

func TestABodyThatBreaksOffIsNotTakenForAWhole(t *testing.T) {
	s := start(t)
	connection, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	require.NoError(t, err)
	defer connection.Close()
	_, err = io.WriteString(connection, "POST "+messagesPath+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+adminKey+"\r\nContent-Length: 500\r\n\r\n"+hello)
	require.NoError(t, err)
	require.NoError(t, connection.(*net.TCPConn).CloseWrite())
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, 400, response.StatusCode)
	require.Zero(t, s.engine.count())
}
