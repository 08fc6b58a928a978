package gateway

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"earshot/matcher"
	"earshot/repositories/locale"
	"earshot/trigger"
	"earshot/trigger/query"
)

const (
	// mostRounds bounds how often the model is asked for one answer. In the last round it is
	// offered the caller's tools alone.
	mostRounds = 8
	// maxAnswer is the longest answer that is read whole, and the longest event of a stream, in
	// bytes.
	maxAnswer = 16 << 20
)

// acting is a request whose model is offered the tools in scope.
type acting struct {
	*turn
	c                  echo.Context
	earlierDone, since [][]byte // messages that the caller does not know of
	names              []string // of the tools, in the order in which they are offered
	round              int
	spent              [][]byte // what the earlier rounds have used
	texts              []string // what the model has said in them, where they came whole
}

// act serves a request whose calls of tools in scope are carried out here.
func (h *Handler) act(c echo.Context, body []byte) error {
	of, err := h.heard(c, body)
	if err != nil {
		return err
	}
	of.read()
	if of.chat != nil && of.last >= 0 {
		of.session = cmp.Or(of.session, of.chat.session())
	}
	if of.session == "" || !of.actable() { // nothing can be called
		return h.relay(c, completions, body, nil)
	}
	of.messageID = of.id(of.session)
	close(of.named)
	a, err := h.begin(c, of)
	if err != nil {
		return err
	}
	if len(a.names) == 0 {
		return h.relay(c, completions, body, of)
	}
	c.Request().Header.Del("Accept-Encoding") // the answer is read here
	return a.run()
}

// actable reports whether tools can be offered with a request: not with several answers at
// once, nor in the form before tools.
func (of *hearing) actable() bool {
	if of.chat == nil || of.last < 0 || of.fields["functions"].to > 0 {
		return false
	}
	n := string(of.fields["n"].in(of.text))
	return n == "" || n == "1" || n == "null"
}

// begin posts what the user said, and finds out what the model is to be offered.
func (h *Handler) begin(c echo.Context, of *hearing) (*acting, error) {
	ctx := c.Request().Context()
	claims, _, err := h.Users(ctx, of.app, of.header)
	if err != nil {
		return nil, err
	}
	a := &acting{c: c, turn: &turn{h: h, of: of, text: of.says(of.last), now: h.Now(), claims: claims, tools: map[string]offered{}}}
	if err := a.post(ctx); err != nil {
		return nil, err
	}
	scope, zone, err := h.Engine.Offered(ctx, of.app, of.session, a.text, claims)
	if err != nil {
		return nil, err
	}
	a.now = a.now.In(locale.Zone(zone, a.now.Location()))
	taken := of.ownTools()
	for _, one := range scope {
		name := one.Tool.Name
		for taken[name] {
			name = "earshot_" + name[:min(len(name), 56)]
			if taken[name] {
				name = "e" + name[:min(len(name), 63)]
			}
		}
		taken[name], a.tools[name], a.names = true, offered{one, name}, append(a.names, name)
	}
	if of.goesOn() && len(a.names) > 0 {
		a.earlierDone, err = a.done(ctx)
	}
	return a, err
}

// post posts what the user and, before, the assistant has said. A plain yes or no to a question
// of a tool takes effect, and the model is told.
func (a *acting) post(ctx context.Context) error {
	m := trigger.Message{AppID: a.of.app, SessionID: a.of.session, TraceParent: a.of.trace}
	if before := a.of.answered(); !a.of.visitor && matchable(before) {
		m.ID, m.Actor, m.Text = a.of.messageID+"-before", matcher.ActorAgent, before
		if _, err := a.h.Engine.Post(ctx, m); err != nil && !errors.Is(err, trigger.ErrReused) {
			return err
		}
	}
	if !matchable(a.text) {
		return nil
	}
	m.ID, m.Actor, m.Text, m.Acted = a.of.messageID, matcher.ActorUser, a.text, true
	stored, err := a.h.Engine.Post(ctx, m)
	a.h.metrics.messages.WithLabelValues(outcomeOf(err)).Inc()
	if err != nil {
		return err
	}
	var answer query.Answer
	if err := json.Unmarshal(stored, &answer); err != nil {
		return err
	}
	for _, match := range answer.Matches {
		note := "The user has answered what tool " + match.Name + " asked. What came of it: " + told(match, false)
		a.since = append(a.since, slices.Concat([]byte(`{"role":"system","content":`), quote(note), []byte{'}'}))
	}
	return nil
}

// ownTools are the names of the caller's own tools.
func (c *chat) ownTools() map[string]bool {
	names := map[string]bool{}
	list, _ := elements(c.text, c.fields["tools"].from) // none, or for the model to refuse
	if c.fields["tools"].to == 0 {
		return names
	}
	for _, one := range list {
		names[unquoted(c.member(c.member(one, "function"), "name").in(c.text))] = true
	}
	return names
}

// run asks the model, carries its calls out, and asks again, until it calls none of them.
func (a *acting) run() error {
	for a.round = 1; ; a.round++ {
		response, err := a.h.ask(a.c, completions, a.body())
		if err != nil {
			return a.broken(err)
		}
		again, err := a.take(response)
		if !again || err != nil {
			return err
		}
	}
}

// body is the request of the next round.
func (a *acting) body() []byte {
	var tools [][]byte
	if a.round < mostRounds {
		for _, name := range a.names {
			tools = append(tools, a.tools[name].written())
		}
	} else {
		a.tools = map[string]offered{}
	}
	return a.of.request(a.earlierDone, a.since, tools, a.round > 1)
}

// take takes the answer of a round, and reports whether the model is to be asked again.
func (a *acting) take(response *http.Response) (again bool, err error) {
	defer func() { _ = response.Body.Close() }() // read to its end, or given up
	kind := response.Header.Get("Content-Type")
	switch streams := strings.HasPrefix(kind, "text/event-stream"); {
	case response.StatusCode != http.StatusOK || !streams && !strings.Contains(kind, "json"):
		return false, a.passOn(response)
	case streams:
		return a.takeStream(response)
	default:
		return a.takeWhole(response)
	}
}

// head sends the header of an answer, once.
func (a *acting) head(response *http.Response) {
	if a.c.Response().Committed {
		return
	}
	a.h.copyHeader(a.c, response)
	a.c.Response().Header().Set(messageHeader, a.of.messageID)
	a.c.Response().WriteHeader(response.StatusCode)
}

// sort parts calls into those that are carried out here, and the caller's.
func (a *acting) sort(calls []call) (ours, theirs []call) {
	for _, one := range calls {
		if _, is := a.tools[one.name]; is {
			ours = append(ours, one)
		} else {
			theirs = append(theirs, one)
		}
	}
	return ours, theirs
}

// carry carries calls out, and adds them to the conversation with what came of them.
func (a *acting) carry(content []byte, ours []call) {
	written := make([][]byte, len(ours))
	for i, one := range ours {
		written[i] = one.written()
	}
	results := a.carryOut(a.c.Request().Context(), ours)
	a.since = append(append(a.since, assistant(content, written)), results...)
}

// spend adds up what the rounds have used, and returns it in the form of the last.
func (a *acting) spend(usage []byte) []byte {
	var edits []edit
	for _, name := range []string{"prompt_tokens", "completion_tokens", "total_tokens"} {
		at := memberOf(usage, span{0, len(usage)}, name)
		sum, err := json.Number(at.in(usage)).Int64()
		for _, before := range a.spent {
			n, _ := json.Number(memberOf(before, span{0, len(before)}, name).in(before)).Int64()
			sum += n
		}
		if at.to > 0 && err == nil {
			text, _ := json.Marshal(sum)
			edits = append(edits, edit{at, text})
		}
	}
	return edited(usage, edits)
}

// isObject says that a value is a JSON object, and not null.
func isObject(value []byte) bool { return bytes.HasPrefix(value, []byte{'{'}) }
