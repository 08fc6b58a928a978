package manual_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/chromiumtest"
)

const (
	// patience bounds every wait, for machines that do much else.
	patience = time.Minute
	// pictures names a folder in which every page that is looked at leaves a picture.
	pictures = "EARSHOT_PICTURES"
)

// axe is the source of axe-core, which finds what keeps people out of a page.
var axe = sync.OnceValues(func() (string, error) {
	zipped, err := os.ReadFile("../console/testdata/axe.min.js.gz")
	if err != nil {
		return "", err
	}
	plain, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(plain)
	return string(text), err
})

// tab is a page in a browser. At the end of the test it must have asked no other host, and met no error.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu     sync.Mutex
	faults []string
}

func open(t *testing.T, url string) *tab {
	own, stop := chromedp.NewContext(chromiumtest.Browser(t), chromedp.WithNewBrowserContext())
	t.Cleanup(stop)
	b := &tab{t: t, ctx: own}
	require.NoError(t, chromedp.Listen(own, func(event any) {
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
	}))
	_, err := chromedp.Call(own, network.Enable, network.EnableParams{})
	require.NoError(t, err)
	for _, enable := range []cdp.Command[cdp.Empty, cdp.Empty]{log.Enable, runtime.Enable} {
		_, err = chromedp.Call(own, enable, cdp.Empty{})
		require.NoError(t, err)
	}
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
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, options...))
	require.NoError(b.t, err)
	return value
}

func (b *tab) until(what, expression string) {
	b.t.Helper()
	require.True(b.t, assert.Eventually(b.t, func() bool {
		holds, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("document.readyState === 'complete' && Boolean("+expression+")"))
		return err == nil && holds
	}, patience, 20*time.Millisecond, what))
}

// accessible checks a page in both colour schemes and two widths, and that it is no wider than the window.
func (b *tab) accessible(name string) {
	b.t.Helper()
	source, err := axe()
	require.NoError(b.t, err)
	for _, width := range []int64{1280, 390} {
		b.do(chromedp.EmulateViewport(width, 844))
		for _, scheme := range []string{"light", "dark"} {
			if !testbed.Nightly && (width == 1280) != (scheme == "light") {
				continue // all four are for the night
			}
			_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
			require.NoError(b.t, err)
			evaluated[chromedp.Void](b, source+";0")
			found := evaluated[[]string](b, `axe.run({resultTypes: ["violations"]}).then(r =>
				r.violations.flatMap(v => v.nodes.map(n => v.id + ": " + n.target + ": " + n.failureSummary)))`, chromedp.EvalAwaitPromise)
			require.Empty(b.t, found, "%s, %s, %d", name, scheme, width)
			if folder := os.Getenv(pictures); folder != "" {
				png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
				require.NoError(b.t, err)
				require.NoError(b.t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("docs-%s-%d-%s.png", name, width, scheme)), png, 0o600))
			}
		}
		require.LessOrEqual(b.t, evaluated[float64](b, "document.documentElement.scrollWidth - innerWidth"), 0.0, "%s is wider than %d", name, width)
	}
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
