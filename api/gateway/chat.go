package gateway

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"earshot/repositories"
)

// chat is a request for an answer: where its parts stand, and who speaks in it.
type chat struct {
	text     []byte
	fields   map[string]span // of the top, by their names; of two with one name the last
	messages []span
	roles    []string // of the messages
	last     int      // the last message of the user; -1 for none
	users    int      // how many messages are the user's
}

// readChat reads a request. Its error says that it is no JSON object with messages.
func readChat(f form, text []byte) (*chat, error) {
	c := &chat{text: text, fields: map[string]span{}, last: -1}
	err := members(text, 0, func(name []byte, value span) { c.fields[string(name[1:len(name)-1])] = value })
	if err != nil {
		return nil, err
	}
	field, orText := f.list()
	list, has := c.fields[field]
	switch {
	case !has:
		return nil, errNoJSON
	case orText && startsWith(text, list.from, '"'):
		c.messages = []span{list}
	default:
		if c.messages, err = elements(text, list.from); err != nil {
			return nil, err
		}
	}
	c.roles = make([]string, len(c.messages))
	for i := range c.messages {
		c.roles[i] = unquoted(memberIn(c.raw(i), "role"))
		if c.roles[i] == "user" {
			c.last = i
			c.users++
		}
	}
	return c, nil
}

func (c *chat) member(of span, name string) []byte { return memberOf(c.text, of, name).in(c.text) }

// raw is a message as it is written. A text in place of all messages is one of the user's.
func (c *chat) raw(i int) []byte {
	text := c.messages[i].in(c.text)
	if startsWith(text, 0, '"') {
		return slices.Concat([]byte(`{"role":"user","content":`), text, []byte{'}'})
	}
	return text
}

// after is the answer that the request goes on from, which the model's host has with all that was
// said before it; empty if the request has all of it.
func (c *chat) after() string { return unquoted(c.fields["previous_response_id"].in(c.text)) }

// field is the session that a member of a member of the top names.
func (c *chat) field(field, name string) string {
	at, has := c.fields[field]
	if !has {
		return ""
	}
	return asID(c.member(at, name))
}

// session is the session that the body names; empty for none.
func (c *chat) session() string {
	return cmp.Or(c.field("metadata", "session_id"), c.field("call", "id"), asID(c.fields["user"].in(c.text)))
}

// asID is a JSON text or number as the id of a session.
func asID(value []byte) string {
	switch text := unquoted(value); {
	case text != "":
		return idOf(text)
	case len(value) == 0, strings.IndexByte(`"{[ntf`, value[0]) >= 0:
		return ""
	default:
		return idOf(string(value))
	}
}

// idOf is a name as an id: itself, or a hash of a name that is none.
func idOf(name string) string {
	if name == "" || repositories.CheckID("session", name) == nil {
		return name
	}
	digest := sha256.Sum256([]byte(name))
	return "h-" + hex.EncodeToString(digest[:16])
}

// textOf is the text of a message: that of its parts that are texts, a line each.
func textOf(raw []byte) string {
	content := memberIn(raw, "content")
	if !startsWith(content, 0, '[') {
		return unquoted(content)
	}
	parts, _ := elements(content, 0) // a broken list has no texts
	var texts []string
	for _, part := range parts {
		if text := unquoted(memberOf(content, part, "text").in(content)); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// lastText is what the user has said last; empty for nothing.
func (c *chat) lastText() string {
	if c.last < 0 {
		return ""
	}
	return textOf(c.raw(c.last))
}

// assistantBefore is the assistant's message that the user's last one answers.
func (c *chat) assistantBefore() string {
	for i := c.last - 1; i >= 0 && c.roles[i] != "user"; i-- {
		if c.roles[i] == "assistant" {
			return textOf(c.raw(i))
		}
	}
	return ""
}

// goesOn reports whether the conversation goes on behind the last message of the user, as when the
// caller's own tools have answered.
func (c *chat) goesOn() bool {
	return c.last >= 0 && slices.ContainsFunc(c.roles[c.last+1:], func(role string) bool { return !isRule(role) })
}

// isRule reports whether a message is of the assistant's author. Such do not make two requests
// differ: many name the time of day.
func isRule(role string) bool { return role == "system" || role == "developer" }

// id names the last message of the user: the same for every request of a session that has the
// same messages up to it, and goes on from the same answer. Without a message of the user it names all.
func (c *chat) id(sessionID string) string {
	digest := sha256.New()
	_, _ = fmt.Fprintf(digest, "%s\n", sessionID) // never fails
	if after := c.after(); after != "" {
		_, _ = fmt.Fprintf(digest, "after %s\n", after)
	}
	end := c.last + 1
	if end == 0 {
		end = len(c.messages)
	}
	for i := range end {
		if !isRule(c.roles[i]) {
			_, _ = digest.Write(c.raw(i))
			_, _ = digest.Write([]byte{'\n'})
		}
	}
	return fmt.Sprintf("chat-%d-%s", c.users, hex.EncodeToString(digest.Sum(nil)[:16]))
}

// request is the body of a round: the conversation behind what is owed to it, with what was done in the
// turn behind the last message of the user, what was done in this request behind all, and the tools that are offered
// with the caller's.
func (c *chat) request(owed, done, since, tools [][]byte, retry bool) []byte {
	var edits []edit
	end := len(c.messages) - 1
	if len(done) > 0 && c.goesOn() {
		edits = append(edits, insertAfter(c.messages[c.last], done))
		done = nil
	}
	since = slices.Concat(done, since)
	switch all := c.messages[end]; {
	case len(owed)+len(since) == 0:
	case startsWith(c.text, all.from, '"'):
		edits = append(edits, edit{all, array(slices.Concat(owed, [][]byte{c.raw(end)}, since))})
		owed = nil
	case len(since) > 0:
		edits = append(edits, insertAfter(all, since))
	}
	if len(owed) > 0 {
		start := c.messages[0].from
		edits = append(edits, edit{span{start, start}, append(bytes.Join(owed, []byte{','}), ',')})
	}
	if len(tools) > 0 {
		at := c.fields["tools"]
		own, err := elements(c.text, at.from)
		switch {
		case at.to == 0:
			start := blank(c.text, 0) + 1
			edits = append(edits, edit{span{start, start}, slices.Concat([]byte(`"tools":[`), bytes.Join(tools, []byte{','}), []byte(`],`))})
		case err != nil || len(own) == 0:
			edits = append(edits, edit{at, array(tools)})
		default:
			edits = append(edits, insertAfter(own[len(own)-1], tools))
		}
	}
	// A caller that requires a call has had it.
	if choice := c.fields["tool_choice"]; retry && choice.to > 0 && unquoted(choice.in(c.text)) != "none" {
		edits = append(edits, edit{choice, []byte(`"auto"`)})
	}
	return edited(c.text, edits)
}
