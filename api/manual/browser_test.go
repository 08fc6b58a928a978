package manual_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/chromiumtest"
)

const patience = chromiumtest.Patience

// tab is a page in a browser. At the end of the test it must have contacted no other host, without errors.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu     sync.Mutex
	faults []string
}

func open(t *testing.T, url string) *tab {
	b := &tab{t: t}
	b.ctx = chromiumtest.Open(t, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(e.Request.URL, url+"/") {
				b.faults = append(b.faults, "asked "+e.Request.URL)
			}
		case *runtime.EventExceptionThrown:
			b.faults = append(b.faults, (&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error())
		case *log.EventEntryAdded:
			if e.Entry.Level == log.EntryLevelError {
				b.faults = append(b.faults, e.Entry.Text+" "+e.Entry.URL)
			}
		}
	})
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		require.Empty(t, b.faults, "what the page must not do")
	})
	return b
}

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	require.NoError(b.t, chromedp.Do(ctx, actions...))
}

func evaluated[T any](b *tab, expression string, options ...chromedp.EvaluateOption) T {
	b.t.Helper()
	return chromiumtest.Evaluated[T](b.t, b.ctx, expression, options...)
}

func (b *tab) until(what, expression string) {
	b.t.Helper()
	require.True(b.t, assert.Eventually(b.t, func() bool {
		holds, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("document.readyState === 'complete' && Boolean("+expression+")"))
		return err == nil && holds
	}, patience, 20*time.Millisecond, what))
}

func (b *tab) accessible(name string) {
	b.t.Helper()
	chromiumtest.Accessible(b.t, b.ctx, name, func(width int64, scheme string) {
		if folder := os.Getenv(chromiumtest.Pictures); folder != "" {
			png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
			require.NoError(b.t, err)
			require.NoError(b.t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("docs-%s-%d-%s.png", name, width, scheme)), png, 0o600))
		}
	})
}

func TestThePagesAreForEverybody(t *testing.T) {
	s := site(t, nil)
	b := open(t, s.URL)
	for name, at := range map[string]string{"contents": "/docs", "turns": "/docs/turns", "settings": "/docs/reference/settings"} {
		b.do(chromedp.Navigate(s.URL + at))
		b.accessible(name)
	}
}

func TestTheSearchFindsASectionInTheBrowser(t *testing.T) {
	s := site(t, nil)
	b := open(t, s.URL)
	b.do(chromedp.Navigate(s.URL + "/docs"))
	evaluated[chromedp.Void](b, "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: '/', bubbles: true})); 0")
	b.do(chromedp.SendKeys("#find", "EARSHOT_REDIS_WAIT"))
	b.until("the setting is found", `[...document.querySelectorAll('#found a')].some(a => a.getAttribute('href') === '/docs/reference/settings#redis' && a.querySelector('mark'))`)
	b.accessible("search")
	b.do(chromedp.SetValue("#find", "no-such-word-anywhere"))
	evaluated[chromedp.Void](b, "document.activeElement.dispatchEvent(new Event('input')); 0")
	b.until("it says that nothing is found", `document.getElementById('found').innerText.includes('No page has all of these words')`)
}

func TestAnchorsOfTheReferenceThatWasAtDocsLeadToIt(t *testing.T) {
	s := site(t, nil)
	b := open(t, s.URL)
	b.do(chromedp.Navigate(s.URL + "/docs#faults"))
	b.until("the reference is there", `location.pathname === '/docs/reference/api' && document.getElementById('faults')`)
}
