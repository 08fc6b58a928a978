package console_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"earshot/repositories/secret"
)

const editorText = "#definition"

func TestSomebodyWritesAToolAndTriesIt(t *testing.T) {
	s := startWith(t, secret.Secret{})
	s.rest("PUT", "/v1/apps/clinic", `{}`, nil)
	b := s.open(t, "/console/apps/clinic/tools")
	b.reads("main", "No tool yet")
	b.fill("#open", "desk")
	b.click(".panel button")
	b.reads("h1", "desk")
	b.click("[value='view:json']")

	b.fill(editorText, "{\"tools\": [{\n  \"name\": \"book a desk\",\n  \"schema\": [{\"parameter\": \"desk\", \"type\": \"strng\"}]}]}")
	b.click("#editor button.main")
	b.reads(".fault", "is not a tool name", `did you mean "string"?`, "line 2", "line 3")
	b.until("the editor is there", `document.querySelector(".code-editor")`)
	b.click(".fault li:nth-child(2) .to")
	b.until("the fault is chosen", `document.querySelector(".code-editor").shadowRoot.getSelection().toString() === '"strng"'`)

	b.fill(editorText, "{\"tools\": [{\"name\": \"book\",\n  \"cancelOnNext\": true, \"confirm\": \"allways\",\n  \"dedupe\": {\"by\": [\"desk\"]},\n  \"url\": \"https://h/\", \"answer\": {\"within\": \"30s\"}}]}")
	b.click("#editor button.main")
	b.reads(".fault", "needs settle", `did you mean "always"?`, "is missing", "is not a parameter of the tool", "excludes url", "line 2", "line 3", "line 4")

	b.fill(editorText, `{"tools": [{"name": "book", "url": "`+s.endpoint.URL+`", "schema": [{"parameter": "desk", "type": "string", "allowedValues": ["A", "B"], "required": true},
		{"parameter": "people", "type": "integer", "minValue": 1}, {"parameter": "notes", "type": "array", "items": {"type": "string"}}, {"parameter": "key", "type": "string", "value": "fixed"}]}]}`)
	b.click("#editor button.main")
	b.reads("[role=status]", "saved")
	b.click("[value='view:form']")
	b.click("#editor .panel a.button")
	b.reads("h1", "book")
	require.Equal(t, []string{"desk", "people", "notes"}, evaluated[[]string](b, `[...document.querySelectorAll(".field label b")].map(e => e.innerText)`), "what is fixed is not asked for")

	b.fill("#f1", "two")
	b.click("#form button.main")
	b.reads("#fault0", "is required")
	b.reads("#fault1", `"two" is not an integer`)
	b.fill("#f0", `"B"`)
	b.fill("#f1", "2")
	b.fill("#f2", `["window"]`)
	b.click("#form button.main")
	b.reads("#outcome", "It fired", "delivered")
	var found struct {
		Items []struct{ Values json.RawMessage }
	}
	s.rest("GET", "/v1/apps/clinic/triggers?name=book", "", &found)
	require.Len(t, found.Items, 1)
	require.JSONEq(t, `{"desk":"B","people":2,"notes":["window"],"key":"fixed"}`, string(found.Items[0].Values))
}

func TestWhatSomebodyElseHasChangedIsNotWrittenOverUnseen(t *testing.T) {
	s := keyless(t)
	b := s.open(t, "/console/apps/clinic/tools/desk?view=json")
	s.rest("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"other"}]}`, nil)
	b.fill(editorText, `{"tools":[{"name":"mine"}]}`)
	b.click("#editor button.main")
	b.reads(".fault", "Somebody changed it meanwhile")
	require.Equal(t, []string{"other"}, s.names("desk"))
	b.click("#editor button.main")
	b.reads("[role=status]", "saved")
	require.Equal(t, []string{"mine"}, s.names("desk"))
	b.click(".remove summary")
	b.click(".remove button")
	b.reads("main", "No tool yet")
}

func TestEditorCompletesByTheSchemaAndMarksFaults(t *testing.T) {
	s := keyless(t)
	b := s.open(t, "/console/apps/clinic/tools/desk?view=json")
	const editor = `document.querySelector(".code-editor")?.shadowRoot`
	b.until("the editor is there, with the numbers of lines", editor+`?.querySelector(".cm-lineNumbers")?.textContent.includes("12")`)
	write := func(text string) {
		_, err := chromedp.Call(b.ctx, input.InsertText, input.InsertTextParams{Text: text})
		require.NoError(t, err)
	}
	offered := func(names ...string) {
		for _, name := range names {
			b.until(name+" is offered", fmt.Sprintf(`[...%s.querySelectorAll(".cm-completionLabel")].some(e => e.textContent === %q)`, editor, name))
		}
	}
	b.do(chromedp.Evaluate[chromedp.Void](editor+`.querySelector(".cm-content").focus();0`), chromedp.KeyEvent("a", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	write("{\"tools\": [{\"name\": \"x\",\n  \"conf")
	offered("confirm")
	require.Equal(t, "string", evaluated[string](b, editor+`.querySelector(".cm-completionDetail").textContent`))
	b.until("the choice is there", fmt.Sprintf(`%s.querySelector("[aria-selected]")`, editor))
	// A new choice does not take the key, which may be meant for the text.
	evaluated[chromedp.Void](b, "new Promise(r => setTimeout(r, 150))", chromedp.EvalAwaitPromise)
	b.do(chromedp.KeyEvent("\r"))
	b.until("the name is written", `document.querySelector("#definition").value.trimEnd().endsWith('"confirm":')`)
	write(`"al`)
	offered(`"always"`)
	write("lways\",\n  \"request\": {\"")
	offered("method", "timeout")
	write("auth\": \"non\"}, \"schema\": [{\"par")
	offered("parameter")
	write("ameter\": \"day\", \"type\": \"strng\"}]}]}")
	b.reads("#preview .fault", `did you mean "string"?`, "line 3")
	b.until("the places of the faults are marked", `[...`+editor+`.querySelectorAll(".cm-lintRange-error")].some(e => e.textContent.includes("strng"))`)
}

func TestSomebodyChangesAToolInItsForm(t *testing.T) {
	s := keyless(t)
	const path = "/v1/apps/clinic/repositories/desk"
	s.rest("PATCH", path, `{"tools":[{"name":"opening-hours","description":"Tell when the clinic is open","url":"https://h.example/","request":{"auth":"basic","basic":{"username":"u","password":"secret"}},
		"examples":["When are you open?"]}]}`, nil)
	b := s.open(t, "/console/apps/clinic/tools/desk?tool=book-appointment")
	b.reads("#preview", "this is what is stored", "A user may say", "no required parameter has a question")

	b.types("[name='p.0.ask']", "Which desk?")
	b.types("[name='f.description']", "User wants an appointment")
	b.reads("#preview ins", "Which desk?", "User wants")
	b.reads("#preview del", "User needs")
	b.reads("#preview dl", "Which desk?")
	b.reads("#preview pre", "User wants an appointment\\nA user may say")
	b.types("[name='f.url']", "https://h.example/{desk}")
	b.reads("#preview .fault", "write :desk")
	b.click("#editor button.main")
	b.reads(".field .at-fault", "write :desk")
	b.types("[name='f.url']", "https://h.example/:desk")

	b.click("[value=add]")
	b.until("a new row is there, and has the focus", `document.activeElement.name === "p.2.name"`)
	b.types("[name='p.2.name']", "day")
	b.types("[name='p.2.description']", "wished day")
	b.click("[value='drop:1']")
	b.reads("#preview del", `"people"`)
	b.reads("#preview ins", `"day"`)
	b.click("[value='tool:1']")
	b.reads("#tool-title", "opening-hours")
	b.types("[name='f.examples']", "When are you open?\nAre you open on Sunday?")
	b.click("#editor button.main")
	b.reads("[role=status]", "saved")

	var found struct{ Tools []map[string]any }
	s.rest("GET", path, "", &found)
	require.Len(t, found.Tools, 2)
	book, hours := found.Tools[0], found.Tools[1]
	require.Equal(t, "https://h.example/:desk", book["url"])
	require.Equal(t, "calendar.request", book["emitter"])
	require.Equal(t, []any{
		map[string]any{"parameter": "desk", "type": "string", "description": "desk of the appointment", "allowedValues": []any{"A", "B", "C"}, "required": true, "ask": "Which desk?"},
		map[string]any{"parameter": "day", "type": "string", "description": "wished day"},
	}, book["schema"])
	require.Equal(t, []any{"When are you open?", "Are you open on Sunday?"}, hours["examples"])
	require.Equal(t, map[string]any{"auth": "basic", "basic": map[string]any{"username": "u", "password": "***"}}, hours["request"])
}

func TestFormOfAToolWorksWithoutAScript(t *testing.T) {
	s := keyless(t)
	p := s.person()
	const path = "/console/apps/clinic/tools/desk"
	page := p.send("GET", path, nil).body
	form := fieldsOf(page)
	form.Set("do", "add")
	page = p.send("POST", path, form).body
	require.Contains(t, page, `name="p.2.name"`)
	form = fieldsOf(page)
	form.Set("p.2.name", "day")
	form.Set("do", "preview")
	page = p.send("POST", path, form).body
	require.Contains(t, page, `<ins>+         {&#34;parameter&#34;: &#34;day&#34;`)
	form = fieldsOf(page)
	form.Set("do", "add-tool")
	form = fieldsOf(p.send("POST", path, form).body)
	form.Set("f.name", "third")
	form.Set("do", "save")
	require.Equal(t, http.StatusSeeOther, p.send("POST", path, form).StatusCode)
	require.Equal(t, []string{"book-appointment", "opening-hours", "third"}, s.names("desk"))
	form = fieldsOf(p.send("GET", path, nil).body)
	form.Set("do", "drop-tool:1")
	form = fieldsOf(p.send("POST", path, form).body)
	form.Set("do", "save")
	require.Equal(t, http.StatusSeeOther, p.send("POST", path, form).StatusCode)
	require.Equal(t, []string{"book-appointment", "third"}, s.names("desk"))
}

// fieldsOf returns what a browser sends of a page's first form that can be saved.
func fieldsOf(page string) url.Values {
	form := url.Values{}
	root, _ := html.Parse(strings.NewReader(page)) // whatever it is
	for node := range root.Descendants() {
		attributes := map[string]string{}
		for _, one := range node.Attr {
			attributes[one.Key] = one.Val
		}
		name, checks := attributes["name"], attributes["type"] == "checkbox"
		_, checked := attributes["checked"]
		switch {
		case name == "" || name == "next":
		case node.Data == "input" && (!checks || checked):
			form.Set(name, attributes["value"])
		case node.Data == "textarea":
			form.Set(name, strings.TrimPrefix(textOf(node), "\n"))
		case node.Data == "select":
			form.Set(name, "")
			for option := range node.Descendants() {
				for _, one := range option.Attr {
					if one.Key == "selected" {
						form.Set(name, textOf(option))
					}
				}
			}
		}
	}
	return form
}

func textOf(node *html.Node) (text string) {
	for one := range node.Descendants() {
		if one.Type == html.TextNode {
			text += one.Data
		}
	}
	return text
}

// types types into a field.
func (b *tab) types(selector, text string) {
	b.t.Helper()
	b.until(selector+" is there", fmt.Sprintf("document.querySelector(%q)", selector))
	b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("(e => { e.value = %q; e.dispatchEvent(new Event('input', {bubbles: true})) })(document.querySelector(%q));0", text, selector)))
}

func (s *service) names(repository string) (names []string) {
	var found struct{ Tools []struct{ Name string } }
	s.rest("GET", "/v1/apps/clinic/repositories/"+repository, "", &found)
	for _, one := range found.Tools {
		names = append(names, one.Name)
	}
	return names
}

// silent is a service in which a sentence fired nothing, with a similar one and its test.
func silent(t *testing.T) *service {
	s := keyless(t)
	s.says("s1", "m1", "could you squeeze me in at desk B")
	s.says("s2", "m2", "could you squeeze me in at desk C please")
	s.says("s3", "m3", "What a lovely day it is")
	s.rest("PUT", "/v1/apps/clinic/tests/squeezed", `{"chat":[{"user":"could you squeeze me in at desk C"},{"expect":{"tool":"book-appointment","values":{"desk":"C"}}}]}`, nil)
	return s
}

// selected selects words of the example with the mouse.
func (b *tab) selected(words string) {
	b.t.Helper()
	b.until("there is "+words, `document.querySelector("#example")?.value.includes("`+words+`")`)
	b.until("they are selected", `(() => { const e = document.querySelector("#example"), at = e.value.indexOf("`+words+`"); e.focus(); e.setSelectionRange(at, at + `+"`"+words+"`"+`.length); return true })()`)
}

func TestASentenceThatFellSilentIsMendedInThreeClicks(t *testing.T) {
	s := silent(t)
	b := s.open(t, "/console/apps/clinic/sessions/s1?message=m1#why")
	b.reads(".verdict", "Nothing fired")
	b.reads(".why-panel", "The words were compared with the names, descriptions and examples of 2 tools", "What to do:")
	k := b.task()
	k.click(`[aria-label="This should have fired: book-appointment"]`)
	b.reads("#rehearsal", "messages", "Of 1 test")
	b.selected("B")
	k.click(`[data-mark="desk"]`)
	b.until("it is marked", `document.querySelector("#example").value === "could you squeeze me in at desk [B](desk)"`)
	b.reads("#rehearsal", "Of the last 3 messages 2 would come out otherwise.", "desk C please", "Of 1 test 1 would pass; 0 pass now.")
	b.until("nothing is saved", `document.querySelectorAll("[aria-busy]").length === 0`)
	require.Len(t, s.examples("book-appointment"), 3)
	k.click(`.mend button.main`)
	b.reads("[role=status]", "saved as an example of book-appointment")
	k.done("a sentence that fell silent fires its tool", 3)
	require.Contains(t, s.examples("book-appointment"), "could you squeeze me in at desk [B](desk)")
	s.says("s4", "m4", "could you squeeze me in at desk C")
	require.NotEmpty(t, s.fired("book-appointment"))
}

// examples returns the stored examples of a tool in the repository desk.
func (s *service) examples(tool string) []string {
	var found struct {
		Tools []struct {
			Name     string
			Examples []string
		}
	}
	s.rest("GET", "/v1/apps/clinic/repositories/desk", "", &found)
	for _, one := range found.Tools {
		if one.Name == tool {
			return one.Examples
		}
	}
	return nil
}

func TestASentenceIsMendedWithoutAScript(t *testing.T) {
	s := silent(t)
	at := "/console/apps/clinic/sessions/s1/messages/m1/mend"
	page := s.form(t, at, "of=desk/book-appointment&do=rehearse&example=could+you+squeeze+me+in+at+desk+[B](desk)")
	require.Contains(t, page, "2 would come out otherwise")
	require.Len(t, s.examples("book-appointment"), 3)
	page = s.form(t, at, "of=desk/book-appointment&do=save&example=could+you+squeeze+me+in+at+desk+[B](desk)")
	require.Contains(t, page, "saved as an example of book-appointment")
	require.Equal(t, []string{"could you squeeze me in at desk [B](desk)"}, s.examples("book-appointment")[3:])
	require.Contains(t, s.form(t, at, "of=desk/gone&do=save&example=x"), "has no tool of this name any more")
}

func TestTestsAreKeptAndRunAndAMessageBecomesOne(t *testing.T) {
	s := silent(t)
	b := s.open(t, "/console/apps/clinic/sessions/s3?message=m3#why")
	b.click(`form[action$="/test"] button`)
	b.until("the conversation is there", `document.querySelector("#text").value.includes('"none": true')`)
	b.click(`.panel button.main`)
	b.reads("[role=status]", "saved: What a lovely day it is")
	b.click(".run button.main")
	b.reads("#run", "the words", "1 of 2", "squeezed", "fired nothing")
	s.rest("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[]}`, nil)
	b.fill("#version", "1")
	b.fill("#repository", "desk")
	b.click(".run button.main")
	b.reads("#run", "the words")
	b.fill("#name", "at fault")
	b.fill("#text", `{"chat": [{"user": "hi"}, {"expect": {"toool": "x"}}]}`)
	b.click(`.panel button.main`)
	b.reads("#faults", "toool", "Nothing was saved")
	b.visit("/console/apps/clinic/tests")
	b.click("details.test summary")
	b.click(`details.test button.bad`)
	b.until("one is left", `document.querySelectorAll("details.test").length === 1`)
}

func TestAVersionIsComparedAndRestored(t *testing.T) {
	s := silent(t)
	s.rest("PATCH", "/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"opening-hours","description":"Say when the clinic is open"}]}`, nil)
	b := s.open(t, "/console/apps/clinic/tools/desk")
	b.click(`a[href$="/versions/desk"]`)
	b.reads(".line.added", "Say when the clinic is open")
	b.reads(".line.taken", "Tell when the clinic is open")
	b.reads(".versions", "Version 1", "created", "by admin")
	b.click(`.versions a[href="?version=1"]`)
	b.reads("h2", "What version 1 changed")
	b.click(".split button.main")
	b.reads("[role=status]", "version 1 is restored")
	b.reads(".versions", "restored from 1")
	require.Len(t, s.examples("opening-hours"), 2)
}
