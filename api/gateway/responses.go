package gateway

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"earshot/repositories/lists"
)

// responses is the format of OpenAI's Responses API. The client sees all rounds as one response: the last
// one with the items of the earlier ones.
type responses struct {
	given    [][]byte // items of earlier rounds that the client has
	begun    bool     // the client has the first event of a stream
	id       []byte   // of the response in the client's stream
	sequence int      // number of the next event
}

// responsesAt is the endpoint below the model's URL, for new and stored responses.
const responsesAt = "/responses"

func (*responses) path() string { return responsesAt }

// previousIDMark separates a call's id from the id of its response, if the client knows the response by the id
// of an earlier round. The client returns both with its result.
const previousIDMark = "@after:"

// resume removes response ids from call ids, and continues from the last of them.
func (f *responses) resume(body []byte) []byte {
	if !bytes.Contains(body, []byte(previousIDMark)) {
		return body
	}
	c, err := readChat(f, body)
	if err != nil {
		return body
	}
	var edits []edit
	last := ""
	for _, message := range c.messages {
		at := memberOf(body, message, "call_id")
		if id, after, isMarked := strings.Cut(unquoted(at.in(body)), previousIDMark); isMarked {
			edits, last = append(edits, edit{at, quote(id)}), after
		}
	}
	if last != "" && c.after() != "" {
		edits = append(edits, edit{c.fields["previous_response_id"], quote(last)})
	}
	return edited(body, edits)
}

func (*responses) list() (field string, orText bool) { return "input", true }

func (*responses) lengths(bool) []string { return []string{"max_output_tokens"} }

// offers excludes background requests, and conversations that the model's host stores, which would record
// the input of each round.
func (*responses) offers(c *chat) bool {
	for _, name := range []string{"background", "conversation"} {
		if value := string(c.fields[name].in(c.text)); value != "" && value != "null" && value != "false" {
			return false
		}
	}
	return len(c.messages) > 0 && (c.last >= 0 || c.after() != "")
}

// tool disables strict, which is on by default: the schema would have to require everything.
func (*responses) tool(name, description string, schema any) []byte {
	text, _ := json.Marshal(map[string]any{"type": "function", "name": name, "description": description, "parameters": schema, "strict": false})
	return text
}

func (*responses) called(calls []call, results []result) (messages [][]byte) {
	for _, c := range calls {
		text, _ := json.Marshal(map[string]string{"type": "function_call", "call_id": c.id, "name": c.name, "arguments": c.arguments})
		messages = append(messages, text)
	}
	return append(messages, outputs(results)...)
}

func outputs(results []result) (messages [][]byte) {
	for _, r := range results {
		text, _ := json.Marshal(map[string]string{"type": "function_call_output", "call_id": r.id, "output": r.text})
		messages = append(messages, text)
	}
	return messages
}

// fault repeats the error as a member, as the model's events do, and its parts as in the API reference.
func (f *responses) fault(problem []byte) []byte {
	detail := problem
	if inner := memberIn(problem, "error"); isObject(inner) {
		detail = inner
	}
	part := func(name string) string { return cmp.Or(string(memberIn(detail, name)), "null") }
	return fmt.Appendf(nil, "event: error\ndata: {\"type\":\"error\",\"sequence_number\":%d,\"code\":%s,\"message\":%s,\"param\":%s,\"error\":%s}\n\n",
		f.sequence, part("code"), part("message"), part("param"), detail)
}

type item struct {
	kind, name string
	place      int // index in the round
	raw        []byte
}

func itemOf(raw []byte, place int) item {
	return item{unquoted(memberIn(raw, "type")), unquoted(memberIn(raw, "name")), place, raw}
}

func rawItems(items []item) (raw [][]byte) {
	return lists.Map(items, func(entry item) []byte { return entry.raw })
}

const functionCall = "function_call"

// needsClient lists the item types that the client has to answer.
var needsClient = map[string]bool{
	functionCall: true, "custom_tool_call": true, "computer_call": true, "local_shell_call": true, "shell_call": true, "apply_patch_call": true,
	"tool_search_call": true, "mcp_approval_request": true,
}

const reasoning = "reasoning"

// without drops the items that match some, and reasoning that led only to these: a model refuses reasoning
// without its result.
func without(items []item, drop func(item) bool) (rest []item) {
	var thoughts []item
	closed := false // the reasoning has led to an item
	for _, entry := range items {
		switch {
		case entry.kind == reasoning && closed:
			thoughts, closed = []item{entry}, false
		case entry.kind == reasoning:
			thoughts = append(thoughts, entry)
		case drop(entry):
			closed = true
		default:
			rest = append(append(rest, thoughts...), entry)
			thoughts, closed = nil, true
		}
	}
	if !closed {
		rest = append(rest, thoughts...)
	}
	return rest
}

func (a *acting) isOurs(entry item) bool {
	_, is := a.tools[entry.name]
	return is && entry.kind == functionCall
}

func refuses(one item) bool {
	content := memberIn(one.raw, "content")
	parts, _ := elements(content, 0) // not every item has parts
	return slices.ContainsFunc(parts, func(part span) bool { return unquoted(memberOf(content, part, "refusal").in(content)) != "" })
}

// truncated reports whether an item was cut. A server may complete the response nevertheless.
func truncated(one item) bool { return unquoted(memberIn(one.raw, "status")) == "incomplete" }

// kept returns the items of a round for the client, whether our calls among the others run, and whether to ask
// the model again. If the client has calls of its own, it continues: addOutstanding then answers ours.
func (a *acting) kept(items []item, complete bool) (kept []item, runs, retry bool) {
	if !slices.ContainsFunc(items, a.isOurs) {
		return items, false, false
	}
	kept = without(items, a.isOurs)
	// A truncated call does not run, nor one beside a refusal.
	complete = complete && !slices.ContainsFunc(items, func(one item) bool { return refuses(one) || a.isOurs(one) && truncated(one) })
	return kept, complete, complete && !slices.ContainsFunc(kept, func(one item) bool { return needsClient[one.kind] })
}

// carryItems runs our calls of a round, and adds the items and results to the next round's input, if any.
func (a *acting) carryItems(items []item) {
	var ours []call
	for _, entry := range items {
		if a.isOurs(entry) {
			ours = append(ours, call{unquoted(memberIn(entry.raw, "call_id")), entry.name, argumentsIn(entry.raw)})
		}
	}
	a.since = slices.Concat(a.since, rawItems(items), outputs(a.carryOut(a.c.Request().Context(), ours)))
}

func itemsAt(text []byte, list span) (items []item) {
	spans, _ := elements(text, list.from) // an invalid list has none
	for i, at := range spans {
		items = append(items, itemOf(at.in(text), i))
	}
	return items
}

const completed = "completed"

func (f *responses) whole(a *acting, text []byte) (edits []edit, retry bool) {
	top := span{0, len(text)}
	items := itemsAt(text, memberOf(text, top, "output"))
	kept, runs, retry := a.kept(items, cmp.Or(unquoted(memberIn(text, "status")), completed) == completed)
	if runs {
		a.carryItems(items)
	}
	if retry {
		a.spent, f.given = append(a.spent, memberIn(text, "usage")), append(f.given, rawItems(kept)...)
		return nil, true
	}
	return append(f.output(text, top, items, kept), a.shown(text, top)...), false
}

// output puts the items of all rounds into the last response.
func (f *responses) output(text []byte, response span, items, kept []item) []edit {
	at := memberOf(text, response, "output")
	if at.to == 0 || len(f.given) == 0 && len(kept) == len(items) {
		return nil
	}
	return []edit{{at, array(slices.Concat(f.given, rawItems(kept)))}}
}

// shown sets the summed usage of a response, and removes our tools from it.
func (a *acting) shown(text []byte, response span) (edits []edit) {
	if at := memberOf(text, response, "tools"); at.to > 0 {
		all, _ := elements(text, at.from)
		var own [][]byte
		for _, one := range all {
			if _, is := a.tools[unquoted(memberOf(text, one, "name").in(text))]; !is {
				own = append(own, one.in(text))
			}
		}
		if len(own) < len(all) {
			edits = append(edits, edit{at, array(own)})
		}
	}
	return append(edits, a.sum(text, memberOf(text, response, "usage"))...)
}

// responseStream relays the model's output as it arrives. It holds calls back until the round ends, and
// reasoning until its result is known.
type responseStream struct {
	*acting
	form   *responses
	first  []heldEvent // the events that begin the response
	id     []byte      // of this round's response
	held   []heldEvent
	calls  bool         // held has calls, so that all later events are held as well
	places map[int]int  // indexes of items in the client's stream
	items  map[int]item // completed items
	all    []item       // at the end of a round that is followed by another
	retry  bool
	ended  bool
}

// heldEvent is an event that may be relayed later; item is the index of its item, or -1.
type heldEvent struct {
	text []byte
	data span
	item int
}

func (f *responses) stream(a *acting) stream {
	return &responseStream{acting: a, form: f, places: map[int]int{}, items: map[int]item{}}
}

func (s *responseStream) silent() bool { return s.retry }

func (s *responseStream) end() (retry bool, err error) {
	if !s.ended {
		return false, io.ErrUnexpectedEOF
	}
	if s.retry {
		s.carryItems(s.all)
	}
	return s.retry, nil
}

func (s *responseStream) take(text []byte, data span) ([]byte, error) {
	if s.retry {
		return nil, nil
	}
	e := heldEvent{text, data, -1}
	if place, err := json.Number(memberOf(text, data, "output_index").in(text)).Int64(); err == nil {
		e.item = int(place)
	}
	switch kind := unquoted(memberOf(text, data, "type").in(text)); kind {
	case "response.created", "response.queued", "response.in_progress":
		s.first, s.id = append(s.first, e), memberOf(text, memberOf(text, data, "response"), "id").in(text)
		s.retained += len(text)
		return nil, nil
	case "response.completed", "response.incomplete", "response.failed":
		return s.finish(e, kind == "response."+completed), nil
	case "error":
		s.ended = true
		return s.pass(e), nil
	case "response.output_item.added":
		switch one := itemOf(memberOf(text, data, "item").in(text), e.item); {
		case needsClient[one.kind]:
			s.calls = true
		case one.kind != reasoning && !s.calls:
			return append(s.release(nil), s.pass(e)...), nil
		case one.kind == reasoning:
			s.hold(e)
			return nil, nil
		}
	case "response.output_item.done":
		s.items[e.item] = itemOf(memberOf(text, data, "item").in(text), e.item)
		s.retained += len(text)
	}
	if e.item >= 0 && (s.calls || len(s.held) > 0) {
		s.hold(e)
		return nil, nil
	}
	return s.pass(e), nil
}

func (s *responseStream) hold(e heldEvent) {
	s.held = append(s.held, e)
	s.retained += len(e.text)
}

// release relays the held events, except those of dropped items.
func (s *responseStream) release(dropped map[int]bool) (out []byte) {
	for _, e := range s.held {
		s.retained -= len(e.text)
		if !dropped[e.item] {
			out = append(out, s.pass(e)...)
		}
	}
	s.held, s.calls = nil, false
	return out
}

// pass returns an event for the client, preceded by the events that begin the response.
func (s *responseStream) pass(e heldEvent, edits ...edit) (out []byte) {
	if !s.form.begun {
		s.form.begun = true
		for _, one := range s.first {
			response := memberOf(one.text, one.data, "response")
			s.form.id = memberOf(one.text, response, "id").in(one.text)
			out = append(out, s.pass(one, s.shown(one.text, response)...)...)
		}
	}
	if e.item >= 0 {
		place, known := s.places[e.item]
		if !known {
			place = len(s.form.given) + len(s.places)
			s.places[e.item] = place
		}
		edits = append(edits, numbered(e, "output_index", place)...)
	}
	edits = append(edits, s.marked(e.text, memberOf(e.text, e.data, "item"))...)
	edits = append(edits, numbered(e, "sequence_number", s.form.sequence)...)
	s.form.sequence++
	return append(out, edited(e.text, edits)...)
}

func numbered(e heldEvent, name string, number int) []edit {
	at, text := memberOf(e.text, e.data, name), fmt.Append(nil, number)
	if at.to == 0 || bytes.Equal(at.in(e.text), text) {
		return nil
	}
	return []edit{{at, text}}
}

// marked adds the response id to a call id, if the client knows the response by another id.
func (s *responseStream) marked(text []byte, of span) []edit {
	at := memberOf(text, of, "call_id")
	if at.to == 0 || len(s.form.id) == 0 || len(s.id) == 0 || bytes.Equal(s.id, s.form.id) {
		return nil
	}
	return []edit{{at, quote(unquoted(at.in(text)) + previousIDMark + unquoted(s.id))}}
}

// finish processes the last event of a round, which contains the response.
func (s *responseStream) finish(e heldEvent, complete bool) (out []byte) {
	s.ended = true
	response := memberOf(e.text, e.data, "response")
	items := itemsAt(e.text, memberOf(e.text, response, "output"))
	if len(items) == 0 {
		for _, place := range slices.Sorted(maps.Keys(s.items)) {
			items = append(items, s.items[place])
		}
	}
	kept, runs, retry := s.kept(items, complete)
	dropped := map[int]bool{}
	for _, one := range items {
		dropped[one.place] = true
	}
	kept = slices.Clone(kept)
	for i, one := range kept {
		delete(dropped, one.place)
		kept[i].raw = edited(one.raw, s.marked(one.raw, span{0, len(one.raw)}))
	}
	out = s.release(dropped)
	if !retry {
		if runs {
			s.carryItems(items)
		}
		edits := append(s.form.output(e.text, response, items, kept), s.shown(e.text, response)...)
		if at := memberOf(e.text, response, "id"); s.form.id != nil && at.to > 0 && !bytes.Equal(at.in(e.text), s.form.id) {
			edits = append(edits, edit{at, s.form.id}) // with a new id, a client would see another response
		}
		return append(out, s.pass(e, edits...)...)
	}
	s.retry, s.all = true, items
	s.spent, s.form.given = append(s.spent, memberOf(e.text, response, "usage").in(e.text)), append(s.form.given, rawItems(kept)...)
	return out
}
