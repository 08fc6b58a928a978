package gateway_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/api/gateway"
	"earshot/deploy/testbed/apitest"
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
