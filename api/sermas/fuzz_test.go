package sermas_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/api/sermas"
)

// paths lists SERMAS's paths with a body, and their methods.
var paths = [][2]string{
	{"POST", "/api/platform/token"}, {"POST", "/api/platform/token/access_token"}, {"POST", "/api/platform/token/refresh"}, {"POST", "/api/platform/token/refresh_token"},
	{"POST", "/api/dialogue/tools/r1"}, {"PUT", "/api/dialogue/tools/r1"}, {"DELETE", "/api/dialogue/tools/r1"}, {"PUT", "/api/app/clinic/tools"},
	{"POST", "/api/dialogue/speech/chat/clinic/s1"}, {"GET", "/api/dialogue/memory/s2"}, {"GET", "/api/"},
}

// seeds are a path, a caller, a query and a body.
var seeds = []struct {
	path, who   byte
	query, body string
}{
	{0, 2, "", `{"appId":"clinic","clientId":"avatar","clientSecret":"s3cret-of-the-avatar"}`},
	{1, 2, "", `{"appId":"clinic","clientId":"cal","clientSecret":"wrong-of-the-calendar"}`},
	{1, 2, "", `{"appId":"a b","clientId":7,"clientSecret":"***"}`},
	{2, 2, "", `{"appId":"clinic","clientId":"avatar","clientSecret":"s3cret-of-the-avatar","refreshToken":""}`},
	{3, 2, "", `{"appId":"other","refreshToken":"eyJhbGciOiJIUzI1NiJ9.eyJhdWQiOiJhdmF0YXIifQ.c2lnbmF0dXJl"}`},
	{2, 2, "", `{"appId":"clinic","refreshToken":"REFRESH","clientSecret":"s3cret-of-the-avatar"}`},
	{4, 0, "", sent}, {4, 1, "", `{"appId":"clinic","sessionId":"s1","tools":[]}`},
	{4, 1, "", `{"tools":[{"name":"a","url":"https://example.org/a","request":{"auth":"basic","basic":{"username":"u","password":"pl4nted-password"}}}]}`},
	{5, 0, "appId=clinic", `{"tools":[{"name":"b","url":"https://u:pl4nted-in-url@example.org/","request":{"headers":{"X-Api-Key":"pl4nted-key","X-Desk":"1"}}}]}`},
	{5, 1, "", `{"options":{"triggerOnce":true,"x":1},"tools":[{"name":"c","url":"https://example.org","request":{"auth":"bearer","bearer":{"clientType":"password","username":"u","password":"pl4nted-word","clientSecret":"pl4nted-client","tokenUrl":"https://id.example.org/t"}}}]}`},
	{5, 1, "", `{"tools":[{"name":"d","type":"http","method":"GET","headers":{"Authorization":"Bearer pl4nted-bearer"},"request":{"basic":{"password":["pl4nted-list"]}}}]}`},
	{6, 0, "appId=clinic", ``}, {6, 2, "appId=%zz", `x`}, {6, 0, "appId=clini^", ``},
	{4, 0, "", `{"appId":"a b","tools":[]}`}, {9, 0, "appId=a%20b", ``},
	{7, 1, "", `[{"name":"e","description":"E","schema":[{"parameter":"day","type":"string"}],"request":{"basic":{"username":"u","password":"pl4nted-word"}}}]`},
	{7, 0, "", `[]`}, {7, 0, "", `[null,{"name":7}]`},
	{8, 1, "", `{"text":"monday","actor":"user","language":"en-GB","messageId":"m1","ttsEnabled":true,"clientId":"x"}`},
	{8, 0, "", `{"text":"down","actor":"agent","messageId":null}`}, {8, 2, "", `{"text":7}`},
	{9, 1, "", ``}, {9, 0, "appId=other", ``}, {10, 0, "", ``}, {4, 0, "", "\xff\x00"}, {8, 0, "", `null`},
}

// FuzzBodies sends bodies as the admin, as a client with a token, and as a stranger. The answer is never an
// internal error and always JSON, without any sent credential.
func FuzzBodies(f *testing.F) {
	var log bytes.Buffer
	s := clinic(f, func(o *sermas.Options) {
		o.Logger, o.NewID = slog.New(slog.NewTextHandler(&log, nil)), rand.Text
	})
	first := s.signIn()
	s.call("POST", "/api/dialogue/speech/chat/clinic/s2", `{"text":"monday"}`).is(201) // the history of s1 grows without bound
	for _, seed := range seeds {
		f.Add(seed.path, seed.who, seed.query, strings.ReplaceAll(seed.body, "REFRESH", first.Refresh))
	}
	keys := []string{adminKey, first.Access, ""}
	f.Fuzz(func(t *testing.T, path, who byte, query, body string) {
		at, key := paths[int(path)%len(paths)], keys[int(who)%len(keys)]
		if at[0] == http.MethodPut {
			s.answers(t, "POST", "/api/dialogue/tools/r1?appId=clinic", adminKey, sent) // additions always go to the same repository
		}
		log.Reset()
		got := s.answers(t, at[0], at[1]+"?"+query, key, body)
		if got.Code == http.StatusInternalServerError || got.Code < http.StatusBadRequest && key == "" && !strings.Contains(at[1], "/token") {
			t.Errorf("%s %s?%s %q: %d %s", at[0], at[1], query, body, got.Code, got.Body)
		}
		if text := got.Body.Bytes(); len(text) > 0 && !(json.Valid(text) && strings.Contains(got.Header().Get("Content-Type"), "json")) {
			t.Errorf("%s %s?%s %q: %d %s", at[0], at[1], query, body, got.Code, text)
		}
		for _, credential := range credentialsIn(body) {
			if at[0] != http.MethodGet && strings.Contains(got.Body.String()+log.String(), credential) {
				t.Errorf("%s %s?%s %q tells %q: %d %s", at[0], at[1], query, body, credential, got.Code, got.Body)
			}
		}
	})
}

func (s *service) answers(t *testing.T, method, path, key, body string) *httptest.ResponseRecorder {
	request, err := http.NewRequestWithContext(t.Context(), method, "http://127.0.0.1"+path, strings.NewReader(body))
	if err != nil {
		t.Skip("no client could send it")
	}
	request.RemoteAddr = "127.0.0.1:1"
	request.Header.Set("Content-Type", "application/json")
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	got := httptest.NewRecorder()
	s.handler.ServeHTTP(got, request)
	return got
}

// credentialsIn returns the credentials of a body that occur in it once and not by chance.
func credentialsIn(body string) (list []string) {
	const least = 11 // shorter ones may occur in an answer for other reasons
	var sent any
	if json.Unmarshal([]byte(body), &sent) != nil {
		return nil
	}
	object, _ := sent.(map[string]any)
	found := []any{object["clientSecret"], object["refreshToken"]}
	tools, bare := sent.([]any)
	if !bare {
		tools, _ = object["tools"].([]any)
	}
	for _, one := range tools {
		request := below(below(one)["request"])
		found = append(found, below(request["basic"])["password"], below(request["bearer"])["password"], below(request["bearer"])["clientSecret"],
			inURL(below(one)["url"]), below(request["headers"])["X-Api-Key"], below(request["headers"])["Authorization"], below(below(one)["headers"])["Authorization"])
	}
	for _, one := range found {
		for _, text := range textsOf(one) {
			if len(text) >= least && strings.Count(body, text) == 1 {
				list = append(list, text)
			}
		}
	}
	return list
}

// inURL returns the password of a URL. Its parameters are public.
func inURL(value any) any {
	text, _ := value.(string)
	at, err := url.Parse(text)
	if err != nil {
		return nil
	}
	password, _ := at.User.Password()
	return password
}

func below(value any) map[string]any {
	object, _ := value.(map[string]any)
	return object
}

// textsOf returns the texts in a value: a credential of a wrong type is still one.
func textsOf(value any) []string {
	switch value := value.(type) {
	case string:
		return []string{value}
	case []any:
		var list []string
		for _, one := range value {
			list = append(list, textsOf(one)...)
		}
		return list
	case map[string]any:
		var list []string
		for _, one := range value {
			list = append(list, textsOf(one)...)
		}
		return list
	}
	return nil
}

// The check of FuzzBodies finds the credentials of its own seeds.
func TestCredentialsOfSeedsAreFound(t *testing.T) {
	for _, seed := range seeds {
		for word := range strings.FieldsFuncSeq(seed.body, func(r rune) bool { return strings.ContainsRune(`",:[]{}@= `, r) }) {
			if strings.HasPrefix(word, "pl4nted") {
				require.True(t, slices.ContainsFunc(credentialsIn(seed.body), func(found string) bool { return strings.Contains(found, word) }), word)
			}
		}
	}
}
