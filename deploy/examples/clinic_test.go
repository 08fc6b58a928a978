package examples

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/chromiumtest"
)

type window struct {
	t    *testing.T
	page context.Context
}

func (w window) until(expression string) {
	require.Eventually(w.t, func() bool {
		holds, err := chromedp.Run(w.page, chromedp.Evaluate[bool](expression))
		return err == nil && holds
	}, testbed.Patience, testbed.Glance, expression)
}

func (w window) shows(selector, text string) {
	w.until(fmt.Sprintf("[...document.querySelectorAll(%q)].some((item) => item.textContent.trim() === %q)", selector, text))
}

func (w window) say(text string) {
	require.NoError(w.t, chromedp.Do(w.page, chromedp.SetValue("#text", text), chromedp.Click("button")))
}

const (
	asked   = "Which day suits you? Monday or Friday (Montag oder Freitag, lundi ou vendredi)"
	offered = "We have 10:00 or 11:30. Which suits you?"
)

func TestAVisitorOfTheClinicBooksAtItsDesk(t *testing.T) {
	page := chromiumtest.Browser(t)
	address := testbed.Address(t)
	s := devOf(t, "clinic", "CLINIC_PAGE=http://"+address)
	start(t, ".", s.around("ADDR="+address, "TOKEN_LIFE=62s"), "clinic").Await(t, `open\n`) // its streams speak of the end after a second or two
	require.Eventually(t, func() bool {
		response, err := http.Get("http://" + address)
		return err == nil && response.Body.Close() == nil
	}, testbed.Patience, testbed.Glance)
	w := window{t: t, page: page}
	require.NoError(t, chromedp.Do(page, chromedp.Navigate("http://"+address)))
	w.until(`document.querySelector("#say").classList.contains("connected")`)
	w.say("I want an appointment")
	w.shows("#ask", asked)
	w.until(`!!(window.opened ||= []) && !!(window.EventSource = class extends EventSource { constructor(url) { super(url); opened.push(url); } })`)
	w.until(`/lastEventId=[1-9]/.test(opened.at(-1))`) // with another token, behind what was seen
	require.NoError(t, chromedp.Do(page, chromedp.Reload()))
	w.shows("#log .user", "I want an appointment")
	w.shows("#ask", asked) // the open call is not lost
	w.say("Freitag")
	w.shows("#log .agent", offered)
	w.shows("#ask", "")
	w.say("I take 11:30")
	w.shows("#log .agent", "You have an appointment at 11:30.")
	w.until(`document.querySelectorAll("#log li").length === 5`)
	w.say("turn the page")
	w.shows("#page", "2")

	sessions := s.ask("GET", "/v1/apps/clinic/sessions", "")["items"].([]any)
	require.Len(t, sessions, 1, "a page that is loaded again goes on with its session")
	visit := sessions[0].(map[string]any)
	require.Equal(t, "en", visit["language"], visit)
	require.Eventually(t, func() bool {
		latest := s.ask("GET", "/v1/apps/clinic/triggers", "")["items"].([]any)[0].(map[string]any)
		return latest["call"].(map[string]any)["result"] == "page 2"
	}, testbed.Patience, testbed.Glance)
	require.Empty(t, s.say(visit["sessionId"].(string), "I want an appointment on Monday"), "a visitor books once")
}
