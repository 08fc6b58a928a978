package sermas_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/api/admission"
	"earshot/api/auth"
	"earshot/api/ratelimit"
	"earshot/api/sermas"
	"earshot/api/signin"
	"earshot/deploy/testbed"
	"earshot/deploy/testbed/apitest"
	"earshot/deploy/testbed/redistest"
	"earshot/matcher"
	"earshot/repositories/secret"
	"earshot/repositories/store"
)

func TestGuessesAtTheSecretOfAModulePauseAndOthersAreLetIn(t *testing.T) {
	s := clinic(t, func(o *sermas.Options) { o.SignIns = signin.New(o.Now, prometheus.NewRegistry()) })
	const asked = `{"appId":"clinic","clientId":"avatar","clientSecret":"%s"}`
	looked := 0
	for n := range 500 {
		got := s.call("POST", "/api/platform/token", fmt.Sprintf(asked, fmt.Sprintf("guess-%d", n)), noKey)
		if got.StatusCode == 401 {
			looked++
			continue
		}
		got.is(429)
		require.NotEmpty(t, got.Header.Get("Retry-After"))
	}
	require.Equal(t, 10, looked, "guesses that were looked at")
	s.call("POST", "/api/platform/token", fmt.Sprintf(asked, "s3cret-of-the-avatar"), noKey).is(429)
	s.call("POST", "/api/platform/token", `{"appId":"clinic","clientId":"calendar","clientSecret":"c4l-of-the-calendar"}`, noKey).is(201)
	s.now = s.now.Add(time.Minute)
	s.call("POST", "/api/platform/token", fmt.Sprintf(asked, "s3cret-of-the-avatar"), noKey).is(201)
}

func TestTokensAreGivenToClientsOfTheAppsModules(t *testing.T) {
	s := clinic(t)
	for _, path := range []string{"/api/platform/token", "/api/platform/token/", "/api/platform/token/access_token"} {
		for client, key := range map[string]string{"avatar": "s3cret-of-the-avatar", "clinic-avatar": "s3cret-of-the-avatar", "cal": "c4l-of-the-calendar", "calendar": "c4l-of-the-calendar", "clinic-calendar": "c4l-of-the-calendar"} {
			var got tokens
			s.call("POST", path, `{"appId":"clinic","clientId":"`+client+`","clientSecret":"`+key+`"}`, noKey).is(201).into(&got)
			require.Equal(t, 300, got.Expires)
			require.Equal(t, "Bearer", got.Type)
			raw, err := base64.RawURLEncoding.DecodeString(strings.Split(got.Access, ".")[1])
			require.NoError(t, err)
			var said map[string]any
			require.NoError(t, json.Unmarshal(raw, &said))
			require.Equal(t, client, said["aud"])
			require.InDelta(t, s.now.Add(5*time.Minute).Unix(), said["exp"], 1)
			s.call("GET", "/v1/apps/clinic/tools", "", with(got.Access)).is(200)
		}
	}
	for _, wrong := range []string{
		`{"appId":"clinic","clientId":"avatar","clientSecret":"c4l-of-the-calendar"}`, `{"appId":"clinic","clientId":"nobody","clientSecret":"s3cret-of-the-avatar"}`,
		`{"appId":"other","clientId":"avatar","clientSecret":"s3cret-of-the-avatar"}`, `{"appId":"absent","clientId":"avatar","clientSecret":"s3cret-of-the-avatar"}`,
		`{"appId":"a b","clientId":"avatar","clientSecret":"s3cret-of-the-avatar"}`, `{"appId":"clinic","clientId":"avatar","clientSecret":"***"}`,
	} {
		got := s.call("POST", "/api/platform/token", wrong, noKey).is(401)
		require.Contains(t, got.body, "no app has a module")
	}
	require.Contains(t, s.call("POST", "/api/platform/token", `{"appId":"other","appId":"clinic","clientId":"avatar","clientSecret":"s3cret-of-the-avatar"}`, noKey).is(400).body, "/appId")
	faults := s.call("POST", "/api/platform/token", `{"appId":"","clientId":7}`, noKey).is(400).body
	for _, part := range []string{`"/appId","detail":"is missing"`, `"/clientId","detail":"is not a string"`, `"/clientSecret","detail":"is missing"`} {
		require.Contains(t, faults, part)
	}
	require.NotContains(t, s.log.String(), "s3cret-of-the-avatar")
}

func TestTokensAreRenewedAsLongAsTheirModuleIsThere(t *testing.T) {
	s := clinic(t)
	first := s.signIn()
	for _, path := range []string{"/api/platform/token/refresh", "/api/platform/token/refresh_token"} {
		var got tokens
		s.call("POST", path, `{"refreshToken":"`+first.Refresh+`","appId":"clinic","clientId":"avatar","clientSecret":"s3cret-of-the-avatar"}`, noKey).is(201).into(&got)
		require.NotEqual(t, first.Access, got.Access)
		s.call("GET", "/v1/apps/clinic/tools", "", with(got.Access)).is(200)
		s.call("GET", "/v1/apps/clinic/tools", "", with(got.Refresh)).is(401)
		s.call("POST", path, `{"refreshToken":"`+got.Refresh+`","appId":"clinic"}`, noKey).is(201)
	}
	var anew tokens
	s.call("POST", "/api/platform/token/refresh", `{"appId":"clinic","clientId":"avatar","clientSecret":"s3cret-of-the-avatar"}`, noKey).is(201).into(&anew)
	require.NotEmpty(t, anew.Access, "without a token to renew it is given as at first, as in SERMAS")
	const path = "/api/platform/token/refresh"
	for _, wrong := range []string{
		`{"refreshToken":"` + first.Access + `","appId":"clinic"}`, `{"refreshToken":"x","appId":"clinic"}`, `{"refreshToken":"` + first.Refresh + `","appId":"other"}`,
		`{"refreshToken":"` + first.Refresh + `","appId":"clinic","clientId":"cal"}`, `{"refreshToken":"` + first.Refresh + `","appId":"clinic","clientSecret":"c4l-of-the-calendar"}`,
	} {
		s.call("POST", path, wrong, noKey).is(401)
	}
	s.now = s.now.Add(23 * time.Hour)
	s.call("GET", "/v1/apps/clinic/tools", "", with(first.Access)).is(401)
	s.call("POST", path, `{"refreshToken":"`+first.Refresh+`","appId":"clinic"}`, noKey).is(201)
	s.now = s.now.Add(time.Hour)
	s.call("POST", path, `{"refreshToken":"`+first.Refresh+`","appId":"clinic"}`, noKey).is(401)
}

func TestTokensOfAnEarlierModuleRenewNothing(t *testing.T) {
	s := clinic(t)
	renew := `{"refreshToken":"` + s.signIn().Refresh + `","appId":"clinic"}`
	const path = "/api/platform/token/refresh_token"
	s.call("PUT", "/v1/apps/clinic", `{"modules":[{"moduleId":"avatar","secret":"another-of-the-avatar"}]}`).is(200)
	s.call("POST", path, renew, noKey).is(401)
	s.call("PUT", "/v1/apps/clinic", `{}`).is(200)
	s.call("POST", path, renew, noKey).is(401)
	s.call("PUT", "/v1/apps/clinic", clinicBody).is(200)
	s.call("POST", path, renew, noKey).is(201)
	s.call("DELETE", "/v1/apps/clinic", "").is(204)
	s.call("PUT", "/v1/apps/clinic", clinicBody).is(201)
	s.call("POST", path, renew, noKey).is(401)
}

// A token ends with its module at once, not at its renewal.
func TestTokensEndWithTheirModule(t *testing.T) {
	s := clinic(t)
	first := s.signIn()
	s.call("GET", "/v1/apps/clinic/tools", "", with(first.Access)).is(200)
	s.call("PATCH", "/v1/apps/clinic", `{"modules":[{"moduleId":"avatar","secret":"another-of-the-avatar"}]}`).is(200)
	require.Eventually(t, func() bool { return s.call("GET", "/v1/apps/clinic/tools", "", with(first.Access)).StatusCode == 401 }, time.Minute, 10*time.Millisecond)
	s.call("POST", "/api/dialogue/tools/r1", sent, with(first.Access)).is(401)
	var next tokens
	s.call("POST", "/api/platform/token", `{"appId":"clinic","clientId":"avatar","clientSecret":"another-of-the-avatar"}`, noKey).is(201).into(&next)
	s.call("GET", "/v1/apps/clinic/tools", "", with(next.Access)).is(200)
}

// Guessing a short secret gains nothing; the log warns the operator.
func TestSecretThatIsGuessedEasilyIsNoSignIn(t *testing.T) {
	s := clinic(t)
	s.call("PUT", "/v1/apps/weak", `{"modules":[{"moduleId":"short","secret":"x1"},{"moduleId":"held","secret":"aaaaaaaaaaaaaaaaaaaa"},{"moduleId":"good","secret":"0123456789abcdef"}]}`).is(201)
	answers := map[string]bool{}
	for _, asked := range []string{`"clientId":"short","clientSecret":"x1"`, `"clientId":"short","clientSecret":"x2"`, `"clientId":"held","clientSecret":"aaaaaaaaaaaaaaaaaaaa"`, `"clientId":"nobody","clientSecret":"x1"`} {
		for _, path := range []string{"/api/platform/token", "/api/platform/token/refresh"} {
			got := s.call("POST", path, `{"appId":"weak",`+asked+`}`, noKey).is(401)
			require.Contains(t, got.body, "at least 16 characters")
			answers[got.body] = true
		}
	}
	require.Len(t, answers, 1, "all are told the same")
	require.Contains(t, s.log.String(), `"msg":"sermas.guessable","app":"weak","module":"short"`)
	require.NotContains(t, s.log.String(), "x1")
	var renewing tokens
	s.call("POST", "/api/platform/token", `{"appId":"weak","clientId":"good","clientSecret":"0123456789abcdef"}`, noKey).is(201).into(&renewing)
	s.call("POST", "/api/platform/token/refresh", `{"refreshToken":"`+renewing.Refresh+`"}`, noKey).is(201)
}

// Without an admin key every user of the machine is the admin, so there is nothing to guess.
func TestWithoutAnAdminKeyAnySecretIsASignIn(t *testing.T) {
	s := start(t, func(o *sermas.Options) { o.Auth.Admin = secret.Secret{} })
	s.call("PUT", "/v1/apps/clinic", `{"modules":[{"moduleId":"avatar","secret":"x1"}]}`).is(201)
	s.call("POST", "/api/platform/token", `{"appId":"clinic","clientId":"avatar","clientSecret":"x1"}`, noKey).is(201)
}

// sent is a repository as SERMAS's own client sends it.
const sent = `{"repositoryId":"r1","appId":"clinic","sessionId":"s1","clientId":"c","requestId":"q","userId":"u","ts":"2026-11-22T10:00:00Z","created":null,
	"options":{"triggerOnce":true,"exclusive":false,"mine":1},
	"tools":[{"name":"book","description":"User wants an appointment","skipResponse":true,
	"schema":[{"parameter":"day","type":"string","description":"ISO day"},{"parameter":"userId","type":"string","ignore":true,"value":"u7"}],
	"emitter":"","returnDirect":false,"url":"","request":{"url":"https://x.example/cal","auth":"bearer","moduleId":"","headers":{},"basic":{"username":"","password":""},
	"bearer":{"clientType":"client_credentials","clientId":"c","clientSecret":"planted","audience":"a","tokenUrl":"https://x.example/token","refreshUrl":""}}}]}`

const oneTool = `{"name":"book","description":"d","schema":[{"parameter":"day","type":"string"}]}`

func (s *service) places(id string) (sessions []string) {
	found, err := s.store.ScopesOf(s.at.T.Context(), "clinic", id)
	require.NoError(s.at.T, err)
	for _, at := range found {
		sessions = append(sessions, at.SessionID)
	}
	return sessions
}

func TestRepositoryIsWhereItWasWrittenLast(t *testing.T) {
	s := clinic(t)
	token := with(s.signIn().Access)
	var record struct {
		AppID, SessionID, RepositoryID string
		Options                        map[string]bool
		Tools                          []struct{ Name string }
	}
	stored := s.call("POST", "/api/dialogue/tools/r1", sent, token).is(201)
	stored.into(&record)
	require.NotContains(t, stored.body, "planted")
	require.Equal(t, "clinic s1 r1 book", record.AppID+" "+record.SessionID+" "+record.RepositoryID+" "+record.Tools[0].Name)
	require.True(t, record.Options["triggerOnce"])
	s.call("POST", "/api/dialogue/tools/r1", strings.Replace(sent, `"s1"`, `"s2"`, 1), token).is(201)
	require.Equal(t, []string{"s2"}, s.places("r1"))
	s.call("POST", "/api/dialogue/tools/r1", `{"repositoryId":"r1","sessionId":"s3","tools":[{"name":"a b"}]}`, token).is(400)
	require.Equal(t, []string{"s2"}, s.places("r1"), "what is at fault moves nothing")
	s.call("PUT", "/api/dialogue/tools/r1", `{"repositoryId":"r1","appId":"clinic","tools":[{"name":"cancel","description":"d"}]}`, token).is(200).into(&record)
	require.Equal(t, "s2 2 true", record.SessionID+" "+string(rune('0'+len(record.Tools)))+" "+map[bool]string{true: "true"}[record.Options["triggerOnce"]])
	s.call("POST", "/api/dialogue/tools/r1", `{"repositoryId":"r1","appId":"clinic","sessionId":null,"tools":[`+oneTool+`]}`, token).is(201)
	require.Equal(t, []string{""}, s.places("r1"))
	s.call("DELETE", "/api/dialogue/tools/r1", "", token).is(200)
	require.Empty(t, s.places("r1"))
	s.call("DELETE", "/api/dialogue/tools/r1", "", token).is(200)
}

func TestRepositoryIsDeletedWhereverItIs(t *testing.T) {
	s := clinic(t)
	for _, scope := range []string{"", "/sessions/s1", "/sessions/s2"} {
		s.call("PUT", "/v1/apps/clinic"+scope+"/repositories/r1", `{"tools":[`+oneTool+`]}`).is(201)
	}
	token := with(s.signIn().Access)
	s.call("DELETE", "/api/dialogue/tools/r1", "", token).is(200)
	require.Empty(t, s.places("r1"))
	s.call("POST", "/api/dialogue/tools/r1", sent, token).is(201)
	empty := s.call("POST", "/api/dialogue/tools/r1", `{"repositoryId":"r1","appId":"clinic","sessionId":"s9","tools":[]}`, token).is(201)
	require.JSONEq(t, `{"repositoryId":"r1","appId":"clinic","sessionId":"s9","tools":[]}`, empty.body)
	require.Empty(t, s.places("r1"), "empty tools delete, as in SERMAS")
	s.call("PUT", "/api/dialogue/tools/r1", `{"repositoryId":"r1","appId":"clinic","tools":[]}`, token).is(200)
	require.Empty(t, s.places("r1"))
}

func TestAMoveThatIsRefusedLeavesTheRepositoryWhereItWas(t *testing.T) {
	s := clinic(t)
	token := with(s.signIn().Access)
	s.call("PATCH", "/v1/apps/clinic", `{"settings":{"limits":{"repositoriesPerSession":1}}}`).is(200)
	for _, path := range []string{"/sessions/full/repositories/r0", "/sessions/s1/repositories/ofs1", "/repositories/ofapp"} {
		s.call("PUT", "/v1/apps/clinic"+path, `{"tools":[`+oneTool+`]}`).is(201)
	}
	for id, place := range map[string]string{"ofapp": "", "ofs1": "s1"} {
		body := `{"sessionId":"%s","tools":[` + oneTool + `]}`
		s.call("POST", "/api/dialogue/tools/"+id, fmt.Sprintf(body, "full"), token).is(422)
		require.Equal(t, []string{place}, s.places(id))
		s.call("POST", "/api/dialogue/tools/"+id, fmt.Sprintf(body, "free"+id), token).is(201)
		require.Equal(t, []string{"free" + id}, s.places(id))
	}
}

// TestABodyWithoutAListOfToolsIsAFault: only an empty list deletes.
func TestABodyWithoutAListOfToolsIsAFault(t *testing.T) {
	s := clinic(t)
	token := with(s.signIn().Access)
	s.call("PUT", "/v1/apps/clinic/repositories/r1", `{"tools":[`+oneTool+`]}`).is(201)
	s.call("PUT", "/v1/apps/clinic/repositories/clinic", `{"tools":[`+oneTool+`]}`).is(201)
	for _, id := range []string{"r1", "none"} {
		for body, word := range map[string]string{
			`{"tool":[` + oneTool + `]}`: `did you mean \"tools\"`, `{"Tools":[` + oneTool + `]}`: `did you mean \"tools\"`, `{"tool":[]}`: `did you mean \"tools\"`,
			`{}`: `"/tools","detail":"is missing"`, `{"options":{"exclusive":true}}`: `"/tools","detail":"is missing"`, `{"tools":null}`: `"/tools","detail":"is missing"`,
			`{"tools":{}}`: `"/tools"`, `{"tools":[],"tools":[` + oneTool + `]}`: `"/tools","detail":"is given more than once"`, `null`: "is no JSON object", ``: "is empty",
		} {
			for _, method := range []string{"POST", "PUT"} {
				require.Contains(t, s.call(method, "/api/dialogue/tools/"+id, body, token).is(400).body, word, method+" "+body)
			}
		}
	}
	for _, body := range []string{`null`, `{}`, `{"tools":[]}`, `"x"`, ``, `[{"name":"book","name":"x"}]`} {
		s.call("PUT", "/api/app/clinic/tools", body, token).is(400)
	}
	require.Equal(t, []string{""}, s.places("r1"))
	require.Equal(t, []string{""}, s.places("clinic"))
	require.Empty(t, s.places("none"))
}

func TestWhatIsAskedForInAQueryIsKnown(t *testing.T) {
	s := clinic(t)
	token := with(s.signIn().Access)
	s.call("PUT", "/v1/apps/clinic/repositories/r1", `{"tools":[`+oneTool+`]}`).is(201)
	s.call("PUT", "/v1/apps/other/repositories/r1", `{"tools":[`+oneTool+`]}`).is(201)
	for _, one := range [][3]string{
		{"POST", "/api/dialogue/speech/chat/clinic/s1?dryRun=true", `{"text":"x"}`}, {"POST", "/api/dialogue/tools/r1?dryRun=true", sent},
		{"PUT", "/api/dialogue/tools/r1?appid=clinic", sent}, {"DELETE", "/api/dialogue/tools/r1?dryRun=true", ""}, {"DELETE", "/api/dialogue/tools/r1?appId=clinic&appId=other", ""},
		{"PUT", "/api/app/clinic/tools?appId=clinic", `[]`}, {"GET", "/api/dialogue/memory/s1?limit=1", ""}, {"POST", "/api/platform/token?x=1", `{}`},
		{"DELETE", "/api/dialogue/tools/r1?%zz", ""},
	} {
		require.Contains(t, s.call(one[0], one[1], one[2], token).is(400).body, `"invalid_query"`, one[1])
	}
	s.call("POST", "/api/dialogue/tools/r1?appId=other", `{"tools":[]}`, token).is(403)
	s.call("DELETE", "/api/dialogue/tools/r1?appId=other", "", token).is(403)
	s.call("GET", "/api/dialogue/memory/s1?appId=other", "", token).is(403)
	require.Contains(t, s.call("POST", "/api/dialogue/tools/r1?appId=other", `{"appId":"clinic","tools":[]}`).is(400).body, "but the body says")
	require.Equal(t, []string{""}, s.places("r1"))
	require.JSONEq(t, `{"items":[]}`, s.call("GET", "/v1/apps/clinic/triggers", "").is(200).body)
	s.call("DELETE", "/api/dialogue/tools/r1?appId=clinic", "", token).is(200)
	require.Empty(t, s.places("r1"))
}

func TestConditionsHoldAsOnREST(t *testing.T) {
	s := clinic(t)
	token := with(s.signIn().Access)
	const path = "/api/dialogue/tools/r1"
	stored := s.call("PUT", "/v1/apps/clinic/repositories/r1", `{"tools":[`+oneTool+`]}`).is(201)
	s.call("PUT", "/v1/apps/clinic/repositories/clinic", `{"tools":[`+oneTool+`]}`).is(201)
	const stale, absent = `If-Match: "x"`, `If-None-Match: *`
	for _, header := range []string{stale, absent} {
		s.call("POST", path, `{"tools":[`+oneTool+`]}`, token, header).is(412)
		s.call("POST", path, `{"sessionId":"s1","tools":[`+oneTool+`]}`, token, header).is(412)
		s.call("PUT", path, `{"tools":[`+oneTool+`]}`, token, header).is(412)
		s.call("PUT", "/api/app/clinic/tools", `[`+oneTool+`]`, token, header).is(412)
	}
	s.call("POST", path, `{"tools":[]}`, token, stale).is(412)
	s.call("PUT", "/api/app/clinic/tools", `[]`, token, stale).is(412)
	s.call("DELETE", path, "", token, stale).is(412)
	require.Equal(t, []string{""}, s.places("r1"))
	require.Equal(t, []string{""}, s.places("clinic"))
	require.Equal(t, stored.Header.Get("Etag"), s.call("GET", "/v1/apps/clinic/repositories/r1", "").is(200).Header.Get("Etag"))
	s.call("DELETE", path, "", token, "If-Match: "+stored.Header.Get("Etag")).is(200)
	s.call("POST", path, `{"tools":[`+oneTool+`]}`, token, absent).is(201)
}

func TestToolsOfTheAppAreTheRepositoryOfItsName(t *testing.T) {
	s := clinic(t)
	token := with(s.signIn().Access)
	s.call("POST", "/api/dialogue/tools/clinic", `{"repositoryId":"clinic","options":{"exclusive":true},"tools":[`+oneTool+`]}`, token).is(201)
	s.call("PUT", "/api/app/clinic/tools", `[{"name":"hours","description":"d"}]`, token).is(200)
	stored := s.call("GET", "/v1/apps/clinic/repositories/clinic", "").is(200).body
	require.Contains(t, stored, `"hours"`)
	require.NotContains(t, stored, `"book"`)
	require.Contains(t, stored, `"exclusive":true`, "options stay")
	require.Contains(t, s.call("PUT", "/api/app/clinic/tools", `[{"name":"a b"}]`, token).is(400).body, `"/0/name"`)
	s.call("PUT", "/api/app/clinic/tools", `{"tools":[]}`, token).is(400)
	s.call("PUT", "/api/app/other/tools", `[]`, token).is(403)
	s.call("PUT", "/api/app/clinic/tools", `[]`, token).is(200)
	require.Empty(t, s.places("clinic"))
}

func TestWhoMayNotOnRESTMayNotHere(t *testing.T) {
	s := clinic(t)
	token := with(s.signIn().Access)
	key := func(scope string) string {
		var made struct{ Key string }
		s.call("POST", "/v1/apps/clinic/keys", `{"scopes":["`+scope+`"]}`).is(201).into(&made)
		return with(made.Key)
	}
	tools, messages := key("tools"), key("messages")
	for _, keyed := range []string{noKey, "Authorization: Bearer x"} {
		s.call("POST", "/api/dialogue/tools/r1", sent, keyed).is(401)
		s.call("DELETE", "/api/dialogue/tools/r1", "", keyed).is(401)
		s.call("GET", "/api/dialogue/memory/s1", "", keyed).is(401)
		s.call("POST", "/api/dialogue/speech/chat/clinic/s1", `{"text":"x"}`, keyed).is(401)
		s.call("PUT", "/api/app/clinic/tools", `[]`, keyed).is(401)
	}
	s.call("POST", "/api/dialogue/tools/r1", sent, messages).is(403)
	s.call("DELETE", "/api/dialogue/tools/r1", "", messages).is(403)
	s.call("POST", "/api/dialogue/tools/r1", strings.Replace(sent, `"clinic"`, `"other"`, 1), token).is(403)
	s.call("POST", "/api/dialogue/speech/chat/other/s1", `{"text":"x"}`, token).is(403)
	s.call("POST", "/api/dialogue/tools/r1", sent, tools).is(201)
	s.call("POST", "/api/dialogue/tools/r1", sent).is(201)
	s.call("GET", "/api/dialogue/memory/s1", "", tools).is(403)
	readsTools, readsMessages := key("tools:read"), key("messages:read")
	s.call("POST", "/api/dialogue/tools/r1", sent, readsTools).is(403)
	s.call("DELETE", "/api/dialogue/tools/r1", "", readsTools).is(403)
	s.call("PUT", "/api/app/clinic/tools", `[]`, readsTools).is(403)
	s.call("POST", "/api/dialogue/speech/chat/clinic/s1", `{"text":"x"}`, readsMessages).is(403)
	s.call("GET", "/api/dialogue/memory/s1", "", readsMessages).is(200)
	require.Equal(t, "[]\n", s.call("GET", "/api/dialogue/memory/s1", "", messages).is(200).body)
	s.call("DELETE", "/api/dialogue/tools/r1", "").is(400) // of two apps
	s.call("DELETE", "/api/dialogue/tools/r1?appId=clinic", "").is(200)
	s.call("DELETE", "/v1/apps/other", "").is(204)
	s.call("DELETE", "/api/dialogue/tools/r1", "").is(200)
	s.call("POST", "/api/dialogue/tools/a%20b", `{"tools":[]}`, token).is(400)
	require.Contains(t, s.call("POST", "/api/dialogue/tools/r2", sent, token).is(400).body, `/repositoryId`)
}

func TestChatIsTakenAndRememberedInSERMASForm(t *testing.T) {
	s := clinic(t)
	token := with(s.signIn().Access)
	s.call("POST", "/api/dialogue/tools/r1", strings.Replace(sent, `"skipResponse":true,`, "", 1), token).is(201)
	const path = "/api/dialogue/speech/chat/clinic/s1"
	said := s.call("POST", path, `{"text":"tomorrow please","actor":"user","language":"en-GB","gender":"","emotion":"","messageId":"","chunkId":"","ttsEnabled":false,"isWelcome":false,"llm":{"chat":"openai/gpt-4o","tools":"…"}}`, token).is(201)
	require.Empty(t, said.body)
	require.NotContains(t, said.Header, "Content-Type")
	s.call("POST", path, `{"text":"at your service","actor":"agent","messageId":"m2"}`, token).is(201)
	s.call("POST", path, `{"text":"once more","actor":null,"messageId":"m3"}`, token).is(201)
	var all []struct {
		Role, Content, Type string
		Time                time.Time `json:"ts"`
		Metadata            struct {
			MessageID string
			Triggers  []struct{ Name, RepositoryID string }
		}
	}
	s.call("GET", "/api/dialogue/memory/s1", "", token).is(200).into(&all)
	require.Len(t, all, 4)
	require.Equal(t, "user tomorrow please message", all[0].Role+" "+all[0].Content+" "+all[0].Type)
	require.Equal(t, "book", all[0].Metadata.Triggers[0].Name)
	require.Equal(t, "assistant Done.", all[1].Role+" "+all[1].Content)
	require.Equal(t, "assistant at your service m2", all[2].Role+" "+all[2].Content+" "+all[2].Metadata.MessageID)
	require.Equal(t, "user once more", all[3].Role+" "+all[3].Content)
	require.False(t, all[0].Time.IsZero())
	s.call("POST", path, `{"actor":"user"}`, token).is(400)
	s.call("POST", path, `{"text":"x","txt":"y"}`, token).is(400)
	s.call("POST", path, `[]`, token).is(400)
	require.Contains(t, s.call("POST", path, `{"actor":"user","text":"hello","text":"ring"}`, token).is(400).body, `"/text","detail":"is given more than once"`)
	all = nil
	s.call("GET", "/api/dialogue/memory/s1", "", token).is(200).into(&all)
	require.Len(t, all, 4)
	faults := s.call("POST", path, `{"actor":5,"text":7,"messageId":"a b","language":8}`, token).is(400).body
	for _, name := range []string{"actor", "text", "messageId", "language"} {
		require.Contains(t, faults, `"pointer":"/`+name+`"`)
	}
	s.call("POST", "/api/dialogue/tools/r1", sent, token).is(201)
	s.call("POST", path, `{"text":"down"}`, token).is(502)
}

func TestPathsThatAreNotServedSayWhatThereIs(t *testing.T) {
	s := clinic(t)
	for path, words := range map[string]string{
		"/api": "/api/dialogue/tools/{repositoryId}", "/api/nowhere": "/api/platform/token", "/api/session": "PUT /v1/apps/{appId}/sessions/{sessionId}",
		"/api/ui/interaction/clinic/m": "direct trigger", "/api/platform/app/clinic/client": "PATCH /v1/apps/{appId}", "/api/dialogue/speech/tts": "speech is left to others",
	} {
		got := s.call("POST", path, `{}`, noKey).is(404)
		require.Equal(t, "application/problem+json", got.Header.Get("Content-Type"))
		require.Contains(t, got.body, words)
	}
	require.Contains(t, s.call("GET", "/api/dialogue/tools/r1", "").is(404).body, "POST, PUT and DELETE /api/dialogue/tools/{repositoryId}")
	off := start(t, func(o *sermas.Options) { o.On = false })
	require.Contains(t, off.call("POST", "/api/platform/token", `{}`, noKey).is(404).body, "EARSHOT_SERMAS=on")
	off.call("GET", "/v1/apps", "").is(200)
}

func TestPagesOfAnAllowedOriginReadAnswers(t *testing.T) {
	s := clinic(t)
	const at = "Origin: https://clinic.example"
	asked := s.call("OPTIONS", "/api/platform/token", "", noKey, at, "Access-Control-Request-Method: POST", "Access-Control-Request-Headers: content-type")
	require.Equal(t, http.StatusNoContent, asked.StatusCode)
	require.Equal(t, "content-type", asked.Header.Get("Access-Control-Allow-Headers"))
	const signIn = `{"appId":"clinic","clientId":"avatar","clientSecret":"s3cret-of-the-avatar"}`
	token := with(s.signIn().Access)
	for name, got := range map[string]reply{
		"token":   s.call("POST", "/api/platform/token", signIn, noKey, at),
		"refused": s.call("POST", "/api/platform/token", strings.Replace(signIn, "s3cret-of-the-avatar", "x", 1), noKey, at),
		"tools":   s.call("POST", "/api/dialogue/tools/r1", sent, token, at),
		"removed": s.call("DELETE", "/api/dialogue/tools/r1", "", token, at),
		"memory":  s.call("GET", "/api/dialogue/memory/s1", "", token, at),
		"chat":    s.call("POST", "/api/dialogue/speech/chat/clinic/s1", `{"text":"x"}`, token, at),
	} {
		require.Equal(t, []string{"https://clinic.example"}, got.Header.Values("Access-Control-Allow-Origin"), name)
	}
	elsewhere := s.call("POST", "/api/platform/token", signIn, noKey, "Origin: https://evil.example")
	require.Empty(t, elsewhere.Header.Get("Access-Control-Allow-Origin"))
}

func TestBodiesAreBounded(t *testing.T) {
	s := clinic(t)
	s.call("POST", "/api/platform/token", `{"appId":"`+strings.Repeat("a", 1<<20)+`"}`, noKey).is(413)
}

func TestMain(m *testing.M) { redistest.Main(m) }

const adminKey = apitest.AdminKey

// service is the whole API with SERMAS's paths, on the real store and engine.
type service struct {
	at      *apitest.Service // with the paths of SERMAS
	handler http.Handler     // that serves there
	store   *store.Store
	now     time.Time
	log     *testbed.Lines
}

// bookings matches every message with the tool book; no model replies.
type bookings struct{}

func (bookings) Match(_ context.Context, request matcher.Request) (matcher.Result, error) {
	result := matcher.Result{Stage: matcher.StageLLM}
	for _, candidate := range request.Candidates {
		if request.Text == "down" {
			return result, &matcher.Unavailable{Reason: "it answered 500"}
		}
		result.Matches = append(result.Matches, matcher.Match{Candidate: candidate, Values: map[string]any{"day": request.Text}})
	}
	return result, nil
}

func (bookings) Reply(context.Context, matcher.Request, []matcher.PastCall) (string, error) {
	return "Done.", nil
}

func start(t testing.TB, change ...func(*sermas.Options)) *service {
	t.Helper()
	s := &service{now: time.Now(), log: &testbed.Lines{}}
	now := func() time.Time { return s.now }
	rest := apitest.LiveOn(t, redistest.Mini(t), bookings{}, func(o *api.Options) { o.Now = now })
	s.store = rest.Store
	ids := 0
	options := sermas.Options{
		On: true, Walls: ratelimit.New(admission.Bounds{}, prometheus.NewRegistry(), time.Now), Store: s.store, Tokens: rest.Sealer, TokenTTL: 5 * time.Minute, Now: now, NewID: func() string { ids++; return strings.Repeat("i", ids) },
		Logger: slog.New(slog.NewJSONHandler(s.log, nil)),
		Auth:   auth.Authenticator{Admin: secret.New(adminKey), Keys: s.store, Tokens: rest.Sealer, Now: now},
		REST:   rest.Handler,
	}
	for _, alter := range change {
		alter(&options)
	}
	s.handler = sermas.New(options)
	s.at = &apitest.Service{T: t, URL: testbed.Serve(t, "", s.handler)}
	return s
}

// clinic is a service with two apps; the module avatar of one is only for clients.
func clinic(t testing.TB, change ...func(*sermas.Options)) *service {
	s := start(t, change...)
	s.call("PUT", "/v1/apps/clinic", clinicBody).is(201)
	s.call("PUT", "/v1/apps/other", `{"modules":[{"moduleId":"avatar","secret":"else-else-else-else"}]}`).is(201)
	return s
}

const clinicBody = `{"modules":[{"moduleId":"avatar","secret":"s3cret-of-the-avatar"},{"moduleId":"calendar","clientId":"cal","secret":"c4l-of-the-calendar","tokenUrl":"https://id.example.org/token"}],
	"settings":{"chatModeEnabled":true,"allowedOrigins":["https://clinic.example"]}}`

type reply struct {
	apitest.Answer
	body string
}

// call sends a request with the admin key. Headers are "Name: value" and override.
func (s *service) call(method, path, body string, headers ...string) reply {
	got := s.at.Ask(method, path, body, headers...)
	return reply{got, string(got.Body)}
}

func (r reply) is(status int) reply {
	r.Is(status, "")
	return r
}

func (r reply) into(value any) { require.NoError(r.T, json.Unmarshal(r.Body, value), r.body) }

// tokens is the answer to a request for a token.
type tokens struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
	Expires int    `json:"expires_in"`
	Type    string `json:"token_type"`
	Scope   string
}

// signIn gets a token of the app clinic.
func (s *service) signIn() tokens {
	s.at.T.Helper()
	var got tokens
	s.call("POST", "/api/platform/token/access_token", `{"appId":"clinic","clientId":"avatar","clientSecret":"s3cret-of-the-avatar"}`, noKey).is(201).into(&got)
	return got
}

func with(token string) string { return "Authorization: Bearer " + token }

const noKey = "Authorization: "
