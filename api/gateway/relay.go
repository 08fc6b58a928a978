package gateway

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/api/server"
	"earshot/repositories"
)

// relayed is the size of a relay buffer, in bytes.
const relayed = 32 << 10

const messageHeader = "X-Earshot-Message-Id"

func (h *Handler) relay(c echo.Context, path string, body []byte, r *chatRequest) error {
	response, err := h.ask(c, path, body)
	if err == nil {
		defer func() { _ = response.Body.Close() }() // read to its end, or abandoned
		h.copyHeader(c, response)
	}
	if r != nil { // the message is matched whether the model answers or not
		<-r.named // parsing takes less time than sending the body
		if r.messageID != "" {
			c.Response().Header().Set(messageHeader, r.messageID)
		}
	}
	if err != nil {
		return err
	}
	c.Response().WriteHeader(response.StatusCode)
	return h.copyBody(c, response, r.begin)
}

func (h *Handler) ask(c echo.Context, path string, body []byte) (*http.Response, error) {
	if h.url == "" {
		return nil, answer.NewProblem(answer.ModelNotConfigured,
			"no model is behind this endpoint: set OPENAI_API_KEY, or OPENAI_BASE_URL for another than OpenAI's, where Earshot runs").
			With("X-Should-Retry", "false")
	}
	incoming := c.Request()
	header := passes(incoming.Header, toModel, h.Model.Headers)
	if accepted := header.Get("Accept-Encoding"); accepted != "" {
		header.Set("Accept-Encoding", readable(accepted))
	}
	request, err := h.toModel(incoming.Context(), incoming.Method, path, body, header)
	if err != nil {
		return nil, err
	}
	response, err := h.Model.Transport.RoundTrip(request)
	switch {
	case err == nil:
		h.maskKey(response)
		return response, nil
	case incoming.Context().Err() != nil:
		h.metrics.requests.WithLabelValues("left").Inc()
		return nil, incoming.Context().Err()
	default:
		h.metrics.requests.WithLabelValues("unreachable").Inc()
		return nil, unreachable(err)
	}
}

// toModel creates a request to the model's host with the service's own key.
func (h *Handler) toModel(ctx context.Context, method, path string, body []byte, header http.Header) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, method, h.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, unreachable(errors.New("OPENAI_BASE_URL is not a URL")) // err would repeat the URL, which may hold credentials
	}
	request.Header = header
	request.Header.Del("Content-Length") // the body may have changed
	if _, has := request.Header["User-Agent"]; !has {
		request.Header["User-Agent"] = []string{""} // otherwise net/http would send its own
	}
	if key := h.Model.Key.Reveal(); key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
		if strings.HasSuffix(request.URL.Hostname(), ".azure.com") {
			request.Header.Set("Api-Key", key)
		}
	}
	return request, nil
}

func unreachable(err error) error {
	return answer.NewProblem(answer.ModelUnreachable, "the model behind this endpoint cannot be reached").Because(err)
}

// copyBody relays an answer as it arrives. If it breaks off, so does the client's, which must not take a
// part as complete. It calls begin once bytes are sent. The header is sent with the first bytes to save a
// packet, or alone if they are slow.
func (h *Handler) copyBody(c echo.Context, response *http.Response, begin func()) error {
	buffer := h.buffers.Get().(*[relayed]byte)
	defer h.buffers.Put(buffer)
	out := c.Response()
	var head struct {
		sync.Mutex
		sent bool
	}
	timer := time.AfterFunc(headStart, func() {
		head.Lock()
		defer head.Unlock()
		if !head.sent {
			out.Flush()
		}
	})
	sent := func() {
		head.Lock()
		defer head.Unlock()
		head.sent = true
		timer.Stop()
	}
	defer sent()
	for {
		n, err := response.Body.Read(buffer[:])
		if n > 0 {
			sent()
			if _, writeErr := out.Write(buffer[:n]); writeErr != nil {
				h.metrics.requests.WithLabelValues("left").Inc()
				return nil //nolint:nilerr // the client is gone
			}
			out.Flush()
			begin()
		}
		switch {
		case errors.Is(err, io.EOF):
			h.metrics.requests.WithLabelValues("answered").Inc()
			return nil
		case err != nil:
			h.broken(c, err)
		}
	}
}

// broken aborts the client's connection after its answer broke off.
func (h *Handler) broken(c echo.Context, err error) {
	outcome := "broken"
	if c.Request().Context().Err() != nil {
		outcome = "left"
	} else {
		h.Logger.WarnContext(c.Request().Context(), "listen.broken", "app", c.Param("appId"), "error", err.Error())
	}
	h.metrics.requests.WithLabelValues(outcome).Inc()
	panic(http.ErrAbortHandler)
}

// The gateway holds the operator's key, so headers pass only if listed. A gateway may take its target,
// account or tenant from a request header, and a browser obeys headers of an answer (section 19 of the
// contract).

// toModel lists the request headers that reach the model's host. A final * matches any rest.
var toModel = []string{"Accept*", "Content-*", "User-Agent", "Traceparent", "Tracestate", "Idempotency-Key", "Openai-Beta", "X-Stainless-*"}

// fromModel lists the answer headers that reach the client. Of Content-* it has those that describe the
// body, not the policies for browsers.
var fromModel = []string{
	"Content-Type", "Content-Length", "Content-Encoding", "Content-Language", "Content-Disposition", "Content-Range", "Content-Digest", "Accept-Ranges",
	"Cache-Control", "Date", "Retry-After", "X-Ratelimit-*", "Ratelimit*", "Openai-Processing-Ms", "Openai-Version", "Openai-Model", "X-Should-Retry", "Vary",
}

// never lists headers that no list can allow: credentials, headers that control access to the answer or to
// this host, and those of one connection (RFC 9110, section 7.6.1).
var never = []string{
	"Authorization", "Api-Key", "X-Api-Key", "Cookie", "Set-Cookie", "Expect", "Host", sessionHeader, "Access-Control-*", "Alt-Svc", "Strict-Transport-Security",
	"Connection", "Keep-Alive", "Proxy-*", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "X-Frame-Options", "X-Content-Type-Options", server.RequestIDHeader, "Content-Security-Policy*", "Clear-Site-Data", "Location",
}

func matches(list []string, name string) bool {
	return slices.ContainsFunc(list, func(one string) bool {
		begin, rest := strings.CutSuffix(one, "*")
		return strings.EqualFold(one, name) || rest && len(name) >= len(begin) && strings.EqualFold(begin, name[:len(begin)])
	})
}

// passes returns the headers that are on a list, except those that Connection names.
func passes(header http.Header, lists ...[]string) http.Header {
	hop := map[string]bool{}
	for _, line := range header["Connection"] {
		for name := range strings.SplitSeq(line, ",") {
			hop[http.CanonicalHeaderKey(strings.TrimSpace(name))] = true
		}
	}
	out := http.Header{}
	for name, values := range header {
		isToken := strings.HasSuffix(strings.ToLower(name), repositories.TokenHeaderEnd)
		if !hop[name] && !isToken && !matches(never, name) && slices.ContainsFunc(lists, func(list []string) bool { return matches(list, name) }) {
			out[name] = slices.Clone(values)
		}
	}
	return out
}

// modelRequestHeader carries the model's own X-Request-Id.
const modelRequestHeader = "X-Model-Request-Id"

func (h *Handler) copyHeader(c echo.Context, response *http.Response) {
	header := c.Response().Header()
	if id := response.Header.Get(server.RequestIDHeader); id != "" {
		header.Set(modelRequestHeader, id)
	}
	for name, values := range passes(response.Header, fromModel, h.Model.Headers) {
		if name == "Vary" {
			values = append(header[name], values...)
		}
		header[name] = values
	}
}

// headerSigns are the characters of a header name, except *.
const headerSigns = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&'+-.^_`|~"

// CheckHeaders validates an operator's list of further headers: names or prefixes with a final *, except
// those that never pass.
func CheckHeaders(list []string) error {
	for _, one := range list {
		begin := strings.TrimSuffix(one, "*")
		if strings.Trim(begin, headerSigns) != "" || begin == "" {
			return fmt.Errorf("%q is not the name of a header, or its beginning with a * behind it, as X-Tenant or X-Gateway-*", one)
		}
		if matches(never, begin) || strings.HasSuffix(strings.ToLower(begin), repositories.TokenHeaderEnd) {
			return fmt.Errorf("%q cannot be relayed: it carries a credential, or belongs to one of the two hosts", one)
		}
	}
	return nil
}

// minMaskedKey is the length of the shortest key that is masked: "ollama" and the like stand for none, and occur in
// answers.
const minMaskedKey = 12

// maskKey masks the model's key in an answer: some hosts repeat it in an error. A whole answer is read first, since
// masking changes its length and encoding; any other is masked as it arrives. A compressed stream stays as it is.
func (h *Handler) maskKey(response *http.Response) {
	key := h.Model.Key.Reveal()
	if len(key) < minMaskedKey {
		return
	}
	for _, values := range response.Header {
		for i, value := range values {
			values[i] = h.Model.Redact(value)
		}
	}
	encoded := response.Header.Get("Content-Encoding") != ""
	streams := strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream")
	switch {
	case response.StatusCode >= http.StatusBadRequest, !streams && (encoded || 0 <= response.ContentLength && response.ContentLength < maxAnswer):
		h.maskWhole(response)
	case !encoded:
		response.Header.Del("Content-Length")
		response.Body = &masking{ReadCloser: response.Body, redact: h.Model.Redact, key: key}
	}
}

// readable returns the one of the accepted encodings in which maskKey finds a key.
func readable(accepted string) string {
	if strings.Contains(accepted, "gzip") && !strings.Contains(accepted, "gzip;q=0") {
		return "gzip"
	}
	return "identity"
}

func (h *Handler) maskWhole(response *http.Response) {
	data, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswer)) // the body repeats its error
	plain := string(data)
	if unzipping, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
		unzipped, _ := io.ReadAll(io.LimitReader(unzipping, maxAnswer)) // what is left of a broken answer
		plain = string(unzipped)
	}
	if masked := h.Model.Redact(plain); masked != plain {
		data = []byte(masked)
		for _, name := range []string{"Content-Length", "Content-Encoding", "Content-Digest"} {
			response.Header.Del(name)
		}
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(data), response.Body), response.Body}
}

// masking masks a key in a body as it arrives. It holds back an end that may be the beginning of the key; an encoded
// key, or a piece of it, in two reads is not found.
type masking struct {
	io.ReadCloser
	redact      func(text string) string
	key         string
	ready, held string
	err         error
}

func (m *masking) Read(p []byte) (n int, err error) {
	for m.ready == "" && m.err == nil {
		n, m.err = m.ReadCloser.Read(p)
		text := m.held + string(p[:n])
		m.ready, m.held = m.redact(text), ""
		if m.err == nil {
			if end := len(text) - begun(text, m.key); len(text)-end >= minMaskedKey { // as a piece it was masked without its rest
				m.ready = m.redact(text[:end]) + text[end:]
			}
			end := len(m.ready) - begun(m.ready, m.key)
			m.ready, m.held = m.ready[:end], m.ready[end:]
		}
	}
	n = copy(p, m.ready)
	if m.ready = m.ready[n:]; m.ready == "" {
		err = m.err
	}
	return n, err
}

// begun returns the length of the longest beginning of a key that ends a text.
func begun(text, key string) int {
	n := min(len(text), len(key)-1)
	for !strings.HasSuffix(text, key[:n]) {
		n--
	}
	return n
}
