package console_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/apitest"
	"earshot/repositories/secret"
)

// person is a client of the console without scripts.
type person struct {
	s       *service
	browser *http.Client
}

// seen is a received page.
type seen struct {
	*http.Response
	body string
}

func (s *service) person() *person {
	jar := testbed.Got(cookiejar.New(nil))(s.t)
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &person{s, &http.Client{Jar: jar, CheckRedirect: stay}}
}

// personAt returns a person with another loopback address.
func (s *service) personAt(address string) *person {
	p := s.person()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	p.browser.Transport = &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}
	return p
}

// send sends a request or a form; headers are "Name: value".
func (p *person) send(method, path string, form url.Values, headers ...string) seen {
	p.s.t.Helper()
	request := testbed.Got(http.NewRequestWithContext(p.s.t.Context(), method, p.s.url+path, strings.NewReader(form.Encode())))(p.s.t)
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	apitest.SetHeaders(request, headers...)
	answer := testbed.Got(p.browser.Do(request))(p.s.t)
	defer answer.Body.Close()
	return seen{answer, string(testbed.Got(io.ReadAll(answer.Body))(p.s.t))}
}

func (p *person) signIn(key string) seen {
	p.s.t.Helper()
	return p.send("POST", "/console/sign-in", url.Values{"key": {key}, "next": {"/console/apps"}})
}

func (s *service) key(scopes string) (id, key string) {
	var made struct{ KeyID, Key string }
	s.rest("POST", "/v1/apps/clinic/keys", `{"scopes":[`+scopes+`]}`, &made)
	return made.KeyID, made.Key
}

func TestNobodySeesAPageWithoutAKey(t *testing.T) {
	s := start(t)
	s.clinic()
	p := s.person()
	for _, path := range []string{"/console/apps", "/console/apps/clinic", "/console/apps/clinic/playground?session=s1"} {
		got := p.send("GET", path, nil)
		require.Equal(t, http.StatusSeeOther, got.StatusCode, path)
		require.Equal(t, "/console/sign-in?next="+url.QueryEscape(path), got.Header.Get("Location"))
	}
	require.Equal(t, http.StatusUnauthorized, p.send("GET", "/console/apps/clinic/events", nil).StatusCode)
	_, token := s.key(`"messages"`)
	var session struct{ Token string }
	s.rest("POST", "/v1/apps/clinic/sessions/s1/token", `{}`, &session)
	for _, wrong := range []string{"", "guess", token + "x", session.Token, adminKey + "x"} {
		got := p.signIn(wrong)
		require.Equal(t, http.StatusForbidden, got.StatusCode, wrong)
		require.Empty(t, got.Cookies(), wrong)
	}
}

func TestGuessesAtTheSignInPauseAndARightKeyFromElsewhereIsLetIn(t *testing.T) {
	s := start(t)
	guesser, looked := s.person(), 0
	for n := range 300 {
		got := guesser.signIn(fmt.Sprintf("summer-%d", n))
		if got.StatusCode == http.StatusForbidden {
			looked++
			continue
		}
		require.Equal(t, http.StatusTooManyRequests, got.StatusCode)
		require.NotEmpty(t, got.Header.Get("Retry-After"))
		require.Contains(t, got.body, "too many wrong credentials")
	}
	require.Less(t, looked, 30, "guesses that were looked at")
	require.Equal(t, http.StatusTooManyRequests, guesser.signIn(adminKey).StatusCode, "a right guess during a pause")
	require.Equal(t, http.StatusSeeOther, s.personAt("127.0.0.2").signIn(adminKey).StatusCode, "a right key from another address")
}

func TestSignInIsACookieThatNoScriptAndNoOtherSiteHas(t *testing.T) {
	s := start(t)
	p := s.person()
	got := p.signIn(adminKey)
	require.Equal(t, http.StatusSeeOther, got.StatusCode, got.body)
	require.Len(t, got.Cookies(), 1)
	kept := got.Cookies()[0]
	require.True(t, kept.HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, kept.SameSite)
	require.Equal(t, "/console", kept.Path)
	require.Equal(t, 12*60*60, kept.MaxAge)
	require.False(t, kept.Secure, "this browser speaks no TLS")
	require.NotContains(t, kept.Value, adminKey)
	require.Equal(t, http.StatusOK, p.send("GET", "/console/apps", nil).StatusCode)

	require.True(t, p.send("POST", "/console/sign-in", url.Values{"key": {adminKey}}, "X-Forwarded-Proto: https").Cookies()[0].Secure)

	p = s.person()
	p.signIn(adminKey)
	p.send("POST", "/console/sign-out", url.Values{})
	require.Equal(t, http.StatusSeeOther, p.send("GET", "/console/apps", nil).StatusCode)
}

func TestSignInThatWasChangedOrIsOverIsNone(t *testing.T) {
	s := start(t)
	good := s.person().signIn(adminKey).Cookies()[0].Value
	end, sealed, _ := strings.Cut(good, ".")
	for what, value := range map[string]string{
		"changed": end + "." + sealed[:len(sealed)-4] + "AAAA", "prolonged": "9" + end + "." + sealed, "cut": end, "a key": adminKey,
	} {
		got := s.person().send("GET", "/console/apps", nil, "Cookie: earshot_console="+value)
		require.Equal(t, http.StatusSeeOther, got.StatusCode, what)
	}
	require.Equal(t, http.StatusOK, s.person().send("GET", "/console/apps", nil, "Cookie: earshot_console="+good).StatusCode)
	s.later.Store(int64(13 * time.Hour))
	require.Equal(t, http.StatusSeeOther, s.person().send("GET", "/console/apps", nil, "Cookie: earshot_console="+good).StatusCode)
}

func TestKeyOfAnAppSeesItsAppAndWhatItsScopesLet(t *testing.T) {
	s := start(t)
	s.clinic()
	s.rest("PUT", "/v1/apps/other", `{}`, nil)
	id, key := s.key(`"messages"`)
	p := s.person()
	require.Equal(t, http.StatusSeeOther, p.signIn(key).StatusCode)
	require.Equal(t, "/console/apps/clinic", p.send("GET", "/console", nil).Header.Get("Location"))
	require.Equal(t, "/console/apps/clinic", p.send("GET", "/console/apps", nil).Header.Get("Location"))
	page := p.send("GET", "/console/apps/clinic", nil)
	require.Equal(t, http.StatusOK, page.StatusCode)
	require.Contains(t, page.body, "records of triggers are not shown")
	require.NotContains(t, page.body, "all replicas", "what other apps do is the admin's to see")
	require.Equal(t, http.StatusForbidden, p.send("GET", "/console/apps/other/playground?session=s1", nil).StatusCode)
	require.NotContains(t, p.send("GET", "/console/apps/other", nil).body, "is-there")

	s.rest("DELETE", "/v1/apps/clinic/keys/"+id, "", nil)
	require.Equal(t, http.StatusSeeOther, p.send("GET", "/console/apps/clinic/playground?session=s1", nil).StatusCode, "a key that is revoked")
}

func TestPagesOfElsewhereCannotActInTheConsole(t *testing.T) {
	s := startWith(t, secret.Secret{}) // without keys there is no other protection
	s.clinic()
	p := s.person()
	form := url.Values{"session": {"s1"}, "actor": {"user"}, "text": {"When are you open?"}}
	for _, header := range []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site", "Origin: https://evil.example"} {
		headers := []string{header}
		if strings.HasPrefix(header, "Origin") {
			headers = append(headers, "Sec-Fetch-Site: ")
		}
		require.Equal(t, http.StatusForbidden, p.send("POST", "/console/apps/clinic/playground", form, headers...).StatusCode, header)
	}
	require.Equal(t, http.StatusForbidden, p.hosted("rebound.example", "/console/apps/clinic/playground?session=s1"))
	require.NotContains(t, p.send("GET", "/console/apps/clinic/playground?session=s1", nil).body, "When are you open?</p>")
	require.Equal(t, http.StatusSeeOther, p.send("POST", "/console/apps/clinic/playground", form).StatusCode)
	require.Contains(t, p.send("GET", "/console/apps/clinic/playground?session=s1", nil).body, "When are you open?</p>")
}

// hosted sends a request as a page with another host name would.
func (p *person) hosted(host, path string) int {
	request := testbed.Got(http.NewRequestWithContext(p.s.t.Context(), "GET", p.s.url+path, nil))(p.s.t)
	request.Host = host
	answer := testbed.Got(p.browser.Do(request))(p.s.t)
	require.NoError(p.s.t, answer.Body.Close())
	return answer.StatusCode
}

func TestPagesRunTheirOwnFilesAlone(t *testing.T) {
	s := start(t)
	got := s.person().send("GET", "/console/sign-in", nil)
	require.Equal(t, "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "+
		"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'", got.Header.Get("Content-Security-Policy"))
	for name, value := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
		"Cache-Control": "no-store", "Content-Type": "text/html; charset=utf-8",
	} {
		require.Equal(t, value, got.Header.Get(name), name)
	}
	files := regexp.MustCompile(`(?:href|src)="(/console/static/[^"]+)"`).FindAllStringSubmatch(got.body, -1)
	require.Len(t, files, 4)
	for _, file := range files {
		require.Regexp(t, `\.[\w-]{12}\.(js|css|svg|woff2)$`, file[1])
		got := s.person().send("GET", file[1], nil)
		require.Equal(t, http.StatusOK, got.StatusCode)
		require.Equal(t, "public, max-age=31536000, immutable", got.Header.Get("Cache-Control"))
		require.Equal(t, "nosniff", got.Header.Get("X-Content-Type-Options"))
	}
	require.Equal(t, http.StatusNotFound, s.person().send("GET", "/console/static/console.js", nil).StatusCode)
}

func TestSignInLeadsNowhereElse(t *testing.T) {
	s := start(t)
	for _, next := range []string{"https://evil.example/console", "//evil.example/console", `/console/\\evil.example`, "/consolex", "/console/../x", "/console/%2e%2e/x", "/console/a/../../x", "javascript:alert(1)", "/v1/apps", ""} {
		got := s.person().send("POST", "/console/sign-in", url.Values{"key": {adminKey}, "next": {next}})
		require.Equal(t, http.StatusSeeOther, got.StatusCode)
		require.Equal(t, "/console", got.Header.Get("Location"), next)
	}
	got := s.person().send("POST", "/console/sign-in", url.Values{"key": {adminKey}, "next": {"/console/apps/x?y=1"}})
	require.Equal(t, "/console/apps/x?y=1", got.Header.Get("Location"))
}

func TestRESTIsServedBesideTheConsole(t *testing.T) {
	s := start(t)
	require.Equal(t, http.StatusOK, s.person().send("GET", "/healthz", nil).StatusCode)
	require.Equal(t, http.StatusNotFound, s.person().send("GET", "/consolex", nil).StatusCode)
	p := s.person()
	p.signIn(adminKey)
	require.Equal(t, http.StatusUnauthorized, p.send("GET", "/v1/apps", nil).StatusCode, "the sign-in is for the console alone")
}

func TestPagesShowWhatPeopleSeeOfATool(t *testing.T) {
	s := start(t)
	const hidden = "\u200b\u202e\U000e0069\U000e0067"
	s.rest("PUT", "/v1/apps/clinic", `{}`, nil)
	s.rest("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","description":"Books`+hidden+` it","examples":["a table`+hidden+` please"],
		"schema":[{"parameter":"day","type":"string","description":"which`+hidden+` day","allowedValues":["mon`+hidden+`day"]}]}]}`, nil)
	p := s.person()
	p.signIn(adminKey)
	for path, words := range map[string][]string{
		"/console/apps/clinic/tools":                 {"Books it", "a table please"},
		"/console/apps/clinic/playground?session=s1": {"Books it", "a table please"},
		"/console/apps/clinic/tools/desk/book":       {"which day", "monday"},
	} {
		got := p.send("GET", path, nil)
		require.Equal(t, http.StatusOK, got.StatusCode, path)
		for _, word := range words {
			require.Contains(t, got.body, word, path)
		}
		require.NotContains(t, got.body, "\u202e", path)
	}
}

func TestSomebodySeesWhatWasSentAndRetriesNow(t *testing.T) {
	s := keyless(t)
	s.endpoint.answers(503, `{"error":"closed for <b>lunch</b>"}`)
	s.says("s1", "m1", "I want an appointment at desk B, please")
	id := s.fired("book-appointment")
	b := s.open(t, "/console/apps/clinic")
	b.click(".figure.bad")
	b.until("the hosts are there whose calls were counted", `location.pathname === "/console/apps/clinic/endpoints"`)
	b.reads("tbody tr", strings.TrimPrefix(s.endpoint.URL, "http://"))
	b.visit("/console/apps/clinic/triggers/" + id)
	b.until("a third attempt, or a later one, is next", `/Attempt ([3-9]|\d\d) is next/.test(document.body.innerText)`)
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
	b := s.open(t, "/console/apps/clinic/sessions")
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

func TestListsAreReadToTheirEnd(t *testing.T) {
	s := keyless(t)
	for i := range 51 {
		s.rest("POST", fmt.Sprintf("/v1/apps/clinic/sessions/s%d/triggers", i), `{"name":"opening-hours","source":"ui"}`, nil)
	}
	b := s.open(t)
	for path, row := range map[string]string{"sessions": "#sessions li", "triggers?state=delivered": "#found tbody tr"} {
		b.visit("/console/apps/clinic/" + path)
		b.until("the first page is full", fmt.Sprintf("document.querySelectorAll(%q).length === 50", row))
		b.click("#found p > a.button")
		b.until("the second has the rest", fmt.Sprintf("document.querySelectorAll(%q).length === 1", row))
	}
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
	b := s.open(t, "/console/apps/clinic")
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

	for _, task := range []struct{ field, word, tool, before, button, after, done string }{
		{"#text", "TAXI", "transport", "pending", "button", "cancelled", "the front desk finds by a word what was booked, and cancels it"},
		{"#user", "ms-keller", "surgery", "confirming", "button.main", "fired", "the front desk finds by the user what waits, and confirms it"},
	} {
		b.visit("/console/apps/clinic/sessions")
		k := b.task()
		b.fill(task.field, task.word)
		k.click(".search button")
		b.until("one is found", `document.querySelectorAll(".sessions li").length === 1`)
		k.click(".sessions li a")
		b.reads("#chat .came ."+task.before, task.tool)
		k.click("#chat .came ." + task.before + " " + task.button)
		b.reads("#chat .came ."+task.after, task.tool)
		k.done(task.done, 3)
	}
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
	b := s.open(t, "/console/apps/clinic/sessions/s1?message=m1")
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
	b := s.open(t, "/console")
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
