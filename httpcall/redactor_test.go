package httpcall_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/httpcall"
	"earshot/repositories"
	"earshot/trigger/effect"
)

// planted are the credentials of the leak test; no trace of them may occur.
var planted = map[string]string{
	"basic password": "planted-basic/\"<pw>", "client secret": "planted-client-secret", "user password": "planted-user-password",
	"module secret": "planted-module-secret", "signing secret": "planted-signing-secret", "api key": "planted-api-key",
	"access token": "planted-access-token", "refresh token": "planted-refresh-token", "url password": "planted-url-password",
	"url query": "planted-url-query",
}

// ways are the ways of authentication with all planted credentials.
func ways(tokenURL string) map[string]*repositories.Request {
	bearer := func(kind string) *repositories.Bearer {
		return &repositories.Bearer{
			ClientType: kind, ClientID: "cli", ClientSecret: credential(planted["client secret"]),
			Username: "ann", Password: credential(planted["user password"]), TokenURL: tokenURL, RefreshURL: tokenURL,
		}
	}
	requests := map[string]*repositories.Request{
		"basic":    {Basic: &repositories.Basic{Username: "ann", Password: credential(planted["basic password"])}},
		"client":   {Bearer: bearer("client_credentials")},
		"password": {Bearer: bearer("password")},
		"module":   {ModuleID: "calendar"},
		"header":   {},
	}
	for _, request := range requests {
		request.Headers = repositories.Headers{
			"X-Api-Key": credential(planted["api key"]), "X-Auth": credential("ApiKey " + planted["api key"]),
		}
	}
	return requests
}

// echo returns everything it received, in the body, the headers and the status line.
func echo(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		user, password, _ := r.BasicAuth()
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{
			"headers": r.Header, "body": string(body), "user": user, "password": password,
		})
	}
}

// echoBadly puts the credentials where net/http includes them in its errors.
func echoBadly(w http.ResponseWriter, r *http.Request) {
	hijack(r.Header.Get("Authorization")+" "+r.Header.Get("X-Api-Key")+"\r\n\r\n")(w, r)
}

func TestNoCredentialLeavesInAnOutcomeOrALog(t *testing.T) {
	endpoints := map[string]http.HandlerFunc{
		"200": echo(200), "302": echo(302), "401": echo(401), "422": echo(422), "429": echo(429), "500": echo(500),
		"bad HTTP": echoBadly, "hangs": hang, "text": func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprintf(w, "%s you sent %v", strings.Repeat("x", 64<<10-30), r.Header)
		},
	}
	issuers := map[string]http.HandlerFunc{
		"gives a token": saysJSON(200, fmt.Sprintf(`{"access_token":%q,"refresh_token":%q,"expires_in":60}`,
			planted["access token"], planted["refresh token"])),
		"echoes 400": echoForm(400), "echoes 503": echoForm(503), "echoes 200": echoForm(200), "bad HTTP": hijack(planted["client secret"] + "\r\n\r\n"),
	}
	for issuing, issue := range issuers {
		i := newEndpoint(t, issue)
		for answering, answer := range endpoints {
			e := newEndpoint(t, answer)
			for way, request := range ways(i.URL) {
				r := newLeakRig(t, i.URL)
				request.Timeout = brief().Timeout * 5
				if answering == "hangs" {
					request.Timeout = brief().Timeout
				}
				url := strings.Replace(e.URL, "http://", "http://root:"+planted["url password"]+"@", 1) + "/?key=" + planted["url query"]
				outcome := r.call(url, request, nil)
				require.NotEmpty(t, r.log.String())
				if issuing == "gives a token" || way == "basic" || way == "header" {
					require.NotEmpty(t, e.requests(), "%s, %s: the credential was on its way", answering, way)
				}
				clean(t, outcome, r.log.String(), issuing+", "+answering+", "+way)
			}
		}
	}
}

func newLeakRig(t *testing.T, tokenURL string) *rig {
	r := newRig(t, func(o *httpcall.Options) { o.BreakAfter = 1000 })
	r.apps["clinic"].SigningSecret = credential(base64.StdEncoding.EncodeToString([]byte(planted["signing secret"])))
	r.apps["clinic"].Modules = []repositories.Module{{ID: "calendar", Secret: credential(planted["module secret"]), TokenURL: tokenURL}}
	return r
}

func echoForm(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"error":%q,"error_description":%q}`, r.Form.Get("client_secret"), r.Form.Encode())
	}
}

// clean fails if an outcome or a log contains a credential, plain or encoded.
func clean(t *testing.T, outcome effect.Outcome, log, where string) {
	t.Helper()
	sent, err := json.Marshal(outcome.Sent)
	require.NoError(t, err)
	told := string(sent) + "\n" + outcome.Error + "\n" + string(outcome.Result) + "\n" + fmt.Sprintf("%+v", outcome) + "\n" + log
	for name, text := range planted {
		encoded, err := json.Marshal(text)
		require.NoError(t, err)
		for _, form := range []string{
			text, string(encoded[1 : len(encoded)-1]), strings.ReplaceAll(text, "/", `\/`), base64.StdEncoding.EncodeToString([]byte("ann:" + text)),
			base64.StdEncoding.EncodeToString([]byte("root:" + text)),
		} {
			require.NotContains(t, told, form, "%s: %s", where, name)
		}
	}
}

func TestMaskSeesThroughEveryEscape(t *testing.T) {
	e := newEndpoint(t, says(200, `{"a/b":"x\/planted\/p\u0077-\u00e4 y","keep":"\u0041\/","n":1.10}`))
	request := &repositories.Request{Basic: &repositories.Basic{Username: "ann", Password: credential("/planted/pw-ä")}}
	outcome := newRig(t).call(e.URL, request, nil)
	require.Equal(t, `{"a/b":"x*** y","keep":"\u0041\/","n":1.10}`, string(outcome.Result))
}

func TestMaskTellsWhereACredentialWas(t *testing.T) {
	e := newEndpoint(t, echo(200))
	request := &repositories.Request{Headers: repositories.Headers{
		"X-Api-Key": credential("abcdefgh"), "X-Desk": credential("north-desk"), "X-Token": credential("short"),
	}}
	outcome := newRig(t).call(e.URL, request, nil)
	require.Contains(t, string(outcome.Result), `"X-Api-Key":["***"]`)
	require.Contains(t, string(outcome.Result), `"X-Desk":["north-desk"]`, "no credential by its name")
	require.Contains(t, string(outcome.Result), `"X-Token":["short"]`, "too short to be told from words")
	require.True(t, json.Valid(outcome.Result))

	request.Headers = repositories.Headers{"X-Api-Key": credential("abcdefgh"), "X-Token": credential("abcdefgh-and-more")}
	require.NotContains(t, string(newRig(t).call(e.URL, request, nil).Result), "and-more", "of a longer one nothing is left")
}

// What differs from a credential in one character stays as it is, however that is written.
func TestMaskLeavesWhatIsNoCredential(t *testing.T) {
	const short, long = "abc-def", "abc-def[ghi]"
	for text, want := range map[string]string{
		"abc%2Ddef": "***", "abc%2Fdef": "abc%2Fdef", `abc\u002ddef`: "***", `abc\u002fdef`: `abc\u002fdef`, "abc-de%66": "***", "abc-de&#128512;": "abc-de&#128512;",
		"%41bc-def": "%41bc-def", "%41bc-def[ghi]": "***", "ABC-DEF[GHI]": "***", "ABC-DEF{GHI]": "ABC-DEF{GHI]",
		"abc-def=": "***=", "YWJjLWRlZg==": "***", "abc-de": "abc-de",
	} {
		mask := httpcall.Redacting(credential(short))
		if strings.Contains(strings.ToLower(text), "ghi") {
			mask = httpcall.Redacting(credential(long))
		}
		require.Equal(t, want, mask(text), text)
	}
}

func TestMaskFindsACredentialHoweverItWasEncoded(t *testing.T) {
	const query, password = `k7R/x+Vb9Lq2==`, `pw"&<'>/+ä\x`
	for name, echoed := range map[string]string{
		"plain":                       query,
		"in a query":                  url.QueryEscape(query),
		"in a query, small digits":    "k7R%2fx%2bVb9Lq2%3d%3d",
		"in a path":                   url.PathEscape(query),
		"in a query, in part":         "k7R/x+Vb9Lq2%3D=",
		"in JSON":                     `k7R\/x+Vb9Lq2==`,
		"in JSON of another language": `k7R\u002fx\u002BVb9Lq2\u003d\u003D`,
		"in HTML":                     "k7R&#x2F;x&#43;Vb9Lq2&#61;&#x3d;",
		"alone in base64":             base64.StdEncoding.EncodeToString([]byte(query)),
		"password in a query":         url.QueryEscape(password),
		"password in a path":          url.PathEscape(password),
		"password in JSON":            `pw\"&<'>\/+ä\\x`,
		"password in JSON for HTML":   `pw\"\u0026\u003c\u0027\u003e/+\u00e4\\x`,
		"password in HTML":            "pw&quot;&amp;&lt;&#39;&gt;/+ä\\x",
		"password in XML":             "pw&#34;&amp;&lt;&apos;&gt;/+&#228;\\x",
		"password alone in base64":    base64.StdEncoding.EncodeToString([]byte(password)),
		"in digits":                   hex.EncodeToString([]byte(query)),
		"in large digits":             strings.ToUpper(hex.EncodeToString([]byte(query))),
		"in large letters":            strings.ToUpper(query),
		"in small letters":            strings.ToLower(query),
		"in a query, small letters":   strings.ToLower(url.QueryEscape(query)),
		"password in digits":          hex.EncodeToString([]byte(password)),
		"login":                       base64.StdEncoding.EncodeToString([]byte("ann:" + password)),
		"login, unpadded":             base64.RawStdEncoding.EncodeToString([]byte("ann:" + password)),
		"login for URLs":              base64.URLEncoding.EncodeToString([]byte("ann:" + password)),
		"login for URLs, unpadded":    base64.RawURLEncoding.EncodeToString([]byte("ann:" + password)),
		"login in a query":            url.QueryEscape(base64.StdEncoding.EncodeToString([]byte("ann:" + password))),
	} {
		for kind, body := range map[string]string{"text": "you sent <" + echoed + "> here", "JSON": `{"sent":"<` + inJSON(echoed) + `>"}`} {
			e := newEndpoint(t, says(200, body))
			outcome := newRig(t).call(e.URL, &repositories.Request{
				Basic:   &repositories.Basic{Username: "ann", Password: credential(password)},
				Headers: repositories.Headers{"X-Api-Key": credential(query)},
			}, nil)
			require.Equal(t, effect.Done, outcome.Verdict, outcome.Error)
			want := map[string]string{"text": `"you sent <***> here"`, "JSON": `{"sent":"<***>"}`}[kind]
			require.Equal(t, want, string(outcome.Result), "%s, in %s", name, kind)
		}
	}
}

func TestMaskFindsACredentialWithinBase64OfMore(t *testing.T) {
	const key = "k7R/x+~?~?Lq2==and-more"
	mask := httpcall.Redacting(credential(key))
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		for before := range 7 {
			for after := range 4 {
				masked := mask(encoding.EncodeToString([]byte("a key: "[:before] + key + "\r\n."[:after])))
				require.Equal(t, 1, strings.Count(masked, "***"), masked)
				left := len(strings.TrimRight(masked, "=")) - len("***")
				require.LessOrEqual(t, left, base64.RawStdEncoding.EncodedLen(before)+base64.RawStdEncoding.EncodedLen(after)+1, masked)
			}
		}
	}
}

func TestMaskFindsAPieceOfACredential(t *testing.T) {
	const key, long = "k7R/x+Vb9Lq2==and-more!", "0123456789abcdefghijABCDEFGHIJ+-*/!$"
	for body, want := range map[string]string{
		"key k7R/x+Vb9Lq2…":                         "key ***…",
		"key …2==and-more!":                         "key …***",
		"7R/x+Vb9Lq2==and-more":                     "***",
		"Vb9Lq2==and- Vb9Lq2==and-/x+Vb9Lq2==an":    "*** ******",
		"two k7R/x+Vb9Lq2k7R/x+Vb9Lq2==and-more!":   "two ******",
		"key k7R/x+Vb9Lq":                           "key k7R/x+Vb9Lq", // too short
		"key K7R/X+VB9LQ2":                          "key K7R/X+VB9LQ2",
		"of a long one 0123456789abcdefg":           "of a long one 0123456789abcdefg", // less than half
		"of a long one jABCDEFGHIJ+-*/!$":           "of a long one jABCDEFGHIJ+-*/!$",
		"of a long one 89abcdefghijABCDEFGHIJ more": "of a long one *** more",
	} {
		e := newEndpoint(t, says(200, body))
		outcome := newRig(t).call(e.URL, &repositories.Request{
			Headers: repositories.Headers{"X-Api-Key": credential(key), "X-Token": credential(long)},
		}, nil)
		require.Equal(t, quoted(want), string(outcome.Result), body)
	}
}

// TestMaskFindsEveryPieceOfHalfACredential tries all of them, of credentials whose parts come out even or do not.
func TestMaskFindsEveryPieceOfHalfACredential(t *testing.T) {
	for _, key := range []string{"k7R-x_Vb9Lq2", "k7R-x_Vb9Lq2.and", "k7R-x_Vb9Lq2.and-more.of-it", "k7R-x_Vb9Lq2.and-more.of-itZ"} {
		mask := httpcall.Redacting(credential(key))
		for size := max(12, (len(key)+1)/2); size <= len(key); size++ {
			for at := range len(key) - size + 1 {
				require.Equal(t, "<***>", mask("<"+key[at:at+size]+">"))
			}
		}
	}
}

// inJSON returns a text for a string in JSON, unless it is in JSON already.
func inJSON(text string) string {
	if strings.Contains(text, `\u`) || strings.Contains(text, `\/`) {
		return text
	}
	literal := quoted(text)
	return literal[1 : len(literal)-1]
}

func TestMaskFindsAnEchoedQuery(t *testing.T) {
	e := newEndpoint(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.RequestURI) })
	r := toolRig(t, repositories.Source{BaseURL: e.URL, QueryParams: repositories.Headers{"api_key": credential("k7R/x+Vb9Lq2==")}})
	outcome := r.tool(`"description":"d","method":"GET","path":"echo"`, `{}`)
	require.Contains(t, e.only(t).uri, "api_key=k7R%2Fx%2BVb9Lq2%3D%3D")
	require.Equal(t, `"/echo?api_key=***"`, string(outcome.Result))
}

func TestMaskFindsTheBeginningOfACredentialAtACut(t *testing.T) {
	const key = "k7R/x+Vb9Lq2==and-more"
	brokenOff := func(body string) http.HandlerFunc {
		return hijack(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body)+10, body))
	}
	for body, want := range map[string]string{
		"you sent k7R/x+Vb9":                      "you sent ***",
		"you sent k7R%2Fx%2BVb9L":                 "you sent ***",
		"you sent k7R%2Fx%2BVb9L%":                "you sent ***",
		`{"key":"k7R\/x+Vb9Lq2\u003`:              `{"key":"***`,
		"you sent k7R&#47;x+Vb9Lq2&#6":            "you sent ***",
		"you sent k7R/x+V":                        "you sent k7R/x+V", // too short to be told from words
		"you sent k7R/x+Vb9 and more":             "you sent k7R/x+Vb9 and more",
		"azdSL3grVmI5THEyPT1hbmQ":                 "***",
		strings.Repeat(key+" ", 4000) + "k7R/x+V": "", // more than is read
	} {
		e := newEndpoint(t, brokenOff(body))
		outcome := newRig(t).call(e.URL, &repositories.Request{Headers: repositories.Headers{"X-Api-Key": credential(key)}}, nil)
		require.Equal(t, effect.Done, outcome.Verdict, outcome.Error)
		require.True(t, outcome.Truncated)
		if want == "" {
			require.Empty(t, strings.Trim(string(outcome.Result), `"* `), "nothing of the last one is left")
			continue
		}
		require.Equal(t, quoted(want), strings.NewReplacer(`<`, `\u003c`).Replace(string(outcome.Result)), body)
	}
	whole := newEndpoint(t, says(200, "you sent k7R/x+Vb9"))
	outcome := newRig(t).call(whole.URL, &repositories.Request{Headers: repositories.Headers{"X-Api-Key": credential(key)}}, nil)
	require.Equal(t, `"you sent k7R/x+Vb9"`, string(outcome.Result), "a text that is complete")
}
