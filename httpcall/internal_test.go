package httpcall

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"earshot/repositories"
	"earshot/trigger/effect"
	"earshot/trigger/effect/effecttest"
)

func testGate() (*hostLimiter, *url.URL) {
	o := Options{Apps: effecttest.Apps{}, BreakAfter: 2, Jitter: func(d time.Duration) time.Duration { return d }}
	return New(o).hosts, &url.URL{Scheme: "https", Host: "a.example"}
}

func pass(t *testing.T, g *hostLimiter, target *url.URL, state hostHealth) {
	t.Helper()
	leave, err := g.acquire(t.Context(), "clinic", target)
	require.NoError(t, err)
	leave(state)
}

// The bubble's clock drives the breaker, so half a minute takes no time.
func TestClosedOffHostIsProbedByOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, target := testGate()
		pass(t, g, target, down)
		pass(t, g, target, down)
		_, err := g.acquire(t.Context(), "clinic", target)
		require.ErrorContains(t, err, "closed off")

		time.Sleep(31 * time.Second)
		probe, err := g.acquire(t.Context(), "clinic", target)
		require.NoError(t, err)
		_, err = g.acquire(t.Context(), "clinic", target)
		require.Error(t, err, "one probe at a time")
		probe(down)
		_, err = g.acquire(t.Context(), "clinic", target)
		require.Error(t, err, "the probe failed: closed off for another while")

		time.Sleep(31 * time.Second)
		pass(t, g, target, unknown) // no result, so the next one probes
		pass(t, g, target, alive)
		pass(t, g, target, down)
		pass(t, g, target, alive)
	})
}

func TestWaitForASlotEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, target := testGate()
		for range 8 {
			_, err := g.acquire(t.Context(), "clinic", target)
			require.NoError(t, err)
		}
		began := time.Now()
		_, err := g.acquire(t.Context(), "clinic", target)
		require.True(t, effect.OutcomeOf(err).Deferred)
		require.Equal(t, time.Second, time.Since(began))
	})
}

func TestJitterStaysWithinAFifth(t *testing.T) {
	jitter := New(Options{Apps: effecttest.Apps{}}).options.Jitter
	for range 1000 {
		pause := jitter(10 * time.Second)
		require.GreaterOrEqual(t, pause, 8*time.Second)
		require.LessOrEqual(t, pause, 12*time.Second)
	}
}
func TestTokenIsRenewedHalfAMinuteOrAFifthOfItsLifeEarly(t *testing.T) {
	now := time.Date(2026, 12, 1, 9, 30, 0, 0, time.UTC)
	tokens := New(Options{Apps: effecttest.Apps{}, Now: func() time.Time { return now }}).tokens
	for answer, test := range map[string]struct{ renew, end time.Duration }{
		`{"access_token":"a","expires_in":3600}`: {time.Hour - 30*time.Second, time.Hour},
		`{"access_token":"a","expires_in":20}`:   {16 * time.Second, 20 * time.Second},
		`{"access_token":"a","expires_in":20.9}`: {16 * time.Second, 20 * time.Second},
		`{"access_token":"a","expires_in":-60}`:  {0, 0},
		`{"access_token":"a"}`:                   {5*time.Minute - 30*time.Second, 5 * time.Minute},
	} {
		tokens.client = &http.Client{Transport: answering(answer)}
		made, err := tokens.request(t.Context(), &grant{}, "https://id.example/token", nil, oauth2.AuthStyleInParams)
		require.NoError(t, err, answer)
		require.WithinDuration(t, now.Add(test.renew), made.renew, 2*time.Second, answer)
		require.WithinDuration(t, now.Add(test.end), made.end, 2*time.Second, answer)
	}
}

// answering is a transport with a fixed JSON answer.
type answering string

func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	body := io.NopCloser(strings.NewReader(string(a)))
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: body}, nil
}

func TestFlightThatComesLateFindsTheTokenOfTheOneBefore(t *testing.T) {
	kept := New(Options{Apps: effecttest.Apps{}}).tokens // a request would fail: the grant has no endpoint
	g := &grant{key: "k"}
	kept.cached.Add(g.key, accessToken{text: "fresh", renew: time.Now().Add(time.Hour)})
	access, err := kept.renew(t.Context(), g)
	require.NoError(t, err)
	require.Equal(t, "fresh", access)
}

// FuzzURL looks for a value or template that changes a forbidden part of the URL.
func FuzzURL(f *testing.F) {
	f.Add("/book/:id", "x=:id", "2026-12-01", "7")
	f.Add("/:id/:idCard", "q=:idCard&:id", "../..", "a&b=c#d?e")
	f.Add("/a%2Fb/:id-x", "", "..", "$&")
	f.Fuzz(func(t *testing.T, path, query, id, card string) {
		if strings.ContainsAny(path, "?#") || strings.Contains(query, "#") {
			t.Skip("these end the part that is looked at")
		}
		template := "https://user:pw@host.example:8443/" + path + "?" + query
		given, err := url.Parse(template)
		if err != nil {
			t.Skip("no URL")
		}
		names := &variables{values: map[string]any{"id": id, "idCard": card, appIDName: "clinic"}}
		filled, err := fillURL(template, names)
		if err != nil {
			return
		}
		require.Equal(t, "https://user:pw@host.example:8443", filled.Scheme+"://"+filled.User.String()+"@"+filled.Host)
		require.Equal(t, strings.Count(given.EscapedPath(), "/"), strings.Count(filled.EscapedPath(), "/"), "a value added a segment")
		require.Equal(t, strings.Count(query, "&"), strings.Count(filled.RawQuery, "&"), "a value added a query parameter")
		require.NotContains(t, filled.EscapedPath(), "?")
		again, err := url.Parse(filled.String())
		require.NoError(t, err)
		require.Equal(t, filled.Host, again.Host)
		require.Equal(t, filled.EscapedPath(), again.EscapedPath())
	})
}

// FuzzBody looks for a value that changes the shape of a body.
func FuzzBody(f *testing.F) {
	f.Add(`{"a":":id","b":["x :idCard"]}`, `"`, "\\")
	f.Add(`":id"`, "\u2028", "\xff")
	f.Add(`{"a":":id","a":[":id"]}`, "", "")
	f.Fuzz(func(t *testing.T, template, id, card string) {
		names := &variables{values: map[string]any{"id": id, "idCard": card}}
		filled, err := names.fillBody(json.RawMessage(template))
		if err != nil {
			return
		}
		require.True(t, json.Valid(filled))
		var once any // a name that is repeated counts once
		require.NoError(t, json.Unmarshal([]byte(template), &once))
		plain, err := json.Marshal(once)
		require.NoError(t, err)
		require.Equal(t, shape(plain), shape(filled))
	})
}

func FuzzToolBody(f *testing.F) {
	f.Add(`{"a": "{{.v}}", "b": {{.v}}}`, `x", "admin": true`)
	f.Add(`["\"{{.v}}", {{json .v}}, "{{json .v}}"]`, "\\")
	f.Add(`{"{{.v}}": 1}`, "\u2028</script>")
	f.Fuzz(func(t *testing.T, template, value string) {
		if strings.Contains(template, "if") {
			return // a template may choose by a value
		}
		tool := &repositories.Tool{Type: repositories.ToolHTTP, Source: "api", Method: http.MethodPost, Path: "/x", RequestBody: template,
			BodyParams: json.RawMessage(`[{"name":"v"}]`)}
		fixed, errFixed := toolBody(repositories.Source{}, tool, map[string]any{"v": "fixed"})
		filled, err := toolBody(repositories.Source{}, tool, map[string]any{"v": value})
		if errFixed != nil || err != nil {
			return
		}
		require.Equal(t, shape(fixed), shape(filled), "a value changes values and keys, never what there is")
	})
}

// shape returns the structure of a JSON text, without the content of strings.
func shape(text []byte) string {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	found := ""
	for {
		token, err := decoder.Token()
		if err != nil {
			return found
		}
		switch token := token.(type) {
		case json.Delim:
			found += token.String()
		case string, nil: // a placeholder without a value is null
			found += "s"
		default:
			found += "v"
		}
	}
}
