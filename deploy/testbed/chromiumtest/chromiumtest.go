// Package chromiumtest runs Chromium for tests of pages.
package chromiumtest

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

// Browser returns the one browser of all tests, which ends with testbed.Main.
func Browser(t testbed.TB) context.Context {
	t.Helper()
	browser, err := shared()
	if err != nil {
		testbed.Missing(t, err.Error())
	}
	return browser
}

var shared = sync.OnceValues(func() (context.Context, error) {
	program, err := exec.LookPath("chromium")
	if err != nil {
		return nil, errors.New("no chromium: install it (apt-get install chromium)")
	}
	// Without these it asks for Google's hosts, and does not run as root.
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("lang", "en-GB"))
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	browser, stop := chromedp.NewContext(allocator)
	testbed.AtEnd(func() error { stop(); cancel(); return nil })
	return browser, chromedp.Do(browser)
})

const (
	Patience = time.Minute        // for a page, on machines that do much else
	Pictures = "EARSHOT_PICTURES" // the variable with a folder for a picture of every page
)

// packedAxe is axe-core 4.14.1 (https://github.com/dequelabs/axe-core, MPL 2.0), which finds what keeps people out of a page.
//
//go:embed axe.min.js.gz
var packedAxe []byte

var axe = sync.OnceValues(func() (string, error) {
	plain, err := gzip.NewReader(bytes.NewReader(packedAxe))
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(plain)
	return string(text), err
})

// Open opens a page in a fresh browser context until the end of the test, and observes its requests, log and exceptions.
func Open(t testing.TB, observe func(event any)) context.Context {
	page, stop := chromedp.NewContext(Browser(t), chromedp.WithNewBrowserContext())
	t.Cleanup(stop)
	require.NoError(t, chromedp.Listen(page, observe))
	_, err := chromedp.Call(page, network.Enable, network.EnableParams{})
	require.NoError(t, err)
	for _, enable := range []cdp.Command[cdp.Empty, cdp.Empty]{log.Enable, runtime.Enable} {
		_, err = chromedp.Call(page, enable, cdp.Empty{})
		require.NoError(t, err)
	}
	return page
}

// Evaluated is what an expression comes to in a page.
func Evaluated[T any](t testing.TB, page context.Context, expression string, options ...chromedp.EvaluateOption) T {
	ctx, cancel := context.WithTimeout(page, Patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, options...))
	require.NoError(t, err)
	return value
}

// Prefers has a page shown as to a person who prefers a colour scheme, and as little motion as there can be.
func Prefers(t testing.TB, page context.Context, scheme string) {
	_, err := chromedp.Call(page, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}})
	require.NoError(t, err)
}

// Accessible checks a page by axe in both colour schemes and two widths, and that it is no wider than the window; by day, each
// width in one scheme, unless pictures are taken. looked is called for each.
func Accessible(t testing.TB, page context.Context, name string, looked func(width int64, scheme string)) {
	source, err := axe()
	require.NoError(t, err)
	Evaluated[chromedp.Void](t, page, source+";0")
	for _, size := range [][2]int64{{1280, 800}, {390, 844}} {
		width := size[0]
		require.NoError(t, chromedp.Do(page, chromedp.EmulateViewport(width, size[1])))
		for _, scheme := range []string{"light", "dark"} {
			if !testbed.Nightly && os.Getenv(Pictures) == "" && (width == 1280) != (scheme == "light") {
				continue
			}
			Prefers(t, page, scheme)
			found := Evaluated[[]string](t, page, `axe.run({resultTypes: ["violations"]}).then(r =>
				r.violations.flatMap(v => v.nodes.map(n => v.id + ": " + n.target + ": " + n.failureSummary)))`, chromedp.EvalAwaitPromise)
			require.Empty(t, found, "%s, %s, %d", name, scheme, width)
			looked(width, scheme)
		}
		require.LessOrEqual(t, Evaluated[float64](t, page, "document.documentElement.scrollWidth - innerWidth"), 0.0, "%s is wider than %d", name, width)
	}
}
