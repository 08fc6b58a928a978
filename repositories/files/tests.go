package files

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
	"earshot/repositories/locale"
)

// kindTest is a conversation with what it should set off.
const kindTest = "test"

// Test is a conversation, and which tools its messages should set off.
type Test struct {
	Name string
	// File and Line are where it stands.
	File string
	Line int
	// AppID is the app that it is for, where it names one, and Tools are the tools in scope;
	// all of the files where it names none.
	AppID string
	Tools []string
	// Now is the time of its messages, zero for that of the clock; TimeZone and Language are
	// those of who speaks, empty for the app's.
	Now                time.Time
	TimeZone, Language string
	Chat               []Said
}

// Said is a message of a test, of the user or the agent.
type Said struct {
	Agent bool
	Text  string
	Line  int
	// Past says of a message of the user that it is no more than heard: it has been decided
	// elsewhere. No file says so.
	Past bool
	// Expect is what the message of a user should come to, all of it and nothing else; none
	// where nothing is expected of it.
	Expect []Expectation
}

// Expectation is one thing that a message should come to.
type Expectation struct {
	Line int
	// Tool fires. Values are those that must agree; null for one that must not be given.
	Tool   string
	Values map[string]any
	// Also has, by parameter, what is as right as its value. No file says so.
	Also map[string][]any
	// Lacking are the parameters of the Tool that the message need not have a value of: a call that
	// is rejected for want of them is as right. No file says so.
	Lacking []string
	// Rejected is a tool that is meant and lacks the Missing values; where none is named, any.
	Rejected string
	Missing  []string
	// None: nothing fires.
	None bool

	at     position
	values *node
}

// The fields of a test, and of a member of its chat; the first of each are those that SERMAS
// has as well, which reads neither kind nor expect.
var (
	testFields    = []string{"name", "app", "tools", "now", "timeZone", "language", "chat"}
	saidFields    = []string{"user", "agent", "expect"}
	expectFields  = []string{"tool", "values", "none", "rejected", "missing"}
	sermasTests   = []string{"appId", "settings", "settingsOverrides", "wait", "description"}
	sermasSayings = []string{"message", "select", "prompt", "evaluation", "wait"}
)

// readTest is a test with its document.
type readTest struct {
	*Test
	document *document
}

// testReader reads the document of one test.
type testReader struct {
	*collector
	d    *document
	test *Test
}

// test reads a test; its faults are kept apart from those of definitions, which have use
// without it.
func (c *collector) test(d *document) {
	c.add(d)
	if c.all || !c.tests {
		return
	}
	r := &testReader{c, d, &Test{Name: d.name, File: d.at.file, Line: d.at.line}}
	for _, f := range d.body.fields {
		switch {
		case f.name == "chat":
			r.chat(f.value)
		case f.name == "tools":
			r.test.Tools = r.names("tools", f.value)
		case slices.Contains(testFields, f.name):
			r.scalar(f)
		case d.sermas && slices.Contains(sermasTests, f.name):
			r.sermasField(f)
		default:
			r.fault(f.at, "unknown field %q%s", fault.Clip(f.name), fault.DidYouMean(f.name, testFields))
		}
	}
	if d.body.field("chat") == nil {
		r.fault(d.at, "chat is missing: a list of what is said, and what it should set off, as in - user: … and - expect: …")
	}
	c.read = append(c.read, readTest{r.test, d})
}

func (r *testReader) fault(at position, format string, args ...any) {
	r.faults.add(at, "%s: %s", r.d.label(), fmt.Sprintf(format, args...))
}

// scalar reads a field of the test that is a text.
func (r *testReader) scalar(f field) {
	given := r.text(f.name, f.value)
	if given == "" {
		return
	}
	var err error
	switch f.name {
	case "app":
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
	if err != nil {
		r.fault(f.value.at, "%s: %s", f.name, err)
	}
}

// sermasField reads a field that a test of SERMAS has.
func (r *testReader) sermasField(f field) {
	switch f.name {
	case "appId":
		r.test.AppID = r.text(f.name, f.value)
	case "settings", "settingsOverrides":
		r.notes.add(f.at, "%s: %s is left out: the settings are those of the app", r.d.label(), f.name)
	}
}

// text is a text that must be one, and not empty.
func (r *testReader) text(what string, value *node) string {
	given, ok := value.scalarText()
	switch {
	case !ok:
		r.fault(value.at, "%s is %s; it must be a text", what, value.kind)
	case strings.TrimSpace(given) == "":
		r.fault(value.at, "%s is empty", what)
	}
	return given
}

// names reads a list of names; a lone one is a list as well.
func (r *testReader) names(what string, value *node) (names []string) {
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

// chat reads what is said. An expectation belongs to the user's message before it, with those
// that follow one another.
func (r *testReader) chat(value *node) {
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
			r.member(f)
		}
	}
}

func emptyOr(value *node) string {
	if value.kind == list || value.kind == object {
		return "empty"
	}
	return value.kind.String()
}

// member reads one member of the chat.
func (r *testReader) member(f field) {
	switch known := slices.Contains(sermasSayings, f.name); {
	case f.name == "user" || f.name == "agent", r.d.sermas && (f.name == "message" || f.name == "select"):
		r.test.Chat = append(r.test.Chat, Said{Agent: f.name == "agent", Text: r.text(f.name, f.value), Line: f.at.line})
	case f.name == "expect":
		r.expectations(f)
	case r.d.sermas && f.name == "wait": // nothing is waited for here
	case r.d.sermas && known:
		why := "a model would have to judge it; say what should happen by expect"
		if f.name == "prompt" {
			why = "a model would have to write it; say it by user"
		}
		r.notes.add(f.at, "%s: %s is left out: %s", r.d.label(), f.name, why)
	default:
		r.fault(f.at, "unknown field %q in chat: %s%s", fault.Clip(f.name), fault.OneOf(saidFields), fault.DidYouMean(f.name, saidFields))
	}
}

// expectations reads one of them, or a list.
func (r *testReader) expectations(f field) {
	last := len(r.test.Chat) - 1
	if last < 0 || r.test.Chat[last].Agent {
		r.fault(f.at, "expect stands behind no message of the user: nothing is expected of what an agent says")
		return
	}
	items := []*node{f.value}
	if f.value.kind == list {
		items = f.value.items
	}
	for _, item := range items {
		said := &r.test.Chat[last]
		if one, ok := r.expectation(item); ok {
			said.Expect = append(said.Expect, one)
		}
		if len(said.Expect) > 1 && slices.ContainsFunc(said.Expect, func(e Expectation) bool { return e.None }) {
			r.fault(item.at, "none is expected beside something else")
		}
	}
}

func (r *testReader) expectation(value *node) (Expectation, bool) {
	one := Expectation{Line: value.at.line, at: value.at}
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
			if one.None = f.value.kind == boolean && f.value.text == "true"; !one.None {
				r.fault(f.value.at, "none is %s; it must be true, or leave it out", f.value.json())
			}
		case "values":
			r.values(&one, f.value)
		default:
			r.fault(f.at, "expect: unknown field %q%s", fault.Clip(f.name), fault.DidYouMean(f.name, expectFields))
		}
	}
	return one, r.sound(one)
}

// values reads the values that must agree.
func (r *testReader) values(one *Expectation, given *node) {
	if given.kind != object {
		r.fault(given.at, "values is %s; it must be a map of parameters", given.kind)
		return
	}
	one.values = given
	if err := exactjson.Unmarshal(given.json(), &one.Values); err != nil {
		r.fault(given.at, "values: %s", err)
	}
}

// sound reports whether an expectation is one thing.
func (r *testReader) sound(one Expectation) bool {
	said := 0
	for _, is := range []bool{one.Tool != "", one.Rejected != "", one.None} {
		if is {
			said++
		}
	}
	switch {
	case said != 1:
		r.fault(one.at, "expect says one of tool, rejected and none, and this one %d of them; several in a row are all expected", said)
	case one.Values != nil && one.Tool == "":
		r.fault(one.at, "values goes with tool")
	case one.Missing != nil && one.Rejected == "":
		r.fault(one.at, "missing goes with rejected")
	default:
		return true
	}
	return false
}
