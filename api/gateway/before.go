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

// lookUp is how long the model's host may take to say what it has answered before.
const lookUp = 5 * time.Second

var plainResponse = regexp.MustCompile(`^[0-9A-Za-z_-]{1,256}$`)

// before is the assistant's message that the user's last one answers, as far as it may count: what the
// client sends along, or what the model's host has kept. Empty for none.
func (h *Handler) before(ctx context.Context, r *chatRequest) string {
	if r.visitor {
		return ""
	}
	before := r.assistantBefore()
	if before == "" && r.last >= 0 {
		var said []string
		for _, one := range h.stored(ctx, r) {
			if words := textOf(one.raw); one.kind == "message" && words != "" {
				said = append(said, words)
			}
		}
		before = strings.Join(said, "\n")
	}
	if !matchable(before) {
		return ""
	}
	return before
}

// stored are the items of the response that a request goes on from, as the model's host has kept them;
// none if they cannot be had. It asks once.
func (h *Handler) stored(ctx context.Context, r *chatRequest) []item {
	id := r.after()
	if r.looked || !plainResponse.MatchString(id) {
		return r.stored
	}
	r.looked = true
	ctx, cancel := context.WithTimeout(ctx, lookUp)
	defer cancel()
	request, err := h.toModel(ctx, http.MethodGet, responsesAt+"/"+id, nil, passes(r.header, h.Model.Headers))
	if err != nil {
		return nil
	}
	response, err := h.Model.Transport.RoundTrip(request)
	if err != nil {
		return nil
	}
	defer func() { _ = response.Body.Close() }() // read to its end, or given up
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err == nil && response.StatusCode == http.StatusOK {
		r.stored = itemsAt(text, memberOf(text, span{0, len(text)}, "output"))
	}
	return r.stored
}

// owe finds results for calls of ours in the response that the request goes on from. A stream has the id
// of the round in which it began, which may have such calls: the client cannot answer for them, and
// the model's host refuses a call without a result. Their firings are the last of the session.
func (a *acting) owe(ctx context.Context, own map[string]bool) error {
	answered, taken := map[string]bool{}, map[string]int{}
	for i := range a.r.messages {
		answered[unquoted(memberIn(a.r.raw(i), "call_id"))] = true
	}
	for _, one := range slices.Backward(a.h.stored(ctx, a.r)) {
		id := unquoted(memberIn(one.raw, "call_id"))
		if one.kind != functionCall || own[one.name] || answered[id] {
			continue
		}
		name := one.name
		if tool, is := a.tools[name]; is {
			name = tool.Tool.Name
		}
		fired, _, err := a.h.Engine.Triggers(ctx, query.Triggers{AppID: a.r.app, SessionID: a.r.session, Name: name, Source: query.SourceMessage, Page: query.Page{Limit: 100}})
		if err != nil {
			return err
		}
		owed := result{id, refusal("it is not known any more what came of it")}
		if n := taken[name]; n < len(fired) {
			owed.text, taken[name] = outcomeText(fired[n].Match, false), n+1
		}
		a.owed = append(outputs([]result{owed}), a.owed...)
	}
	return nil
}
