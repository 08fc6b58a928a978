package gateway

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
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

var errLong = errors.New("the model's answer is too long to be read")

// acting is a request whose model is offered the tools in scope.
type acting struct {
	*turn
	c                  echo.Context
	earlierDone, since [][]byte // messages that the caller does not know of
	names              []string // of the tools, in the order in which they are offered
	round              int
	spent              [][]byte // the usage of the earlier rounds
	texts              []string // the model's texts in them, if they came whole
}

// act serves a request whose calls of tools in scope are carried out here. It asks the model,
// carries its calls out, and asks again, until the model calls none of them.
func (h *Handler) act(c echo.Context, body []byte) error {
	r, err := h.newRequest(c, body)
	if err != nil {
		return err
	}
	r.read()
	if r.chat != nil && r.last >= 0 {
		r.session = cmp.Or(r.session, r.chat.session())
	}
	if r.session == "" || !r.actable() { // nothing can be called
		return h.relay(c, completions, body, nil)
	}
	r.messageID = r.id(r.session)
	close(r.named)
	a, err := h.beginTurn(c, r)
	if err != nil {
		return err
	}
	if len(a.names) == 0 {
		return h.relay(c, completions, body, r)
	}

	c.Request().Header.Del("Accept-Encoding") // the answer is read here
	for a.round = 1; ; a.round++ {
		var tools [][]byte
		if a.round < mostRounds {
			for _, name := range a.names {
				of := a.tools[name].Tool
				text, _ := json.Marshal(map[string]any{"type": "function", "function": map[string]any{
					"name": name, "description": of.Shown(), "parameters": of.Params().ModelSchema(),
				}})
				tools = append(tools, text)
			}
		} else {
			a.tools = map[string]offered{}
		}
		response, err := h.ask(c, completions, r.request(a.earlierDone, a.since, tools, a.round > 1))
		if err != nil {
			return a.broken(err)
		}
		retry, err := a.take(response)
		if !retry || err != nil {
			return err
		}
	}
}

// actable reports whether tools can be offered with a request: not with several answers at
// once, nor in the form before tools.
func (r *chatRequest) actable() bool {
	if r.chat == nil || r.last < 0 || r.fields["functions"].to > 0 {
		return false
	}
	n := string(r.fields["n"].in(r.chat.text))
	return n == "" || n == "1" || n == "null"
}

// beginTurn posts the user's message, and finds the tools to offer to the model.
func (h *Handler) beginTurn(c echo.Context, r *chatRequest) (*acting, error) {
	ctx := c.Request().Context()
	claims, _, err := h.Users(ctx, r.app, r.header)
	if err != nil {
		return nil, err
	}
	a := &acting{c: c, turn: &turn{h: h, r: r, text: r.message(r.last), now: h.Now(), claims: claims, tools: map[string]offered{}}}
	if err := a.post(ctx); err != nil {
		return nil, err
	}
	scope, zone, err := h.Engine.Offered(ctx, r.app, r.session, a.text, claims)
	if err != nil {
		return nil, err
	}
	a.now = a.now.In(locale.Zone(zone, a.now.Location()))

	taken := map[string]bool{} // names, first of the caller's own tools
	if at := r.fields["tools"]; at.to > 0 {
		own, _ := elements(r.body, at.from) // the model refuses a broken list
		for _, one := range own {
			taken[unquoted(r.member(memberOf(r.body, one, "function"), "name"))] = true
		}
	}
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
	if r.goesOn() && len(a.names) > 0 {
		a.earlierDone, err = a.done(ctx)
	}
	return a, err
}

// post posts the user's message and, before it, the assistant's. A plain yes or no to a question
// of a tool takes effect, and a note tells the model.
func (a *acting) post(ctx context.Context) error {
	m := trigger.Message{AppID: a.r.app, SessionID: a.r.session, TraceParent: a.r.trace}
	if before := a.r.assistantBefore(); !a.r.visitor && matchable(before) {
		m.ID, m.Actor, m.Text = a.r.messageID+"-before", matcher.ActorAgent, before
		if _, err := a.h.Engine.Post(ctx, m); err != nil && !errors.Is(err, trigger.ErrReused) {
			return err
		}
	}
	if !matchable(a.text) {
		return nil
	}
	m.ID, m.Actor, m.Text, m.Acted = a.r.messageID, matcher.ActorUser, a.text, true
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
		note := "The user has answered what tool " + match.Name + " asked. What came of it: " + outcomeText(match, false)
		a.since = append(a.since, slices.Concat([]byte(`{"role":"system","content":`), quote(note), []byte{'}'}))
	}
	return nil
}

// take takes the answer of a round, and reports whether to ask the model again.
func (a *acting) take(response *http.Response) (retry bool, err error) {
	defer func() { _ = response.Body.Close() }() // read to its end, or given up
	kind := response.Header.Get("Content-Type")
	switch streams := strings.HasPrefix(kind, "text/event-stream"); {
	case streams && response.StatusCode == http.StatusOK:
		return a.takeStream(response)
	case strings.Contains(kind, "json") && response.StatusCode == http.StatusOK:
		return a.takeWhole(response)
	}

	// It holds no calls, as the model's own error. In a stream that has begun it is an event.
	if !a.c.Response().Committed {
		a.head(response)
		return false, a.h.copyBody(a.c, response, func() {})
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil || !isObject(bytes.TrimSpace(text)) {
		return false, a.broken(unreachable(errors.New("the model refused to go on: " + response.Status)))
	}
	return false, a.event(bytes.ReplaceAll(text, []byte{'\n'}, []byte{' '}))
}

func (a *acting) head(response *http.Response) {
	if a.c.Response().Committed {
		return
	}
	a.h.copyHeader(a.c, response)
	a.c.Response().Header().Set(messageHeader, a.r.messageID)
	a.c.Response().WriteHeader(response.StatusCode)
}

// broken ends an answer: by an error, or in a stream that has begun by an event.
func (a *acting) broken(err error) error {
	if !a.c.Response().Committed {
		return err
	}
	problem, _ := json.Marshal(answer.OpenAIError(err))
	return a.event(problem)
}

func (a *acting) event(data []byte) error {
	return a.write(slices.Concat([]byte("data: "), data, []byte("\n\n")))
}

func (a *acting) write(text []byte) error {
	if _, err := a.c.Response().Write(text); err != nil {
		return err
	}
	a.c.Response().Flush()
	return nil
}

// takeWhole takes an answer that is not streamed. The last one gets the texts and the usage of
// the rounds before.
func (a *acting) takeWhole(response *http.Response) (retry bool, err error) {
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil || len(text) > maxAnswer {
		return false, unreachable(errors.Join(err, errLong))
	}
	whole := span{0, len(text)}
	message, ours, theirs := a.callsOf(text)
	usage, content := memberOf(text, whole, "usage"), memberOf(text, message, "content")
	if len(ours) > 0 {
		a.carry(content.in(text), ours)
		if len(theirs) == 0 {
			a.spent, a.texts = append(a.spent, usage.in(text)), append(a.texts, unquoted(content.in(text)))
			return true, nil
		}
	}

	var edits []edit
	if strings.Join(a.texts, "") != "" && content.to > 0 {
		texts := slices.DeleteFunc(append(a.texts, unquoted(content.in(text))), func(s string) bool { return s == "" })
		edits = append(edits, edit{content, quote(strings.Join(texts, "\n"))})
	}
	if len(a.spent) > 0 && isObject(usage.in(text)) {
		edits = append(edits, edit{usage, a.spend(usage.in(text))})
	}
	if len(ours) > 0 {
		edits = append(edits, edit{memberOf(text, message, "tool_calls"), array(theirs)})
	}
	if len(edits) > 0 {
		response.Header.Del("Content-Length")
	}
	a.head(response)
	a.h.metrics.requests.WithLabelValues("answered").Inc()
	return false, a.write(edited(text, edits))
}

// callsOf are the calls of the first choice of an answer, with where its message stands: those
// that are carried out here, and the caller's as they are written.
func (a *acting) callsOf(text []byte) (message span, ours []call, theirs [][]byte) {
	choices, err := elements(text, memberOf(text, span{0, len(text)}, "choices").from)
	if err != nil || len(choices) == 0 {
		return message, nil, nil
	}
	message = memberOf(text, choices[0], "message")
	at := memberOf(text, message, "tool_calls")
	if message.to == 0 || at.to == 0 {
		return message, nil, nil
	}
	list, _ := elements(text, at.from) // null has none
	for _, at := range list {
		one := callAt(text, at)
		if _, is := a.tools[one.name]; is {
			ours = append(ours, one)
		} else {
			theirs = append(theirs, one.raw)
		}
	}
	return message, ours, theirs
}

func callAt(text []byte, at span) call {
	function := memberOf(text, at, "function")
	return call{
		raw: at.in(text), id: unquoted(memberOf(text, at, "id").in(text)),
		name: unquoted(memberOf(text, function, "name").in(text)), arguments: unquoted(memberOf(text, function, "arguments").in(text)),
	}
}

func (a *acting) carry(content []byte, ours []call) {
	written := make([][]byte, len(ours))
	for i, one := range ours {
		written[i] = one.written()
	}
	results := a.carryOut(a.c.Request().Context(), ours)
	a.since = append(append(a.since, assistant(content, written)), results...)
}

// spend adds up the usage of the rounds, in the form of the last.
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

type stream struct {
	calls map[int]*call // of ours, by their places in the answer
	order []int         // of ours
	moved map[int]int   // of the caller's calls, their places in what the caller gets
	text  strings.Builder
	usage []byte
	retry bool // the model is asked again: the rest of the round is not for the caller
}

// takeStream takes a streamed answer. It passes texts and the caller's calls on as they come, and
// carries ours out at the end. A caller whose own calls were among them has them then, and goes on.
func (a *acting) takeStream(response *http.Response) (retry bool, err error) {
	response.Header.Del("Content-Length")
	a.head(response)
	s, in := &stream{calls: map[int]*call{}, moved: map[int]int{}}, bufio.NewReaderSize(response.Body, relayed)
	for {
		event, err := nextEvent(in)
		if len(event) > 0 {
			if out := a.takeEvent(s, event); len(out) > 0 {
				if gone := a.write(out); gone != nil {
					a.h.metrics.requests.WithLabelValues("left").Inc()
					return false, nil //nolint:nilerr // the client is gone
				}
			}
		}
		switch {
		case errors.Is(err, io.EOF) && s.retry:
			a.carryStream(s)
			a.spent = append(a.spent, s.usage)
			return true, nil
		case errors.Is(err, io.EOF):
			a.h.metrics.requests.WithLabelValues("answered").Inc()
			return false, nil
		case err != nil:
			a.h.broken(a.c, err)
		}
	}
}

func (a *acting) carryStream(s *stream) {
	var ours []call
	for _, index := range s.order {
		ours = append(ours, *s.calls[index])
	}
	var content []byte
	if s.text.Len() > 0 {
		content = quote(s.text.String())
	}
	a.carry(content, ours)
}

// nextEvent reads an event of a stream with the line behind it, as it is written; at the end the
// rest of the stream.
func nextEvent(in *bufio.Reader) (event []byte, err error) {
	for {
		line, err := in.ReadSlice('\n')
		event = append(event, line...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull) && len(event) <= maxAnswer:
			continue
		case err != nil:
			return event, err
		case len(event) > maxAnswer:
			return nil, errLong
		case len(bytes.TrimRight(line, "\r\n")) == 0:
			return event, nil
		}
	}
}

func (a *acting) takeEvent(s *stream, event []byte) []byte {
	data := span{}
	if at := bytes.Index(event, []byte("data:")); at == 0 || at > 0 && event[at-1] == '\n' {
		data.from = blank(event, at+len("data:"))
		line, _, _ := bytes.Cut(event[data.from:], []byte{'\n'})
		data.to = data.from + len(bytes.TrimRight(line, "\r"))
	}
	if !isObject(data.in(event)) { // the end, a comment, or an unknown event
		if s.retry {
			return nil
		}
		return event
	}

	usage := memberOf(event, data, "usage")
	if isObject(usage.in(event)) {
		s.usage = slices.Clone(usage.in(event))
	}
	if s.retry {
		return nil
	}
	var edits []edit
	rest := true
	at := memberOf(event, data, "choices")
	choices, _ := elements(event, at.from) // none in an event that reports the usage
	if at.to > 0 && len(choices) > 0 {
		edits, rest = a.takeDelta(s, event, memberOf(event, choices[0], "delta"))
		if unquoted(memberOf(event, choices[0], "finish_reason").in(event)) != "" {
			if s.retry = len(s.order) > 0 && len(s.moved) == 0; s.retry { // all calls are ours
				return nil
			}
			if rest = true; len(s.order) > 0 {
				a.carryStream(s)
				s.order = nil
			}
		}
	}
	if isObject(usage.in(event)) && len(a.spent) > 0 {
		edits, rest = append(edits, edit{usage, a.spend(s.usage)}), true
	}
	if !rest {
		return nil
	}
	return edited(event, edits)
}

// takeDelta takes the delta of a chunk, and takes our calls out of it. rest says that it has
// something for the caller.
func (a *acting) takeDelta(s *stream, event []byte, delta span) (edits []edit, rest bool) {
	if delta.to == 0 {
		return nil, true
	}
	s.text.WriteString(unquoted(memberOf(event, delta, "content").in(event)))
	others := 0
	var theirs [][]byte
	calls := span{}
	_ = members(event, delta.from, func(name []byte, value span) {
		switch key := unquoted(name); {
		case key == "tool_calls" && startsWith(event, value.from, '['):
			calls = value
			theirs = a.takeCalls(s, event, value)
		case key == "role" && a.round > 1: // the first round has named the role
			edits = append(edits, edit{value, quote("")})
		case string(value.in(event)) != "null" && string(value.in(event)) != `""`:
			others++
		}
	})
	if calls.to > 0 {
		edits = append(edits, edit{calls, array(theirs)})
	}
	return edits, others+len(theirs) > 0 || calls.to == 0 && a.round == 1
}

// takeCalls takes our calls out of a list of parts of calls, and returns the others with the
// places that they have for the caller.
func (a *acting) takeCalls(s *stream, event []byte, list span) (theirs [][]byte) {
	parts, _ := elements(event, list.from) // a broken list has none
	for i, part := range parts {
		index, place := memberOf(event, part, "index"), i
		if n, err := json.Number(index.in(event)).Int64(); err == nil {
			place = int(n)
		}
		found := callAt(event, part)
		to, moved := s.moved[place]
		if _, is := a.tools[found.name]; is && s.calls[place] == nil && !moved {
			s.calls[place] = &call{}
			s.order = append(s.order, place)
		}
		if ours := s.calls[place]; ours != nil {
			ours.id, ours.name, ours.arguments = ours.id+found.id, ours.name+found.name, ours.arguments+found.arguments
			continue
		}
		if !moved {
			to = len(s.moved)
			s.moved[place] = to
		}
		if index.to > 0 {
			text, _ := json.Marshal(to)
			found.raw = edited(found.raw, []edit{{span{index.from - part.from, index.to - part.from}, text}})
		}
		theirs = append(theirs, found.raw)
	}
	return theirs
}
