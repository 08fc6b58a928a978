package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"earshot/repositories"
)

// chat is what is read of a request for a completion: where its parts stand, and what was
// said last.
type chat struct {
	text   []byte
	fields map[string]span // of the top, by their names; of two with one name the last
	// list are the messages, and roles what each says of who speaks.
	list  []span
	roles []string
	last  int // the last message of the user; -1 for none
	users int
}

// readChat reads a request. What is no JSON object with messages is an error.
func readChat(text []byte) (*chat, error) {
	c := &chat{text: text, fields: map[string]span{}, last: -1}
	_, err := members(text, 0, func(name []byte, value span) { c.fields[string(name[1:len(name)-1])] = value })
	if err != nil {
		return nil, err
	}
	messages, has := c.fields["messages"]
	if !has {
		return nil, errNoJSON
	}
	if c.list, err = elements(text, messages.from); err != nil {
		return nil, err
	}
	c.roles = make([]string, len(c.list))
	for i, one := range c.list {
		c.roles[i] = unquoted(c.member(one, "role").in(text))
		if c.roles[i] == "user" {
			c.last = i
			c.users++
		}
	}
	return c, nil
}

// member is where a member of an object stands; nothing if there is none.
func (c *chat) member(of span, name string) (value span) {
	_, _ = members(c.text, of.from, func(found []byte, at span) { // what is no object has none
		if string(found[1:len(found)-1]) == name {
			value = at
		}
	})
	return value
}

// names is the value of a member of a member of the top, as a session is named by it.
func (c *chat) names(field, name string) string {
	at, has := c.fields[field]
	if !has {
		return ""
	}
	return asID(c.member(at, name).in(c.text))
}

// session is the session that the body names; empty for none.
func (c *chat) session() string {
	for _, found := range []string{c.names("metadata", "session_id"), c.names("call", "id"), asID(c.fields["user"].in(c.text))} {
		if found != "" {
			return found
		}
	}
	return ""
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

// idOf is a name as an id: itself, or a hash of it where it is none.
func idOf(name string) string {
	if name == "" || repositories.CheckID("session", name) == nil {
		return name
	}
	digest := sha256.Sum256([]byte(name))
	return "h-" + hex.EncodeToString(digest[:16])
}

// says is the text of a message: that of its parts that are texts, a line each.
func (c *chat) says(i int) string {
	content := c.member(c.list[i], "content")
	if !startsWith(c.text, content.from, '[') {
		return unquoted(content.in(c.text))
	}
	parts, _ := elements(c.text, content.from) // what is no list has no texts
	var texts []string
	for _, part := range parts {
		if text := unquoted(c.member(part, "text").in(c.text)); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// answered is what the assistant said before the last message of the user: what this one
// answers to.
func (c *chat) answered() string {
	for i := c.last - 1; i >= 0 && c.roles[i] != "user"; i-- {
		if c.roles[i] == "assistant" {
			return c.says(i)
		}
	}
	return ""
}

// goesOn reports whether the conversation goes on behind the last message of the user, as
// where the caller's own tools have answered.
func (c *chat) goesOn() bool {
	for _, role := range c.roles[c.last+1:] {
		if !isRule(role) {
			return true
		}
	}
	return false
}

// isRule says that a message is of who has built the assistant. Such are no part of what makes
// two requests the same: many name the time of day.
func isRule(role string) bool { return role == "system" || role == "developer" }

// id names the last message of the user: the same for every request of a session that has the
// same messages up to it.
func (c *chat) id(sessionID string) string {
	digest := sha256.New()
	_, _ = fmt.Fprintf(digest, "%s\n", sessionID) // never fails
	for i := range c.last + 1 {
		if !isRule(c.roles[i]) {
			_, _ = digest.Write(c.list[i].in(c.text))
			_, _ = digest.Write([]byte{'\n'})
		}
	}
	return fmt.Sprintf("chat-%d-%s", c.users, hex.EncodeToString(digest.Sum(nil)[:16]))
}
