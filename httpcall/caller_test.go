package httpcall_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"earshot/httpcall"
	"earshot/httpcall/guard"
	"earshot/repositories"
	"earshot/repositories/secret"
	"earshot/repositories/version"
	"earshot/trigger/effect"
	"earshot/trigger/effect/effecttest"
)

func TestWhatWasSentIsTold(t *testing.T) {
	e := newEndpoint(t, says(422, `{"no":true}`))
	request := &repositories.Request{Method: "PUT", Headers: repositories.Headers{"X-Desk": credential("A"), "X-Api-Key": credential("planted")}}
	outcome := newRig(t).call(strings.Replace(e.URL, "//", "//ann:planted@", 1)+"/hook?desk=A&%6Bey=planted", request, nil)
	require.Equal(t, &effect.Sent{
		Method: "PUT", URL: e.URL + "/hook?desk=A&%6Bey=***", Headers: map[string]string{"X-Desk": "A", "X-Api-Key": "***"}, Bytes: 11, Body: `{"id":"t1"}`,
	}, outcome.Sent)

	long := effectOf(e.URL+"/"+strings.Repeat("x", 2000), nil, nil)
	long.Call.Event = json.RawMessage(`"` + strings.Repeat("ä", 2000) + `"`)
	sent := newRig(t).Deliver(t.Context(), long).Sent
	require.Equal(t, 4002, sent.Bytes)
	require.Less(t, len(sent.Body), 1100)
	require.Less(t, len(sent.URL), 1100)
}

func TestWithoutRequestTheEventIsPosted(t *testing.T) {
	e := newEndpoint(t, says(200, `{"ok":true}`))
	r := newRig(t)
	delivery := effectOf(e.URL+"/hook", nil, nil)
	delivery.Attempt, delivery.TraceParent = 3, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

	outcome := r.Deliver(t.Context(), delivery)

	require.Equal(t, &effect.Sent{Method: "POST", URL: e.URL + "/hook", Bytes: 11}, outcome.Sent)
	outcome.Sent = nil
	require.Equal(t, effect.Outcome{
		Verdict: effect.Done, Status: 200, Result: json.RawMessage(`{"ok":true}`), Reached: true, Host: strings.TrimPrefix(e.URL, "http://"),
	}, outcome)
	got := e.only(t)
	require.Equal(t, "POST", got.method)
	require.Equal(t, "/hook", got.uri)
	require.Equal(t, `{"id":"t1"}`, got.body)
	for name, want := range map[string]string{
		"Content-Type": "application/json", "User-Agent": version.Product(),
		"Webhook-Id": "t1", "Idempotency-Key": "t1", "Earshot-Attempt": "3",
		"Webhook-Timestamp": strconv.FormatInt(r.clock.Now().Unix(), 10),
		"Traceparent":       delivery.TraceParent,
		"Authorization":     "", "Webhook-Signature": "",
	} {
		require.Equal(t, want, got.header.Get(name), name)
	}
}

func TestMethodsWithoutContentSendATemplateAndNoEvent(t *testing.T) {
	e := newEndpoint(t, nil)
	r := newRig(t)
	for method, want := range map[string]string{
		"": `{"id":"t1"}`, "post": `{"id":"t1"}`, "PUT": `{"id":"t1"}`, "PATCH": `{"id":"t1"}`,
		"GET": "", "HEAD": "", "DELETE": "",
	} {
		got := r.sent(e, e.URL, &repositories.Request{Method: method}, nil)
		require.Equal(t, want, got.body, method)
		require.Equal(t, want != "", got.header.Get("Content-Type") != "", method)
		template := &repositories.Request{Method: method, Body: json.RawMessage(`{"day":":day"}`)}
		require.Equal(t, `{"day":"Monday"}`, r.sent(e, e.URL, template, map[string]any{"day": "Monday"}).body, "a template is sent with %s", method)
	}
}

func TestToolHeadersCannotReplaceOurs(t *testing.T) {
	e := newEndpoint(t, nil)
	r := newRig(t)
	request := &repositories.Request{
		Auth: "basic", Basic: &repositories.Basic{Username: "u", Password: credential("p")},
		Headers: repositories.Headers{
			"X-Desk": credential("A :day"), "content-type": credential("application/vnd.clinic+json"), "User-Agent": credential("clinic"),
			"Authorization": credential("Bearer forged"), "webhook-id": credential("forged"), "WEBHOOK-TIMESTAMP": credential("forged"),
			"Webhook-Signature": credential("forged"), "idempotency-key": credential("forged"), "traceparent": credential("forged"),
			"Earshot-Attempt": credential("forged"), "Host": credential("forged.example"), "Content-Length": credential("1"),
			"Transfer-Encoding": credential("chunked"), "Accept-Encoding": credential("br"), "Connection": credential("upgrade"),
		},
	}
	require.Equal(t, effect.Done, r.call(e.URL, request, map[string]any{"day": "Monday"}).Verdict)
	got := e.only(t)
	require.Equal(t, "A :day", got.header.Get("X-Desk"), "header values are literal")
	require.Equal(t, "application/vnd.clinic+json", got.header.Get("Content-Type"))
	require.Equal(t, "clinic", got.header.Get("User-Agent"))
	require.Equal(t, "Basic dTpw", got.header.Get("Authorization"))
	require.Equal(t, "t1", got.header.Get("Webhook-Id"))
	require.Equal(t, `{"id":"t1"}`, got.body)
	for name, values := range got.header {
		require.NotContains(t, strings.Join(values, " "), "forged", name)
	}
	require.Equal(t, "gzip", got.header.Get("Accept-Encoding"))
	require.Empty(t, got.header.Get("Connection"))

	request = &repositories.Request{Headers: repositories.Headers{"Authorization": credential("ApiKey 12345678")}}
	require.Equal(t, "ApiKey 12345678", r.sent(e, e.URL, request, nil).header.Get("Authorization"), "without credentials it is the tool's own")
}

func TestHeaderThatCouldSmuggleIsRefused(t *testing.T) {
	e := newEndpoint(t, nil)
	r := newRig(t)
	for name, value := range map[string]string{
		"X-A": "a\r\nX-B: b", "X-C": "a\nb", "X-D": "a\rb", "X-E": "a\x00b",
		"X F": "a", "": "a", "X-G:": "a", "X\r\nH": "a",
	} {
		outcome := r.call(e.URL, &repositories.Request{Headers: repositories.Headers{name: credential(value)}}, nil)
		effecttest.Ended(t, outcome, effect.Dead, effect.ReasonRequest)
		require.NotContains(t, outcome.Error, "\n")
	}
	require.Empty(t, e.requests())
}

func TestEverySecretOfTheAppSigns(t *testing.T) {
	e := newEndpoint(t, nil)
	r := newRig(t, func(o *httpcall.Options) { o.Now = time.Now }) // Verify uses the machine's time
	prefixed, plain := "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("p"), 64))
	for _, secrets := range []string{prefixed, plain, prefixed + " " + plain} {
		r.apps["clinic"].SigningSecret = credential(secrets)
		got := r.sent(e, e.URL, nil, nil)
		require.Len(t, strings.Fields(got.header.Get("Webhook-Signature")), len(strings.Fields(secrets)))
		for _, one := range strings.Fields(secrets) {
			verifier, err := standardwebhooks.NewWebhook(one)
			require.NoError(t, err)
			require.NoError(t, verifier.Verify([]byte(got.body), got.header))
		}
		other, err := standardwebhooks.NewWebhookRaw([]byte("another secret"))
		require.NoError(t, err)
		require.Error(t, other.Verify([]byte(got.body), got.header))
	}
	r.apps["clinic"].SigningSecret = credential("whsec_???not-base64???")
	outcome := r.call(e.URL, nil, nil)
	effecttest.Ended(t, outcome, effect.Dead, effect.ReasonRequest, "signingSecret")
	require.NotContains(t, outcome.Error, "not-base64")
	r.apps["clinic"].SigningSecret = secret.Sealed("unreadable", "")
	outcome = r.call(e.URL, nil, nil)
	effecttest.Ended(t, outcome, effect.Retry, effect.ReasonAuth, "EARSHOT_SECRET_KEY_OLD")
	require.NotContains(t, outcome.Error, "unreadable")
	require.Len(t, e.requests(), 3, "a call that cannot be signed is not made")
}

func TestEveryStatusHasItsVerdict(t *testing.T) {
	e := newEndpoint(t, func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		w.Header().Set("Retry-After", "9")
		w.Header().Set("Location", "/200")
		w.WriteHeader(status)
	})
	r := newRig(t, func(o *httpcall.Options) { o.BreakAfter = 1000 })
	for status := 200; status <= 599; status++ {
		outcome, text := r.call(e.URL+"/"+strconv.Itoa(status), nil, nil), strconv.Itoa(status)
		require.Equal(t, status, outcome.Status)
		require.False(t, outcome.Deferred, status)
		switch {
		case status <= 299:
			effecttest.Ended(t, outcome, effect.Done, "")
		case status == 401:
			effecttest.Ended(t, outcome, effect.Dead, effect.ReasonAuth, text)
		case status == 408:
			effecttest.Ended(t, outcome, effect.Retry, effect.ReasonTimeout, text)
		case status == 425, status == 429, status >= 500:
			effecttest.Ended(t, outcome, effect.Retry, effect.ReasonRequest, text)
		case status <= 399:
			effecttest.Ended(t, outcome, effect.Dead, effect.ReasonRequest, text, "redirects are not followed")
		default:
			effecttest.Ended(t, outcome, effect.Dead, effect.ReasonRequest, text)
		}
		require.Equal(t, map[bool]time.Duration{true: 9 * time.Second}[outcome.Verdict == effect.Retry], outcome.After, status)
	}
	require.Len(t, e.requests(), 400, "one request for each attempt: no redirect is followed, nothing is repeated")
}

func TestConformance(t *testing.T) {
	e := newEndpoint(t, nil)
	good := effectOf(e.URL, &repositories.Request{Idempotent: new(false)}, nil)
	with := func(apps effect.Apps) effect.Deliverer {
		return newRig(t, func(o *httpcall.Options) { o.Apps = apps })
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.True(t, newRig(t).Deliver(ended, good).Deferred, "an attempt that is not sent does not count")
	effecttest.Conformance(t, newRig(t), good, func() int { return len(e.requests()) }, with)
	effecttest.Ended(t, newRig(t).call(e.URL, &repositories.Request{Method: "GE T"}, nil), effect.Dead, effect.ReasonRequest, "request.method")
	require.Panics(t, func() { httpcall.New(httpcall.Options{}) })
}

func TestOneHostTakesNoMoreThanItsShare(t *testing.T) {
	const limit = 3
	entered, release := make(chan struct{}, 10), make(chan struct{})
	slow := newEndpoint(t, func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-release
	})
	other := newEndpoint(t, nil)
	r := newRig(t, func(o *httpcall.Options) { o.HostLimit, o.SlotWait = limit, 20*time.Millisecond })
	r.apps["school"] = &repositories.App{ID: "school"}
	var done sync.WaitGroup
	for range limit {
		done.Go(func() { r.call(slow.URL, nil, nil) })
	}
	for range limit {
		<-entered
	}

	outcome := r.call(slow.URL, nil, nil)
	require.Equal(t, effect.Retry, outcome.Verdict)
	require.True(t, outcome.Deferred, "it was not an attempt")
	require.Equal(t, 20*time.Millisecond, outcome.After)
	require.Len(t, slow.requests(), limit)

	require.Equal(t, effect.Done, r.call(other.URL, nil, nil).Verdict, "another host is not concerned")
	foreign := make(chan effect.Outcome, 1)
	delivery := effectOf(slow.URL, nil, nil)
	delivery.AppID = "school"
	go func() { foreign <- r.Deliver(t.Context(), delivery) }()
	<-entered // another app is not affected
	close(release)
	done.Wait()
	require.Equal(t, effect.Done, (<-foreign).Verdict)
	require.Equal(t, effect.Done, r.call(slow.URL, nil, nil).Verdict, "slots come back")
}

func TestCallThatWaitsGetsTheSlotThatIsLeft(t *testing.T) {
	entered, release := make(chan struct{}, 2), make(chan struct{})
	e := newEndpoint(t, func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-release
	})
	r := newRig(t, func(o *httpcall.Options) { o.HostLimit, o.SlotWait = 1, time.Minute })
	outcomes := make(chan effect.Outcome, 2)
	for range 2 {
		go func() { outcomes <- r.call(e.URL, nil, nil) }()
	}
	<-entered
	close(release)
	for range 2 {
		require.Equal(t, effect.Done, (<-outcomes).Verdict)
	}
}

func TestHostThatFailsInARowIsClosedOff(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"5xx":      says(500, ""),
		"hangs up": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		bad, good := newEndpoint(t, answer), newEndpoint(t, nil)
		r := newRig(t)
		r.apps["school"] = &repositories.App{ID: "school"}
		for range 10 {
			require.False(t, r.call(bad.URL, nil, nil).Deferred, name)
		}
		asked := len(bad.requests())
		for range 3 {
			outcome := r.call(bad.URL+"/another/tool", nil, nil)
			require.Equal(t, effect.Retry, outcome.Verdict, name)
			require.True(t, outcome.Deferred, name)
			require.Equal(t, 30*time.Second, outcome.After, name)
			require.Contains(t, outcome.Error, "closed off after 10 failures")
		}
		require.Len(t, bad.requests(), asked, name)
		require.Equal(t, effect.Done, r.call(good.URL, nil, nil).Verdict, name)
		delivery := effectOf(bad.URL, nil, nil)
		delivery.AppID = "school"
		require.False(t, r.Deliver(t.Context(), delivery).Deferred, "another app has its own count")
	}
}

func TestAnswersThatAreNoFailureKeepAHostOpen(t *testing.T) {
	for _, status := range []int{200, 302, 400, 404, 408, 410, 425, 429} {
		e := newEndpoint(t, says(status, ""))
		r := newRig(t, func(o *httpcall.Options) { o.BreakAfter = 2 })
		for range 5 {
			require.False(t, r.call(e.URL, nil, nil).Deferred, status)
		}
	}
	var n int
	e := newEndpoint(t, func(w http.ResponseWriter, _ *http.Request) {
		if n++; n%3 != 0 { // a success resets the count
			w.WriteHeader(500)
		}
	})
	r := newRig(t, func(o *httpcall.Options) { o.BreakAfter = 3 })
	for range 12 {
		require.False(t, r.call(e.URL, nil, nil).Deferred)
	}
	r = newRig(t, func(o *httpcall.Options) { o.BreakAfter, o.Policy = 1, guard.Policy{} })
	for range 3 { // a blocked call says nothing about the host
		require.Equal(t, effect.ReasonBlocked, r.call("http://127.0.0.1:9", nil, nil).Reason)
	}
}

func TestURLIsFilledAndEscapedForWhereItStands(t *testing.T) {
	e, r := newEndpoint(t, nil), newRig(t)
	values := map[string]any{
		"id": "7", "idCard": "C9", "date": "2026-12-01", "evil": "../../admin?x=1#y&z=/\\", "slash": "a/.../admin?x=1#y&z=/\\", "dollar": "$&$1",
		"n": json.Number("9007199254740993"), "f": json.Number("1.10"), "yes": true,
		"list": []any{"a", json.Number("1"), "<"}, "map": map[string]any{"k": nil},
		"empty": "", "null": nil, "umlaut": "Zürich West", "pct": "50%25", "12": "dozen",
		"id_long": "L", "a-b": "AB", "recursive": ":id", "appId": "forged", "crlf": "a\r\nHost: b",
	}
	for template, want := range map[string]string{
		"/book/:date":                 "/book/2026-12-01",
		"/:id/:idCard/:id_long":       "/7/C9/L",
		"/:idCard:id":                 "/C97",
		"/x:id-:idCard.json":          "/x7-C9.json",
		"/:id-x/:a-b/:a-b-c":          "/7-x/AB/AB-c",
		"/:appId/x?app=:appId":        "/clinic/x?app=clinic",
		"/p/:slash":                   "/p/a%2F...%2Fadmin%3Fx=1%23y&z=%2F%5C",
		"/p?q=:evil":                  "/p?q=..%2F..%2Fadmin%3Fx%3D1%23y%26z%3D%2F%5C",
		"/p/:dollar?d=:dollar":        "/p/$&$1?d=%24%26%241",
		"/n/:n/:f/:yes":               "/n/9007199254740993/1.10/true",
		"/j?l=:list&m=:map":           "/j?l=%5B%22a%22%2C1%2C%22%3C%22%5D&m=%7B%22k%22%3Anull%7D",
		"/z/:umlaut?u=:umlaut":        "/z/Z%C3%BCrich%20West?u=Z%C3%BCrich+West",
		"/pct/:pct?p=:pct":            "/pct/50%2525?p=50%2525",
		"/q?a=:null&b=:missing&c=:id": "/q?a=&b=&c=7",
		"/q?a=:empty&x":               "/q?a=&x",
		"/at/12:30/:8080?t=9:15":      "/at/12:30/:8080?t=9:15",
		"/digits/:12":                 "/digits/dozen",
		"/q?filter=status:open":       "/q?filter=status:open",
		"/q?to=https://a.b/c:":        "/q?to=https://a.b/c:",
		"/r/:recursive":               "/r/:id",
		"/l/%3Aid/a%2Fb":              "/l/%3Aid/a%2Fb",
		"/h/:crlf?c=:crlf":            "/h/a%0D%0AHost:%20b?c=a%0D%0AHost%3A+b",
		"/frag/:id#:date":             "/frag/7",
		"?only=:id":                   "/?only=7",
		"":                            "/",
	} {
		require.Equal(t, want, r.sent(e, e.URL+template, nil, values).uri, template)
	}
}

func TestPathNeedsItsValues(t *testing.T) {
	e, r := newEndpoint(t, nil), newRig(t)
	values := map[string]any{
		"id": "7", "null": nil, "empty": "", "dot": ".", "dots": "..", "e": "%2e", "long": strings.Repeat("x", 20_000),
		"up": "../admin", "back": `a\..\b`, "below": "a/..",
	}
	for template, named := range map[string]string{
		"/book/:date":      `"date"`,
		"/book/:null":      `"null"`,
		"/book/:idCard":    `"idCard"`,
		"/models/x:run":    `"run"`,
		"/a/:empty/b":      `"empty"`,
		"/a/:dot/b":        `"dot"`,
		"/a/:dots":         `"dots"`,
		"/a/.:dot":         `"dot"`,
		"/a/:dot:dot/b":    `"dot"`,
		"/a/%2e:dot":       `"dot"`,
		"/a/:up":           `"up"`,
		"/a/x:back":        `"back"`,
		"/a/:below":        `"below"`,
		"/a/x%2F:up":       `"up"`,
		"/a/:long":         "bytes",
		"/a?q=:long":       "bytes",
		"/a/:id/:id/:date": `"date"`,
	} {
		outcome := r.call(e.URL+template, nil, values)
		effecttest.Ended(t, outcome, effect.Dead, effect.ReasonRequest, named)
	}
	require.Empty(t, e.requests())
}

func TestDeclaredParameterWithoutValueIsNotEatenByAShorterName(t *testing.T) {
	e, r := newEndpoint(t, nil), newRig(t)
	for _, schema := range []string{
		`[{"parameter":"id"},{"parameter":"id-card"}]`,
		`[{"name":"id"},{"name":"id-card"}]`,
		`{"type":"object","properties":{"id":{},"id-card":{}}}`,
	} {
		delivery := effectOf(e.URL+"/x/:id-card", nil, map[string]any{"id": "7"})
		delivery.Call.Event = json.RawMessage(`{"schema":` + schema + `}`)
		outcome := r.Deliver(t.Context(), delivery)
		require.Equal(t, effect.Dead, outcome.Verdict, schema)
		require.Contains(t, outcome.Error, `"id-card"`)

		delivery.Call.URL = e.URL + "/x?q=a:id-card"
		before := len(e.requests())
		require.Equal(t, effect.Done, r.Deliver(t.Context(), delivery).Verdict)
		require.Equal(t, "/x?q=a", e.requests()[before].uri)
	}
}

func TestSchemeHostPortAndUserAreNeverFilled(t *testing.T) {
	e, r := newEndpoint(t, nil), newRig(t)
	values := map[string]any{"host": "127.0.0.1", "port": "80", "scheme": "http", "user": "root", "u": e.URL, "appId": "x"}
	for _, template := range []string{
		"http://:host/x", "http://127.0.0.1::port/x", ":scheme://127.0.0.1/x", ":u", ":u/x", "//127.0.0.1/x", "/x", "",
		"ftp://127.0.0.1/x", "file:///etc/passwd", "http:127.0.0.1", "http://", "http:///x", "http://a b/", "http://[::1", "javascript:1",
	} {
		outcome := r.call(template, nil, values)
		effecttest.Ended(t, outcome, effect.Dead, effect.ReasonRequest)
	}
	host := strings.TrimPrefix(e.URL, "http://")
	require.Equal(t, effect.Done, r.call("http://:user@"+host+"/x", nil, values).Verdict)
	user, password, _ := basicOf(e.only(t))
	require.Equal(t, []string{"", "user"}, []string{user, password}, "the user part is literal")
}

func TestBodyTemplateKeepsTypesAndInjectsNothing(t *testing.T) {
	e, r := newEndpoint(t, nil), newRig(t)
	values := map[string]any{
		"n": json.Number("9007199254740993"), "s": "a", "yes": true, "null": nil, "quote": `","admin":true,"x":"`,
		"list": []any{json.Number("1.10"), "<"}, "map": map[string]any{":s": ":s"}, "id": "7", "idCard": "C9", "again": ":s",
	}
	for template, want := range map[string]string{
		`{"n":":n","s":":s","yes":":yes"}`:             `{"n":9007199254740993,"s":"a","yes":true}`,
		`{"list":":list","map":":map"}`:                `{"list":[1.10,"<"],"map":{":s":":s"}}`,
		`{"t":"n is :n, list is :list"}`:               `{"t":"n is 9007199254740993, list is [1.10,\"<\"]"}`,
		`{"q":":quote","t":"x:quote"}`:                 `{"q":"\",\"admin\":true,\"x\":\"","t":"x\",\"admin\":true,\"x\":\""}`,
		`{"a":":null","b":":missing","c":"<:null>"}`:   `{"a":null,"b":null,"c":"<>"}`,
		`{":s":[":s",{"deep":":id/:idCard"}]}`:         `{":s":["a",{"deep":"7/C9"}]}`,
		`":s"`:                                         `"a"`,
		`":again"`:                                     `":s"`,
		`{"n":12345678901234567890,"t":true,"z":null}`: `{"n":12345678901234567890,"t":true,"z":null}`,
		`{"t":"at 12:30, status:open :-) :8080"}`:      `{"t":"at 12:30, status:open :-) :8080"}`,
		`{"app":":appId"}`:                             `{"app":"clinic"}`,
	} {
		require.Equal(t, want, r.sent(e, e.URL, &repositories.Request{Body: json.RawMessage(template)}, values).body, template)
	}
}

func TestBodyThatCannotBeMadeIsRefused(t *testing.T) {
	e, r := newEndpoint(t, nil), newRig(t)
	big := strings.Repeat("x", 300_000)
	for _, template := range []string{`{"a":`, `{} {}`, `"a:big :big :big :big"`, `[":big",":big",":big",":big"]`} {
		outcome := r.call(e.URL, &repositories.Request{Body: json.RawMessage(template)}, map[string]any{"big": big})
		effecttest.Ended(t, outcome, effect.Dead, effect.ReasonRequest, "body")
	}
	require.Empty(t, e.requests())
}
