package httpcall

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"earshot/repositories/exactjson"
)

// exchange is one request of a session with what was answered, or the few with which a session
// begins. The SDK, which sends them, finds it in their context.
type exchange struct {
	send http.RoundTripper
	// header makes the headers of the call that the exchange is for, of its body; nil for the
	// requests that call nothing.
	header func(body []byte) (http.Header, error)

	mu     sync.Mutex
	sealed bool // what comes now is of no interest
	posted bool
	status int
	got    http.Header
	answer bytes.Buffer
	left   int   // bytes of the answer
	err    error // of a request that was not answered, or of an answer that broke off
}

type exchangeKey struct{}

func (e *exchange) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, exchangeKey{}, e)
}

// calls reports whether the exchange is for the call itself.
func (e *exchange) calls() bool { return e.header != nil }

// mcpTransport is the http.RoundTripper of all sessions.
type mcpTransport struct{}

// RoundTrip sends a request in the way of its exchange, and writes down what is answered.
func (mcpTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	e, ok := request.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return nil, errors.New("a request without an exchange")
	}
	if err := e.begin(request); err != nil {
		return nil, err
	}
	response, err := e.send.RoundTrip(request)
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.sealed {
		e.err = err
	}
	if err != nil {
		return nil, err
	}
	if !e.sealed {
		e.status, e.got = response.StatusCode, response.Header
		e.answer.WriteString("\n\n") // ends an event that broke off
	}
	response.Body = &tap{ReadCloser: response.Body, of: e}
	return response, nil
}

// busy are the statuses that say that any other request would be in vain as well.
var busy = []int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}

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
	case !e.calls() && slices.Contains(busy, e.status):
		return errors.New("the server has just answered that it is down")
	}
	own := e.calls() && request.Method == http.MethodPost && !e.posted
	e.posted = e.posted || request.Method == http.MethodPost
	if !own {
		return nil
	}
	var header http.Header
	body, err := request.GetBody()
	if err == nil {
		var read []byte
		if read, err = io.ReadAll(body); err == nil {
			header, err = e.header(read)
		}
	}
	for name, values := range header {
		if request.Header.Get(name) == "" {
			request.Header[name] = values
		}
	}
	e.err = err
	return err
}

// seal ends the exchange: what it has now stays.
func (e *exchange) seal() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sealed = true
}

// errTooLong means that an answer is longer than it may be.
var errTooLong = errors.New("the answer is too long")

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

// response is the response of a sealed exchange as it was sent, byte for byte; empty for none.
func (e *exchange) response() rpcResponse {
	messages := [][]byte{e.answer.Bytes()}
	if e.streams() {
		messages = nil
		for event := range bytes.SplitSeq(bytes.ReplaceAll(e.answer.Bytes(), []byte("\r"), nil), []byte("\n\n")) {
			var data [][]byte
			for line := range bytes.SplitSeq(event, []byte("\n")) {
				if text, is := bytes.CutPrefix(line, []byte("data:")); is {
					data = append(data, bytes.TrimPrefix(text, []byte(" ")))
				}
			}
			messages = append(messages, bytes.Join(data, []byte("\n")))
		}
	}
	for _, message := range messages {
		var read rpcResponse
		if json.Unmarshal(message, &read) == nil && read.Method == "" && (read.Result != nil || read.Error.Code != 0 || read.Error.Message != "") {
			return read
		}
	}
	return rpcResponse{}
}

// property is what is read of a property of a schema.
type property struct {
	Header     string              `json:"x-mcp-header"`
	Properties map[string]property `json:"properties"`
}

// parameterHeaders returns the headers in which a call repeats arguments: those whose property
// has an x-mcp-header (revision 2026-07-28). The SDK makes them for tools that its session has
// listed, and ours mostly have not.
func parameterHeaders(schema, arguments json.RawMessage) map[string]string {
	var root property
	if !strings.Contains(string(schema), "x-mcp-header") || json.Unmarshal(schema, &root) != nil {
		return nil
	}
	values, err := exactjson.Decode(arguments)
	if err != nil {
		return nil
	}
	headers := map[string]string{}
	root.collect(values, headers)
	return headers
}

func (p property) collect(value any, into map[string]string) {
	object, _ := value.(map[string]any)
	for name, below := range p.Properties {
		argument, given := object[name]
		if text, plain := headerText(argument); given && plain && below.Header != "" {
			into["Mcp-Param-"+below.Header] = text
		}
		below.collect(argument, into)
	}
}

// maxSafeInteger bounds the integers that every JSON parser reads exactly.
const maxSafeInteger = 1<<53 - 1

// headerText writes a text, a boolean or an integer for a header: a text as it is, or in
// base64 if it could be read as another or a header cannot hold it.
func headerText(value any) (string, bool) {
	switch value := value.(type) {
	case string:
		escaped := strings.HasPrefix(value, "=?base64?") && strings.HasSuffix(value, "?=")
		beyond := strings.ContainsFunc(value, func(r rune) bool { return r < 0x20 || r > 0x7e })
		if escaped || beyond || strings.Trim(value, " \t") != value {
			value = "=?base64?" + base64.StdEncoding.EncodeToString([]byte(value)) + "?="
		}
		return value, true
	case bool:
		return strconv.FormatBool(value), true
	case json.Number:
		n, err := value.Int64()
		return value.String(), err == nil && -maxSafeInteger <= n && n <= maxSafeInteger
	}
	return "", false
}
