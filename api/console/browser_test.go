package console_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/chromiumtest"
)

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

// open opens a tab. At the end of the test it must have contacted no other host, without errors or policy
// violations.
func (s *service) open(t *testing.T) *tab {
	t.Helper()
	b := &tab{t: t, s: s}
	b.ctx = chromiumtest.Open(t, b.observe)
	b.sized(1280, 800)
	t.Cleanup(func() { require.Empty(t, b.seen(), "what the page must not do") })
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
	b.t.Helper()
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
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	require.NoError(b.t, err)
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
