package gateway

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
)

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
