package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"sync"
)

// exchange is one request of a session with what was answered, or the few with which a session
// begins. The SDK, which sends them, finds it in their context.
type exchange struct {
	send http.RoundTripper
	// header makes the headers of the request that the exchange is for, of its body; nil for
	// those with which a session begins.
	header func(body []byte) (http.Header, error)
	most   int // bytes of the answer

	mu     sync.Mutex
	sealed bool // what comes now is of no interest
	posted bool
	status int
	got    http.Header
	answer bytes.Buffer
	left   int
	err    error // of a request that was not answered, or of an answer that broke off
}

type exchangeKey struct{}

func newExchange(server Server, most int) *exchange {
	return &exchange{send: server.Send, most: most, left: most}
}

func (e *exchange) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, exchangeKey{}, e)
}

// errTooLong means that an answer is longer than it may be.
var errTooLong = errors.New("the answer is too long")

// errDown ends the beginning of a session with a server that has just answered that it is down.
var errDown = errors.New("the server is down")

// transport is the http.RoundTripper of all sessions.
type transport struct{}

// RoundTrip sends a request in the way of its exchange, and writes down what is answered.
func (transport) RoundTrip(request *http.Request) (*http.Response, error) {
	e, ok := request.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return nil, errors.New("a request without an exchange")
	}
	if err := e.begin(request); err != nil {
		return nil, err
	}
	response, err := e.send.RoundTrip(request)
	e.end(response, err)
	if err != nil {
		return nil, err
	}
	response.Body = &tap{ReadCloser: response.Body, of: e}
	return response, nil
}

// begin puts the headers of the exchange into its own request, which is the first that is
// posted, and ends one that would be in vain.
func (e *exchange) begin(request *http.Request) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.sealed:
		return nil
	case e.err != nil:
		return e.err
	case e.header == nil && busy(e.status):
		return errDown
	}
	own := e.header != nil && request.Method == http.MethodPost && !e.posted
	e.posted = e.posted || request.Method == http.MethodPost
	if !own {
		return nil
	}
	body, err := bodyOf(request)
	if err == nil {
		var header http.Header
		header, err = e.header(body)
		for name, values := range header {
			if request.Header.Get(name) == "" {
				request.Header[name] = values
			}
		}
	}
	e.err = err
	return err
}

// bodyOf returns the body of a request, which stays to be sent.
func bodyOf(request *http.Request) ([]byte, error) {
	body, err := request.GetBody()
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}

// busy reports whether a status says that any other request would be in vain as well.
func busy(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

func (e *exchange) end(response *http.Response, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sealed {
		return
	}
	if e.err = err; err != nil {
		return
	}
	e.status, e.got = response.StatusCode, response.Header
	e.answer.WriteString("\n\n") // ends an event that broke off
}

// seal ends the exchange: what it has now stays.
func (e *exchange) seal() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sealed = true
}

// tap writes down what is read of an answer, and ends one that is too long.
type tap struct {
	io.ReadCloser
	of *exchange
}

// Read implements io.Reader.
func (t *tap) Read(into []byte) (int, error) {
	n, err := t.ReadCloser.Read(into)
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	if t.of.left -= n; t.of.left < 0 {
		n, err = 0, errTooLong
	}
	if t.of.sealed {
		return n, err
	}
	t.of.answer.Write(into[:n])
	if err != nil && err != io.EOF {
		t.of.err = err
	}
	return n, err
}

// rpcResponse is what is read of a JSON-RPC response.
type rpcResponse struct {
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  struct {
		Code    int64  `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// streams reports whether the answer is a stream of events.
func (e *exchange) streams() bool {
	kind, _, _ := mime.ParseMediaType(e.got.Get("Content-Type"))
	return kind == "text/event-stream"
}

// response is the response to the exchange's request as it was sent, byte for byte; empty where
// there is none.
func (e *exchange) response() rpcResponse {
	if !e.streams() {
		return responseIn(e.answer.Bytes())
	}
	for event := range bytes.SplitSeq(bytes.ReplaceAll(e.answer.Bytes(), []byte("\r"), nil), []byte("\n\n")) {
		if found := responseIn(dataOf(event)); found.Result != nil || found.Error.Code != 0 {
			return found
		}
	}
	return rpcResponse{}
}

// dataOf joins the data lines of an event.
func dataOf(event []byte) []byte {
	var data [][]byte
	for line := range bytes.SplitSeq(event, []byte("\n")) {
		if text, is := bytes.CutPrefix(line, []byte("data:")); is {
			data = append(data, bytes.TrimPrefix(text, []byte(" ")))
		}
	}
	return bytes.Join(data, []byte("\n"))
}

func responseIn(message []byte) rpcResponse {
	var read rpcResponse
	if json.Unmarshal(message, &read) != nil || read.Method != "" {
		return rpcResponse{}
	}
	return read
}
