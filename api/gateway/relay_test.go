package gateway_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/api/gateway"
	"earshot/deploy/testbed/apitest"
	"earshot/httpcall"
	"earshot/repositories/secret"
)

// TestHeadersPassByListsAlone sends headers that would bill another account or redirect the operator's key, and
// answers with headers that would control the client's browser.
func TestHeadersPassByListsAlone(t *testing.T) {
	sent := map[string]string{
		"OpenAI-Organization": "org-1", "OpenAI-Project": "p", "X-Forwarded-For": "1.1.1.1", "X-Goog-Api-Key": "g", "X-Litellm-Api-Key": "l",
		"Helicone-Target-Url": "https://evil.example", "Forwarded": "for=1.1.1.1", "X-Earshot-Session": "s1", "Origin": "https://page.example",
		"X-Tenant": "t1", "Corp_token": "secret", "Content-Security-Policy": "x",
		"OpenAI-Beta": "b1", "Traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "X-Stainless-Lang": "js", "Accept-Language": "de",
	}
	answered := map[string]string{
		"Clear-Site-Data": `"*"`, "Content-Security-Policy": "default-src *", "Content-Security-Policy-Report-Only": "x", "Location": "https://evil.example",
		"WWW-Authenticate": "Basic", "Openai-Organization": "org-of-the-operator", "Refresh": "0;url=https://evil.example", "Set-Cookie": "a=b", "Link": "<x>",
		"X-Tenant": "t2", "Content-Type": "application/json", "X-Ratelimit-Remaining-Requests": "9", "Openai-Processing-Ms": "12",
	}
	for _, mode := range []string{"watch", "act"} {
		for _, added := range []bool{false, true} {
			name := mode
			if added {
				name += ", with a header that the operator adds"
			}
			t.Run(name, func(t *testing.T) {
				model := newChatModel(t, func(w http.ResponseWriter, _ *http.Request) {
					for name, value := range answered {
						w.Header().Set(name, value)
					}
					_, _ = w.Write([]byte(completion))
				})
				w := apitest.Live(t, apitest.Everything, model.behind, func(o *api.Options) {
					if added {
						o.Model.Headers = []string{"X-Tenant"}
					}
				})
				w.Call("PUT", "/v1/apps/clinic", `{"settings":{"openai":{"mode":"`+mode+`"}}}`).Is(201, "")
				w.Call("PUT", "/v1/apps/clinic/repositories/booking", `{"tools":[{"name":"book"}]}`).Is(201, "")
				headers := []string{}
				for name, value := range sent {
					headers = append(headers, name+": "+value)
				}
				got := w.Ask("POST", sessionChatPath, saying("hello"), headers...)
				require.Equal(t, 200, got.StatusCode, string(got.Body))

				asked := model.asked[0].Header
				for name, value := range sent {
					switch name {
					case "OpenAI-Beta", "X-Stainless-Lang", "Accept-Language":
						require.Equal(t, value, asked.Get(name), name)
					case "Traceparent":
						require.NotEmpty(t, asked.Get(name))
					case "X-Tenant":
						require.Equal(t, added, asked.Get(name) == "t1")
					default:
						require.Empty(t, asked.Get(name), name)
					}
				}
				require.Equal(t, "Bearer "+modelKey, asked.Get("Authorization"))
				for _, gone := range []string{"Clear-Site-Data", "Content-Security-Policy-Report-Only", "Location", "Www-Authenticate", "Openai-Organization", "Refresh", "Set-Cookie", "Link"} {
					require.Empty(t, got.Header.Get(gone), gone)
				}
				require.NotContains(t, got.Header.Get("Content-Security-Policy"), "*", "the policy is not that of the model's host")
				require.Equal(t, []string{"9", "12"}, []string{got.Header.Get("X-Ratelimit-Remaining-Requests"), got.Header.Get("Openai-Processing-Ms")})
				require.Equal(t, added, got.Header.Get("X-Tenant") == "t2")
			})
		}
	}
}

func TestHeadersThatAnOperatorAddsAreChecked(t *testing.T) {
	require.NoError(t, gateway.CheckHeaders([]string{"X-Tenant", "Helicone-*", "openai-organization"}))
	for _, bad := range []string{"Authorization", "x-api-key", "Cookie", "corp_token", "*", "", "X Tenant", "X-Tenant: 1", "Transfer-Encoding", "Access-Control-Allow-Origin", "Content-Security-Policy"} {
		require.Error(t, gateway.CheckHeaders([]string{"X-Tenant", bad}), bad)
	}
}

// scriptedHost answers in place of a model's host, with bodies whose reads are known.
type scriptedHost func(*http.Request) *http.Response

func (h scriptedHost) RoundTrip(r *http.Request) (*http.Response, error) { return h(r), nil }

func TestTheModelsKeyIsMaskedInItsAnswers(t *testing.T) {
	const refused = `{"error":{"message":"Incorrect API key provided: ` + modelKey + `","code":"invalid_api_key"}}`
	for name, test := range map[string]struct {
		status   int
		kind     string
		zipped   bool
		byteWise bool // it has no length, and each read gives one byte
		body     string
	}{
		"an error":                     {status: 401, kind: "application/json", body: refused},
		"a compressed error":           {status: 401, kind: "application/json", zipped: true, body: refused},
		"a compressed error, as event": {status: 401, kind: "text/event-stream", zipped: true, body: "data: " + refused + "\n\n"},
		"an error of unknown length":   {status: 500, kind: "text/html", byteWise: true, body: "<h1>no " + modelKey},
		"an escaped key":               {status: 401, kind: "application/json", body: `{"error":{"message":"sk\u002dof-the-service"}}`},
		"a piece of the key":           {status: 401, kind: "application/json", body: `{"error":{"message":"of-the-service is no key"}}`},
		"an answer":                    {status: 200, kind: "application/json", body: strings.Replace(completion, "Hello", modelKey, 1)},
		"a stream":                     {status: 200, kind: "text/event-stream", byteWise: true, body: chunk(`{"content":"s sk-of-the `+modelKey+`"}`, "null") + "data: " + modelKey[:5]},
		"an answer bit by bit":         {status: 200, kind: "application/json", byteWise: true, body: strings.Replace(completion, "Hello", "s"+modelKey, 1)},
	} {
		for _, way := range [][3]string{{"watch", "POST", sessionChatPath}, {"act", "POST", sessionChatPath}, {"act", "GET", "/v1/apps/clinic/openai/v1/models"}} {
			t.Run(name+", "+strings.Join(way[:], " "), func(t *testing.T) {
				host := func(r *http.Request) *http.Response {
					accepted := r.Header.Get("Accept-Encoding")
					require.NotContains(t, accepted, "br", "a key would not be found in it")
					header, written := http.Header{"Content-Type": {test.kind}, "Openai-Model": {"of " + modelKey}}, []byte(test.body)
					if test.zipped && accepted == "gzip" {
						var packed bytes.Buffer
						zipping := gzip.NewWriter(&packed)
						_, _ = zipping.Write(written)
						_ = zipping.Close()
						written = packed.Bytes()
						header.Set("Content-Encoding", "gzip")
					}
					response := &http.Response{StatusCode: test.status, Header: header, ContentLength: int64(len(written)), Body: io.NopCloser(bytes.NewReader(written))}
					if test.byteWise {
						response.ContentLength, response.Body = -1, io.NopCloser(iotest.OneByteReader(bytes.NewReader(written)))
					}
					return response
				}
				w := apitest.Live(t, apitest.Everything, newChatModel(t, nil).behind, func(o *api.Options) { o.Model.Transport = scriptedHost(host) })
				w.Call("PUT", "/v1/apps/clinic", `{"settings":{"openai":{"mode":"`+way[0]+`"}}}`).Is(201, "")
				w.Call("PUT", "/v1/apps/clinic/repositories/booking", `{"tools":[{"name":"book"}]}`).Is(201, "")
				got := w.Ask(way[1], way[2], saying("hi"), "Accept-Encoding: gzip, deflate, br")
				require.Equal(t, test.status, got.StatusCode)
				want := strings.NewReplacer(modelKey, "***", `sk\u002dof-the-service`, "***", "of-the-service", "***").Replace(test.body)
				require.Equal(t, want, string(got.Body))
				require.Equal(t, "of ***", got.Header.Get("Openai-Model"))
				require.Empty(t, got.Header.Get("Content-Encoding"))
			})
		}
	}
}

// TestAPlaceholderForAKeyIsNotMasked has the key that local hosts take.
func TestAPlaceholderForAKeyIsNotMasked(t *testing.T) {
	body := strings.Replace(completion, "Hello", "Ask ollama", 1)
	w := apitest.Live(t, apitest.Everything, newChatModel(t, nil).behind, func(o *api.Options) {
		o.Model.Key, o.Model.Redact = secret.New("ollama"), httpcall.Redacting(secret.New("ollama"))
		o.Model.Transport = scriptedHost(func(*http.Request) *http.Response {
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body))}
		})
	})
	w.Call("PUT", "/v1/apps/clinic", `{}`).Is(201, "")
	require.Equal(t, body, string(w.Ask("POST", sessionChatPath, saying("hi")).Body))
}
