package files

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
	"earshot/repositories/locale"
	"earshot/repositories/parameters"
)

// Test is a conversation with the expected matches of its messages.
type Test struct {
	Name               string
	File               string
	Line               int
	AppID              string // the app that it names, and Tools are the tools in scope; empty means all of the files
	Tools              []string
	Now                time.Time // zero for the current time; TimeZone and Language are the user's, empty for the app's
	TimeZone, Language string
	Chat               []Message
}

// Message is a message of a test, from the user or the agent.
type Message struct {
	Agent bool
	Text  string
	Line  int
	// Decided marks a user's message that was already decided; it is only history. Files cannot set it.
	Decided bool
	Expect  []Expectation // the complete expected outcome of a user's message
}

// Expectation is one expected outcome of a message.
type Expectation struct {
	Line int
	// Tool fires. Values must agree; null means that the value must be missing.
	Tool   string
	Values map[string]any
	// Also has alternative correct values by parameter. Files cannot set it.
	Also map[string][]any
	// MayLack are parameters of the Tool without a certain value: a call rejected for their lack is also correct.
	// Files cannot set it.
	MayLack []string
	// Rejected is the matched tool that lacks the Missing values, or any value if Missing is empty.
	Rejected string
	Missing  []string
	// None means that nothing fires.
	None bool

	at     position
	values *node
}

// The fields of a test, of a member of its chat and of an expectation, and those of SERMAS.
var (
	testFields          = []string{"name", "app", "tools", "now", "timeZone", "language", "chat"}
	messageFields       = []string{"user", "agent", "expect"}
	expectFields        = []string{"tool", "values", "none", "rejected", "missing"}
	sermasTestFields    = []string{"appId", "settings", "settingsOverrides", "wait", "description"}
	sermasMessageFields = []string{"message", "select", "prompt", "evaluation", "wait"}
)

type testParser struct {
	*collector
	document *document
	test     *Test
}

// readTest reads a test; its faults are separate from those of definitions.
func (c *collector) readTest(d *document) {
	c.add(d)
	if c.keepUnused || !c.readTests {
		return
	}
	r := testParser{c, d, &Test{Name: d.name, File: d.at.file, Line: d.at.line}}
	for _, f := range d.body.fields {
		switch {
		case f.name == "chat":
			r.chat(f.value)
		case f.name == "tools":
			r.test.Tools = r.names("tools", f.value)
		case slices.Contains(testFields, f.name), d.sermas && f.name == "appId":
			content := r.text(f.name, f.value)
			var err error
			switch f.name {
			case "app", "appId":
				r.test.AppID = content
			case "language":
				r.test.Language, err = content, locale.CheckLanguage(content)
			case "timeZone":
				r.test.TimeZone, err = content, locale.CheckZone(content)
			case "now":
				if r.test.Now, err = time.Parse(time.RFC3339, content); err != nil {
					err = fmt.Errorf("%q is not a time of RFC 3339, as 2026-11-20T09:30:00+01:00", fault.Clip(content))
				}
			}
			if content != "" && err != nil {
				r.fault(f.value.at, "%s: %s", f.name, err)
			}
		case d.sermas && slices.Contains(sermasTestFields, f.name):
			if strings.HasPrefix(f.name, "settings") {
				r.notes.add(f.at, "%s: %s is left out: the settings are those of the app", d.label(), f.name)
			}
		default:
			r.fault(f.at, "unknown field %q%s", fault.Clip(f.name), fault.DidYouMean(f.name, testFields))
		}
	}
	if d.body.field("chat") == nil {
		r.fault(d.at, "chat is missing: a list of what is said and what it should fire, as in - user: … and - expect: …")
	}
	c.testParsers = append(c.testParsers, r)
}

func (r testParser) fault(at position, format string, args ...any) {
	r.faults.add(at, "%s: %s", r.document.label(), fmt.Sprintf(format, args...))
}

// text returns a text, which must not be empty.
func (r testParser) text(label string, value *node) string {
	content, ok := value.scalarText()
	switch {
	case !ok:
		r.fault(value.at, "%s is %s; it must be a text", label, value.kind)
	case strings.TrimSpace(content) == "":
		r.fault(value.at, "%s is empty", label)
	}
	return content
}

func (r testParser) names(label string, value *node) (names []string) {
	items := value.items
	if value.kind != listValue {
		items = []*node{value}
	}
	for _, item := range items {
		if name := r.text("a member of "+label, item); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// chat reads the messages. Expectations belong to the user's message before them.
func (r testParser) chat(value *node) {
	emptyOr := func(n *node) string {
		if n.kind == listValue || n.kind == objectValue {
			return "empty"
		}
		return n.kind.String()
	}
	if value.kind != listValue || len(value.items) == 0 {
		r.fault(value.at, "chat is %s; it must be a list of user, agent and expect", emptyOr(value))
		return
	}
	for _, item := range value.items {
		if item.kind != objectValue || len(item.fields) == 0 {
			r.fault(item.at, "a member of chat is %s; it must be user, agent or expect with what belongs to it", emptyOr(item))
			continue
		}
		for _, f := range item.fields {
			switch {
			case f.name == "user" || f.name == "agent", r.document.sermas && (f.name == "message" || f.name == "select"):
				r.test.Chat = append(r.test.Chat, Message{Agent: f.name == "agent", Text: r.text(f.name, f.value), Line: f.at.line})
			case f.name == "expect":
				r.expectations(f)
			case r.document.sermas && f.name == "wait": // SERMAS's pauses are ignored
			case r.document.sermas && slices.Contains(sermasMessageFields, f.name):
				why := "a model would have to judge it; say what should happen by expect"
				if f.name == "prompt" {
					why = "a model would have to write it; say it by user"
				}
				r.notes.add(f.at, "%s: %s is left out: %s", r.document.label(), f.name, why)
			default:
				r.fault(f.at, "unknown field %q in chat: %s%s", fault.Clip(f.name), fault.OneOf(messageFields), fault.DidYouMean(f.name, messageFields))
			}
		}
	}
}

func (r testParser) expectations(f field) {
	last := len(r.test.Chat) - 1
	if last < 0 || r.test.Chat[last].Agent {
		r.fault(f.at, "expect must follow a message of the user: an agent's message fires nothing")
		return
	}
	items := []*node{f.value}
	if f.value.kind == listValue {
		items = f.value.items
	}
	message := &r.test.Chat[last]
	for _, item := range items {
		if expectation, ok := r.expectation(item); ok {
			message.Expect = append(message.Expect, expectation)
		}
		if len(message.Expect) > 1 && slices.ContainsFunc(message.Expect, func(e Expectation) bool { return e.None }) {
			r.fault(item.at, "none is expected beside something else")
		}
	}
}

func (r testParser) expectation(value *node) (expectation Expectation, ok bool) {
	expectation = Expectation{Line: value.at.line, at: value.at}
	if value.kind != objectValue {
		r.fault(value.at, "expect is %s; write {tool: …, values: {…}}, {rejected: …, missing: […]} or {none: true}", value.kind)
		return expectation, false
	}
	for _, f := range value.fields {
		switch f.name {
		case "tool":
			expectation.Tool = r.text(f.name, f.value)
		case "rejected":
			expectation.Rejected = r.text(f.name, f.value)
		case "missing":
			expectation.Missing = r.names(f.name, f.value)
		case "none":
			if expectation.None = isTrue(f.value); !expectation.None {
				r.fault(f.value.at, "none is %s; it must be true, or leave it out", f.value.json())
			}
		case "values":
			if f.value.kind != objectValue {
				r.fault(f.value.at, "values is %s; it must be a map of parameters", f.value.kind)
				continue
			}
			expectation.values = f.value
			if err := exactjson.Unmarshal(f.value.json(), &expectation.Values); err != nil {
				r.fault(f.value.at, "values: %s", err)
			}
		default:
			r.fault(f.at, "expect: unknown field %q%s", fault.Clip(f.name), fault.DidYouMean(f.name, expectFields))
		}
	}

	outcomes := 0
	for _, isSet := range []bool{expectation.Tool != "", expectation.Rejected != "", expectation.None} {
		if isSet {
			outcomes++
		}
	}
	switch {
	case outcomes != 1:
		r.fault(expectation.at, "expect needs exactly one of tool, rejected and none, and this one has %d; for several tools, write several expects in a row", outcomes)
	case expectation.Values != nil && expectation.Tool == "":
		r.fault(expectation.at, "values goes with tool")
	case expectation.Missing != nil && expectation.Rejected == "":
		r.fault(expectation.at, "missing goes with rejected")
	default:
		return expectation, true
	}
	return expectation, false
}

// IsFor reports whether the files may belong to the app that a test names.
func (s *Set) IsFor(appID string) bool { return appID == "" || !s.appNamed || appID == s.AppID }

type testCheck struct {
	testParser
	tools map[string]*repositories.Tool
	// allKnown means that no other tools can exist.
	allKnown bool
}

// checkTests compares the tests with the tools of the files, and decodes expected values like the tools. Tools of a
// server, or of an app elsewhere, are unknown.
func (s *Set) checkTests(c *collector) {
	tools, complete := map[string]*repositories.Tool{}, true
	for _, repository := range s.Decoded() {
		complete = complete && repository.From == ""
		for i := range repository.Tools {
			if tool := &repository.Tools[i]; tools[tool.Name] == nil {
				tools[tool.Name] = tool
			}
		}
	}
	for _, parser := range c.testParsers {
		s.Tests = append(s.Tests, parser.test)
		if len(tools) == 0 || !s.IsFor(parser.test.AppID) {
			continue
		}
		check := testCheck{parser, tools, complete}
		for _, name := range parser.test.Tools {
			check.tool(parser.document.at, name)
		}
		for i := range parser.test.Chat {
			for j := range parser.test.Chat[i].Expect {
				check.expectation(&parser.test.Chat[i].Expect[j])
			}
		}
	}
}

// tool returns a tool that the test names; nil if it does not exist or may be elsewhere.
func (t testCheck) tool(at position, name string) *repositories.Tool {
	tool := t.tools[name]
	if tool == nil && t.allKnown && !t.missing[kindTool+" "+name] {
		if name == "none" || name == "nothing" {
			t.fault(at, "there is no tool %q; if no tool should fire, expect {none: true}", name)
			return nil
		}
		t.fault(at, "there is no tool %q%s", fault.Clip(name), fault.DidYouMean(name, sortedKeys(t.tools)))
	}
	return tool
}

// expectation checks an expectation. Values are checked like a program's; missing ones are free.
func (t testCheck) expectation(expectation *Expectation) {
	toolName := expectation.Tool + expectation.Rejected // one of them is empty
	if toolName == "" {
		return
	}
	if len(t.test.Tools) > 0 && !slices.Contains(t.test.Tools, toolName) {
		t.fault(expectation.at, "expects the tool %q, which is not among its tools", fault.Clip(toolName))
	}
	tool := t.tool(expectation.at, toolName)
	if tool == nil {
		return
	}
	names := tool.Params().Names()
	for _, name := range expectation.Missing {
		if !slices.Contains(names, name) {
			t.fault(expectation.at, "missing: tool %q has no parameter %q%s", tool.Name, fault.Clip(name), fault.DidYouMean(name, names))
		}
	}

	for name, value := range expectation.Values {
		if value == nil && !slices.Contains(names, name) {
			t.fault(expectation.values.field(name).at, "values/%s: tool %q has no such parameter%s", fault.Clip(name), tool.Name, fault.DidYouMean(name, names))
		}
	}
	for _, flaw := range expectation.decodeWith(tool) {
		at := expectation.at
		if value := expectation.values.get(flaw.Parameter); value != nil {
			at = value.at
		}
		t.fault(at, "values/%s: %s (tool %s)", fault.Clip(flaw.Parameter), flaw.Detail, tool.Name)
	}
}

// decodeWith decodes the values like the tool, and returns the faulty ones.
func (e *Expectation) decodeWith(tool *repositories.Tool) (flaws []parameters.ValueFault) {
	given := map[string]any{}
	for name, value := range e.Values {
		if value != nil {
			given[name] = value
		}
	}
	decoded, faults := tool.Params().Check(given)
	for name := range given {
		if value, ok := decoded[name]; ok {
			e.Values[name] = value
		}
	}
	for _, flaw := range faults {
		if _, ok := given[flaw.Parameter]; ok {
			flaws = append(flaws, flaw)
		}
	}
	return flaws
}

// ReadTest reads a test from a JSON document without kind and name. The error is a fault.List. Its tools are not
// checked.
func ReadTest(name string, body []byte) (*Test, error) {
	c := &collector{missing: map[string]bool{}, readTests: true}
	value := readJSON(string(body), &environment{}, &c.faults)
	switch {
	case value == nil:
	case value.kind != objectValue:
		c.faults.add(value.at, "a test is %s; it must be a map with chat", value.kind)
	default:
		c.readTest(&document{kind: kindTest, term: kindTest, name: name, at: value.at, body: value})
	}
	var faults fault.List
	for _, reported := range c.faults.sorted(nil) {
		faults.Add(pointerTo(value, position{line: reported.Line, column: reported.Column}), "%s", strings.TrimPrefix(reported.Detail, "test "+quote(fault.Clip(name))+": "))
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return c.testParsers[0].test, nil
}

// pointerTo returns the JSON Pointer of the value at a position; empty for the whole.
func pointerTo(n *node, pos position) string {
	if n == nil {
		return ""
	}
	for _, f := range n.fields {
		if f.at == pos || f.value.at == pos {
			return fault.Point(f.name)
		}
		if found := pointerTo(f.value, pos); found != "" {
			return fault.Point(f.name) + found
		}
	}
	for i, item := range n.items {
		if item.at == pos {
			return fault.Point(i)
		}
		if found := pointerTo(item, pos); found != "" {
			return fault.Point(i) + found
		}
	}
	return ""
}
