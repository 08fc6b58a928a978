package console_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/repositories/secret"
)

func TestSomebodySeesWhatWasSentAndRetriesNow(t *testing.T) {
	s := keyless(t)
	s.endpoint.answers(503, `{"error":"closed for <b>lunch</b>"}`)
	s.says("s1", "m1", "I want an appointment at desk B, please")
	id := s.fired("book-appointment")
	b := s.open(t)
	b.visit("/console/apps/clinic/triggers/" + id)
	b.until("the third attempt is next", `document.body.innerText.includes("Attempt 3 is next")`)
	b.reads(".timeline .exchange", "POST "+s.endpoint.URL+"/book/B", `"values":{"desk":"B"}`, "closed for <b>lunch</b>")
	b.reads(".timeline .wait", "No attempt begins after")
	b.accessible("trigger pending")
	s.endpoint.answers(200, `{"booked":"desk B"}`)
	b.click(".head button")
	b.reads("h1", "delivered")
	b.reads(".timeline", "Tried again")
	var record struct {
		Attempts []struct{ Effect string }
		Retries  []any
	}
	s.rest("GET", "/v1/apps/clinic/triggers/"+id, "", &record)
	require.Len(t, record.Retries, 1)
}

func TestAWebhookIsSentAgainWhatItHasLost(t *testing.T) {
	s := startWith(t, secret.Secret{})
	var got atomic.Int32
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { got.Add(1) }))
	defer receiver.Close()
	s.rest("PUT", "/v1/apps/clinic", `{"settings":{"webhooks":[{"name":"desk","url":"`+receiver.URL+`","types":["tool.trigger"],"secret":"whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="}]}}`, nil)
	s.rest("PUT", "/v1/apps/clinic/repositories/desk", strings.ReplaceAll(deskBody, "ENDPOINT", s.endpoint.URL), nil)
	before := time.Now().UTC().Add(-time.Minute).Format("2006-01-02T15:04")
	s.says("s1", "m1", "When are you open?")
	times := func(n int32) func() bool { return func() bool { return got.Load() == n } }
	require.Eventually(t, times(1), patience, time.Millisecond)

	page := s.form(t, "/console/apps/clinic/endpoints/desk/resend", "since="+url.QueryEscape(before))
	require.Contains(t, page, `Webhook <b>desk</b> is sent again what you asked for.`)
	require.Eventually(t, times(2), patience, time.Millisecond)
	require.Contains(t, s.form(t, "/console/apps/clinic/endpoints/desk/resend", ""), "is sent again what you asked for", "nothing has failed")
	require.Contains(t, s.form(t, "/console/apps/clinic/endpoints/other/resend", ""), `webhook &#34;other&#34;`, "there is none")
	require.EqualValues(t, 2, got.Load())
}

func TestSessionsAreFoundInTheConsole(t *testing.T) {
	s := keyless(t)
	s.rest("PUT", "/v1/apps/clinic/sessions/s2", `{"user":"ada"}`, nil)
	s.says("s1", "m1", "I want an appointment at desk B, please")
	s.says("s2", "m1", "What a lovely day it is")
	b := s.open(t)
	b.visit("/console/apps/clinic/sessions")
	b.until("the newest is first", `[...document.querySelectorAll(".sessions li")].map(l => l.dataset.session).join() === "s2,s1"`)
	b.reads(".sessions li:first-child", "nothing fired", "ada", "lovely")
	s.says("s1", "m2", "book me an appointment")
	b.until("it is live", `document.querySelector(".sessions li").dataset.session === "s1"`)
	b.fill("#text", "LOVELY")
	b.click(".search button")
	b.until("it is found", `[...document.querySelectorAll(".sessions li")].map(l => l.dataset.session).join() === "s2"`)
	b.visit("/console/apps/clinic/sessions?outcome=rejected")
	b.until("it is found by its outcome", `[...document.querySelectorAll(".sessions li")].map(l => l.dataset.session).join() === "s1"`)
	b.accessible("sessions found")
	b.visit("/console/apps/clinic/sessions?user=bob")
	b.reads("#found", "No session fits")
}

// task counts a person's clicks for a task.
type task struct {
	*tab
	clicks int
	begun  time.Time
}

func (b *tab) task() *task { return &task{tab: b, begun: time.Now()} }

func (k *task) click(selector string) {
	k.t.Helper()
	k.clicks++
	k.tab.click(selector)
}

// done ends a task, which may take at most most clicks.
func (k *task) done(what string, most int) {
	k.t.Helper()
	k.t.Logf("%s: %d clicks, %.1f s", what, k.clicks, time.Since(k.begun).Seconds())
	require.LessOrEqual(k.t, k.clicks, most, what)
}

func TestAtThreeInTheMorningSomebodySeesWhatFailsAndWhyAndRetriesAllOfIt(t *testing.T) {
	s := keyless(t)
	s.endpoint.answers(404, `{"error":"the calendar has moved"}`)
	for i := range 5 {
		s.says("s1", fmt.Sprint("m", i), "I want an appointment at desk B, please")
	}
	b := s.open(t)
	b.visit("/console/apps/clinic")
	k := b.task()
	b.reads("#figures", "5 triggers", "book-appointment", "404 Not Found") // what fails
	b.reads("#figures .hosts", "failing")
	k.click("#figures td:last-child a") // why
	b.reads(".timeline .exchange", "/book/B", "the calendar has moved")
	s.endpoint.answers(200, `{"booked":true}`) // it is repaired
	k.click(`nav a[data-key="r"]`)
	k.click(".bulk button")
	b.reads(".bulk", "5 failed triggers in all")
	k.click(".bulk button.main")
	b.reads("#bulk", "5 failed triggers are tried again")
	b.until("all are delivered", `fetch("/v1/apps/clinic/backlog").then(a => a.json()).then(j => window.left = j.failed.count + j.pending.count) && window.left === 0`)
	k.done("three in the morning: what fails, why, retry all of it", 4)
}

func TestTheFrontDeskFindsWhatAPatientWasBookedAndCancelsIt(t *testing.T) {
	s := keyless(t)
	s.rest("PUT", "/v1/apps/clinic/repositories/desk2", `{"tools":[
		{"name":"transport","description":"Order a taxi home","settle":"60s","examples":["order a taxi home"]},
		{"name":"surgery","description":"Schedule a surgery","confirm":"always","examples":["schedule my surgery"]}]}`, nil)
	s.rest("PUT", "/v1/apps/clinic/sessions/v17", `{"user":"ms-keller"}`, nil)
	for i := range 3 {
		s.says(fmt.Sprint("x", i), "m1", "When are you open?")
	}
	s.says("v17", "m1", "order a taxi home")
	s.says("v17", "m2", "schedule my surgery")
	b := s.open(t)

	b.visit("/console/apps/clinic/sessions")
	k := b.task()
	b.fill("#text", "TAXI")
	k.click(".search button")
	b.until("one is found", `document.querySelectorAll(".sessions li").length === 1`)
	k.click(".sessions li a")
	b.reads("#chat .came .pending", "transport")
	k.click("#chat .came .pending button")
	b.reads("#chat .came .cancelled", "transport")
	k.done("the front desk finds by a word what was booked, and cancels it", 3)

	b.visit("/console/apps/clinic/sessions")
	k = b.task()
	b.fill("#user", "ms-keller")
	k.click(".search button")
	b.until("one is found", `document.querySelectorAll(".sessions li").length === 1`)
	k.click(".sessions li a")
	b.reads("#chat .came .confirming", "surgery")
	k.click("#chat .came .confirming button.main")
	b.reads("#chat .came .fired", "surgery")
	k.done("the front desk finds by the user what waits, and confirms it", 3)
}

const shopBody = `{"tools":[
	{"name":"refund","description":"Refund an order","confirm":"always","examples":["refund my order"]},
	{"name":"lamp","description":"Turn the lamp on","settle":"60s","examples":["turn the lamp on"]},
	{"name":"order","description":"Order the usual","dedupe":{"within":"10m"},"examples":["order the usual"]}]}`

func TestSomebodyConfirmsARefundWithAClick(t *testing.T) {
	s := keyless(t)
	s.rest("PUT", "/v1/apps/clinic/repositories/shop", shopBody, nil)
	s.says("s1", "m1", "refund my order")
	s.says("s1", "m2", "turn the lamp on")
	s.says("s1", "m3", "order the usual")
	s.says("s1", "m4", "order the usual")
	b := s.open(t)
	b.visit("/console/apps/clinic/sessions/s1?message=m1")
	b.reads(".came .confirming", "asks", "refund", "Shall I go ahead?")
	b.reads(".came .pending", "settles", "lamp")
	b.reads(".came .duplicate", "did not fire", "of another")
	b.accessible("session held")
	b.click(".confirming button.main")
	b.until("it has fired", `!document.querySelector(".came .confirming")`)
	b.reads(".came .fired", "refund", "published")
	require.Equal(t, "m1", evaluated[string](b, `new URLSearchParams(location.search).get("message")`))
	b.click(".came .pending button")
	b.reads(".came .cancelled", "lamp")

	s.says("s1", "m5", "refund my order")
	b.visit("/console/apps/clinic/triggers?state=confirming")
	b.click(".records a.tool")
	b.reads("h1", "refund", "confirming")
	b.reads(".timeline .wait", "Asked", "Shall I go ahead?")
	b.accessible("trigger held")
	b.click(".head .held button:not(.main)")
	b.reads("h1", "cancelled")
	b.reads(".timeline", "Denied by admin")

	b.visit("/console/apps/clinic/triggers?state=duplicate")
	b.click(".records a.tool")
	b.reads(".timeline", "had the same values before")
	b.visit("/console/apps/clinic")
	for _, word := range []string{"asks", "cancelled", "duplicate"} {
		b.reads("[data-feed]", word)
	}
}

func TestAnAppIsLookedAtAndChanged(t *testing.T) {
	s := start(t)
	s.rest("PUT", "/v1/apps/clinic", `{"name":"My clinic","sources":[{"name":"desk","type":"http","baseUrl":"`+s.endpoint.URL+`","headers":{"X-Api-Key":"planted"}}],
		"modules":[{"moduleId":"calendar","secret":"planted","tokenUrl":"https://id.example/token"}]}`, nil)
	b := s.open(t)
	b.visit("/console")
	b.signIn(adminKey, "/console/apps")
	b.visit("/console/apps/clinic/settings")
	b.reads("#sources-list", "not looked at")
	b.click("#sources-list a.button")
	b.reads("#sources-list .state", "yes")

	b.fill("#key-name", "front desk")
	b.click("input[value=messages]")
	b.click("form[action$='/keys'] button")
	b.reads("[role=status]", "ek_clinic.")
	b.reads(".app-keys", "front desk", "may use messages", "never used")
	b.accessible("app with a key")
	b.click("form[action$='/revoke'] button")
	b.reads("main", "only the admin key")

	b.fill("#app-text", `{"name":"Our clinic","sources":[{"name":"desk","type":"htp"}]}`)
	b.click("form.rows button")
	b.reads(".fault", "/sources/0/type")
	require.Equal(t, `{"name":"Our clinic","sources":[{"name":"desk","type":"htp"}]}`, evaluated[string](b, `document.querySelector("#app-text").value`))
	b.fill("#app-text", `{"name":"Our clinic"}`)
	b.click("form.rows button")
	b.reads("[role=status]", "saved")
	b.reads("h1", "Our clinic")
	require.NotContains(t, evaluated[string](b, "document.documentElement.outerHTML"), "planted")
}
