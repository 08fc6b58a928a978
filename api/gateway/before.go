package gateway

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"earshot/trigger/query"
)

// responseTimeout bounds the lookup of an earlier response at the model's host.
const responseTimeout = 5 * time.Second

var plainResponse = regexp.MustCompile(`^[0-9A-Za-z_-]{1,256}$`)

// before returns the assistant's message that the user's last one answers, from the client or the model's
// host. It is empty for session tokens, which may not speak for the assistant.
func (h *Handler) before(ctx context.Context, r *chatRequest) string {
	if r.visitor {
		return ""
	}
	before := ""
	for i := r.last - 1; i >= 0 && r.roles[i] != "user"; i-- {
		if r.roles[i] == "assistant" {
			before = textOf(r.raw(i))
			break
		}
	}
	if before == "" && r.last >= 0 {
		var texts []string
		for _, entry := range h.stored(ctx, r) {
			if text := textOf(entry.raw); entry.kind == "message" && text != "" {
				texts = append(texts, text)
			}
		}
		before = strings.Join(texts, "\n")
	}
	if !matchable(before) {
		return ""
	}
	return before
}

// stored returns the items of the previous response, as the model's host keeps them; none if they cannot be
// read. It asks once.
func (h *Handler) stored(ctx context.Context, r *chatRequest) []item {
	id := r.after()
	if r.fetched || !plainResponse.MatchString(id) {
		return r.stored
	}
	r.fetched = true
	ctx, cancel := context.WithTimeout(ctx, responseTimeout)
	defer cancel()
	request, err := h.toModel(ctx, http.MethodGet, responsesAt+"/"+id, nil, passes(r.header, h.Model.Headers))
	if err != nil {
		return nil
	}
	response, err := h.Model.Transport.RoundTrip(request)
	if err != nil {
		return nil
	}
	defer func() { _ = response.Body.Close() }() // read to its end, or abandoned
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err == nil && response.StatusCode == http.StatusOK {
		r.stored = itemsAt(text, memberOf(text, span{0, len(text)}, "output"))
	}
	return r.stored
}

// addOutstanding adds results for our calls in the previous response. A stream has the id of its first round, which
// may contain such calls: the client cannot answer them, and the model's host refuses a call without a
// result. Their firings are the latest of the session.
func (a *acting) addOutstanding(ctx context.Context, clientNames map[string]bool) error {
	answered, used := map[string]bool{}, map[string]int{}
	for i := range a.r.messages {
		answered[unquoted(memberIn(a.r.raw(i), "call_id"))] = true
	}
	for _, entry := range slices.Backward(a.h.stored(ctx, a.r)) {
		id := unquoted(memberIn(entry.raw, "call_id"))
		if entry.kind != functionCall || clientNames[entry.name] || answered[id] {
			continue
		}
		name := entry.name
		if tool, isOurTool := a.tools[name]; isOurTool {
			name = tool.Tool.Name
		}
		fired, _, err := a.h.Engine.Triggers(ctx, query.Triggers{AppID: a.r.app, SessionID: a.r.session, Name: name, Source: query.SourceMessage, Page: query.Page{Limit: 100}})
		if err != nil {
			return err
		}
		outstanding := result{id, refusal("it is not known any more what came of it")}
		if n := used[name]; n < len(fired) {
			outstanding.text, used[name] = outcomeText(fired[n].Match, false), n+1
		}
		a.outstanding = append(outputs([]result{outstanding}), a.outstanding...)
	}
	return nil
}
