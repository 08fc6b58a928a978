//go:build unix

package docs_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/chromiumtest"
)

// TestThePageOfTheDocumentsChats types into the page of chat-page.md what the document says, with its tools.
func TestThePageOfTheDocumentsChats(t *testing.T) {
	earshot := testbed.NewDev(t, []string{"EARSHOT_ADMIN_KEY="}) // as a reader starts it
	var page, tools string
	for _, b := range blocksOf(t, "chat-page.md") {
		if b.kind == "file" {
			page = strings.ReplaceAll(b.text, service, strings.TrimPrefix(earshot.URL, "http://"))
		}
		if _, after, found := strings.Cut(b.text, "repositories/booking"); found {
			_, tools, _ = strings.Cut(after, "-d '")
			tools, _, _ = strings.Cut(tools, "'")
		}
	}
	server := testbed.Serve(t, "", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(page)) }))
	earshot.Call(http.MethodPut, "/v1/apps/clinic", `{"settings": {"allowedOrigins": ["`+server+`"]}}`)
	earshot.Call(http.MethodPut, "/v1/apps/clinic/repositories/booking", tools)

	window, end := chromedp.NewContext(chromiumtest.Browser(t))
	t.Cleanup(end)
	require.NoError(t, chromedp.Do(window, chromedp.Navigate(server)))
	for _, turn := range [][2]string{{"I want an appointment", "Which day suits you?"}, {"Friday", `book-appointment {"day":"Friday"}`}} {
		require.NoError(t, chromedp.Do(window, chromedp.SetValue("input", turn[0]), chromedp.Click("button")))
		require.Eventually(t, func() bool {
			shown, err := chromedp.Run(window, chromedp.Evaluate[string]("document.querySelector('ol').innerText"))
			return err == nil && strings.HasSuffix(shown, turn[0]+"\n"+turn[1])
		}, testbed.Patience, testbed.Glance, "%v", turn)
	}
}
