package gateway

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// lookUp is how long the model's host may take to say what it has answered before.
const lookUp = 5 * time.Second

var plainResponse = regexp.MustCompile(`^[0-9A-Za-z_-]{1,256}$`)

// before is the assistant's message that the user's last one answers, as far as it may count: what the
// client sends along, or what the model's host has kept. Empty for none.
func (h *Handler) before(ctx context.Context, r *chatRequest) string {
	if r.visitor {
		return ""
	}
	before, after := r.assistantBefore(), r.after()
	if before == "" && r.last >= 0 && plainResponse.MatchString(after) {
		before = h.stored(ctx, r, after)
	}
	if !matchable(before) {
		return ""
	}
	return before
}

// stored is the text of a response that the model's host has kept; empty if it cannot be had.
func (h *Handler) stored(ctx context.Context, r *chatRequest, id string) string {
	ctx, cancel := context.WithTimeout(ctx, lookUp)
	defer cancel()
	request, err := h.toModel(ctx, http.MethodGet, responsesAt+"/"+id, nil, passes(r.header, h.Model.Headers))
	if err != nil {
		return ""
	}
	response, err := h.Model.Transport.RoundTrip(request)
	if err != nil {
		return ""
	}
	defer func() { _ = response.Body.Close() }() // read to its end, or given up
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil || response.StatusCode != http.StatusOK {
		return ""
	}
	var said []string
	for _, one := range itemsAt(text, memberOf(text, span{0, len(text)}, "output")) {
		if words := textOf(one.raw); one.kind == "message" && words != "" {
			said = append(said, words)
		}
	}
	return strings.Join(said, "\n")
}
