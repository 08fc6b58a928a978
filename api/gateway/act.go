package gateway

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/matcher"
	"earshot/repositories/locale"
	"earshot/trigger"
	"earshot/trigger/query"
)

const (
	// maxRounds bounds how often the model is asked for one answer. The last round offers only the
	// caller's tools; if the model calls another one all the same, the answer is an error.
	maxRounds  = 8
	maxOffered = 128      // how many tools models take in a request, the caller's and ours
	maxAnswer  = 16 << 20 // the longest unstreamed answer, the longest event, and what is kept of streams, in bytes
)

var errLong = errors.New("the model's answer is too long")

// acting is a request in which the model is offered the tools in scope.
type acting struct {
	*turn
	c                  echo.Context
	outstanding        [][]byte // results before all messages, for calls in the response that the model's host keeps
	earlierDone, since [][]byte // messages that the caller does not know
	names              []string // of the tools, in the order in which they are offered
	round              int
	spent              [][]byte // the usage of the earlier rounds
	retained           int      // bytes of the streams of all rounds that are kept
}

// act serves a request whose calls of tools in scope run here. It asks the model, runs its calls, and asks
// again, until the model calls none of them.
func (h *Handler) act(c echo.Context, f form, body []byte) error {
	r, err := h.newRequest(c, f, f.resume(body))
	if err != nil {
		return err
	}
	r.read()
	if r.chat != nil {
		r.session = cmp.Or(r.session, r.chat.session())
	}
	if r.chat == nil || r.session == "" || !f.offers(r.chat) { // nothing can be called
		return h.relay(c, f.path(), body, nil)
	}
	r.messageID = r.id(r.session)
	close(r.named)
	a, err := h.beginTurn(c, r)
	if err != nil {
		return notAgain(err)
	}
	defer a.end(c.Request().Context(), 0) // unless it was answered
	if len(a.names)+len(a.outstanding)+len(a.earlierDone) == 0 {
		a.end(c.Request().Context(), r.length())
		return h.relay(c, f.path(), body, r)
	}

	c.Request().Header.Del("Accept-Encoding") // the answer is read here
	for a.round = 1; ; a.round++ {
		var tools [][]byte
		if a.over = a.round == maxRounds; !a.over {
			for _, name := range a.names {
				of := a.tools[name].Tool
				tools = append(tools, f.tool(name, of.Shown(), of.Params().ModelSchema()))
			}
		}
		response, err := h.ask(c, f.path(), r.request(a.outstanding, a.earlierDone, a.since, tools, a.round > 1))
		if err != nil {
			return a.broken(err)
		}
		retry, err := a.take(response)
		switch {
		case !retry || err != nil:
			return err
		case a.over:
			return a.broken(answer.NewProblem(answer.ModelUnreachable, fmt.Sprintf("the model still calls tools after %d requests; its earlier calls are done", maxRounds)))
		}
	}
}

func (h *Handler) beginTurn(c echo.Context, r *chatRequest) (*acting, error) {
	ctx := c.Request().Context()
	life, err := h.Generations.CachedGeneration(ctx, r.app, r.session)
	if err != nil {
		return nil, err
	}
	claims, _, err := h.Users(ctx, r.app, r.header)
	if err != nil {
		return nil, err
	}
	a := &acting{c: c, turn: &turn{h: h, r: r, text: r.lastText(), now: h.Now(), claims: claims, life: life, tools: map[string]offered{}}}
	if err := a.post(ctx); err != nil {
		return nil, err
	}
	clientNames, usedNames := map[string]bool{}, map[string]bool{}
	clientTools, _ := elements(r.body, r.fields["tools"].from) // the model refuses a broken list
	for _, one := range clientTools {
		name := toolName(one.in(r.body))
		clientNames[name], usedNames[name] = true, true
	}
	scope, zone, err := h.Engine.Offered(ctx, r.app, r.session, []string{a.text, r.earlierText()}, maxOffered-len(clientTools), claims)
	if err != nil {
		return nil, err
	}
	a.now = a.now.In(locale.Zone(zone, a.now.Location()))

	for _, one := range scope {
		name := one.Tool.Name
		for usedNames[name] {
			name = "earshot_" + name[:min(len(name), 56)]
			if usedNames[name] {
				name = "e" + name[:min(len(name), 63)]
			}
		}
		usedNames[name], a.tools[name], a.names = true, offered{one, name}, append(a.names, name)
	}
	if r.goesOn() && len(a.names) > 0 {
		if a.earlierDone, err = a.done(ctx); err != nil {
			return nil, err
		}
	}
	err = a.addOutstanding(ctx, clientNames)
	excluded := func(name string) bool { return !r.permits(name) }
	a.names = slices.DeleteFunc(a.names, excluded)
	maps.DeleteFunc(a.tools, func(name string, _ offered) bool { return excluded(name) })
	return a, err
}

// post posts the assistant's message, if any, and then the user's. A plain yes or no to a tool's question
// takes effect, and a note tells the model.
func (a *acting) post(ctx context.Context) error {
	m := trigger.Message{AppID: a.r.app, SessionID: a.r.session, TraceParent: a.r.trace}
	before := a.h.before(ctx, a.r)
	if err := a.alive(ctx); err != nil { // the lookup and the user's tokens take time
		return err
	}
	if before != "" {
		m.ID, m.Actor, m.Text = a.r.messageID+"-before", matcher.ActorAgent, before
		if _, err := a.h.Engine.Post(ctx, m); err != nil && !errors.Is(err, trigger.ErrReused) {
			return err
		}
	}
	if !matchable(a.text) {
		return nil
	}
	m.ID, m.Actor, m.Text, m.CallerFires = a.r.messageID, matcher.ActorUser, a.text, true
	stored, err := a.h.Engine.Post(ctx, m)
	a.h.metrics.messages.WithLabelValues(outcomeOf(err)).Inc()
	if err != nil {
		return err
	}
	var answer query.Answer
	if err := json.Unmarshal(stored, &answer); err != nil {
		return err
	}
	a.decided = len(answer.Matches) > 0
	for _, match := range answer.Matches {
		note := "The user has answered what tool " + match.Name + " asked. What came of it: " + outcomeText(match, false)
		a.since = append(a.since, slices.Concat([]byte(`{"role":"system","content":`), quote(note), []byte{'}'}))
	}
	return nil
}

// take processes the answer of a round, and reports whether to ask the model again.
func (a *acting) take(response *http.Response) (retry bool, err error) {
	defer func() { _ = response.Body.Close() }() // read to its end, or abandoned
	kind := response.Header.Get("Content-Type")
	switch streams := strings.HasPrefix(kind, "text/event-stream"); {
	case streams && response.StatusCode == http.StatusOK:
		return a.takeStream(response)
	case strings.Contains(kind, "json") && response.StatusCode == http.StatusOK:
		return a.takeWhole(response)
	}

	// It has no calls, such as the model's own error. In a started stream it becomes an event.
	if !a.c.Response().Committed {
		a.head(response)
		return false, a.h.copyBody(a.c, response, func() {})
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil || !isObject(bytes.TrimSpace(text)) {
		return false, a.broken(unreachable(errors.New("the model refused to continue: " + response.Status)))
	}
	return false, a.write(a.r.form.fault(bytes.ReplaceAll(text, []byte{'\n'}, []byte{' '})))
}

func (a *acting) head(response *http.Response) {
	if a.c.Response().Committed {
		return
	}
	a.h.copyHeader(a.c, response)
	a.named()
	a.c.Response().WriteHeader(response.StatusCode)
}

// named tells the client which message is stored.
func (a *acting) named() {
	if matchable(a.text) {
		a.c.Response().Header().Set(messageHeader, a.r.messageID)
	}
}

// broken ends an answer with an error, or a started stream with an event.
func (a *acting) broken(err error) error {
	if !a.c.Response().Committed {
		a.named()
		return notAgain(err)
	}
	problem, _ := json.Marshal(answer.OpenAIError(err))
	return a.write(a.r.form.fault(problem))
}

// notAgain keeps OpenAI's clients from sending a request again by themselves, in the next life of its session.
func notAgain(err error) error {
	if errors.Is(err, trigger.ErrClosed) {
		return answer.NewProblem(answer.SessionClosed, err.Error()).With("X-Should-Retry", "false").Because(err)
	}
	return err
}

func (a *acting) write(text []byte) error {
	if _, err := a.c.Response().Write(text); err != nil {
		return err
	}
	a.c.Response().Flush()
	return nil
}

func (a *acting) takeWhole(response *http.Response) (retry bool, err error) {
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil || len(text) > maxAnswer {
		return false, a.broken(unreachable(cmp.Or(err, errLong)))
	}
	edits, retry := a.r.form.whole(a, text)
	if a.ended != nil {
		return false, a.broken(a.ended)
	}
	if retry {
		return true, nil
	}
	if len(edits) > 0 {
		response.Header.Del("Content-Length")
	}
	a.end(a.c.Request().Context(), a.r.length())
	a.head(response)
	a.h.metrics.requests.WithLabelValues("answered").Inc()
	return false, a.write(edited(text, edits))
}

// sum adds the usage of earlier rounds to that of an answer, if it is an object.
func (a *acting) sum(text []byte, usage span) []edit {
	if len(a.spent) == 0 || !isObject(usage.in(text)) {
		return nil
	}
	return []edit{{usage, a.spend(usage.in(text))}}
}

// spend adds up the usage of all rounds, in the format of the last.
func (a *acting) spend(usage []byte) []byte {
	var edits []edit
	for _, name := range sums {
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

// takeStream processes a streamed answer, and relays the client's part as it arrives.
func (a *acting) takeStream(response *http.Response) (retry bool, err error) {
	response.Header.Del("Content-Length")
	a.head(response)
	s, in := a.r.form.stream(a), bufio.NewReaderSize(response.Body, relayed)
	for {
		event, err := nextEvent(in)
		out, fault := takeEvent(s, event)
		if a.retained > maxAnswer {
			out, fault = nil, errLong // a host that never ends would fill the memory
		}
		if len(out) > 0 && a.ended == nil {
			if gone := a.write(out); gone != nil {
				a.h.metrics.requests.WithLabelValues("left").Inc()
				return false, nil //nolint:nilerr // the client is gone
			}
		}
		retry := false
		if fault == nil && errors.Is(err, io.EOF) {
			retry, fault = s.end()
		}
		switch {
		case a.ended != nil:
			return false, a.broken(a.ended)
		case fault != nil:
			a.h.broken(a.c, fault)
		case retry:
			return true, nil
		case errors.Is(err, io.EOF):
			a.end(a.c.Request().Context(), a.r.length())
			a.h.metrics.requests.WithLabelValues("answered").Inc()
			return false, nil
		case err != nil:
			a.h.broken(a.c, err)
		}
	}
}

// nextEvent reads an event of a stream with the empty line after it, unchanged; at the end the rest of the
// stream.
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

// takeEvent processes an event. Text without data, such as comments or [DONE], is passed on.
func takeEvent(s stream, event []byte) ([]byte, error) {
	data := span{}
	if at := bytes.Index(event, []byte("data:")); at == 0 || at > 0 && event[at-1] == '\n' {
		data.from = blank(event, at+len("data:"))
		line, _, _ := bytes.Cut(event[data.from:], []byte{'\n'})
		data.to = data.from + len(bytes.TrimRight(line, "\r"))
	}
	switch {
	case isObject(data.in(event)):
		return s.take(event, data)
	case s.silent():
		return nil, nil
	default:
		return event, nil
	}
}

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
