package httpcall_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"earshot/httpcall"
	"earshot/repositories"
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
	require.Equal(t, effect.Outcome{Verdict: effect.Done, Status: 200, Result: json.RawMessage(`{"ok":true}`), Reached: true}, outcome)
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

func TestMethodsWithoutContentSendNoEvent(t *testing.T) {
	e := newEndpoint(t, nil)
	r := newRig(t)
	for method, want := range map[string]string{
		"": `{"id":"t1"}`, "post": `{"id":"t1"}`, "PUT": `{"id":"t1"}`, "PATCH": `{"id":"t1"}`,
		"GET": "", "HEAD": "", "DELETE": "",
	} {
		before := len(e.requests())
		require.Equal(t, effect.Done, r.call(e.URL, &repositories.Request{Method: method}, nil).Verdict, method)
		got := e.requests()[before]
		require.Equal(t, want, got.body, method)
		require.Equal(t, want != "", got.header.Get("Content-Type") != "", method)
	}
}

func TestBodyTemplateIsSentWithAnyMethod(t *testing.T) {
	e := newEndpoint(t, nil)
	r := newRig(t)
	for _, method := range []string{"POST", "DELETE", "GET"} {
		before := len(e.requests())
		request := &repositories.Request{Method: method, Body: json.RawMessage(`{"day":":day"}`)}
		require.Equal(t, effect.Done, r.call(e.URL, request, map[string]any{"day": "Monday"}).Verdict)
		require.Equal(t, `{"day":"Monday"}`, e.requests()[before].body, method)
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
}

func TestToolMayAuthenticateWithAHeaderOfItsOwn(t *testing.T) {
	e := newEndpoint(t, nil)
	request := &repositories.Request{Headers: repositories.Headers{"Authorization": credential("ApiKey 12345678")}}
	require.Equal(t, effect.Done, newRig(t).call(e.URL, request, nil).Verdict)
	require.Equal(t, "ApiKey 12345678", e.only(t).header.Get("Authorization"))
}

func TestHeaderThatCouldSmuggleIsRefused(t *testing.T) {
	e := newEndpoint(t, nil)
	r := newRig(t)
	for name, value := range map[string]string{
		"X-A": "a\r\nX-B: b", "X-C": "a\nb", "X-D": "a\rb", "X-E": "a\x00b",
		"X F": "a", "": "a", "X-G:": "a", "X\r\nH": "a",
	} {
		outcome := r.call(e.URL, &repositories.Request{Headers: repositories.Headers{name: credential(value)}}, nil)
		require.Equal(t, effect.Dead, outcome.Verdict, "%q", name)
		require.Equal(t, effect.ReasonRequest, outcome.Reason, "%q", name)
		require.NotContains(t, outcome.Error, "\n")
	}
	require.Empty(t, e.requests())
}

func TestEverySecretOfTheAppSigns(t *testing.T) {
	e := newEndpoint(t, nil)
	r := newRig(t, func(o *httpcall.Options) { o.Now = time.Now }) // Verify takes the machine's time
	prefixed, plain := "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("p"), 64))
	for _, secrets := range []string{prefixed, plain, prefixed + " " + plain} {
		r.apps["clinic"].SigningSecret = credential(secrets)
		before := len(e.requests())
		require.Equal(t, effect.Done, r.call(e.URL, nil, nil).Verdict)
		got := e.requests()[before]
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
}

func TestSigningSecretThatCannotSignStopsTheCall(t *testing.T) {
	e := newEndpoint(t, nil)
	r := newRig(t)
	r.apps["clinic"].SigningSecret = credential("whsec_???not-base64???")
	outcome := r.call(e.URL, nil, nil)
	require.Equal(t, effect.Dead, outcome.Verdict)
	require.Contains(t, outcome.Error, "signingSecret")
	require.NotContains(t, outcome.Error, "not-base64")
	require.Empty(t, e.requests())
}

func TestAnswersOverTheWireGetTheirVerdict(t *testing.T) {
	e := newEndpoint(t, func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		w.Header().Set("Retry-After", "9")
		w.Header().Set("Location", "/200")
		w.WriteHeader(status)
	})
	r := newRig(t, func(o *httpcall.Options) { o.BreakAfter = 1000 })
	for status := 200; status <= 599; status++ {
		outcome := r.call(e.URL+"/"+strconv.Itoa(status), nil, nil)
		require.Equal(t, status, outcome.Status)
		require.Equal(t, status <= 299, outcome.Verdict == effect.Done, status)
		if outcome.Verdict == effect.Retry {
			require.Equal(t, 9*time.Second, outcome.After, status)
		} else {
			require.Zero(t, outcome.After, status)
		}
		if outcome.Verdict != effect.Done {
			require.Contains(t, outcome.Error, strconv.Itoa(status))
		}
		require.False(t, outcome.Deferred, status)
	}
	require.Len(t, e.requests(), 400, "one request for each attempt: no redirect is followed, nothing is repeated")
}

func TestAppThatCannotBeLookedUp(t *testing.T) {
	e := newEndpoint(t, nil)
	r := newRig(t)
	delivery := effectOf(e.URL, nil, nil)
	delivery.AppID = "gone"
	outcome := r.Deliver(t.Context(), delivery)
	require.Equal(t, effect.Dead, outcome.Verdict)
	require.Contains(t, outcome.Error, `"gone"`)

	unreachable := newRig(t, func(o *httpcall.Options) { o.Apps = effecttest.UnreachableApps{} }).call(e.URL, nil, nil)
	require.Equal(t, effect.Retry, unreachable.Verdict)
	require.True(t, unreachable.Deferred, "a store that is away uses up no budget")
	require.Empty(t, e.requests())
}

func TestEffectWithoutACallIsDead(t *testing.T) {
	outcome := newRig(t).Deliver(t.Context(), effect.Effect{ID: "e9", Kind: effect.KindEvent, AppID: "clinic"})
	require.Equal(t, effect.Dead, outcome.Verdict)
	require.Contains(t, outcome.Error, `"e9"`)
}

func TestMethodThatIsNoneIsRefused(t *testing.T) {
	outcome := newRig(t).call("http://127.0.0.1:9", &repositories.Request{Method: "GE T"}, nil)
	require.Equal(t, effect.Dead, outcome.Verdict)
	require.Contains(t, outcome.Error, "request.method")
}

func TestNewWithoutAppsPanics(t *testing.T) {
	require.Panics(t, func() { httpcall.New(httpcall.Options{}) })
}
