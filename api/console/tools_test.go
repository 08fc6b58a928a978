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
	b := s.open(t)
	b.visit("/console/apps/clinic/tools")
	b.reads("main", "No tool yet")
	b.fill("#open", "desk")
	b.click(".panel button")
	b.reads("h1", "desk")
	b.click("[value='view:json']")

	b.fill(editorText, "{\"tools\": [{\n  \"name\": \"book a desk\",\n  \"schema\": [{\"parameter\": \"desk\", \"type\": \"strng\"}]}]}")
	b.click("#editor button.main")
	b.reads(".fault", "is no tool name", `did you mean "string"?`, "line 2", "line 3")
	b.until("the editor is there", `document.querySelector(".code-editor")`)
	b.click(".fault li:nth-child(2) .to")
	b.until("the fault is chosen", `document.querySelector(".code-editor").shadowRoot.getSelection().toString() === '"strng"'`)

	b.fill(editorText, "{\"tools\": [{\"name\": \"book\",\n  \"cancelOnNext\": true, \"confirm\": \"allways\",\n  \"dedupe\": {\"by\": [\"desk\"]},\n  \"url\": \"https://h/\", \"answer\": {\"within\": \"30s\"}}]}")
	b.click("#editor button.main")
	b.reads(".fault", "needs settle", `did you mean "always"?`, "is missing", "is no parameter of the tool", "is given beside url", "line 2", "line 3", "line 4")

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
	b := s.open(t)
	b.visit("/console/apps/clinic/tools/desk?view=json")
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
	b := s.open(t)
	b.visit("/console/apps/clinic/tools/desk?view=json")
	const editor = `document.querySelector(".code-editor")?.shadowRoot`
	b.until("the editor is there, with the numbers of lines", editor+`?.querySelector(".cm-lineNumbers")?.textContent.includes("12")`)
	write := func(text string) {
		t.Helper()
		_, err := chromedp.Call(b.ctx, input.InsertText, input.InsertTextParams{Text: text})
		require.NoError(t, err)
	}
	offered := func(names ...string) {
		t.Helper()
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
	b := s.open(t)
	b.visit("/console/apps/clinic/tools/desk?tool=book-appointment")
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
	s.t.Helper()
	var found struct{ Tools []struct{ Name string } }
	s.rest("GET", "/v1/apps/clinic/repositories/"+repository, "", &found)
	for _, one := range found.Tools {
		names = append(names, one.Name)
	}
	return names
}
