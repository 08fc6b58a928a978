package gateway

import (
	"bytes"
	"encoding/json"
	"slices"
)

// edit puts something in the place of a part of a text; where the part is empty, there.
type edit struct {
	at   span
	with []byte
}

// edited is a text with some edits, of which no two are in one place. What none of them
// touches stays as it is.
func edited(text []byte, edits []edit) []byte {
	slices.SortFunc(edits, func(a, b edit) int { return a.at.from - b.at.from })
	var out bytes.Buffer
	last := 0
	for _, one := range edits {
		out.Write(text[last:one.at.from])
		out.Write(one.with)
		last = one.at.to
	}
	out.Write(text[last:])
	return out.Bytes()
}

// behindSpan puts something behind a part of a text.
func behindSpan(at span, with []byte) edit { return edit{span{at.to, at.to}, with} }

// request is the body of a round: the conversation with what has been done in the turn behind
// the last message of the user, what has been done in this request behind all, and the tools
// that are offered beside the caller's.
func (c *chat) request(done, since, tools [][]byte, again bool) []byte {
	var edits []edit
	end := len(c.list) - 1
	if len(done) > 0 && c.last < end {
		edits = append(edits, behindSpan(c.list[c.last], listed(done)))
		done = nil
	}
	if since = slices.Concat(done, since); len(since) > 0 {
		edits = append(edits, behindSpan(c.list[end], listed(since)))
	}
	if len(tools) > 0 {
		edits = append(edits, c.offering(tools))
	}
	// A caller that wants a call, whichever, has had it.
	if choice := c.fields["tool_choice"]; again && choice.to > 0 && unquoted(choice.in(c.text)) != "none" {
		edits = append(edits, edit{choice, []byte(`"auto"`)})
	}
	return edited(c.text, edits)
}

// listed are values with a comma before each.
func listed(values [][]byte) []byte {
	return append([]byte{','}, bytes.Join(values, []byte{','})...)
}

// offering adds tools to those of the caller.
func (c *chat) offering(tools [][]byte) edit {
	added, there := bytes.Join(tools, []byte{','}), c.fields["tools"]
	own, err := elements(c.text, there.from)
	switch {
	case there.to == 0:
		start := blank(c.text, 0) + 1
		return edit{span{start, start}, []byte(`"tools":[` + string(added) + `],`)}
	case err != nil || len(own) == 0:
		return edit{there, []byte(`[` + string(added) + `]`)}
	default:
		return behindSpan(own[len(own)-1], append([]byte{','}, added...))
	}
}

// quote is a text as JSON.
func quote(text string) []byte {
	written, _ := json.Marshal(text) // a string always marshals
	return written
}

// memberOf is a member of the object that begins at a place of a text; empty for none.
func memberOf(text []byte, at span, name string) span {
	return (&chat{text: text}).member(at, name)
}
