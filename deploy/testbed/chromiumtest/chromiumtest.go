// Package chromiumtest runs Chromium for tests of pages.
package chromiumtest

import (
	"context"
	"errors"
	"os/exec"
	"sync"

	"github.com/chromedp/chromedp"

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
