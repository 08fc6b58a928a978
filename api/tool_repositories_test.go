package api_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/deploy/testbed/apitest"
	"earshot/deploy/testbed/redistest"
	"earshot/matcher/chain"
	"earshot/matcher/llm"
	"earshot/matcher/llm/llmtest"
	"earshot/repositories"
	"earshot/trigger/query"
)

// owners are the two places where repositories live.
var owners = []string{"/v1/apps/clinic", "/v1/apps/clinic/sessions/s1"}

const hoursBody = `{"tools":[{"name":"opening-hours","description":"User asks when the clinic is open"}]}`

func TestARepositoryWithoutToolsHasAnEmptyList(t *testing.T) {
	w := atClinic(t)
	w.Call("PUT", "/v1/apps/clinic/repositories/info", `{"tools":[]}`).Is(201, "")
	require.Contains(t, string(w.Call("GET", "/v1/apps/clinic/repositories/info", "").Is(200, "").Body), `"options":{"triggerOnce":false,"exclusive":false},"tools":[]`)
}

func TestPostRepositoryRefusesAnIDOfTheClients(t *testing.T) {
	s := start(t)
	faults := s.Call("POST", "/v1/apps/clinic/repositories", `{"repositoryId":"mine","tools":[]}`).Problem(400)
	require.Contains(t, faults["/repositoryId"], "PUT the repository under the id")
}

func TestFaultsOfAPatchHaveTheirPlacesInIt(t *testing.T) {
	w := apitest.Live(t, apitest.Everything)
	const path = "/v1/apps/clinic/repositories/desk"
	w.Call("PUT", "/v1/apps/clinic", `{}`).Is(201, "")
	w.Call("PUT", path, `{"tools":[{"name":"a"},{"name":"b"}]}`).Is(201, "")
	for body, place := range map[string]string{
		`{"tools":[{"name":"new","authRequired":["none"]}]}`:                                                              "/tools/0/authRequired/0",
		`{"tools":[{"name":"new"},{"name":"a","authRequired":["none"]}]}`:                                                 "/tools/1/authRequired/0",
		`{"tools":[{"name":"new"},{"name":"q","url":"https://x.example","request":{"moduleId":"none","auth":"module"}}]}`: "/tools/1/request/moduleId",
	} {
		faults := w.Call("PATCH", path, body).Problem(400)
		require.Contains(t, faults, place, body)
		require.Len(t, faults, 1, body)
	}
}

func TestFaultsOfABodyAndOfItsReferencesAreOneAnswer(t *testing.T) {
	s := atClinic(t)
	const body = `{"tools":[{"name":"ring","description":7,"url":"https://h/","request":{"moduleId":"phone"}}]}`
	for method, path := range map[string]string{"PUT": "/v1/apps/clinic/repositories/desk", "POST": "/v1/apps/clinic/sessions/s1/repositories"} {
		faults := s.Call(method, path, body).Problem(400, "2 errors")
		require.Contains(t, faults["/tools/0/description"], "is a number")
		require.Contains(t, faults["/tools/0/request/moduleId"], `the app has no module "phone"`)
	}
}

func TestAPutNotesACallThatOnlyHeadersAuthenticate(t *testing.T) {
	t.Parallel()
	w := atClinic(t)
	const path, tool = "/v1/apps/clinic/repositories/r", `{"tools":[{"name":"desk","url":"https://x.example/","request":{%s"headers":{"X-Desk":"A"}}}]}`
	noted := w.Call("PUT", path, fmt.Sprintf(tool, "")).Is(201, "").Body
	require.Contains(t, string(noted), `"notes":["tool \"desk\": request has headers and no auth`)
	require.NotContains(t, string(w.Call("PUT", path, fmt.Sprintf(tool, `"auth":"none",`)).Is(200, "").Body), "notes")
}

// A parameter in braces would be called literally, and count as delivered.
func TestParametersInBracesAreRefusedByEveryWrite(t *testing.T) {
	const tools = `{"tools":[{"name":"a","url":"https://h/{day}","schema":[{"parameter":"day","type":"string"}]},
		{"name":"b","request":{"url":"https://h/{appId}"}},{"name":"c","url":"https://h/:day","schema":[{"parameter":"day","type":"string"}]}]}`
	s := atClinic(t)
	for _, owner := range owners {
		for _, write := range []string{"PUT " + owner + "/repositories/info", "PATCH " + owner + "/repositories/info", "POST " + owner + "/repositories"} {
			method, path, _ := strings.Cut(write, " ")
			faults := s.Call(method, path, tools).Problem(400)
			require.Len(t, faults, 2, write)
			require.Contains(t, faults["/tools/0/url"], "{day} is not filled in: write :day", write)
			require.Contains(t, faults["/tools/1/request/url"], "{appId} is not filled in: write :appId", write)
		}
	}
}

func TestADryRunOfARepositoryShowsItsToolsAsAModelSeesThem(t *testing.T) {
	s := atClinic(t)
	const path = "/v1/apps/clinic/repositories/desk"
	body := `{"tools":[{"name":"book","description":"Books a table","url":"https://h.example/:day","examples":["a table for [two](people)","one","three","four"],
		"schema":[{"parameter":"day","type":"string","description":"wished day","required":true,"ask":"Which day?"},
			{"parameter":"people","type":"integer","ask":"How many?"},{"parameter":"key","type":"string","value":"fixed"}]},{"name":"hours"}]}`
	s.Call("PUT", path+"?dryRun=true", body).Is(200, `{"operation":"created","tools":[
		{"name":"book","description":"Books a table\nA user may say: \"a table for two\", \"one\", \"three\"","asks":{"day":"Which day?"},
		 "inputSchema":{"type":"object","properties":{"day":{"type":"string","description":"wished day"},"people":{"type":"integer"}},"required":["day"]}},
		{"name":"hours","description":"","inputSchema":{"type":"object","properties":{}}}]}`)
	s.Call("GET", path, "").Problem(404)
	s.Call("PUT", path+"?dryRun=true", `{"tools":[{"name":"pay","description":"Pays the bill","url":"https://h.example/"}]}`).Is(200, `{"operation":"created",
		"notes":["tool \"pay\" moves money and fires without a question: set its confirm, or settings.offline.confirm of the app"],
		"tools":[{"name":"pay","description":"Pays the bill","inputSchema":{"type":"object","properties":{}}}]}`)
}

func TestADryRunThatIsNotUnderstoodWritesNothing(t *testing.T) {
	s := start(t)
	for _, query := range []string{"dryRun=yes", "dryRun", "dryRun=true&dryRun=false", "dryrun=true"} {
		s.Call("PUT", "/v1/apps/clinic?"+query, `{}`).Problem(400)
		s.Call("PUT", "/v1/apps/clinic/repositories/r?"+query, `{"tools":[]}`).Problem(400)
	}
}

func TestAKeyComparesSoManyCredentialsAMinuteOverAllReplicas(t *testing.T) {
	w := apitest.Live(t, apitest.Everything)
	w.Call("PUT", "/v1/apps/clinic", `{"modules":[{"moduleId":"m","secret":"right","tokenUrl":"https://id.example.org/"}]}`).Is(201, "")
	replicas := []*apitest.Service{w.Service, secondReplica(w)}
	key := w.Call("POST", keysPath, `{"scopes":["app","tools"]}`).Made()
	child := w.Call("POST", keysPath, `{"scopes":["app","tools"]}`, apitest.Bearer(key.Key)).Made()
	other := w.Call("POST", keysPath, `{"scopes":["app","tools"]}`).Made()
	app := func(secret string) string {
		return `{"modules":[{"moduleId":"m","secret":"` + secret + `","tokenUrl":"https://id.example.org/"}]}`
	}
	const path, repository = "/v1/apps/clinic?dryRun=true", "/v1/apps/clinic/repositories/r?dryRun=true"
	const tool = `{"tools":[{"name":"t","url":"https://x.example/","request":{"headers":{%q:"guess"}}}]}`
	for i := range 120 {
		replica, by := replicas[i%2], []string{key.Key, child.Key}[i%3/2]
		if i%2 == 0 {
			replica.Call("PUT", path, app(fmt.Sprint("guess", i)), apitest.Bearer(by)).Is(200, `{"operation":"updated"}`)
		} else {
			got := replica.Call("PUT", repository, fmt.Sprintf(tool, "X-Api-Key"), apitest.Bearer(by)).Is(200, "")
			require.Contains(t, string(got.Body), `"operation":"created"`)
		}
		replica.Call("PUT", path, app("***"), apitest.Bearer(by)).Is(200, `{"operation":"unchanged"}`) // no comparison
		replica.Call("PUT", repository, fmt.Sprintf(tool, "Accept"), apitest.Bearer(by)).Is(200, "")
	}
	for _, replica := range replicas {
		for _, by := range []string{key.Key, child.Key} {
			got := replica.Call("PUT", path, app("right"), apitest.Bearer(by))
			got.Problem(429, "120 times a minute")
			pause, err := strconv.Atoi(got.Header.Get("Retry-After"))
			require.NoError(t, err)
			require.True(t, 0 < pause && pause <= 60, pause)
			replica.Call("PUT", repository, fmt.Sprintf(tool, "X-Api-Key"), apitest.Bearer(by)).Problem(429)
		}
	}
	w.Call("PUT", path, app("right"), apitest.Bearer(other.Key)).Is(200, `{"operation":"unchanged"}`)
	w.Call("PUT", path, app("right")).Is(200, `{"operation":"unchanged"}`)
	w.Call("PUT", "/v1/apps/clinic", app("right"), apitest.Bearer(key.Key)).Is(200, "") // a write reveals nothing
}

func items(a apitest.Answer) (items []map[string]any) {
	a.T.Helper()
	return bodyOf[pageOf[map[string]any]](a.Is(200, "")).Items
}

func TestToolsAreFoundByWhatATextIsAbout(t *testing.T) {
	w := apitest.LiveOn(t, redistest.Mini(t), chain.New(llm.Options{}))
	w.Call("PUT", "/v1/apps/clinic", `{}`).Is(201, "")
	w.Call("PUT", "/v1/apps/clinic/repositories/house", `{"tools":[
		{"name":"book","description":"User needs an appointment with a doctor","schema":[{"parameter":"day","type":"string","required":true},{"parameter":"desk","type":"string","value":"A"}]},
		{"name":"bill","description":"Send the bill"}]}`).Is(201, "")
	w.Call("PUT", "/v1/apps/clinic/sessions/s1/repositories/own", `{"tools":[{"name":"call-doctor","description":"Ring the doctor on duty"}]}`).Is(201, "")

	search := func(of, body string) []map[string]any {
		return items(w.Call("POST", "/v1/apps/clinic"+of+"/tools/search", body))
	}
	require.Len(t, search("/sessions/s1", `{"text":"doctor"}`), 2)
	require.Len(t, search("/sessions/s1", `{"text":"doctor","limit":1}`), 1)
	require.Empty(t, search("", `{"text":"xyzzy","limit":null}`))
	found := search("", `{"text":"appointment"}`)
	require.Len(t, found, 1)
	require.Positive(t, found[0]["score"])
	delete(found[0], "score")
	require.Equal(t, items(w.Call("GET", "/v1/apps/clinic/tools?name=book", "")), found, "as it is listed")

	w.Call("PUT", "/v1/apps/clinic/repositories/shop", `{"tools":[{"name":"refund_order"},{"name":"return_order"},{"name":"create_order"},{"name":"create_user"},{"name":"delete_user"},{"name":"login"}]}`).Is(201, "")
	for text, first := range map[string]string{
		"give money back for an order": "refund_order", "send an order back": "return_order", "register a user account": "create_user", "get rid of a user": "delete_user", "sign in": "login",
	} {
		require.Equal(t, first, search("", `{"text":"`+text+`"}`)[0]["name"], text)
	}
}

func TestSearchesForToolsThatAreRefused(t *testing.T) {
	s := start(t)
	const path = "/v1/apps/clinic/tools/search"
	for body, pointer := range map[string]string{
		`{}`: "/text", `{"text":" "}`: "/text", `{"text":7}`: "/text", `{"text":"x","limit":0}`: "/limit", `{"text":"x","limit":101}`: "/limit",
		`{"text":"x","limit":1.5}`: "/limit", `{"query":"x"}`: "/query", `{"text":"` + strings.Repeat("x", 65_537) + `"}`: "/text",
	} {
		require.Contains(t, s.Call("POST", path, body).Problem(400), pointer)
	}
	s.Call("POST", path, ``).Problem(400, "a JSON body is needed")
}

const (
	moneyPath          = "/v1/apps/clinic/repositories/money"
	moneyBody          = `{"tools":[{"name":"refund-order","description":"Refund the order","examples":["give me my money back"]},{"name":"light-on","description":"Turn on the light"}]}`
	asksIfIrreversible = `{"name":"Clinic","settings":{"offline":{"confirm":"irreversible"}}}`
)

func noted(a apitest.Answer) []string {
	require.Less(a.T, a.StatusCode, 300, string(a.Body))
	return bodyOf[struct{ Notes []string }](a).Notes
}

func TestAConfirmIsAdvisedForWhatNobodyTakesBack(t *testing.T) {
	s := apitest.LiveOn(t, redistest.Mini(t), chain.New(llm.Options{}))
	s.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(201, "")
	const advice = `tool "refund-order" moves money and fires without a question: set its confirm, or settings.offline.confirm of the app`
	require.Equal(t, []string{advice}, noted(s.Call("PUT", moneyPath, moneyBody).Is(201, "")))
	for _, said := range []string{`"confirm":"never"`, `"confirm":"always"`, `"settle":"10s"`, `"request":{"method":"GET"},"url":"https://a.example/b"`} {
		require.Empty(t, noted(s.Call("PUT", moneyPath, `{"tools":[{"name":"refund-order",`+said+`}]}`).Is(200, "")), said)
	}
	for _, confirm := range []string{"never", "irreversible", "always"} {
		s.Call("PUT", "/v1/apps/clinic", `{"name":"Clinic","settings":{"offline":{"confirm":"`+confirm+`"}}}`).Is(200, "")
		require.Empty(t, noted(s.Call("PUT", moneyPath, moneyBody).Is(200, "")), confirm)
	}
	refused := s.Call("PUT", "/v1/apps/clinic", `{"name":"Clinic","settings":{"offline":{"confirm":"sometimes"}}}`).Is(400, "")
	require.Contains(t, string(refused.Body), `\"sometimes\" is not one of \"never\", \"irreversible\", \"always\"`)
}

func TestTheWordsAloneAskBeforeWhatNobodyTakesBack(t *testing.T) {
	s := apitest.LiveOn(t, redistest.Mini(t), chain.New(llm.Options{}))
	s.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(201, "")
	s.Call("PUT", moneyPath, moneyBody).Is(201, "")
	require.NotEqual(t, query.StateConfirming, explained(s.Call("POST", apitest.MessagesPath, said("m0", "give me my money back"))).Matches[0].State, "nothing asks by itself")

	s.Call("PUT", "/v1/apps/clinic", asksIfIrreversible).Is(200, "")
	for id, text := range map[string]string{"m1": "please refund the order", "m2": "give me my money back"} {
		asked := explained(s.Call("POST", apitest.MessagesPath+"?explain=true", said(id, text)))
		require.Len(t, asked.Matches, 1, text)
		require.Equal(t, query.StateConfirming, asked.Matches[0].State, text)
		require.Equal(t, "Refund the order. Shall I go ahead? (yes / no)", asked.Matches[0].Question)
		require.Contains(t, asked.Explain.Calls[0].Why, `confirmed: the words alone decided, the tool moves money, and settings.offline.confirm is "irreversible".`)
		confirmed := explained(s.Call("POST", apitest.MessagesPath, said(id+"-yes", "yes")))
		require.Equal(t, asked.Matches[0].TriggerID, confirmed.Matches[0].TriggerID)
		require.NotEqual(t, query.StateConfirming, confirmed.Matches[0].State)
	}
	require.NotEqual(t, query.StateConfirming, explained(s.Call("POST", apitest.MessagesPath, said("m3", "turn on the light"))).Matches[0].State)
	direct := s.Call("POST", "/v1/apps/clinic/triggers", `{"name":"refund-order","source":"ui"}`).Is(201, "")
	require.NotContains(t, string(direct.Body), query.StateConfirming, "a button is no words")
}

func TestAModelThatDecidesIsNotAskedAfter(t *testing.T) {
	s, model := asking(t, redistest.Mini(t))
	s.Call("PUT", "/v1/apps/clinic", asksIfIrreversible).Is(200, "")
	s.Call("PUT", moneyPath, moneyBody).Is(201, "")
	model.Queue(llmtest.Call("refund-order", `{}`))
	fired := explained(s.Call("POST", apitest.MessagesPath, said("m1", "I would like a refund for this order")))
	require.NotEqual(t, query.StateConfirming, fired.Matches[0].State)
	byWords := explained(s.Call("POST", apitest.MessagesPath, said("m2", "give me my money back")))
	require.Equal(t, query.StateConfirming, byWords.Matches[0].State, "the exact text of an example asks no model")
}

// etag reads the entity tag of an app or a repository.
func etag(w apitest.World, path string) string {
	w.T.Helper()
	tag := w.Call("GET", path, "").Is(200, "").Header.Get("ETag")
	require.Regexp(w.T, `^"[^"]+"$`, tag)
	return tag
}

// conditional maps a path to its PUT body and a patch.
var conditional = map[string][2]string{
	"/v1/apps/clinic":                                  {`{"name":"Clinic"}`, `{"name":"Other"}`},
	"/v1/apps/clinic/repositories/info":                {hoursBody, `{"tools":[{"name":"more"}]}`},
	"/v1/apps/clinic/sessions/s1/repositories/booking": {hoursBody, `{"tools":[{"name":"more"}]}`},
}

func TestAStaleWriteIsRefusedAndOneThatIsNotIsMade(t *testing.T) {
	t.Parallel()
	for path, body := range conditional {
		w := atClinic(t)
		w.Call("PUT", path, body[0])
		read := etag(w, path)
		for _, written := range []apitest.Answer{
			w.Call("PUT", path, body[0], "If-Match: "+read).Is(200, ""),
			w.Call("PATCH", path, body[1], "If-Match: "+etag(w, path)).Is(200, ""),
			w.Call("PUT", path, body[0], `If-Match: "other" ,`+etag(w, path)).Is(200, ""),
			w.Call("PATCH", path, body[1], "If-Match: *").Is(200, ""),
		} {
			require.Equal(t, 200, written.StatusCode)
			require.NotEqual(t, read, written.Header.Get("ETag"))
		}
		is := etag(w, path)
		w.Call("PUT", path+"?dryRun=true", body[0], "If-Match: "+is).Is(200, "")
		for _, stale := range []string{read, `"other", ` + read, "W/" + is} {
			for _, refused := range []apitest.Answer{
				w.Call("PUT", path, body[0], "If-Match: "+stale), w.Call("PUT", path+"?dryRun=true", body[0], "If-Match: "+stale),
				w.Call("PATCH", path, body[1], "If-Match: "+stale), w.Call("DELETE", path, "", "If-Match: "+stale),
			} {
				refused.Problem(412, is)
			}
		}
		for _, wrong := range []string{"abc", `"abc`, `"a" "b`, `*, "a"`} {
			w.Call("PUT", path, body[0], "If-Match: "+wrong).Problem(400, "If-Match", " is not a list of entity tags")
		}
		require.Equal(t, is, etag(w, path), "nothing was written")
		w.Call("DELETE", path, "", "If-Match: "+is).Is(204, "")
		w.Call("GET", path, "").Problem(404)
	}
}

func TestAConditionOnWhatIsNotThere(t *testing.T) {
	t.Parallel()
	w := apitest.Live(t, apitest.Everything)
	const created, other = "If-None-Match: *", `If-None-Match: "other"`
	for _, path := range []string{"/v1/apps/clinic", "/v1/apps/clinic/repositories/info"} {
		body := conditional[path]
		for _, tag := range []string{"*", `"x"`} {
			w.Call("PUT", path, body[0], "If-Match: "+tag).Problem(412, "there is nothing here")
			w.Call("DELETE", path, "", "If-Match: "+tag).Problem(404)
		}
		w.Call("PUT", path, body[0], created).Is(201, "")
		w.Call("PUT", path, body[0], created).Problem(412, "it is there already")
		w.Call("PUT", path+"?dryRun=true", body[0], created).Problem(412, "it is there already")
		w.Call("PUT", path, body[0], other).Is(200, "")
		w.Call("PATCH", path, body[1], "If-None-Match: "+etag(w, path)).Problem(412)
	}
	w.Call("PATCH", "/v1/apps/absent", `{"name":"x"}`, "If-Match: *").Problem(404, "absent")
	w.Call("PATCH", "/v1/apps/absent", `{"name":"x"}`).Problem(404, "absent")
	w.Call("DELETE", "/v1/apps/clinic/repositories/absent/tools/x", "", "If-Match: *").Problem(404, "absent")
}

func TestWhatIsKnownIsNotSentAgain(t *testing.T) {
	t.Parallel()
	w := atClinic(t)
	w.Call("PUT", "/v1/apps/clinic/repositories/info", hoursBody).Is(201, "")
	for _, path := range []string{"/v1/apps/clinic", "/v1/apps/clinic/repositories/info"} {
		is := etag(w, path)
		for _, known := range []string{is, `"other", W/` + is, "*"} {
			got := w.Call("GET", path, "", "If-None-Match: "+known).Is(304, "")
			require.Empty(t, got.Body)
			require.Equal(t, is, got.Header.Get("ETag"))
		}
		w.Call("GET", path, "", `If-None-Match: "other"`).Is(200, "")
	}
}

func TestAToolIsDeletedAndTheOthersStay(t *testing.T) {
	t.Parallel()
	for _, owner := range owners {
		w := atClinic(t)
		path := owner + "/repositories/info"
		w.Call("PUT", path, `{"tools":[{"name":"a"},{"name":"_b"}]}`).Is(201, "")
		before := etag(w, path)
		w.Call("DELETE", path+"/tools/c", "").Problem(404, `repository "info": tool "c"`)
		w.Call("DELETE", path+"/tools/a%20b", "").Problem(400, "not a tool name")
		w.Call("DELETE", path+"/tools/a", "", `If-Match: "other"`).Problem(412, before)
		w.Call("DELETE", path+"/tools/a", "", "If-Match: "+before).Is(204, "")
		require.NotEqual(t, before, etag(w, path))
		require.Contains(t, string(w.Call("GET", path, "").Is(200, "").Body), `"tools":[{"name":"_b"`)
		w.Call("DELETE", path+"/tools/_b", "").Is(204, "")
		require.Contains(t, string(w.Call("GET", path, "").Is(200, "").Body), `"tools":[]`)
		w.Call("DELETE", path+"/tools/_b", "").Problem(404)
		require.Eventually(t, func() bool {
			told := 0
			for _, event := range w.Sink.All() {
				if event.Subject == "tool.changed.clinic.info" && strings.Contains(string(event.Data), `"operation":"updated"`) {
					told++
				}
			}
			return told == 2
		}, time.Minute, 5*time.Millisecond, "each is an event")
	}
}

func TestAnAppIsPatched(t *testing.T) {
	t.Parallel()
	w := apitest.Live(t, apitest.Everything, func(o *api.Options) { o.Models = known("openai/gpt-4o-mini") })
	const claude = `{"settings":{"llm":{"tools":"anthropic/claude-haiku-4-5"}}}`
	w.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(201, "")
	w.Call("PATCH", "/v1/apps/clinic", `{"settings":{"limits":{"messagesPerMinute":7}}}`, "Content-Type: application/merge-patch+json").Is(200, "")
	w.Call("PATCH", "/v1/apps/clinic?dryRun=true", `{"name":"Other"}`).Is(200, `{"operation":"updated"}`)
	w.Call("PATCH", "/v1/apps/clinic?dryRun=true", `{"settings":{"limits":{"messagesPerMinute":7}}}`).Is(200, `{"operation":"unchanged"}`)
	got := w.Call("PATCH", "/v1/apps/clinic", `{"modules":[{"moduleId":"calendar","secret":"***","tokenUrl":"https://id.example.org/token","scopes":["read"]}]}`).Is(200, "")
	require.JSONEq(t, `{"appId":"clinic","name":"Clinic","signingSecret":"***","settings":{"chatModeEnabled":false,"skipToolResponse":false,"limits":{"messagesPerMinute":7}},
		"modules":[{"moduleId":"calendar","secret":"***","tokenUrl":"https://id.example.org/token","scopes":["read"]}]}`, string(got.Body))
	stored, err := w.Store.App(t.Context(), "clinic")
	require.NoError(t, err)
	require.Equal(t, []string{"planted-and-long-enough", "whsec_plantedA"}, []string{stored.Modules[0].Secret.Reveal(), stored.SigningSecret.Reveal()}, "credentials stay")

	faults := w.Call("PATCH", "/v1/apps/clinic", `{"modules":[{"moduleId":"calendar","secret":"***","tokenUrl":"https://evil.example/token"}]}`).Problem(400)
	require.Contains(t, faults["/modules/0/secret"], "give the credential again, since tokenUrl changed")
	require.Contains(t, w.Call("PATCH", "/v1/apps/clinic", `{"setings":null}`).Problem(400)["/setings"], `did you mean "settings"?`)
	require.Contains(t, w.Call("PATCH", "/v1/apps/clinic", claude).Problem(400)["/settings/llm/tools"], "set ANTHROPIC_API_KEY")
	w.Call("PATCH", "/v1/apps/clinic", claude, "Prefer: handling=lenient").Is(200, "")
	w.Call("PATCH", "/v1/apps/clinic", `{"name":"Renamed"}`).Is(200, "")
	w.Call("PATCH", "/v1/apps/clinic", `{"name":"x"}`, "Content-Type: text/plain").Problem(415)
	w.Call("PATCH", "/v1/apps/absent", `{"name":"x"}`).Problem(404, "absent")
	w.Call("GET", "/v1/apps/absent", "").Problem(404)
}

func TestNotesSayWhichOfTwoToolsWithOneNameHolds(t *testing.T) {
	t.Parallel()
	w := atClinic(t)
	const twice, second = `{"tools":[{"name":"book"},{"name":"hours"}]}`, `{"tools":[{"name":"book"}]}`
	const other = "/v1/apps/clinic/sessions/s2"
	for _, owner := range owners {
		require.Empty(t, noted(w.Call("PUT", owner+"/repositories/z", twice)))
		want := []string{`tool "book" is in repository "z" and in "a": that of "z" holds, which was created first`}
		require.Equal(t, want, noted(w.Call("PUT", owner+"/repositories/a", second)))
		require.Equal(t, want, noted(w.Call("PATCH", owner+"/repositories/z", `{"tools":[{"name":"more"}]}`)), "replaced or not")
		want[0] = `tool "book" is in repository "a" and in "z": that of "a" holds, which is exclusive`
		got := w.Call("PATCH", owner+"/repositories/a", `{"options":{"exclusive":true}}`)
		require.Equal(t, want, noted(got))
		require.Equal(t, want, noted(w.Call("PUT", owner+"/repositories/a", string(got.Body))), "what was answered can be sent back")
		require.Empty(t, noted(w.Call("PUT", owner+"/repositories/b", `{"tools":[{"name":"other"}]}`)), "notes are on what was written")
		require.Empty(t, noted(w.Call("PUT", other+"/repositories/x", twice)), "another scope")
		w.Call("DELETE", other+"/repositories/x", "").Is(204, "")
	}
	app := w.Call("PUT", "/v1/apps/clinic", `{"name":"Clinic"}`)
	require.Len(t, noted(app), 1, "an app has those of all its own repositories")
	require.Len(t, noted(w.Call("PATCH", "/v1/apps/clinic", string(app.Body))), 1)
	require.NotContains(t, string(w.Call("GET", "/v1/apps/clinic", "").Body), "notes")
	require.Empty(t, noted(w.Call("PUT", "/v1/apps/clinic/repositories/a", `{"options":{"template":true},"tools":[{"name":"book"}]}`)), "a template is in no scope")
}

func TestStatementsOfWhatIsWrittenAreLookedAt(t *testing.T) {
	t.Parallel()
	w := apitest.Live(t, apitest.Everything, func(o *api.Options) {
		o.Prepare = func(_ context.Context, app *repositories.App, tools []repositories.Tool) []string {
			return []string{app.ID + " " + tools[0].Statement}
		}
	})
	w.Call("PUT", "/v1/apps/clinic", `{"sources":[{"name":"db","type":"sqlite","database":"clinic.db"}]}`).Is(201, "")
	const tool = `{"tools":[{"name":"find","description":"d","type":"sqlite-sql","source":"db","statement":"select 1"}]}`
	require.Contains(t, string(w.Call("PUT", "/v1/apps/clinic/repositories/r", tool).Is(201, "").Body), `"notes":["clinic select 1"]`)
	require.Contains(t, string(w.Call("PATCH", "/v1/apps/clinic/repositories/r", tool).Is(200, "").Body), `"notes":["clinic select 1"]`)
	require.NotContains(t, string(w.Call("PUT", "/v1/apps/clinic/repositories/s", hoursBody).Is(201, "").Body), "notes")
}
