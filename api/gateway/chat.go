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
	"earshot/repositories/exactjson"
)

// chat is a parsed request: the spans of its parts, and the roles.
type chat struct {
	text     []byte
	fields   map[string]span // top-level members by name; the last of duplicates
	messages []span
	roles    []string // of the messages
	last     int      // index of the user's last message; -1 for none
	users    int      // the number of user messages
}

// readChat parses a request. It fails if text is no JSON object with messages.
func readChat(f form, text []byte) (*chat, error) {
	c := &chat{text: text, fields: map[string]span{}, last: -1}
	err := members(text, 0, func(name []byte, value span) { c.fields[string(name[1:len(name)-1])] = value })
	if err != nil {
		return nil, err
	}
	field, orText := f.list()
	messages, exists := c.fields[field]
	switch {
	case !exists:
		return nil, errNoJSON
	case orText && startsWith(text, messages.from, '"'):
		c.messages = []span{messages}
	default:
		if c.messages, err = elements(text, messages.from); err != nil {
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

func (c *chat) member(object span, name string) []byte {
	return memberOf(c.text, object, name).in(c.text)
}

// raw returns a message as written. A text instead of a list is one user message.
func (c *chat) raw(i int) []byte {
	text := c.messages[i].in(c.text)
	if startsWith(text, 0, '"') {
		return slices.Concat([]byte(`{"role":"user","content":`), text, []byte{'}'})
	}
	return text
}

// after returns the id of the previous response, which the model's host keeps with its conversation; empty
// if the request contains the whole conversation.
func (c *chat) after() string { return unquoted(c.fields["previous_response_id"].in(c.text)) }

// field returns the session named by a nested member of the body.
func (c *chat) field(field, name string) string {
	at, has := c.fields[field]
	if !has {
		return ""
	}
	return asID(c.member(at, name))
}

// session returns the session that the body names; empty for none.
func (c *chat) session() string {
	return cmp.Or(c.field("metadata", "session_id"), c.field("call", "id"), asID(c.fields["user"].in(c.text)))
}

// asID converts a JSON string or number to a session id.
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

// idOf returns name if it is a valid id, and otherwise a hash of it.
func idOf(name string) string {
	if name == "" || repositories.CheckID("session", name) == nil {
		return name
	}
	digest := sha256.Sum256([]byte(name))
	return "h-" + hex.EncodeToString(digest[:16])
}

// textOf returns the text of a message, its text parts joined by line breaks.
func textOf(raw []byte) string {
	content := memberIn(raw, "content")
	if !startsWith(content, 0, '[') {
		return unquoted(content)
	}
	parts, _ := elements(content, 0) // a malformed list has no texts
	var texts []string
	for _, part := range parts {
		if text := unquoted(memberOf(content, part, "text").in(content)); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// lastText returns the user's last message; empty for none.
func (c *chat) lastText() string {
	if c.last < 0 {
		return ""
	}
	return textOf(c.raw(c.last))
}

// earlierMessages is how many messages before the user's last one tell what that is about.
const earlierMessages = 4

// earlierText returns the texts of the messages before the user's last one, without instructions.
func (c *chat) earlierText() string {
	var texts []string
	for i := max(0, c.last-earlierMessages); i < c.last; i++ {
		if text := textOf(c.raw(i)); !isRule(c.roles[i]) && matchable(text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// goesOn reports whether messages follow the user's last one, such as results of the caller's own tools.
func (c *chat) goesOn() bool { return c.length() > 1 }

// length counts the messages from the user's last one on, without instructions; 0 without a user message.
func (c *chat) length() (n int) {
	if c.last < 0 {
		return 0
	}
	for _, role := range c.roles[c.last:] {
		if !isRule(role) {
			n++
		}
	}
	return n
}

// isRule reports whether a message is an instruction of the application. Instructions do not distinguish
// requests: many contain the time of day.
func isRule(role string) bool { return role == "system" || role == "developer" }

func toolName(tool []byte) string {
	return cmp.Or(unquoted(memberIn(tool, "name")), unquoted(memberIn(memberIn(tool, "function"), "name")), unquoted(memberIn(memberIn(tool, "custom"), "name")))
}

// permits reports whether tool_choice lets the model call a tool. An object permits the tools that it names.
func (c *chat) permits(name string) bool {
	choice := c.fields["tool_choice"].in(c.text)
	if !isObject(choice) {
		return unquoted(choice) != "none"
	}
	allowed := memberIn(choice, "tools")
	if allowedTools := memberIn(choice, "allowed_tools"); isObject(allowedTools) {
		allowed = memberIn(allowedTools, "tools")
	}
	choices, _ := elements(allowed, 0) // a choice of one tool has none
	return toolName(choice) == name || slices.ContainsFunc(choices, func(at span) bool { return toolName(at.in(allowed)) == name })
}

// textParts are the types of a message's parts that are texts.
var textParts = []string{"text", "input_text", "output_text"}

// meaning returns a message as most clients write it, however it is written: a content of text parts alone as one text,
// without blanks and needless escapes.
func meaning(message []byte) []byte {
	at := memberOf(message, span{0, len(message)}, "content")
	content := at.in(message)
	parts, _ := elements(content, 0) // another content has none
	if len(parts) > 0 && !slices.ContainsFunc(parts, func(part span) bool {
		return !slices.Contains(textParts, unquoted(memberOf(content, part, "type").in(content)))
	}) {
		message = edited(message, []edit{{at, exactjson.EncodeOrNull(textOf(message))}})
	}
	return plainlyWritten(message)
}

// id names the user's last message. It is the same for every request of a session with the same messages up
// to it and the same previous response. Without a user message it names all messages.
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
			_, _ = digest.Write(meaning(c.raw(i)))
			_, _ = digest.Write([]byte{'\n'})
		}
	}
	return fmt.Sprintf("chat-%d-%s", c.users, hex.EncodeToString(digest.Sum(nil)[:16]))
}

// request returns the body of a round. outstanding precedes the conversation, done follows the user's last
// message, and since follows all messages. The tools join the caller's own.
func (c *chat) request(outstanding, done, since, tools [][]byte, retry bool) []byte {
	var edits []edit
	end := len(c.messages) - 1
	if len(done) > 0 && c.goesOn() {
		edits = append(edits, insertAfter(c.messages[c.last], done))
		done = nil
	}
	since = slices.Concat(done, since)
	switch lastMessage := c.messages[end]; {
	case len(outstanding)+len(since) == 0:
	case startsWith(c.text, lastMessage.from, '"'):
		edits = append(edits, edit{lastMessage, array(slices.Concat(outstanding, [][]byte{c.raw(end)}, since))})
		outstanding = nil
	case len(since) > 0:
		edits = append(edits, insertAfter(lastMessage, since))
	}
	if len(outstanding) > 0 {
		start := c.messages[0].from
		edits = append(edits, edit{span{start, start}, append(bytes.Join(outstanding, []byte{','}), ',')})
	}
	if len(tools) > 0 {
		at := c.fields["tools"]
		clientTools, err := elements(c.text, at.from)
		switch {
		case at.to == 0:
			start := blank(c.text, 0) + 1
			edits = append(edits, edit{span{start, start}, slices.Concat([]byte(`"tools":[`), bytes.Join(tools, []byte{','}), []byte(`],`))})
		case err != nil || len(clientTools) == 0:
			edits = append(edits, edit{at, array(tools)})
		default:
			edits = append(edits, insertAfter(clientTools[len(clientTools)-1], tools))
		}
	}
	// A required call was made in the first round.
	if choice := c.fields["tool_choice"]; retry && choice.to > 0 {
		edits = append(edits, edit{choice, []byte(`"auto"`)})
	}
	return edited(c.text, edits)
}
