package gateway

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"earshot/repositories/lists"
)

// completions is the format of chat completions.
type completions struct {
	texts []string // of the model in earlier rounds, if not streamed
}

func (*completions) path() string { return "/chat/completions" }

func (*completions) resume(body []byte) []byte { return body }

func (*completions) list() (field string, orText bool) { return "messages", false }

func (*completions) lengths(openAI bool) []string {
	if openAI {
		return []string{"max_completion_tokens", "max_tokens"}
	}
	return []string{"max_tokens", "max_completion_tokens"}
}

// offers excludes requests for several answers and the legacy functions format.
func (*completions) offers(c *chat) bool {
	n := string(c.fields["n"].in(c.text))
	return c.last >= 0 && c.fields["functions"].to == 0 && (n == "" || n == "1" || n == "null")
}

func (*completions) tool(name, description string, schema any) []byte {
	text, _ := json.Marshal(map[string]any{"type": "function", "function": map[string]any{"name": name, "description": description, "parameters": schema}})
	return text
}

func (*completions) called(calls []call, results []result) (messages [][]byte) {
	texts := lists.Map(calls, writtenCall)
	return assistant(nil, texts, results)
}

func writtenCall(one call) []byte {
	text, _ := json.Marshal(map[string]any{"id": one.id, "type": "function", "function": map[string]string{"name": one.name, "arguments": one.arguments}})
	return text
}

// assistant returns an assistant message with calls, followed by their results.
func assistant(content []byte, calls [][]byte, results []result) (messages [][]byte) {
	if len(content) == 0 {
		content = []byte("null")
	}
	messages = [][]byte{slices.Concat([]byte(`{"role":"assistant","content":`), content, []byte(`,"tool_calls":`), array(calls), []byte{'}'})}
	for _, r := range results {
		messages = append(messages, slices.Concat([]byte(`{"role":"tool","tool_call_id":`), quote(r.id), []byte(`,"content":`), quote(r.text), []byte{'}'}))
	}
	return messages
}

func (*completions) fault(problem []byte) []byte {
	return slices.Concat([]byte("data: "), problem, []byte("\n\n"))
}

// whole prepends the texts of earlier rounds to the last answer.
func (f *completions) whole(a *acting, text []byte) (edits []edit, retry bool) {
	choice, message, ours, clientCalls := a.callsOf(text)
	usage, content := memberOf(text, span{0, len(text)}, "usage"), memberOf(text, message, "content")
	cut := isWithheld(memberOf(text, choice, "finish_reason").in(text)) || unquoted(memberOf(text, message, "refusal").in(text)) != ""
	if len(ours) > 0 && !cut {
		var calls []call
		var texts [][]byte
		for _, at := range ours {
			calls, texts = append(calls, callAt(text, at)), append(texts, at.in(text))
		}
		a.since = append(a.since, assistant(content.in(text), texts, a.carryOut(a.c.Request().Context(), calls))...)
		if len(clientCalls) == 0 {
			a.spent, f.texts = append(a.spent, usage.in(text)), append(f.texts, unquoted(content.in(text)))
			return nil, true
		}
	}
	if len(ours) > 0 {
		edits = append(edits, edit{memberOf(text, message, "tool_calls"), array(clientCalls)})
	}
	if strings.Join(f.texts, "") != "" && content.to > 0 {
		texts := slices.DeleteFunc(append(f.texts, unquoted(content.in(text))), func(s string) bool { return s == "" })
		edits = append(edits, edit{content, quote(strings.Join(texts, "\n"))})
	}
	return append(edits, a.sum(text, usage)...), false
}

// withheld lists the finish reasons of answers that were cut or held back, as hosts name them. Their calls do not run.
var withheld = []string{
	"length", "max_tokens", "model_length", "model_context_window_exceeded", "error_limit", "error", "malformed_function_call",
	"content_filter", "safety", "refusal", "recitation", "blocklist", "prohibited_content", "spii", "error_toxic",
}

func isWithheld(finish []byte) bool {
	return slices.Contains(withheld, strings.ToLower(unquoted(finish)))
}

// firstChoice returns the choice of index 0, or without indexes the first; empty for none. The client asked for no
// others, which some hosts send: they are passed on.
func firstChoice(text []byte, choices []span) span {
	for _, choice := range choices {
		if index := string(memberOf(text, choice, "index").in(text)); index == "" || index == "null" || index == "0" {
			return choice
		}
	}
	return span{}
}

// callsOf returns the calls in an answer's first choice and the spans of this and its message: calls that run
// here, and the client's calls as written.
func (a *acting) callsOf(text []byte) (choice, message span, ours []span, clientCalls [][]byte) {
	choices, _ := elements(text, memberOf(text, span{0, len(text)}, "choices").from) // an invalid list has none
	if choice = firstChoice(text, choices); choice.to == 0 {
		return choice, message, nil, nil
	}
	message = memberOf(text, choice, "message")
	at := memberOf(text, message, "tool_calls")
	if message.to == 0 || at.to == 0 {
		return choice, message, nil, nil
	}
	spans, _ := elements(text, at.from) // null has none
	for _, at := range spans {
		if _, is := a.tools[callAt(text, at).name]; is {
			ours = append(ours, at)
		} else {
			clientCalls = append(clientCalls, at.in(text))
		}
	}
	return choice, message, ours, clientCalls
}

func callAt(text []byte, at span) call {
	function := memberIn(at.in(text), "function")
	return call{unquoted(memberIn(at.in(text), "id")), unquoted(memberIn(function, "name")), argumentsIn(function)}
}

// argumentsIn returns the arguments of a call as text: some hosts write them as an object in place of a string.
func argumentsIn(function []byte) string {
	value := memberIn(function, "arguments")
	if startsWith(value, 0, '"') || string(value) == "null" {
		return unquoted(value)
	}
	return string(value)
}

// completionStream relays text and the client's calls as they arrive, and runs ours at the end. If the
// client has calls of its own, the answer ends there and the client continues.
type completionStream struct {
	*acting
	ours   []*streamedCall
	others int                      // number of the client's calls
	begun  map[string]*streamedCall // the latest by index or, without an index, by id
	last   *streamedCall
	text   strings.Builder
	usage  []byte
	cut    bool // the model refuses
	retry  bool // the model is asked again
}

// streamedCall is one of our calls, or one of the client's with its index in the client's stream.
type streamedCall struct {
	call
	ours  bool
	index int
	parts []byte // of the arguments of one of ours
}

func (*completions) stream(a *acting) stream {
	return &completionStream{acting: a, begun: map[string]*streamedCall{}}
}

func (s *completionStream) silent() bool { return s.retry }

func (s *completionStream) end() (retry bool, err error) {
	if s.retry {
		s.carry()
		s.spent = append(s.spent, s.usage)
	}
	return s.retry, nil
}

func (s *completionStream) carry() {
	var ours []call
	var texts [][]byte
	for _, streamed := range s.ours {
		streamed.arguments = string(streamed.parts)
		ours, texts = append(ours, streamed.call), append(texts, writtenCall(streamed.call))
	}
	var content []byte
	if s.text.Len() > 0 {
		content = quote(s.text.String())
	}
	s.since = append(s.since, assistant(content, texts, s.carryOut(s.c.Request().Context(), ours))...)
}

func (s *completionStream) take(event []byte, data span) ([]byte, error) {
	usage := memberOf(event, data, "usage")
	if isObject(usage.in(event)) {
		s.usage = usage.in(event)
	}
	if s.retry {
		return nil, nil
	}
	var edits []edit
	rest := true
	at := memberOf(event, data, "choices")
	choices, _ := elements(event, at.from) // none in a usage event
	if choice := firstChoice(event, choices); at.to > 0 && choice.to > 0 {
		edits, rest = s.takeDelta(event, memberOf(event, choice, "delta"))
		rest = rest || len(choices) > 1
		if finish := memberOf(event, choice, "finish_reason").in(event); unquoted(finish) != "" {
			if s.cut || isWithheld(finish) {
				s.ours = nil
			}
			if s.retry = len(s.ours) > 0 && s.others == 0; s.retry { // all calls are ours
				return nil, nil
			}
			if rest = true; len(s.ours) > 0 {
				s.carry()
				s.ours = nil
			}
		}
	}
	if summed := s.sum(event, usage); summed != nil {
		edits, rest = append(edits, summed...), true
	}
	if !rest {
		return nil, nil
	}
	return edited(event, edits), nil
}

// takeDelta removes our calls from the delta of a chunk. rest reports whether anything is left for the
// client.
func (s *completionStream) takeDelta(event []byte, delta span) (edits []edit, rest bool) {
	if delta.to == 0 {
		return nil, true
	}
	content := unquoted(memberOf(event, delta, "content").in(event))
	s.text.WriteString(content)
	s.retained += len(content)
	others := 0
	var clientCalls [][]byte
	calls := span{}
	_ = members(event, delta.from, func(name []byte, value span) {
		s.cut = s.cut || string(name) == `"refusal"` && unquoted(value.in(event)) != ""
		switch key := unquoted(name); {
		case key == "tool_calls" && startsWith(event, value.from, '['):
			calls = value
			clientCalls = s.takeCalls(event, value)
		case key == "role" && s.round > 1: // the first round has sent the role
			edits = append(edits, edit{value, quote("")})
		case string(value.in(event)) != "null" && string(value.in(event)) != `""`:
			others++
		}
	})
	if calls.to > 0 {
		edits = append(edits, edit{calls, array(clientCalls)})
	}
	return edits, others+len(clientCalls) > 0 || calls.to == 0 && s.round == 1
}

// takeCalls removes our calls from a list of call parts, and renumbers the others for the client.
func (s *completionStream) takeCalls(event []byte, list span) (clientCalls [][]byte) {
	parts, _ := elements(event, list.from) // a malformed list has none
	for _, part := range parts {
		index, target := memberOf(event, part, "index"), s.callOf(event, part)
		if target.ours {
			continue
		}
		raw := part.in(event)
		if index.to > 0 {
			text, _ := json.Marshal(target.index)
			raw = edited(raw, []edit{{span{index.from - part.from, index.to - part.from}, text}})
		}
		clientCalls = append(clientCalls, raw)
	}
	return clientCalls
}

// callOf adds a part to its call, and returns that. Some hosts give no index, or all calls the same: a name with another
// id begins another call. One without both continues the last call, unless it has a name.
func (s *completionStream) callOf(event []byte, part span) *streamedCall {
	found, key := callAt(event, part), string(memberOf(event, part, "index").in(event))
	if _, err := json.Number(key).Int64(); err != nil {
		key = "id " + found.id
	}
	target := s.begun[key]
	if key == "id " && found.name == "" {
		target = s.last
	}
	if target == nil || found.name != "" && (key == "id " || found.id != "" && target.id != "" && found.id != target.id) {
		_, ours := s.tools[found.name]
		target = &streamedCall{call: call{name: found.name}, ours: ours, index: s.others}
		s.retained += len(part.in(event))
		if ours {
			s.ours = append(s.ours, target)
		} else {
			s.others++
		}
	}
	s.begun[key], s.last = target, target
	target.id = cmp.Or(target.id, found.id)
	if target.ours {
		target.parts = append(target.parts, found.arguments...)
		s.retained += len(found.arguments)
	}
	return target
}
