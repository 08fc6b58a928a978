package console_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/repositories/secret"
)

// Limits of a page's size with its files, in bytes on the wire: for a page of few things, of 200 tools, and the
// additions for charts and the editor.
const (
	maxWeight  = 60_000
	manyWeight = 100_000
	chartFile  = 30_000
	editorFile = 150_000
)

func TestEveryPageIsForEverybody(t *testing.T) {
	s := start(t)
	s.clinic()
	s.endpoint.answers(404, `{"error":"no such desk"}`)
	s.says("s1", "m1", "Good morning, I want an appointment for 2 people at desk B")
	s.says("s1", "m2", "When are you open?")
	s.says("s1", "m3", "What a lovely day it is")
	s.says("s1", "m4", "book me an appointment")
	s.rest("PUT", "/v1/apps/clinic/tests/a%20lovely%20day", `{"chat":[{"user":"What a lovely day it is","expect":{"none":true}}]}`, nil)
	s.clinic() // a second version
	b := s.open(t, "/console")
	b.reads("h1", "Sign in")
	b.accessible("sign-in")
	b.signIn(adminKey, "/console/apps")
	for _, one := range []struct{ name, path, ready string }{
		{"apps", "/console/apps", "My clinic"},
		{"now", "/console/apps/clinic", "lovely"},
		{"sessions", "/console/apps/clinic/sessions", "book me"},
		{"session fired", "/console/apps/clinic/sessions/s1?message=m1", "desk B"},
		{"session rejected", "/console/apps/clinic/sessions/s1?message=m4", "desk is required"},
		{"session unmatched", "/console/apps/clinic/sessions/s1?message=m3", "lovely"},
		{"session new", "/console/apps/clinic/sessions/s9", "Nothing was said"},
		{"mend", "/console/apps/clinic/sessions/s1/messages/m3/mend?of=desk/opening-hours", "would come out otherwise"},
		{"mend no tool", "/console/apps/clinic/sessions/s1/messages/m3/mend", "should have fired"},
		{"tests", "/console/apps/clinic/tests", "a lovely day"},
		{"versions", "/console/apps/clinic/versions/desk", "What version 2 changed"},
		{"version", "/console/apps/clinic/versions/desk?version=1", "Restore version 1"},
		{"triggers", "/console/apps/clinic/triggers", "404 Not Found"},
		{"triggers none", "/console/apps/clinic/triggers?value=nowhere&within=1h", "Nothing fits"},
		{"endpoints", "/console/apps/clinic/endpoints", "failing"},
		{"now of a week", "/console/apps/clinic?within=7d", "Time to a decision"},
		{"trigger", "/console/apps/clinic/triggers/" + s.fired("book-appointment"), "Decided"},
		{"playground", "/console/apps/clinic/playground?session=s1", "lovely"},
		{"playground new", "/console/apps/clinic/playground?session=s2", "Nothing was said"},
		{"tools", "/console/apps/clinic/tools", "rejected 1"},
		{"tools of a session", "/console/apps/clinic/tools?session=s1", "no tools of its own"},
		{"editor", "/console/apps/clinic/tools/desk", "Save"},
		{"editor of JSON", "/console/apps/clinic/tools/desk?view=json", "this is what is stored"},
		{"new repository", "/console/apps/clinic/tools/other", "Add a tool"},
		{"a tool", "/console/apps/clinic/tools/desk/book-appointment", "desk of the appointment"},
		{"app", "/console/apps/clinic/settings", "only the admin key"},
		{"no app", "/console/apps/nobody", "nobody"},
		{"no page", "/console/nowhere", "Nothing is here"},
	} {
		t.Run(one.name, func(t *testing.T) {
			b.t = t
			b.visit(one.path)
			b.reads("body", one.ready)
			b.mu.Lock()
			weight := b.bytes
			b.mu.Unlock()
			most := int64(maxWeight)
			if evaluated[bool](b, "Boolean(document.querySelector('[data-chart]'))") {
				most += chartFile
			}
			if evaluated[bool](b, "Boolean(document.querySelector('[data-editor-kind]'))") {
				most += editorFile
			}
			require.Less(t, weight, most, "bytes of the page with its files")
			b.accessible(one.name)
		})
	}
	b.t = t
}

// Pages of 200 tools or triggers stay small; their speed is logged, not asserted.
func TestPagesOfManyThingsAreSmallAndQuick(t *testing.T) {
	s := keyless(t)
	tools := make([]string, 200)
	for i := range tools {
		tools[i] = fmt.Sprintf(`{"name":"tool-%d","description":"Does number %d of the things that a patient may ask for","url":"https://h.example/%d/:day",
			"schema":[{"parameter":"day","type":"string","description":"wished day","required":true}],"examples":["do number %d for me","number %d, please"]}`, i, i, i, i, i)
	}
	s.rest("PUT", "/v1/apps/clinic/repositories/many", `{"tools":[`+strings.Join(tools, ",")+`]}`, nil)
	for i := range 60 {
		s.rest("POST", "/v1/apps/clinic/triggers", fmt.Sprintf(`{"name":"book-appointment","source":"task","values":{"desk":"B","people":%d}}`, i+1), nil)
	}
	b := s.open(t)
	testbed.Got(chromedp.Call(b.ctx, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true}))(t)
	b.do(chromedp.Navigate(s.url + "/healthz"))
	b.until("it is painted", `performance.getEntriesByName("first-contentful-paint").length`)
	t.Logf("a line of text, as what this machine takes for any page: first paint after %3.0f ms",
		evaluated[float64](b, `performance.getEntriesByName("first-contentful-paint")[0].startTime`))
	for _, path := range []string{"", "/triggers", "/tools", "/tools/many", "/tools/many/tool-7", "/sessions", "/playground?session=s1", "/settings"} {
		b.visit("/console/apps/clinic" + path)
		b.until("it is painted", `performance.getEntriesByName("first-contentful-paint").length`)
		b.mu.Lock()
		weight := b.bytes
		b.mu.Unlock()
		t.Logf("%-24s %4d kB, first paint after %3.0f ms, page after %3.0f ms, %5.0f px high", path, weight/1000,
			evaluated[float64](b, `performance.getEntriesByName("first-contentful-paint")[0].startTime`),
			evaluated[float64](b, `performance.getEntriesByType("navigation")[0].responseEnd`), evaluated[float64](b, "document.documentElement.scrollHeight"))
		if evaluated[bool](b, "Boolean(document.querySelector('[data-editor-kind]'))") {
			continue
		}
		require.Less(t, weight, int64(manyWeight), path)
	}
	b.visit("/console/apps/clinic/tools")
	require.Less(t, evaluated[float64](b, "document.documentElement.scrollHeight"), 1500.0, "tools of a repository fold")
}

func TestKeysGoThroughListsAndAct(t *testing.T) {
	s := keyless(t)
	b := s.open(t, "/console/apps/clinic/tools")
	at := func(text string) {
		t.Helper()
		b.until("the focus is on "+text, fmt.Sprintf("document.activeElement.textContent === %q", text))
	}
	closed := func() {
		t.Helper()
		b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#keys").close()`))
		b.until("the list of keys is away", `!document.querySelector("#keys").contains(document.activeElement)`)
	}
	b.press("j")
	at("book-appointment")
	b.press("j")
	at("opening-hours")
	b.press("j")
	at("opening-hours")
	b.press("k")
	at("book-appointment")
	b.press("?")
	b.reads("#keys", "next and previous in a list", "Playground")
	b.press("j") // the open list of keys takes the key
	closed()
	b.press("/")
	b.until("the search has the focus", `document.activeElement.id === "q"`)
	b.press("k") // a field takes the letter
	b.until("the search keeps it", `document.activeElement.id === "q"`)
	b.press("Escape")
	b.visit("/console/apps/clinic/tools/desk/opening-hours")
	b.press("?")
	b.reads("#keys", "Edit")
	closed()
	b.press("e")
	b.until("e edits the tool", `location.search === "?tool=opening-hours"`)

	b.press("?")
	b.click("[data-keys-on]")
	closed()
	b.visit("/console/apps/clinic/tools")
	b.press("j")
	require.Equal(t, "BODY", evaluated[string](b, "document.activeElement.tagName"), "letters are off")
}

func TestMarkupOfUsersIsShownAndNotRun(t *testing.T) {
	s := startWith(t, secret.Secret{})
	const evil = `<img src=x onerror=alert(1)><script>alert(2)</script>"'><svg/onload=alert(3)>`
	quoted := testbed.Got(json.Marshal(evil))(t)
	s.rest("PUT", "/v1/apps/clinic", `{"name":`+string(quoted)+`}`, nil)
	s.rest("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"note","description":`+string(quoted)+`,
		"schema":[{"parameter":"<b>what</b>","type":"string","description":`+string(quoted)+`}],"url":"`+s.endpoint.URL+`","examples":[`+string(quoted)+`]}]}`, nil)
	s.endpoint.answers(200, `{"said":`+string(quoted)+`}`)
	s.rest("POST", "/v1/apps/clinic/sessions/s1/messages", `{"actor":"user","messageId":"m1","text":`+string(quoted)+`}`, nil)
	s.rest("POST", "/v1/apps/clinic/sessions/s1/triggers", `{"name":"note","source":"ui","values":{"<b>what</b>":`+string(quoted)+`}}`, nil)
	b := s.open(t)
	const app = "/console/apps/clinic"
	for _, path := range []string{
		"/console/apps", app, app + "/playground?session=s1", app + "/sessions/s1", app + "/triggers", app + "/triggers/" + s.fired("note"),
		app + "/tools", app + "/tools/desk/note", app + "/sessions/s1/messages/m1/mend?of=desk/note", app + "/versions/desk",
	} {
		b.visit(path)
		b.reads("main", "onerror=alert(1)")
		require.Zero(t, evaluated[int](b, "document.querySelectorAll('main img, main script, main b b').length"), path)
	}
}

func TestSomebodyTriesATool(t *testing.T) {
	s := keyless(t)
	b := s.open(t, "/console")
	b.click(".cards a")
	b.until("the key g p leads to the playground", `location.pathname.endsWith("/playground") || (document.body.dispatchEvent(
		new KeyboardEvent("keydown", {key: "g", bubbles: true})), document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "p", bubbles: true})), false)`)
	b.click("[data-fill]")
	b.reads("#talk ~ form, #chat", "Nothing was said")
	b.click(".say button")
	b.reads("#chat .rejected", "book-appointment", "desk is required")
	b.reads("#feed .rejected", "desk is required")
	b.until("the field is empty", `document.querySelector("#text").value === ""`)
	b.fill("#text", "I want an appointment at desk C")
	b.click(".say button")
	b.reads("#chat .fired", "book-appointment", "delivered")
	b.reads("#feed .done", "answered")
	require.Equal(t, 2, evaluated[int](b, "document.querySelectorAll('#chat .turn').length"))
}

func TestThemeIsChosenAndKept(t *testing.T) {
	s := startWith(t, secret.Secret{})
	b := s.open(t)
	b.prefers("light")
	b.visit("/console/apps")
	ground := "getComputedStyle(document.documentElement).backgroundColor"
	light := evaluated[string](b, ground)
	b.click("[data-theme-switch] button")
	b.until("it is dark", ground+" !== "+strconv.Quote(light))
	b.until("the choice is kept", `fetch("/console/apps").then(a => a.text()).then(t => window.kept = t.includes('data-theme="dark"')) && window.kept`)
	b.visit("/console/apps")
	require.NotEqual(t, light, evaluated[string](b, ground))
}

func TestSomebodyFindsADeadLetterAndRetriesIt(t *testing.T) {
	s := keyless(t)
	s.endpoint.answers(404, `{"error":"no such desk"}`)
	s.says("s1", "m1", "I want an appointment at desk B, please")
	s.says("s2", "m2", "I want an appointment at desk C, please")
	s.says("s2", "m3", "I want an appointment at desk A, please")
	b := s.open(t, "/console/apps/clinic/triggers")
	b.until("/ leads to the search", `document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "/", bubbles: true})) && document.activeElement.id === "value"`)
	b.fill("#session", "s1")
	b.click(".search button")
	b.until("one is found", `document.querySelectorAll(".records tbody tr").length === 1`)
	b.click(".records a.tool")
	b.reads(".timeline .bad", "Call", "404 Not Found")
	b.reads(".timeline mark", "B")
	s.endpoint.answers(200, `{"booked":"desk B"}`)
	b.click(".head button")
	b.reads("h1", "delivered")
	b.reads(".timeline pre", "desk B")

	b.visit("/console/apps/clinic/triggers")
	b.click(".bulk button")
	b.reads(".bulk", "2 failed triggers in all")
	b.click(".bulk button.main")
	b.reads("#bulk", "2 failed triggers are tried again")
	b.visit("/console/apps/clinic/triggers?state=failed")
	b.reads("#found", "Nothing fits")
}

func TestEvidenceIsMarkedInTheWordsOfTheChat(t *testing.T) {
	s := keyless(t)
	s.says("s1", "m1", "Being Bold, I want an appointment at desk B for 2 people")
	b := s.open(t, "/console/apps/clinic")
	b.reads("#feed", "answered")
	b.click("#feed .session a")
	b.until("both values are marked", `[...document.querySelectorAll("#chat mark")].map(m => m.title + "=" + m.innerText).join() === "desk=B,people=2"`)
	require.Equal(t, "Being Bold, I want an appointment at desk B for 2 people", b.text(".said"))
	b.visit("/console/apps/clinic/sessions")
	b.reads("#sessions", "s1", "Bold")
}

func TestSomebodyReadsWhyAMessageWasRejectedAndRunsItAgain(t *testing.T) {
	s := keyless(t)
	s.says("s1", "m1", "What a lovely day it is")
	s.says("s1", "m2", "book me an appointment")
	b := s.open(t, "/console/apps/clinic")
	b.reads("#feed .none", "lovely")
	b.click("#feed .none .session a") // from a message that fired nothing to the reason, in one click
	b.reads("#why h2", "lovely", "fired nothing")
	b.reads("#why .verdict", ".")
	b.reads("#why details[open] table", "book-appointment", "opening-hours")
	b.click("#chat .turn:not(.chosen) [data-swap]")
	b.reads("#why h2", "book me", "was rejected")
	b.reads("#why .call.rejected", "desk", "is required")
	b.click("#again button")
	b.reads("#again", "It would come out the same")
	s.rest("PATCH", "/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book-appointment","description":"User needs an appointment",
		"schema":[{"parameter":"desk","type":"string","default":"A"}],"examples":["I want an appointment","book me an appointment"]}]}`, nil)
	b.click("#again button")
	b.reads("#again", "It would come out differently", "is required", "fired")
	var history struct{ Items []struct{ Triggers []any } }
	s.rest("GET", "/v1/apps/clinic/sessions/s1/messages", "", &history)
	require.Len(t, history.Items, 2)
	require.Empty(t, history.Items[1].Triggers, "a dry run fires nothing")
}

// figure is a chart with its table for pages without scripts.
const figure = `<figure class="chart" data-chart='{"at":[1000000000,1000000060,1000000120],"unit":"messages","series":[
	{"name":"matched","values":[3,null,5],"href":"/console/apps/clinic/triggers?since={from}&until={to}"},{"name":"rejected","values":[1,2,0]}]}'>
	<figcaption>Messages</figcaption><table><thead><tr><th>At</th><th>matched</th></tr></thead><tbody><tr><td>10:00</td><td>3</td></tr></tbody></table></figure>`

// charted inserts the figure into the page.
func (b *tab) charted() {
	b.t.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`document.querySelector("main").insertAdjacentHTML("beforeend", %q);
		import(document.querySelector("script[data-charts]").dataset.charts).then(({draw}) => draw(document.querySelector("figure")));0`, figure)))
	b.until("the chart is there", `document.querySelector("figure canvas")`)
}

func TestChartIsReadByKeysAndLeadsToWhatItCounts(t *testing.T) {
	s := keyless(t)
	b := s.open(t, "/console/apps/clinic/settings")
	b.charted()
	require.False(t, evaluated[bool](b, `document.querySelector("figure table").checkVisibility()`), "the table is folded")
	b.reads(".legend", "matched 8", "rejected 3")
	b.accessible("a chart")

	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector(".plot").focus()`))
	b.press("ArrowRight")
	b.reads(".legend", "matched 3", "rejected 1")
	b.press("End")
	b.reads(".legend", "matched 5", "rejected 0")
	b.press("ArrowDown")
	b.press("Enter") // rejections have no link
	b.press("ArrowUp")
	b.press("Enter")
	b.until("Enter opens what the last point counts", `location.search === "?since=1000000120&until=1000000180"`)

	b.visit("/console/apps/clinic/settings")
	b.charted()
	at := evaluated[[]float64](b, `(r => [r.left + 5, r.top + r.height / 3])((o => (o.scrollIntoView({block: "center"}), o.getBoundingClientRect()))(document.querySelector(".u-over")))`)
	b.do(chromedp.MouseClickXY(at[0], at[1]))
	b.until("a click opens what the first point counts", `location.search === "?since=1000000000&until=1000000060"`)
}

func TestChartFollowsTheWidthAndTheTheme(t *testing.T) {
	s := keyless(t)
	b := s.open(t)
	b.prefers("light")
	b.visit("/console/apps/clinic/settings")
	b.charted()
	drawn := `document.querySelector("figure canvas").toDataURL()`
	light := evaluated[string](b, drawn)
	b.click("[data-theme-switch] button")
	b.until("it has the colours of the theme", fmt.Sprintf("%s !== %q", drawn, light))
	b.sized(390, 844)
	b.until("it has the width of the page", `document.querySelector("figure canvas").getBoundingClientRect().width < 390`)
}

func (b *tab) press(key string) {
	b.t.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: %q, bubbles: true, cancelable: true}))`, key)))
}
