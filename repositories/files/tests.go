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
	Name string
	File string
	Line int
	// AppID is the app that it names, and Tools are the tools in scope; empty means all of the files.
	AppID string
	Tools []string
	// Now is zero for the current time; TimeZone and Language are the user's, empty for the app's.
	Now                time.Time
	TimeZone, Language string
	Chat               []Said
}

// Said is a message of a test, of the user or the agent.
type Said struct {
	Agent bool
	Text  string
	Line  int
	// Past marks a user's message that was already decided; it is only history. Files cannot set it.
	Past bool
	// Expect is the complete expected outcome of a user's message.
	Expect []Expectation
}

// Expectation is one expected outcome of a message.
type Expectation struct {
	Line int
	// Tool fires. Values must agree; null means that the value must be missing.
	Tool   string
	Values map[string]any
	// Also has alternative correct values by parameter. Files cannot set it.
	Also map[string][]any
	// Lacking are parameters of the Tool without a certain value: a call rejected for their lack is also correct.
	// Files cannot set it.
	Lacking []string
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
	testFields    = []string{"name", "app", "tools", "now", "timeZone", "language", "chat"}
	saidFields    = []string{"user", "agent", "expect"}
	expectFields  = []string{"tool", "values", "none", "rejected", "missing"}
	sermasTests   = []string{"appId", "settings", "settingsOverrides", "wait", "description"}
	sermasSayings = []string{"message", "select", "prompt", "evaluation", "wait"}
)

type testReader struct {
	*collector
	d    *document
	test *Test
}

// test reads a test; its faults are separate from those of definitions.
func (c *collector) test(d *document) {
	c.add(d)
	if c.all || !c.tests {
		return
	}
	r := testReader{c, d, &Test{Name: d.name, File: d.at.file, Line: d.at.line}}
	for _, f := range d.body.fields {
		switch {
		case f.name == "chat":
			r.chat(f.value)
		case f.name == "tools":
			r.test.Tools = r.names("tools", f.value)
		case slices.Contains(testFields, f.name), d.sermas && f.name == "appId":
			given := r.text(f.name, f.value)
			var err error
			switch f.name {
			case "app", "appId":
				r.test.AppID = given
			case "language":
				r.test.Language, err = given, locale.CheckLanguage(given)
			case "timeZone":
				r.test.TimeZone, err = given, locale.CheckZone(given)
			case "now":
				if r.test.Now, err = time.Parse(time.RFC3339, given); err != nil {
					err = fmt.Errorf("%q is no time of RFC 3339, as in 2026-11-20T09:30:00+01:00", fault.Clip(given))
				}
			}
			if given != "" && err != nil {
				r.fault(f.value.at, "%s: %s", f.name, err)
			}
		case d.sermas && slices.Contains(sermasTests, f.name):
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
	c.tested = append(c.tested, r)
}

func (r testReader) fault(at position, format string, args ...any) {
	r.faults.add(at, "%s: %s", r.d.label(), fmt.Sprintf(format, args...))
}

// text returns a text, which must not be empty.
func (r testReader) text(what string, value *node) string {
	given, ok := value.scalarText()
	switch {
	case !ok:
		r.fault(value.at, "%s is %s; it must be a text", what, value.kind)
	case strings.TrimSpace(given) == "":
		r.fault(value.at, "%s is empty", what)
	}
	return given
}

func (r testReader) names(what string, value *node) (names []string) {
	items := value.items
	if value.kind != list {
		items = []*node{value}
	}
	for _, item := range items {
		if name := r.text("a member of "+what, item); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// chat reads the messages. Expectations belong to the user's message before them.
func (r testReader) chat(value *node) {
	emptyOr := func(n *node) string {
		if n.kind == list || n.kind == object {
			return "empty"
		}
		return n.kind.String()
	}
	if value.kind != list || len(value.items) == 0 {
		r.fault(value.at, "chat is %s; it must be a list of user, agent and expect", emptyOr(value))
		return
	}
	for _, item := range value.items {
		if item.kind != object || len(item.fields) == 0 {
			r.fault(item.at, "a member of chat is %s; it must be user, agent or expect with what belongs to it", emptyOr(item))
			continue
		}
		for _, f := range item.fields {
			switch {
			case f.name == "user" || f.name == "agent", r.d.sermas && (f.name == "message" || f.name == "select"):
				r.test.Chat = append(r.test.Chat, Said{Agent: f.name == "agent", Text: r.text(f.name, f.value), Line: f.at.line})
			case f.name == "expect":
				r.expectations(f)
			case r.d.sermas && f.name == "wait": // SERMAS's pauses are ignored
			case r.d.sermas && slices.Contains(sermasSayings, f.name):
				why := "a model would have to judge it; say what should happen by expect"
				if f.name == "prompt" {
					why = "a model would have to write it; say it by user"
				}
				r.notes.add(f.at, "%s: %s is left out: %s", r.d.label(), f.name, why)
			default:
				r.fault(f.at, "unknown field %q in chat: %s%s", fault.Clip(f.name), fault.OneOf(saidFields), fault.DidYouMean(f.name, saidFields))
			}
		}
	}
}

func (r testReader) expectations(f field) {
	last := len(r.test.Chat) - 1
	if last < 0 || r.test.Chat[last].Agent {
		r.fault(f.at, "expect stands behind no message of the user: nothing is expected of what an agent says")
		return
	}
	items := []*node{f.value}
	if f.value.kind == list {
		items = f.value.items
	}
	message := &r.test.Chat[last]
	for _, item := range items {
		if one, ok := r.expectation(item); ok {
			message.Expect = append(message.Expect, one)
		}
		if len(message.Expect) > 1 && slices.ContainsFunc(message.Expect, func(e Expectation) bool { return e.None }) {
			r.fault(item.at, "none is expected beside something else")
		}
	}
}

func (r testReader) expectation(value *node) (one Expectation, ok bool) {
	one = Expectation{Line: value.at.line, at: value.at}
	if value.kind != object {
		r.fault(value.at, "expect is %s; write {tool: …, values: {…}}, {rejected: …, missing: […]} or {none: true}", value.kind)
		return one, false
	}
	for _, f := range value.fields {
		switch f.name {
		case "tool":
			one.Tool = r.text(f.name, f.value)
		case "rejected":
			one.Rejected = r.text(f.name, f.value)
		case "missing":
			one.Missing = r.names(f.name, f.value)
		case "none":
			if one.None = isOn(f.value); !one.None {
				r.fault(f.value.at, "none is %s; it must be true, or leave it out", f.value.json())
			}
		case "values":
			if f.value.kind != object {
				r.fault(f.value.at, "values is %s; it must be a map of parameters", f.value.kind)
				continue
			}
			one.values = f.value
			if err := exactjson.Unmarshal(f.value.json(), &one.Values); err != nil {
				r.fault(f.value.at, "values: %s", err)
			}
		default:
			r.fault(f.at, "expect: unknown field %q%s", fault.Clip(f.name), fault.DidYouMean(f.name, expectFields))
		}
	}

	named := 0
	for _, is := range []bool{one.Tool != "", one.Rejected != "", one.None} {
		if is {
			named++
		}
	}
	switch {
	case named != 1:
		r.fault(one.at, "expect says one of tool, rejected and none, and this one %d of them; several in a row are all expected", named)
	case one.Values != nil && one.Tool == "":
		r.fault(one.at, "values goes with tool")
	case one.Missing != nil && one.Rejected == "":
		r.fault(one.at, "missing goes with rejected")
	default:
		return one, true
	}
	return one, false
}

// IsFor reports whether the files may belong to the app that a test names.
func (s *Set) IsFor(appID string) bool { return appID == "" || !s.named || appID == s.AppID }

type testCheck struct {
	testReader
	tools map[string]*repositories.Tool
	// complete means that no other tools can exist.
	complete bool
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
	for _, one := range c.tested {
		s.Tests = append(s.Tests, one.test)
		if len(tools) == 0 || !s.IsFor(one.test.AppID) {
			continue
		}
		check := testCheck{one, tools, complete}
		for _, name := range one.test.Tools {
			check.tool(one.d.at, name)
		}
		for i := range one.test.Chat {
			for j := range one.test.Chat[i].Expect {
				check.expectation(&one.test.Chat[i].Expect[j])
			}
		}
	}
}

// tool returns a tool that the test names; nil if it does not exist or may be elsewhere.
func (t testCheck) tool(at position, name string) *repositories.Tool {
	tool := t.tools[name]
	if tool == nil && t.complete && !t.missing[kindTool+" "+name] {
		if name == "none" || name == "nothing" {
			t.fault(at, "there is no tool %q; where no tool is to fire, expect {none: true}", name)
			return nil
		}
		t.fault(at, "there is no tool %q%s", fault.Clip(name), fault.DidYouMean(name, sortedKeys(t.tools)))
	}
	return tool
}

// expectation checks an expectation. Values are checked like a program's; missing ones are free.
func (t testCheck) expectation(one *Expectation) {
	named := one.Tool + one.Rejected // one of them is empty
	if named == "" {
		return
	}
	if len(t.test.Tools) > 0 && !slices.Contains(t.test.Tools, named) {
		t.fault(one.at, "expects the tool %q, which is not among its tools", fault.Clip(named))
	}
	tool := t.tool(one.at, named)
	if tool == nil {
		return
	}
	names := tool.Params().Names()
	for _, name := range one.Missing {
		if !slices.Contains(names, name) {
			t.fault(one.at, "missing: tool %q has no parameter %q%s", tool.Name, fault.Clip(name), fault.DidYouMean(name, names))
		}
	}

	for name, value := range one.Values {
		if value == nil && !slices.Contains(names, name) {
			t.fault(one.values.field(name).at, "values/%s: tool %q has no such parameter%s", fault.Clip(name), tool.Name, fault.DidYouMean(name, names))
		}
	}
	for _, flaw := range one.readAs(tool) {
		at := one.at
		if value := one.values.get(flaw.Parameter); value != nil {
			at = value.at
		}
		t.fault(at, "values/%s: %s (tool %s)", fault.Clip(flaw.Parameter), flaw.Detail, tool.Name)
	}
}

// readAs decodes the values like the tool, and returns the faulty ones.
func (e *Expectation) readAs(tool *repositories.Tool) (flaws []parameters.ValueFault) {
	given := map[string]any{}
	for name, value := range e.Values {
		if value != nil {
			given[name] = value
		}
	}
	made, found := tool.Params().Check(given)
	for name := range given {
		if value, ok := made[name]; ok {
			e.Values[name] = value
		}
	}
	for _, flaw := range found {
		if _, ok := given[flaw.Parameter]; ok {
			flaws = append(flaws, flaw)
		}
	}
	return flaws
}

// ReadTest reads a test from a JSON document without kind and name. The error is a fault.List. Its tools are not
// checked; see Fit.
func ReadTest(name string, body []byte) (*Test, error) {
	c := &collector{missing: map[string]bool{}, tests: true}
	value := readJSON(string(body), &environment{}, &c.faults)
	switch {
	case value == nil:
	case value.kind != object:
		c.faults.add(value.at, "a test is %s; it must be a map with chat", value.kind)
	default:
		c.test(&document{kind: kindTest, word: kindTest, name: name, at: value.at, body: value})
	}
	var wrong fault.List
	for _, one := range c.faults.sorted(nil) {
		wrong.Add(pointerTo(value, position{line: one.Line, column: one.Column}), "%s", strings.TrimPrefix(one.Detail, "test "+string(quote(fault.Clip(name)))+": "))
	}
	if err := wrong.Err(); err != nil {
		return nil, err
	}
	return c.tested[0].test, nil
}

// Fit decodes the expected values like the tools. Values of unknown tools stay unchanged.
func (t *Test) Fit(tools map[string]*repositories.Tool) {
	for i := range t.Chat {
		for j := range t.Chat[i].Expect {
			if tool := tools[t.Chat[i].Expect[j].Tool]; tool != nil {
				t.Chat[i].Expect[j].readAs(tool)
			}
		}
	}
}

// pointerTo returns the JSON Pointer of the value at a position; empty for the whole.
func pointerTo(n *node, at position) string {
	if n == nil {
		return ""
	}
	for _, f := range n.fields {
		if f.at == at || f.value.at == at {
			return fault.Point(f.name)
		}
		if found := pointerTo(f.value, at); found != "" {
			return fault.Point(f.name) + found
		}
	}
	for i, item := range n.items {
		if item.at == at {
			return fault.Point(i)
		}
		if found := pointerTo(item, at); found != "" {
			return fault.Point(i) + found
		}
	}
	return ""
}
