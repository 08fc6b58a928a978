package console_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/api/admission"
	"earshot/api/console"
	"earshot/api/ratelimit"
	"earshot/deploy/testbed"
	"earshot/deploy/testbed/chromiumtest"
	"earshot/deploy/testbed/natstest"
	"earshot/deploy/testbed/redistest"
	"earshot/emitter"
	"earshot/httpcall"
	"earshot/httpcall/guard"
	"earshot/matcher/chain"
	"earshot/matcher/llm"
	"earshot/repositories/keyspace"
	"earshot/repositories/secret"
	"earshot/repositories/store"
	"earshot/trigger"
	"earshot/trigger/trial"
	"earshot/trigger/usage"
	"earshot/trigger/worker"
)

// These tests run the console on the real service: REST, store and engine on an in-memory store, the offline
// matcher, a NATS server, and an HTTP endpoint of the test. The browser is real, see tab.

const adminKey = "admin-key-of-the-tests"

type service struct {
	t        testing.TB
	url      string
	later    atomic.Int64 // how far the clock of sign-ins is ahead, in ns
	engine   *trigger.Engine
	endpoint *endpoint
}

// endpoint answers the calls of tools as configured.
type endpoint struct {
	*httptest.Server
	mu     sync.Mutex
	status int
	body   string
}

func (e *endpoint) answers(status int, body string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.status, e.body = status, body
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.status)
	_, _ = io.WriteString(w, e.body)
}

func start(t testing.TB) *service { return startWith(t, secret.New(adminKey)) }

// keyless runs a service without keys, with the clinic.
func keyless(t testing.TB) *service {
	s := startWith(t, secret.Secret{})
	s.clinic()
	return s
}

func startWith(t testing.TB, admin secret.Secret) *service {
	t.Helper()
	s := &service{t: t, endpoint: &endpoint{status: http.StatusOK, body: `{"ok":true}`}}
	s.endpoint.Server = httptest.NewServer(s.endpoint)
	t.Cleanup(s.endpoint.Close)
	log := slog.New(slog.DiscardHandler)
	sealer := testbed.Got(store.NewSealer(bytes.Repeat([]byte("k"), store.KeySize)))(t)
	redis := redistest.Mini(t)
	db := &keyspace.DB{UniversalClient: redis.Client(), Embedded: redis.Embedded()}
	definitions := store.New(db, store.Options{Sealer: sealer, SessionTTL: time.Hour})
	events := testbed.Got(emitter.Connect(natstest.Run(t).URL(), emitter.Options{Timeout: testbed.Patience, Logger: log}))(t)
	tail := events.Tail(0)
	policy := testbed.Got(guard.ParsePolicy("allow"))(t)
	used := usage.NewCounter(db, time.Now)
	metrics, registry := worker.NewMetrics(), prometheus.NewRegistry()
	registry.MustRegister(metrics, collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	calls := httpcall.New(httpcall.Options{Apps: definitions, Policy: policy, Logger: log})
	engine, err := trigger.NewEngine(trigger.Options{
		DB: db, Store: definitions, Matcher: chain.New(llm.Options{Logger: log}), Events: events, Metrics: metrics, Logger: log, Usage: used,
		Calls: calls, Webhooks: calls, Stream: events,
	})
	require.NoError(t, err)
	definitions.OnChange(engine.Wake)
	words := chain.New(llm.Options{Logger: log})
	s.engine = engine
	running, end := context.WithCancel(context.Background())
	var run sync.WaitGroup
	run.Go(func() { engine.Run(running) })
	run.Go(func() { tail.Run(running) })
	rest := api.New(api.Options{
		Store: definitions, Engine: engine, AdminKey: admin, Keys: definitions, Tokens: sealer, Origins: definitions,
		Rehearser: &trial.Rehearser{Engine: engine, Words: words, History: llm.DefaultHistory, Now: time.Now},
		Events:    tail, Usage: used, Webhooks: engine.Webhooks, Logger: log, Metrics: registry, Closing: running.Done(),
		Reach: func(context.Context, string, string) error { return nil },
	})
	served := httptest.NewServer(console.New(console.Options{REST: rest, Walls: ratelimit.New(admission.Bounds{}, prometheus.NewRegistry(), time.Now), Sealer: sealer, Now: func() time.Time {
		return time.Now().Add(time.Duration(s.later.Load()))
	}}))
	s.url = served.URL
	t.Cleanup(func() {
		end()
		run.Wait()
		require.NoError(t, engine.Stop(context.Background()))
		served.Close()
		events.Close()
	})
	return s
}

// rest calls the API as the admin, and decodes the answer unless into is nil.
func (s *service) rest(method, path, body string, into any) {
	request := testbed.Got(http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body)))(s.t)
	request.Header.Set("Authorization", "Bearer "+adminKey)
	request.Header.Set("Content-Type", "application/json")
	answer := testbed.Got(http.DefaultClient.Do(request))(s.t)
	defer answer.Body.Close()
	text := testbed.Got(io.ReadAll(answer.Body))(s.t)
	require.Less(s.t, answer.StatusCode, 300, "%s %s: %s", method, path, text)
	if into != nil {
		require.NoError(s.t, json.Unmarshal(text, into))
	}
}

// clinic creates an app with tools that fire, that are called and that reject.
func (s *service) clinic() {
	s.rest("PUT", "/v1/apps/clinic", `{"name":"My clinic"}`, nil)
	s.rest("PUT", "/v1/apps/clinic/repositories/desk", strings.ReplaceAll(deskBody, "ENDPOINT", s.endpoint.URL), nil)
}

const deskBody = `{"tools":[
	{"name":"book-appointment","description":"User needs an appointment",
	 "schema":[{"parameter":"desk","type":"string","description":"desk of the appointment","allowedValues":["A","B","C"],"required":true},
	           {"parameter":"people","type":"integer","description":"number of people","minValue":1}],
	 "url":"ENDPOINT/book/:desk","emitter":"calendar.request",
	 "examples":["I want an appointment","Can I get an appointment at desk C?","book me an appointment"]},
	{"name":"opening-hours","description":"Tell when the clinic is open",
	 "examples":["When are you open?","What are your opening hours?"]}]}`

func (s *service) says(session, id, text string) {
	body := testbed.Got(json.Marshal(map[string]string{"actor": "user", "messageId": id, "text": text}))(s.t)
	s.rest("POST", "/v1/apps/clinic/sessions/"+session+"/messages", string(body), nil)
}

// fired returns the id of the last trigger of a tool.
func (s *service) fired(tool string) string {
	var found struct{ Items []struct{ TriggerID string } }
	s.rest("GET", "/v1/apps/clinic/triggers?name="+tool, "", &found)
	require.NotEmpty(s.t, found.Items, tool)
	return found.Items[0].TriggerID
}

// form submits a form without scripts, and returns the resulting page.
func (s *service) form(t testing.TB, path, fields string) string {
	answer := testbed.Got(http.Post(s.url+path, "application/x-www-form-urlencoded", strings.NewReader(fields)))(t)
	defer answer.Body.Close()
	text := testbed.Got(io.ReadAll(answer.Body))(t)
	return string(text)
}

const (
	patience = chromiumtest.Patience
	pictures = chromiumtest.Pictures
)

func TestMain(m *testing.M) { testbed.Main(m) }

// tab is a new page in a browser.
type tab struct {
	t   *testing.T
	ctx context.Context
	s   *service

	mu     sync.Mutex
	faults []string // forbidden actions of the page
	bytes  int64    // received since the last open
}

// open opens a tab, at a path if one is given. At the end of the test it must have contacted no other host, without errors
// or policy violations.
func (s *service) open(t *testing.T, path ...string) *tab {
	t.Helper()
	b := &tab{t: t, s: s}
	b.ctx = chromiumtest.Open(t, b.observe)
	b.sized(1280, 800)
	t.Cleanup(func() { require.Empty(t, b.seen(), "what the page must not do") })
	for _, one := range path {
		b.visit(one)
	}
	return b
}

func (b *tab) observe(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		asked, err := url.Parse(e.Request.URL)
		if err != nil || asked.Scheme != "data" && "http://"+asked.Host != b.s.url {
			b.faults = append(b.faults, "asked "+e.Request.URL)
		}
	case *network.EventLoadingFinished:
		b.bytes += int64(e.EncodedDataLength)
	case *runtime.EventExceptionThrown:
		b.faults = append(b.faults, (&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error())
	case *page.EventJavascriptDialogOpening:
		b.faults = append(b.faults, "a dialog: "+e.Message)
	case *log.EventEntryAdded:
		// Some tests are about 4xx answers.
		if e.Entry.Level == log.EntryLevelError && e.Entry.Source != log.EntrySourceNetwork {
			b.faults = append(b.faults, e.Entry.Text)
		}
	}
}

func (b *tab) seen() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.faults
}

// do runs actions; on failure it reports the page's text.
func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatalf("%s\n%s", err, b.text("body"))
	}
}

// evaluated returns the value of an expression in the page.
func evaluated[T any](b *tab, expression string, options ...chromedp.EvaluateOption) T {
	b.t.Helper()
	return chromiumtest.Evaluated[T](b.t, b.ctx, expression, options...)
}

// text returns the visible text of the first match of a selector; empty for none.
func (b *tab) text(selector string) string {
	text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](fmt.Sprintf("document.querySelector(%q)?.innerText ?? ''", selector)))
	return text
}

// visit loads a page of the console.
func (b *tab) visit(path string) {
	b.mu.Lock()
	b.bytes = 0
	b.mu.Unlock()
	b.do(chromedp.Navigate(b.s.url + path))
}

// signIn signs in with a key and follows path.
func (b *tab) signIn(key, path string) {
	b.t.Helper()
	b.visit("/console/sign-in?next=" + url.QueryEscape(path))
	b.fill("#key", key)
	b.click("main button")
	b.until("the page is there", fmt.Sprintf("location.pathname === %q", path))
}

func (b *tab) fill(selector, text string) {
	b.t.Helper()
	b.do(chromedp.SetValue(selector, text))
}

// click clicks on the first match of a selector once it exists: elements may move as events arrive.
func (b *tab) click(selector string) {
	b.t.Helper()
	found := fmt.Sprintf("document.querySelector(%q)", selector)
	b.until(selector+" is there", found)
	b.do(chromedp.Evaluate[chromedp.Void]("setTimeout(() => " + found + ".click())"))
}

// until waits until an expression holds in a loaded page.
func (b *tab) until(what, expression string) {
	b.t.Helper()
	held := assert.Eventually(b.t, func() bool {
		holds, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("document.readyState !== 'loading' && Boolean("+expression+")"))
		return err == nil && holds
	}, patience, 20*time.Millisecond, what)
	if !held {
		b.t.Fatal(b.text("body"))
	}
}

// reads waits until an element reads some words.
func (b *tab) reads(selector string, words ...string) {
	b.t.Helper()
	for _, word := range words {
		b.until(selector+" reads "+word, fmt.Sprintf("[...document.querySelectorAll(%q)].some(e => e.innerText.includes(%q))", selector, word))
	}
}

func (b *tab) sized(width, height int64) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, height))
}

func (b *tab) prefers(scheme string) {
	b.t.Helper()
	chromiumtest.Prefers(b.t, b.ctx, scheme)
}

// documents maps page names to pictures in the documents.
var documents = map[string]string{"now": "console-now", "session-rejected": "console-session", "triggers": "console-triggers", "editor": "console-tool"}

// picture saves a screenshot if the folder is configured, also under the name for the documents.
func (b *tab) picture(name string, width int64, scheme string) {
	folder := os.Getenv(pictures)
	if folder == "" {
		return
	}
	name = strings.ReplaceAll(name, " ", "-")
	png := testbed.Got(chromedp.Run(b.ctx, chromedp.FullScreenshot(100)))(b.t)
	require.NoError(b.t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("%s-%d-%s.png", name, width, scheme)), png, 0o600))
	if shown := documents[name]; shown != "" && width == 1280 && scheme == "light" {
		require.NoError(b.t, os.WriteFile(filepath.Join("../../deploy/docs/pictures", shown+".png"), png, 0o600))
	}
}

// accessible checks the page's accessibility.
func (b *tab) accessible(name string) {
	b.t.Helper()
	chromiumtest.Accessible(b.t, b.ctx, name, func(width int64, scheme string) { b.picture(name, width, scheme) })
}
