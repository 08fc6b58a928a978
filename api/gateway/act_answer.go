package gateway

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"earshot/api/answer"
)

var errLong = errors.New("the model's answer is too long to be read")

// passOn relays an answer that holds no calls, as the model's own error. In a stream that has
// begun it is an event.
func (a *acting) passOn(response *http.Response) error {
	if !a.c.Response().Committed {
		a.head(response)
		return a.h.copyBody(a.c, response, func() {})
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil || !isObject(bytes.TrimSpace(text)) {
		return a.broken(away(errors.New("the model refused to go on: " + response.Status)))
	}
	return a.event(bytes.ReplaceAll(text, []byte{'\n'}, []byte{' '}))
}

// broken ends an answer: by an error, or in a stream that has begun by an event.
func (a *acting) broken(err error) error {
	if !a.c.Response().Committed {
		return err
	}
	problem, _ := json.Marshal(answer.OpenAIError(err))
	return a.event(problem)
}

// event writes an event of its own to the stream.
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

// takeWhole takes an answer that is not streamed.
func (a *acting) takeWhole(response *http.Response) (again bool, err error) {
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil || len(text) > maxAnswer {
		return false, away(errors.Join(err, errLong))
	}
	whole := span{0, len(text)}
	message, calls := callsOf(text)
	ours, theirs := a.sort(calls)
	usage := memberOf(text, whole, "usage")
	if len(ours) > 0 {
		content := memberOf(text, message, "content").in(text)
		if len(content) == 0 {
			content = nil
		}
		a.carry(content, ours)
		if len(theirs) == 0 {
			a.spent, a.texts = append(a.spent, usage.in(text)), append(a.texts, unquoted(content))
			return true, nil
		}
	}
	edits := a.wholeEdits(text, message, usage)
	if len(ours) > 0 {
		left := make([][]byte, len(theirs))
		for i, one := range theirs {
			left[i] = one.raw
		}
		edits = append(edits, edit{memberOf(text, message, "tool_calls"), slices.Concat([]byte{'['}, bytes.Join(left, []byte{','}), []byte{']'})})
	}
	if len(edits) > 0 {
		response.Header.Del("Content-Length")
	}
	a.head(response)
	a.h.metrics.requests.WithLabelValues("answered").Inc()
	return false, a.write(edited(text, edits))
}

// wholeEdits add to the last answer what was said and used in the rounds before.
func (a *acting) wholeEdits(text []byte, message, usage span) (edits []edit) {
	said := strings.Join(slices.DeleteFunc(append(slices.Clone(a.texts), unquoted(memberOf(text, message, "content").in(text))), func(s string) bool { return s == "" }), "\n")
	if at := memberOf(text, message, "content"); strings.Join(a.texts, "") != "" && at.to > 0 {
		edits = append(edits, edit{at, quote(said)})
	}
	if len(a.spent) > 0 && isObject(usage.in(text)) {
		edits = append(edits, edit{usage, a.spend(usage.in(text))})
	}
	return edits
}

// callsOf are the calls of the first choice of an answer, with where its message stands.
func callsOf(text []byte) (message span, calls []call) {
	choices, err := elements(text, memberOf(text, span{0, len(text)}, "choices").from)
	if err != nil || len(choices) == 0 {
		return message, nil
	}
	message = memberOf(text, choices[0], "message")
	at := memberOf(text, message, "tool_calls")
	if message.to == 0 || at.to == 0 {
		return message, nil
	}
	list, _ := elements(text, at.from) // null has none
	for i, one := range list {
		calls = append(calls, callAt(text, one, i))
	}
	return message, calls
}

func callAt(text []byte, at span, i int) call {
	function := memberOf(text, at, "function")
	return call{
		index: i, raw: at.in(text), id: unquoted(memberOf(text, at, "id").in(text)),
		name: unquoted(memberOf(text, function, "name").in(text)), given: unquoted(memberOf(text, function, "arguments").in(text)),
	}
}

// stream is what is known of one round of a streamed answer.
type stream struct {
	calls map[int]*call // of ours, by their places in the answer
	order []int         // of ours
	moved map[int]int   // of the caller's calls, their places in what the caller gets
	said  strings.Builder
	usage []byte
	again bool // the model is asked again: the rest of the round is not for the caller
}

// takeStream takes a streamed answer. Texts are passed on as they come, and so are the caller's
// calls; ours are kept back.
func (a *acting) takeStream(response *http.Response) (again bool, err error) {
	response.Header.Del("Content-Length")
	a.head(response)
	s, in := &stream{calls: map[int]*call{}, moved: map[int]int{}}, bufio.NewReaderSize(response.Body, relayed)
	for {
		event, err := nextEvent(in)
		if len(event) > 0 {
			if out := a.heardEvent(s, event); len(out) > 0 {
				if gone := a.write(out); gone != nil {
					a.h.metrics.requests.WithLabelValues("left").Inc()
					return false, nil //nolint:nilerr // nobody is there to hear of it
				}
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return a.endOf(s)
		case err != nil:
			a.h.broken(a.c, err)
		}
	}
}

// endOf carries out what a round has called for. A caller whose own calls were among them has
// them already, and goes on.
func (a *acting) endOf(s *stream) (again bool, err error) {
	if !s.again {
		a.h.metrics.requests.WithLabelValues("answered").Inc()
		return false, nil
	}
	a.carryStream(s)
	a.spent = append(a.spent, s.usage)
	return true, nil
}

func (a *acting) carryStream(s *stream) {
	var ours []call
	for _, index := range s.order {
		ours = append(ours, *s.calls[index])
	}
	var content []byte
	if s.said.Len() > 0 {
		content = quote(s.said.String())
	}
	a.carry(content, ours)
}

// nextEvent reads an event of a stream with the line behind it, as it is written; at the end
// what is left.
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

// dataOf is the data of an event: where its one line of data stands in it.
func dataOf(event []byte) span {
	at := bytes.Index(event, []byte("data:"))
	if at < 0 || at > 0 && event[at-1] != '\n' {
		return span{}
	}
	from := blank(event, at+len("data:"))
	end := bytes.IndexByte(event[from:], '\n')
	if end < 0 {
		end = len(event) - from
	}
	return span{from, from + len(bytes.TrimRight(event[from:from+end], "\r"))}
}

// heardEvent is what the caller gets of an event.
func (a *acting) heardEvent(s *stream, event []byte) []byte {
	at := dataOf(event)
	data := at.in(event)
	if string(data) == "[DONE]" {
		if s.again {
			return nil
		}
		return event
	}
	if !isObject(data) {
		if s.again {
			return nil
		}
		return event // a comment, or what nobody knows
	}
	return a.heardChunk(s, event, at)
}

// heardChunk is what the caller gets of a chunk of an answer.
func (a *acting) heardChunk(s *stream, event []byte, at span) []byte {
	usage := memberOf(event, at, "usage")
	if isObject(usage.in(event)) {
		s.usage = slices.Clone(usage.in(event))
	}
	if s.again {
		return nil
	}
	var edits []edit
	rest := true
	choices, _ := elements(event, memberOf(event, at, "choices").from) // none, where it tells what was used
	if memberOf(event, at, "choices").to > 0 && len(choices) > 0 {
		edits, rest = a.heardDelta(s, event, memberOf(event, choices[0], "delta"))
		if unquoted(memberOf(event, choices[0], "finish_reason").in(event)) != "" {
			if rest = a.finished(s); !rest {
				return nil
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

// finished ends the calls of a round, and reports whether its end is that of the answer: not
// where all of them were of ours, so that the model is asked again.
func (a *acting) finished(s *stream) bool {
	if len(s.order) == 0 || s.again {
		return !s.again
	}
	if s.again = len(s.moved) == 0; s.again {
		return false
	}
	a.carryStream(s)
	s.order = nil
	return true
}

// heardDelta takes what a chunk adds, and takes our calls out of it. rest says that there is
// something in it for the caller.
func (a *acting) heardDelta(s *stream, event []byte, delta span) (edits []edit, rest bool) {
	if delta.to == 0 {
		return nil, true
	}
	s.said.WriteString(unquoted(memberOf(event, delta, "content").in(event)))
	others := 0
	var left [][]byte
	calls := span{}
	_, _ = members(event, delta.from, func(name []byte, value span) {
		switch key := unquoted(name); {
		case key == "tool_calls" && startsWith(event, value.from, '['):
			calls = value
			left = a.heardCalls(s, event, value)
		case key == "role" && a.round > 1: // it was said in the first round who speaks
			edits = append(edits, edit{value, quote("")})
		case string(value.in(event)) != "null" && string(value.in(event)) != `""`:
			others++
		}
	})
	if calls.to > 0 {
		edits = append(edits, edit{calls, slices.Concat([]byte{'['}, bytes.Join(left, []byte{','}), []byte{']'})})
	}
	return edits, others+len(left) > 0 || calls.to == 0 && a.round == 1
}

// heardCalls takes our calls out of a list of parts of calls, and returns the others with the
// places that they have for the caller.
func (a *acting) heardCalls(s *stream, event []byte, list span) (left [][]byte) {
	parts, _ := elements(event, list.from) // what cannot be read has none
	for i, part := range parts {
		index := memberOf(event, part, "index")
		place := i
		if n, err := json.Number(index.in(event)).Int64(); err == nil {
			place = int(n)
		}
		found := callAt(event, part, place)
		if _, is := a.tools[found.name]; is && s.calls[place] == nil && !placed(s.moved, place) {
			s.calls[place] = &call{index: place}
			s.order = append(s.order, place)
		}
		if ours := s.calls[place]; ours != nil {
			ours.id, ours.name, ours.given = ours.id+found.id, ours.name+found.name, ours.given+found.given
			continue
		}
		if !placed(s.moved, place) {
			s.moved[place] = len(s.moved)
		}
		left = append(left, movedTo(event, part, index, s.moved[place]))
	}
	return left
}

func placed(places map[int]int, at int) bool {
	_, is := places[at]
	return is
}

// movedTo is a part of a call with another place.
func movedTo(event []byte, part, index span, place int) []byte {
	if index.to == 0 {
		return part.in(event)
	}
	text, _ := json.Marshal(place)
	own := span{index.from - part.from, index.to - part.from}
	return edited(part.in(event), []edit{{own, text}})
}
