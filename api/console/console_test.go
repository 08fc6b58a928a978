package console_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
	jar, err := cookiejar.New(nil)
	require.NoError(s.t, err)
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
	request, err := http.NewRequestWithContext(p.s.t.Context(), method, p.s.url+path, strings.NewReader(form.Encode()))
	require.NoError(p.s.t, err)
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	answer, err := p.browser.Do(request)
	require.NoError(p.s.t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(p.s.t, err)
	return seen{answer, string(body)}
}

func (p *person) signIn(key string) seen {
	p.s.t.Helper()
	return p.send("POST", "/console/sign-in", url.Values{"key": {key}, "next": {"/console/apps"}})
}

func (s *service) key(scopes string) (id, key string) {
	s.t.Helper()
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

	behind := p.send("POST", "/console/sign-in", url.Values{"key": {adminKey}}, "X-Forwarded-Proto: https")
	require.True(t, behind.Cookies()[0].Secure)

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
		got := p.send("POST", "/console/apps/clinic/playground", form, headers...)
		require.Equal(t, http.StatusForbidden, got.StatusCode, header)
	}
	require.Equal(t, http.StatusForbidden, p.hosted("rebound.example", "/console/apps/clinic/playground?session=s1"))
	require.NotContains(t, p.send("GET", "/console/apps/clinic/playground?session=s1", nil).body, "When are you open?</p>")
	require.Equal(t, http.StatusSeeOther, p.send("POST", "/console/apps/clinic/playground", form).StatusCode)
	require.Contains(t, p.send("GET", "/console/apps/clinic/playground?session=s1", nil).body, "When are you open?</p>")
}

// hosted sends a request as a page with another host name would.
func (p *person) hosted(host, path string) int {
	request, err := http.NewRequestWithContext(p.s.t.Context(), "GET", p.s.url+path, nil)
	require.NoError(p.s.t, err)
	request.Host = host
	answer, err := p.browser.Do(request)
	require.NoError(p.s.t, err)
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
