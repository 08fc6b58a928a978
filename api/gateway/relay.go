package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
)

// relayed is the size of a relay buffer, in bytes.
const relayed = 32 << 10

const messageHeader = "X-Earshot-Message-Id"

func (h *Handler) relay(c echo.Context, path string, body []byte, r *chatRequest) error {
	response, err := h.ask(c, path, body)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // read to its end, or abandoned
	h.copyHeader(c, response)
	if r != nil {
		<-r.named // parsing takes less time than sending the body
		if r.messageID != "" {
			c.Response().Header().Set(messageHeader, r.messageID)
		}
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
		return nil, unreachable(errors.New("OPENAI_BASE_URL is no URL")) // err would repeat the URL, which may hold credentials
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
