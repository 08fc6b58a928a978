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

// chat is a request for a completion: where its parts stand, and who speaks in it.
type chat struct {
	text     []byte
	fields   map[string]span // of the top, by their names; of two with one name the last
	messages []span
	roles    []string // of the messages
	last     int      // the last message of the user; -1 for none
	users    int      // how many messages are the user's
}

// readChat reads a request. Its error says that it is no JSON object with messages.
func readChat(text []byte) (*chat, error) {
	c := &chat{text: text, fields: map[string]span{}, last: -1}
	err := members(text, 0, func(name []byte, value span) { c.fields[string(name[1:len(name)-1])] = value })
	if err != nil {
		return nil, err
	}
	list, has := c.fields["messages"]
	if !has {
		return nil, errNoJSON
	}
	if c.messages, err = elements(text, list.from); err != nil {
		return nil, err
	}
	c.roles = make([]string, len(c.messages))
	for i, one := range c.messages {
		c.roles[i] = unquoted(c.member(one, "role"))
		if c.roles[i] == "user" {
			c.last = i
			c.users++
		}
	}
	return c, nil
}

func (c *chat) member(of span, name string) []byte { return memberOf(c.text, of, name).in(c.text) }

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

// message is the text of a message: that of its parts that are texts, a line each.
func (c *chat) message(i int) string {
	content := memberOf(c.text, c.messages[i], "content")
	if !startsWith(c.text, content.from, '[') {
		return unquoted(content.in(c.text))
	}
	parts, _ := elements(c.text, content.from) // a broken list has no texts
	var texts []string
	for _, part := range parts {
		if text := unquoted(c.member(part, "text")); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// assistantBefore is the assistant's message that the user's last one answers.
func (c *chat) assistantBefore() string {
	for i := c.last - 1; i >= 0 && c.roles[i] != "user"; i-- {
		if c.roles[i] == "assistant" {
			return c.message(i)
		}
	}
	return ""
}

// goesOn reports whether the conversation goes on behind the last message of the user, as when the
// caller's own tools have answered.
func (c *chat) goesOn() bool {
	return slices.ContainsFunc(c.roles[c.last+1:], func(role string) bool { return !isRule(role) })
}

// isRule reports whether a message is of the assistant's author. Such do not make two requests
// differ: many name the time of day.
func isRule(role string) bool { return role == "system" || role == "developer" }

// id names the last message of the user: the same for every request of a session that has the
// same messages up to it.
func (c *chat) id(sessionID string) string {
	digest := sha256.New()
	_, _ = fmt.Fprintf(digest, "%s\n", sessionID) // never fails
	for i := range c.last + 1 {
		if !isRule(c.roles[i]) {
			_, _ = digest.Write(c.messages[i].in(c.text))
			_, _ = digest.Write([]byte{'\n'})
		}
	}
	return fmt.Sprintf("chat-%d-%s", c.users, hex.EncodeToString(digest.Sum(nil)[:16]))
}

// request is the body of a round: the conversation with what was done in the turn behind the last
// message of the user, what was done in this request behind all, and the tools that are offered
// with the caller's.
func (c *chat) request(done, since, tools [][]byte, retry bool) []byte {
	var edits []edit
	end := len(c.messages) - 1
	if len(done) > 0 && c.last < end {
		edits = append(edits, insertAfter(c.messages[c.last], done))
		done = nil
	}
	if since = slices.Concat(done, since); len(since) > 0 {
		edits = append(edits, insertAfter(c.messages[end], since))
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
