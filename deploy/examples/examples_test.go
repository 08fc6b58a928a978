package examples

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"earshot/deploy/devtest"
)

const book = `{"tools":[{"name":"book","description":"User needs an appointment",
	"schema":[{"parameter":"day","type":"string","required":true,"allowedValues":["Monday","Friday"]}],
	"examples":["I want an appointment on Monday"] %s}]}`

// javascript are programs in a folder of examples that need Node, ready to run.
func javascript(t *testing.T, name string, installs bool) (folder string) {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			devtest.Missing(t, program+" is not installed: apt-get install nodejs npm")
		}
	}
	files, err := os.ReadDir(name)
	require.NoError(t, err)
	folder = t.TempDir()
	for _, file := range files {
		if file.IsDir() {
			continue // what somebody has installed there
		}
		text, err := os.ReadFile(filepath.Join(name, file.Name()))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(folder, file.Name()), text, 0o600))
	}
	if !installs {
		return folder
	}
	cmd := exec.Command("npm", "ci", "--no-audit", "--no-fund")
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		devtest.Missing(t, "npm cannot get the packages of the lock file: "+string(out))
	}
	return folder
}

func TestSubscribersGetWhatFires(t *testing.T) {
	s := dev(t, `{}`)
	s.ask("PUT", "/v1/apps/clinic/repositories/desk", fmt.Sprintf(book, ""))
	s.ask("PUT", "/v1/apps/clinic/repositories/printer", `{"tools":[{"name":"print","description":"print it","answer":{"within":"1m"},"request":{"timeout":"1m"}}]}`)
	require.Len(t, s.say("before", "I want an appointment on Friday"), 1)
	for name, run := range map[string]func(t *testing.T) *devtest.Lines{
		"Go": func(t *testing.T) *devtest.Lines { return start(t, ".", s.around(), "subscriber") },
		"JavaScript": func(t *testing.T) *devtest.Lines {
			return start(t, javascript(t, "subscriber", true), s.around(), "node", "subscriber.js")
		},
	} {
		t.Run(name, func(t *testing.T) {
			said := run(t)
			said.Await(t, `subscribed\n(?s:.*)book in before: {"day":"Friday"}\n`)
			s.say("after", "I want an appointment on Monday")
			said.Await(t, `book in after: {"day":"Monday"}\n`)
			printed := s.say(name, "print it")[0].(map[string]any)["call"].(map[string]any)
			require.Equal(t, "printed", printed["result"], printed)
		})
	}
}

func TestEndpointsTakeCallsThatAreSigned(t *testing.T) {
	const secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
	s := dev(t, `{"signingSecret":"`+secret+`"}`)
	for name, run := range map[string]func(t *testing.T, variables []string){
		"Go": func(t *testing.T, variables []string) { start(t, ".", variables, "webhook") },
		"JavaScript": func(t *testing.T, variables []string) {
			start(t, javascript(t, "webhook", false), variables, "node", "webhook.js")
		},
	} {
		t.Run(name, func(t *testing.T) {
			address := freeAddress(t)
			run(t, []string{"SIGNING_SECRET=" + secret, "ADDR=" + address})
			forged := func() int {
				request, err := http.NewRequest("POST", "http://"+address, strings.NewReader(`{"values":{"day":"Friday"}}`))
				require.NoError(t, err)
				request.Header.Set("webhook-id", "forged")
				request.Header.Set("webhook-timestamp", "1")
				request.Header.Set("webhook-signature", "v1,AAAA")
				response, err := http.DefaultClient.Do(request)
				if err != nil {
					return 0
				}
				_, _ = io.Copy(io.Discard, response.Body)
				return response.StatusCode * btoi(response.Body.Close() == nil)
			}
			require.Eventually(t, func() bool { return forged() == http.StatusUnauthorized }, devtest.Patience, devtest.Glance)
			s.ask("PUT", "/v1/apps/clinic/repositories/desk", fmt.Sprintf(book, `, "url":"http://`+address+`/book"`))
			fired := s.say(name, "I want an appointment on Friday")[0].(map[string]any)
			call := fired["call"].(map[string]any)
			require.Equal(t, "delivered", call["state"], call)
			require.Equal(t, map[string]any{"booked": "Friday", "number": 1.0}, call["result"])
		})
	}
}

func btoi(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func TestABackEndOffersWhatIsFreeAndReacts(t *testing.T) {
	s := dev(t, `{}`)
	start(t, ".", s.around(), "appointments", "s1").Await(t, `open\n`)
	hears := func(text string) {
		t.Helper()
		require.Eventually(t, func() bool {
			history, err := json.Marshal(s.ask("GET", "/v1/apps/clinic/sessions/s1/messages", ""))
			require.NoError(t, err)
			return strings.Count(string(history), text) == 1
		}, devtest.Patience, devtest.Glance, text)
	}
	require.Empty(t, s.say("s1", "I take 11:30"), "there is no such tool yet")
	require.Len(t, s.say("s1", "I want an appointment on Friday"), 1)
	hears("On Friday we have 9:00 or 11:30. Which suits you?")
	require.Empty(t, s.say("s2", "I take 11:30"), "it is a tool of one session")
	require.Len(t, s.say("s1", "I take 11:30"), 1)
	hears("You have an appointment on Friday at 11:30.")
	require.Empty(t, s.say("s1", "I take 9:00"), "it is chosen once")
}

func TestAVoiceFrontEndDecidesWhatItHasHeardAndTakesBack(t *testing.T) {
	s := dev(t, `{}`)
	s.ask("PUT", "/v1/apps/clinic/repositories/rooms", `{"tools":[
		{"name":"turn-on-the-light","description":"Turn on the light in a room","examples":["turn on the light in the kitchen"],
		 "schema":[{"parameter":"room","type":"string","required":true,"allowedValues":["kitchen","cellar"]}],"settle":"60s"},
		{"name":"ring-the-bell","description":"Ring the bell","examples":["ring the bell"]}]}`)
	said := start(t, ".", s.around(), "voice", "voice/said.txt", "s1")
	said.Await(t, `does turn-on-the-light {"room":"kitchen"}: pending\ntakes back\n(?s:.*)forgets\n(?s:.*)does ring-the-bell {}: published\n`)
	var texts []any
	for _, entry := range s.ask("GET", "/v1/apps/clinic/sessions/s1/messages", "")["items"].([]any) {
		texts = append(texts, entry.(map[string]any)["text"])
	}
	require.Equal(t, []any{"turn on the light in the kitchen", "ring the bell"}, texts, "a draft is in no history")
	light := s.ask("GET", "/v1/apps/clinic/triggers?limit=10", "")["items"].([]any)[1].(map[string]any)
	require.Equal(t, "cancelled", light["state"])
}

// chromium is the one browser of all tests.
var chromium = sync.OnceValues(func() (context.Context, error) {
	program, err := exec.LookPath("chromium")
	if err != nil {
		return nil, fmt.Errorf("no chromium: install it (apt-get install chromium)")
	}
	// Without these it asks for Google's hosts, and does not run as root.
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	browser, stop := chromedp.NewContext(allocator)
	closeChromium = func() { stop(); cancel() }
	return browser, chromedp.Do(browser)
})

var closeChromium = func() {}

func TestABrowserChatsOnATokenOfItsSession(t *testing.T) {
	page, err := chromium()
	if err != nil {
		devtest.Missing(t, err.Error())
	}
	address := freeAddress(t)
	s := dev(t, `{"settings":{"allowedOrigins":["http://`+address+`"]}}`)
	s.ask("PUT", "/v1/apps/clinic/repositories/desk", fmt.Sprintf(book, ""))
	start(t, ".", s.around("ADDR="+address, "TOKEN_LIFE=62s"), "browser") // its streams speak of the end after a second or two
	require.Eventually(t, func() bool {
		response, err := http.Get("http://" + address)
		return err == nil && response.Body.Close() == nil
	}, devtest.Patience, devtest.Glance)
	until := func(expression string) {
		t.Helper()
		require.Eventually(t, func() bool {
			holds, err := chromedp.Run(page, chromedp.Evaluate[bool](expression))
			return err == nil && holds
		}, devtest.Patience, devtest.Glance, expression)
	}
	say := func(text string) {
		t.Helper()
		require.NoError(t, chromedp.Do(page, chromedp.SetValue("#text", text), chromedp.Click("button")))
	}
	require.NoError(t, chromedp.Do(page, chromedp.Navigate("http://"+address)))
	until(`document.querySelector("#say").classList.contains("connected")`)
	say("I want an appointment")
	until(`document.querySelector("#log").innerText.includes("book needs day")`)
	say("on Friday")
	until(`document.querySelector("#log").innerText.includes('book {"day":"Friday"}')`)
	until(`!!(window.opened ||= []) && !!(window.EventSource = class extends EventSource { constructor(url) { super(url); opened.push(url); } })`)
	until(`/lastEventId=[1-9]/.test(opened.at(-1))`) // with another token, behind what was seen
	require.NoError(t, chromedp.Do(page, chromedp.Reload()))
	until(`document.querySelector("#log").innerText.includes("on Friday") && document.querySelector("#say").classList.contains("connected")`)
	say("my cat is asleep")
	until(`document.querySelector("#log").innerText.includes("I have not understood that.")`)
	s.ask("PUT", "/v1/apps/clinic/repositories/leaflet", `{"tools":[{"name":"turn-the-page","description":"Turn the page",
		"answer":{"within":"1m"},"request":{"timeout":"1m"}}]}`)
	say("turn the page")
	until(`document.querySelector("#page").textContent === "2"`)
	require.Eventually(t, func() bool {
		latest := s.ask("GET", "/v1/apps/clinic/triggers", "")["items"].([]any)[0].(map[string]any)
		return latest["call"].(map[string]any)["result"] == "page 2"
	}, devtest.Patience, devtest.Glance)
}
