package gateway

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
)

// relayed is how much of an answer is relayed at once, in bytes.
const relayed = 32 << 10

// readWhole reads a body: one that still came while the model answers already would break
// one answer in twenty. Its memory was booked as it came (see door.Memory).
func readWhole(c echo.Context) ([]byte, error) {
	var body bytes.Buffer
	body.Grow(int(min(max(c.Request().ContentLength, 0), firstRead)) + bytes.MinRead)
	if _, err := body.ReadFrom(c.Request().Body); err != nil {
		return nil, answer.Unread(err)
	}
	return body.Bytes(), nil
}

// ask sends the request to the model, with the service's own key.
func (h *Handler) ask(c echo.Context, path string, body []byte) (*http.Response, error) {
	if h.url == "" {
		return nil, noModel()
	}
	from := c.Request()
	request, err := http.NewRequestWithContext(from.Context(), from.Method, h.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, away(errors.New("OPENAI_BASE_URL is no URL")) // err repeats it, and it may hold credentials
	}
	request.Header = h.forwarded(from.Header)
	if key := h.Model.Key.Reveal(); key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
		if strings.HasSuffix(request.URL.Hostname(), ".azure.com") {
			request.Header.Set("Api-Key", key)
		}
	}
	response, err := h.Model.Transport.RoundTrip(request)
	switch {
	case err == nil:
		return response, nil
	case from.Context().Err() != nil:
		h.metrics.requests.WithLabelValues("left").Inc()
		return nil, from.Context().Err()
	default:
		h.metrics.requests.WithLabelValues("unreachable").Inc()
		return nil, away(err)
	}
}

// away is the problem of a model that cannot be reached.
func away(err error) error {
	return answer.NewProblem(http.StatusBadGateway, "the model behind this endpoint cannot be reached").Coded("model_unreachable").Because(err)
}

// copyBody relays an answer as it comes. One that breaks off breaks off for the client as
// well: it is not to take a part of it for the whole. begins is called when something of it is on its way.
func (h *Handler) copyBody(c echo.Context, response *http.Response, begins func()) error {
	buffer := h.buffers.Get().(*[relayed]byte)
	defer h.buffers.Put(buffer)
	out := c.Response()
	early := sendHead(out)
	defer early.over()
	for {
		n, err := response.Body.Read(buffer[:])
		if n > 0 {
			early.over()
			if _, gone := out.Write(buffer[:n]); gone != nil {
				h.metrics.requests.WithLabelValues("left").Inc()
				return nil //nolint:nilerr // nobody is there to hear of it
			}
			out.Flush()
			begins()
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

// head sends the header of an answer whose first byte takes its time. That of others goes with
// it, which is one packet less.
type head struct {
	mu    sync.Mutex
	timer *time.Timer
	done  bool
}

func sendHead(out *echo.Response) *head {
	h := &head{}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.timer = time.AfterFunc(headStart, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if !h.done {
			out.Flush()
		}
	})
	return h
}

// over says that the header goes with what follows, or is sent.
func (h *head) over() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.done {
		h.done = true
		h.timer.Stop()
	}
}

// broken ends the connection of a client whose answer broke off.
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
