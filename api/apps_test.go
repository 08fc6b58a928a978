package api_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/deploy/testbed/apitest"
	"earshot/repositories"
	"earshot/repositories/audit"
	"earshot/trigger/effect"
	"earshot/trigger/query"
	"earshot/trigger/usage"
)

func TestListsArePagedAndNeverNull(t *testing.T) {
	w := apitest.Live(t, apitest.Everything)
	w.Call("GET", "/v1/apps", "").Is(200, `{"items":[]}`)
	for _, id := range []string{"bakery", "clinic", "shop"} {
		w.Call("PUT", "/v1/apps/"+id, `{}`).Is(201, "")
	}
	page := func(query string) (ids []string, next string) {
		page := bodyOf[pageOf[struct{ AppID string }]](w.Call("GET", "/v1/apps?"+query, "").Is(200, ""))
		for _, item := range page.Items {
			ids = append(ids, item.AppID)
		}
		return ids, page.Next
	}
	ids, next := page("limit=1&after=aWQ6YmFrZXJ5")
	require.Equal(t, []string{"clinic"}, ids, "after a cursor as it was before cursors named their list")
	require.Equal(t, cursorIn("/v1/apps", "clinic"), next)
	ids, next = page("after=" + next)
	require.Equal(t, []string{"shop"}, ids)
	require.Empty(t, next)
}

// known are models that can be asked.
type known string

func (k known) CheckModel(named string) error {
	if named == string(k) {
		return nil
	}
	return errors.New("anthropic is not configured: set ANTHROPIC_API_KEY")
}

func TestAModelThatCannotBeAskedIsAFaultOfTheSettings(t *testing.T) {
	s := atClinic(t, func(o *api.Options) { o.Models = known("openai/gpt-4o-mini") })
	const claude = `{"settings":{"llm":{"tools":"anthropic/claude-haiku-4-5"}}}`
	for _, path := range []string{"/v1/apps/clinic", "/v1/apps/clinic?dryRun=true"} {
		faults := s.Call("PUT", path, claude).Problem(400)
		require.Contains(t, faults["/settings/llm/tools"], "set ANTHROPIC_API_KEY")
	}
	s.Call("PUT", "/v1/apps/clinic", claude, "Prefer: handling=lenient").Is(200, "")
	s.Call("PUT", "/v1/apps/clinic", `{"settings":{"llm":{"tools":"openai/gpt-4o-mini"}}}`).Is(200, "")
	s.Call("PUT", "/v1/apps/clinic", `{}`).Is(200, "")
}

func TestAnAppKeepsWhatToolsNameUnlessForced(t *testing.T) {
	t.Parallel()
	w := apitest.Live(t, apitest.Everything)
	const module = `"modules":[{"moduleId":"calendar","secret":"s","tokenUrl":"https://id.example.org/token"},{"moduleId":"spare","secret":"s","tokenUrl":"https://id.example.org/token"}]`
	const sources = `"sources":[{"name":"slots","type":"sqlite","database":"a.db"},{"name":"spare","type":"sqlite","database":"b.db"}]`
	const services = `"authServices":[{"name":"corp","type":"oidc","issuer":"https://id.example.org","audience":"a"},{"name":"staff","type":"oidc","issuer":"https://id.example.org","audience":"b"}]`
	w.Call("PUT", "/v1/apps/clinic", `{`+module+`,`+sources+`,`+services+`}`).Is(201, "")
	w.Call("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"free","description":"d","authRequired":["corp"],"schema":[{"parameter":"who","type":"string","authServices":[{"name":"staff","field":"mail"}]}],"type":"sqlite-sql","source":"slots","statement":"SELECT 1"}]}`).Is(201, "")
	w.Call("PUT", apitest.BookingPath, apitest.BookingBody).Is(201, "")

	for method, body := range map[string]string{"PUT": `{}`, "PATCH": `{"modules":null,"sources":[],"authServices":[]}`} {
		for _, query := range []string{"", "?dryRun=true", "?force=false"} {
			refused := w.Call(method, "/v1/apps/clinic"+query, body)
			refused.Problem(409)
			require.Contains(t, string(refused.Body), `{"pointer":"/modules","detail":"lacks the module \"calendar\", which is named by tool \"book\" of repository \"booking\" of session \"s1\"","code":"invalid_value"}`)
			require.Contains(t, string(refused.Body), `{"pointer":"/sources","detail":"lacks the source \"slots\", which is named by tool \"free\" of repository \"desk\"","code":"invalid_value"}`)
			for _, service := range []string{"corp", "staff"} {
				require.Contains(t, string(refused.Body), `{"pointer":"/authServices","detail":"lacks the authentication service \"`+service+`\", which is named by tool \"free\" of repository \"desk\"","code":"invalid_value"}`)
			}
			require.NotContains(t, string(refused.Body), "spare")
		}
	}
	w.Call("PUT", "/v1/apps/clinic?force=yes", `{}`).Problem(400)
	w.Call("PATCH", "/v1/apps/clinic", `{"modules":[{"moduleId":"calendar","secret":"***","tokenUrl":"https://id.example.org/token"}],"sources":[{"name":"slots","type":"sqlite","database":"c.db"}]}`).Is(200, "")
	w.Call("DELETE", apitest.BookingPath, "").Is(204, "")
	w.Call("PATCH", "/v1/apps/clinic", `{"modules":null}`).Is(200, "")
	w.Call("PUT", "/v1/apps/clinic?force=true", `{}`).Is(200, "")
}

func TestAMaskThatStandsForNothingIsNamedBesideOtherFaults(t *testing.T) {
	w := atClinic(t)
	for _, call := range [][3]string{
		{"PUT", "/v1/apps/clinic", `{"name":"c","odd":1,"modules":[{"moduleId":"new","secret":"***","tokenUrl":"https://t.example"}]}`},
		{"PATCH", "/v1/apps/clinic", `{"odd":1,"signingSecret":"***"}`},
		{"PUT", "/v1/apps/clinic/repositories/new", `{"odd":1,"tools":[{"name":"a","url":"https://h.example","request":{"auth":"basic","basic":{"username":"u","password":"***"}}}]}`},
		{"POST", "/v1/apps/clinic/repositories", `{"odd":1,"tools":[{"name":"a","url":"https://h.example","request":{"headers":{"Authorization":"***"}}}]}`},
	} {
		got := string(w.Call(call[0], call[1], call[2]).Is(400, "").Body)
		require.Contains(t, got, `unknown field \"odd\"`, call)
		require.Contains(t, got, "none is stored here", call)
	}
}

func TestSourcesSayWhetherTheyAreReached(t *testing.T) {
	var looks atomic.Int32
	s := start(t, func(o *api.Options) {
		o.Now = func() time.Time { return time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC) }
		o.Reach = func(_ context.Context, host, port string) error {
			looks.Add(1)
			if host+":"+port == "db.example:3306" {
				return errors.New("connection refused")
			}
			return nil
		}
	})
	s.store.apps = []*repositories.App{{ID: "clinic", Sources: []repositories.Source{
		{Name: "slots", Type: "sqlite", Database: "x.db"}, {Name: "records", Type: "mysql", Host: "db.example"},
		{Name: "weather", Type: "http", BaseURL: "https://api.example/v1/"}, {Name: "plain", Type: "http", BaseURL: "http://api.example"},
		{Name: "again", Type: "http", BaseURL: "https://api.example:8443"}, {Name: "crm", Type: "mcp", URL: "https://crm.example/mcp"},
	}}}
	s.Call("GET", "/v1/apps/clinic/sources?limit=1", "").Is(200, "")
	require.EqualValues(t, 1, looks.Load(), "what is on no page is not connected to")
	for range 2 {
		var shown struct {
			Items []struct {
				Name, Type, Host, Error string
				Reachable               *bool
			}
		}
		require.NoError(t, json.Unmarshal(s.Call("GET", "/v1/apps/clinic/sources", "").Is(200, "").Body, &shown))
		require.Len(t, shown.Items, 6)
		for i, host := range []string{"api.example:8443", "crm.example:443", "api.example:80", "db.example:3306", "", "api.example:443"} {
			require.Equal(t, host, shown.Items[i].Host, "they are sorted by name")
			if host != "" {
				require.Equal(t, host != "db.example:3306", *shown.Items[i].Reachable, host)
			}
		}
		require.Equal(t, "connection refused", shown.Items[3].Error)
		require.Nil(t, shown.Items[4].Reachable, "a file is not looked at")
	}
	s.Call("GET", "/v1/apps/clinic/sources?limit=1&after="+base64.RawURLEncoding.EncodeToString([]byte("id:crm")), "").Is(200,
		`{"items":[{"name":"plain","type":"http","host":"api.example:80","reachable":true,"checked":"2026-12-01T09:00:00Z"}],"next":"`+cursorIn("/v1/apps/:appId/sources\nclinic", "plain")+`"}`)
	require.EqualValues(t, 5, looks.Load(), "a look is good for a while")
	s.store.apps = nil
	s.Call("GET", "/v1/apps/clinic/sources", "").Problem(404)
}

// TestAClientThatLeavesSpoilsNoCheck leaves during a check, whose result would be kept for a while.
func TestAClientThatLeavesSpoilsNoCheck(t *testing.T) {
	checking := make(chan struct{})
	s := start(t, func(o *api.Options) {
		o.Reach = func(ctx context.Context, _, _ string) error {
			checking <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		}
	})
	s.store.apps = []*repositories.App{{ID: "clinic", Sources: []repositories.Source{{Name: "crm", Type: "mcp", URL: "https://crm.example/mcp"}}}}
	for range 2 {
		ctx, leave := context.WithCancel(t.Context())
		request := httptest.NewRequestWithContext(ctx, "GET", "/v1/apps/clinic/sources", nil)
		request.Header.Set("Authorization", "Bearer "+apitest.AdminKey)
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			s.Handler.ServeHTTP(httptest.NewRecorder(), request)
		}()
		select {
		case <-checking: // again, as nothing was kept
		case <-answered:
			t.Fatal("what became of a check that was broken off is told to others")
		}
		leave()
		<-answered
	}
}

func TestWebhooksAreListedAndSentToAgain(t *testing.T) {
	double := &webhooksDouble{}
	s := atClinic(t, func(o *api.Options) { o.Webhooks = double })
	const of = "/v1/apps/clinic/webhooks"
	s.Call("GET", of, "").Is(200, `{"items":[{"name":"desk","url":"https://desk.example/earshot","types":[],"state":"enabled","delivered":0,"waiting":0,"failed":0,"gone":0}]}`)
	require.JSONEq(t, `{"items":[{"eventId":"e1","type":"tool.trigger","ts":"0001-01-01T00:00:00Z","state":"failed","attempts":3,"firstAt":"0001-01-01T00:00:00Z"}],"next":"`+cursorIn("/v1/apps/:appId/webhooks/:webhookName/deliveries\nclinic\ndesk", "7")+`"}`,
		string(s.Call("GET", of+"/desk/deliveries?state=failed&limit=3", "").Is(200, "").Body))
	s.Call("GET", of+"?after=aWQ6ZGVzaw", "").Is(200, `{"items":[]}`)
	s.Call("GET", of+"/desk/deliveries?state=lost&limit=0", "").Problem(400, "state", "waiting, failed", "limit")
	s.Call("GET", of+"/none/deliveries", "").Problem(404, `"none"`)
	s.Call("POST", of+"/desk/resend", "").Is(202, "")
	s.Call("POST", of+"/desk/resend", `{"since":"2026-12-01T08:30:00Z"}`).Is(202, "")
	items := entries(s, "?action=webhook.resend")
	require.Len(t, items, 2, "it is written down who had it done")
	require.Equal(t, audit.Subject{WebhookName: "desk"}, items[0].Subject)
	require.Equal(t, []string{"clinic desk <nil>", "clinic desk 2026-12-01 08:30:00 +0000 UTC"}, double.resent)
	require.Equal(t, `"yesterday" is not a time, as 2026-12-01T09:00:00Z`, s.Call("POST", of+"/desk/resend", `{"since":"yesterday","from":1}`).Problem(400)["/since"])
	s.Call("POST", of+"/away/resend", "").Problem(503, "events")

	none := apitest.Live(t, apitest.Everything)
	for _, path := range []string{of, of + "/desk/deliveries"} {
		none.Call("GET", path, "").Problem(503, "events")
	}
	none.Call("POST", of+"/desk/resend", "").Problem(503, "events")
}

func TestWebhooksOfAnAppAreChecked(t *testing.T) {
	s := apitest.Live(t, apitest.Everything)
	wrong := s.Call("PUT", "/v1/apps/clinic", `{"settings":{"webhooks":[
		{"name":"a b","url":"ftp://x","types":["tool.triger"],"state":"off"},{"name":"desk","url":"https://a.example"},{"name":"desk","url":"https://b.example","secret":"short"}]}}`).
		Problem(400)
	require.Subset(t, slices.Collect(maps.Keys(wrong)), []string{"/settings/webhooks/0/name", "/settings/webhooks/0/url", "/settings/webhooks/0/types/0", "/settings/webhooks/0/state", "/settings/webhooks/2/secret"})
	wrong = s.Call("PUT", "/v1/apps/clinic", `{"settings":{"webhooks":[{"name":"desk","url":"https://a.example"},{"name":"desk","url":"https://b.example"}]}}`).Problem(400)
	require.Contains(t, wrong["/settings/webhooks/1/name"], "webhook 0")
	require.Contains(t, wrong["/settings/webhooks/0/secret"], "signingSecret")
	require.Contains(t, wrong, "/settings/webhooks/1/secret")
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	s.Call("PUT", "/v1/apps/clinic", `{"settings":{"webhooks":[{"name":"desk","url":"https://a.example","secret":"`+secret+`"}]}}`).Is(201, "")
	shown := string(s.Call("GET", "/v1/apps/clinic", "").Is(200, "").Body)
	require.Contains(t, shown, `"webhooks":[{"name":"desk","url":"https://a.example","secret":"***"}]`)
	s.Call("PUT", "/v1/apps/clinic", shown).Is(200, "")
	app, err := s.Store.App(t.Context(), "clinic")
	require.NoError(t, err)
	require.Equal(t, secret, app.Settings.Webhooks[0].Secret.Reveal(), "*** keeps it")
	s.Call("PUT", "/v1/apps/clinic", strings.Replace(shown, "a.example", "a.example/other", 1)).Is(200, "")
	wrong = s.Call("PUT", "/v1/apps/clinic", strings.Replace(shown, "a.example", "b.example", 1)).Problem(400)
	require.Contains(t, wrong["/settings/webhooks/0/secret"], "was given for another host")
}

const auditPath = "/v1/apps/clinic/audit"

// entries lists the entries of a query, without times and ids.
func entries(w apitest.World, search string) (items []audit.Entry) {
	for _, item := range bodyOf[pageOf[audit.Entry]](w.Call("GET", auditPath+search, "").Is(200, "")).Items {
		require.NotEmpty(w.T, item.ID)
		require.NotEmpty(w.T, item.Time)
		if item.Via != audit.ViaMessage {
			require.NotEmpty(w.T, item.Request, "%v", item)
		}
		item.ID, item.Request = "", ""
		item.Time = time.Time{}
		items = append(items, item)
	}
	return items
}

func TestWhoDidWhatIsListed(t *testing.T) {
	w := atClinic(t)
	w.Call("PUT", "/v1/apps/clinic", `{"name":"n"}`, "If-Match: \"x\"").Problem(412)
	w.Call("PUT", "/v1/apps/clinic?dryRun=true", `{"name":"n"}`).Is(200, "")
	key := w.Call("POST", keysPath, `{"name":"ops","scopes":["app","tools","messages","triggers"]}`).Made()
	as := apitest.Bearer(key.Key)
	w.Call("PUT", "/v1/apps/clinic/repositories/shop", `{"tools":[{"name":"refund","confirm":"always","schema":[{"parameter":"date","type":"string"}]},{"name":"lamp","settle":"1m"}]}`, as).Is(201, "")
	w.Call("PUT", "/v1/apps/clinic/repositories/shop", `{"tools":[{"name":1}]}`, as).Problem(400)
	w.Call("PUT", "/v1/apps/clinic/sessions/s1/repositories/own", `{"tools":[{"name":"own"}]}`, as).Is(201, "")
	w.Call("DELETE", "/v1/apps/clinic/repositories/shop/tools/lamp", "", as).Is(204, "")

	token := apitest.Bearer(w.Call("POST", "/v1/apps/clinic/sessions/s1/token", "", as).Made().Token)
	fire := func(id string) query.Match {
		return bodyOf[query.Match](w.Call("POST", "/v1/apps/clinic/sessions/s1/triggers", `{"source":"ui","triggerId":"`+id+`","name":"refund","values":{"date":"secret word"}}`).Is(201, ""))
	}
	yes := `{"digest":"` + fire("t1").Digest + `"}`
	w.Call("POST", "/v1/apps/clinic/triggers/t1/confirm", `{"digest":"other"}`, token).Problem(409)
	w.Call("POST", "/v1/apps/clinic/triggers/t1/confirm", yes, token).Is(202, "")
	w.Call("POST", "/v1/apps/clinic/triggers/t1/confirm", yes, as).Is(200, "") // the first confirmation counts
	fire("t2")
	w.Call("POST", apitest.MessagesPath, `{"messageId":"a1","actor":"agent","text":"Really?","metadata":{"asks":"t2"}}`, as).Is(200, "")
	w.Call("POST", apitest.MessagesPath, `{"messageId":"m2","actor":"user","text":"no"}`, as).Is(200, "")
	w.Call("DELETE", "/v1/apps/clinic/triggers?state=failed", "", as).Is(200, "")
	w.Call("POST", "/v1/apps/clinic/triggers/absent/retry", "", as).Problem(404)
	w.Call("DELETE", "/v1/apps/clinic/sessions/s1", "", as).Is(204, "")
	w.Call("DELETE", keysPath+"/"+key.KeyID, "", as).Is(204, "")

	by := func(action audit.Action, about audit.Subject) audit.Entry {
		return audit.Entry{Action: action, By: key.KeyID, KeyName: "ops", Via: audit.ViaREST, Subject: about}
	}
	all := []audit.Entry{
		by(audit.RevokeKey, audit.Subject{KeyID: key.KeyID}),
		by(audit.Purge, audit.Subject{}),
		{Action: audit.Deny, By: audit.ByUser, Via: audit.ViaMessage, Subject: audit.Subject{TriggerID: "t2"}},
		{Action: audit.Confirm, By: audit.BySession, Via: audit.ViaREST, Subject: audit.Subject{TriggerID: "t1"}},
		by(audit.DeleteTool, audit.Subject{RepositoryID: "shop", ToolName: "lamp"}),
		by(audit.ChangeRepository, audit.Subject{RepositoryID: "shop"}),
		{Action: audit.CreateKey, By: "admin", Via: audit.ViaREST, Subject: audit.Subject{KeyID: key.KeyID}},
		{Action: audit.ChangeApp, By: "admin", Via: audit.ViaREST},
	}
	require.Equal(t, all, entries(w, ""))
	require.Equal(t, all[2:3], entries(w, "?by=user"))
	require.Equal(t, all[3:4], entries(w, "?action=trigger.confirm"))
	require.NotContains(t, string(w.Call("GET", auditPath, "").Body), "secret word")
	w.Call("GET", auditPath+"?action=confirm", "").Problem(400, "trigger.confirm, trigger.deny")
	w.Call("GET", auditPath+"?after=x", "").Problem(400)
	w.Call("GET", "/v1/apps/absent/audit", "").Problem(404)

	w.Call("DELETE", "/v1/apps/clinic", "").Is(204, "")
	w.Call("PUT", "/v1/apps/clinic", `{}`).Is(201, "")
	require.Equal(t, all[7:], entries(w, ""), "the list of an app goes with it")
}

// forgetful has nothing to erase.
type forgetful struct{ api.Memory }

func (forgetful) Erase(context.Context, string, string) error            { return nil }
func (forgetful) EraseUser(context.Context, string, string) (int, error) { return 1, nil }

func TestErasuresAreListedWithoutTheUser(t *testing.T) {
	w := atClinic(t, func(o *api.Options) { o.Memory = forgetful{} })
	w.Call("PUT", "/v1/apps/clinic/sessions/s1", `{"user":"ada"}`).Is(201, "")
	w.Call("DELETE", "/v1/apps/clinic/sessions/s1?erase=true", "").Is(204, "")
	w.Call("DELETE", "/v1/apps/clinic/users/ada?erase=true", "").Is(200, "")
	require.Equal(t, []audit.Entry{
		{Action: audit.EraseUser, By: "admin", Via: audit.ViaREST},
		{Action: audit.EraseSession, By: "admin", Via: audit.ViaREST, Subject: audit.Subject{SessionID: "s1"}},
	}, entries(w, "")[:2])
	require.NotContains(t, string(w.Call("GET", auditPath, "").Body), "ada")
}

const usagePath = "/v1/apps/clinic/usage"

const nothing = `"messages":0,"matched":0,"rejected":0,"unmatched":0,"triggers":0,"modelRequests":0,"promptTokens":0,"completionTokens":0,"calls":0,"callFailures":0,"events":0`

const nothingUsed = `{"items":[],"total":{` + nothing + `}}`

// used returns the app's usage of today once it satisfies enough.
func used(w apitest.World, enough func(usage.Use) bool) (day usage.Use) {
	require.Eventually(w.T, func() bool {
		page := bodyOf[pageOf[usage.Use]](w.Call("GET", usagePath, "").Is(200, ""))
		if len(page.Items) == 0 {
			return false
		}
		day = page.Items[len(page.Items)-1]
		return enough(day)
	}, time.Minute, time.Millisecond, "an event may follow its answer")
	return day
}

func TestUseOfAnAppIsCountedOnce(t *testing.T) {
	w := atClinic(t)
	w.Call("GET", usagePath, "").Is(200, nothingUsed)
	w.Call("POST", apitest.MessagesPath, `{"messageId":"m0","actor":"user","text":"hello"}`).Is(200, "")
	before := used(w, func(d usage.Use) bool { return d.Messages == 1 })
	require.EqualValues(t, 1, before.Unmatched)
	require.Zero(t, before.Events+before.Triggers+before.Calls)

	w.Call("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","url":"https://example.org/book","schema":[{"parameter":"date","type":"string"}],"request":{"retryFor":"1s"}},{"name":"refund","confirm":"always"}]}`).Is(201, "")
	for range 3 { // a client that lost the answer
		w.Call("POST", apitest.MessagesPath, `{"messageId":"m1","actor":"user","text":"friday"}`).Is(200, "")
	}
	w.Call("POST", apitest.MessagesPath, `{"messageId":"a1","actor":"agent","text":"Done."}`)
	w.Call("POST", apitest.MessagesPath+"?dryRun=true", `{"actor":"user","text":"friday"}`).Is(200, "")
	w.Sink.Answers(func(effect.Effect) effect.Outcome {
		return effect.Outcome{Verdict: effect.Dead, Status: 400, Reason: effect.ReasonRequest, Error: "no"}
	})
	w.Call("POST", "/v1/apps/clinic/triggers", `{"name":"book","source":"ui","values":{"date":"friday"}}`).Is(201, "")
	got := used(w, func(d usage.Use) bool { return d.Events >= 6 })
	require.NotNil(t, got.Decided)
	got.Day, got.Begins, got.Decided = "", time.Time{}, nil
	require.Equal(t, usage.Use{
		Messages: 2, Matched: 1, Unmatched: 1, Triggers: 2, Calls: 2, CallFailures: 1,
		Events: 6, // the written repository, two triggers with their results, and one that waits for a yes
	}, got)
}

func TestDaysOfUseAreAskedFor(t *testing.T) {
	w := atClinic(t)
	w.Call("GET", usagePath+"?from=2026-11-01&to=2026-11-01", "").Is(200, nothingUsed)
	w.Call("GET", usagePath+"?from=2025-11-01&to=2026-12-05", "").Is(200, nothingUsed)
	w.Call("GET", usagePath+"?from=2025-10-31&to=2026-12-05", "").Problem(400, "are 401 days; ask for 400 at most")
	w.Call("GET", usagePath+"?from=2026-11-02&to=2026-11-01", "").Problem(400, "to is before from")
	w.Call("GET", usagePath+"?from=yesterday&to=2026-13-01", "").Problem(400, `from "yesterday" is no day`, `to "2026-13-01" is no day`)
	w.Call("GET", "/v1/apps/absent/usage", "").Problem(404)
}

func TestUseIsToldByMinutesAndByHosts(t *testing.T) {
	w := atClinic(t)
	w.Call("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","url":"https://example.org/book","schema":[{"parameter":"date","type":"string"}]}]}`).Is(201, "")
	came, at := []effect.Outcome{
		{Verdict: effect.Done, Status: 200, Host: "a.example"}, {Verdict: effect.Dead, Status: 400, Reason: effect.ReasonRequest, Error: "no", Host: "b.example:8080"},
		{Verdict: effect.Dead, Status: 400, Reason: effect.ReasonRequest, Error: "no", Host: "a.example"},
	}, 0
	w.Sink.Answers(func(effect.Effect) effect.Outcome {
		at++
		return came[at-1]
	})
	for i := range came {
		w.Call("POST", "/v1/apps/clinic/sessions/s1/messages", `{"messageId":"m`+strconv.Itoa(i)+`","actor":"user","text":"friday"}`).Is(200, "")
	}
	for step, since := range map[string]time.Duration{"minute": 2 * time.Hour, "hour": 13 * 24 * time.Hour, "day": 30 * 24 * time.Hour} {
		var page struct {
			Items []usage.Use
			Total usage.Use
		}
		asked := usagePath + "?step=" + step + "&since=" + time.Now().Add(-since).UTC().Format(time.RFC3339)
		require.NoError(t, json.Unmarshal(w.Call("GET", asked, "").Is(200, "").Body, &page))
		require.EqualValues(t, 3, page.Total.Messages, step)
		require.EqualValues(t, 2, page.Total.CallFailures, step)
		require.GreaterOrEqual(t, page.Total.Decided.P95, page.Total.Decided.P50)
		require.Less(t, time.Since(page.Items[0].Begins), 48*time.Hour)
	}
	for _, since := range []string{"", "?since=" + time.Now().Add(-20*time.Hour).UTC().Format(time.RFC3339)} {
		hosts := bodyOf[pageOf[usage.Host]](w.Call("GET", usagePath+"/hosts"+since, "").Is(200, ""))
		require.Len(t, hosts.Items, 2)
		require.Equal(t, "a.example", hosts.Items[0].Name)
		require.Equal(t, []int64{2, 1}, []int64{hosts.Items[0].Calls, hosts.Items[0].Failures})
		require.Equal(t, usage.HostFailing, hosts.Items[1].State)
		require.NotNil(t, hosts.Items[1].Took)
	}
	twice := w.Call("GET", usagePath+"/hosts?since=today", "")
	twice.Problem(400, `since "today" is not a time`)
	require.Equal(t, 1, strings.Count(string(twice.Body), "is not a time"), "each fault is told once")
	w.Call("GET", usagePath+"?step=second", "").Problem(400, "none of minute, hour, day")
	w.Call("GET", usagePath+"?step=minute&from=2026-11-01", "").Problem(400, "name days")
	w.Call("GET", usagePath+"?step=minute&since=2026-11-01T00:00:00Z&until=2026-11-01T03:00:01Z", "").Problem(400, "are 181 minutes; ask for 180 at most")
}

func TestWhatAnAppHasToDoIsCounted(t *testing.T) {
	w := atClinic(t)
	w.Call("GET", "/v1/apps/clinic/backlog", "").Is(200, `{"pending":{"count":0},"failed":{"count":0},"confirming":0,"settling":0,"firstAttempts":0,"laterAttempts":0,"looked":0}`)
	w.Call("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","url":"https://example.org/book"},{"name":"pay","confirm":"always","description":"d"},
		{"name":"send","settle":"60s","description":"d"},{"name":"lost","url":"https://example.org/lost"}]}`).Is(201, "")
	w.Sink.Answers(func(call effect.Effect) effect.Outcome {
		if call.Call != nil && call.Call.URL == "https://example.org/lost" {
			return effect.Outcome{Verdict: effect.Dead, Status: 400, Reason: effect.ReasonRequest, Error: "no"}
		}
		return effect.Outcome{Verdict: effect.Retry, Status: 503, Error: "later", After: time.Hour}
	})
	for _, tool := range []string{"lost", "book", "book", "pay", "send"} {
		w.Call("POST", "/v1/apps/clinic/triggers", `{"name":"`+tool+`","source":"ui"}`).Is(201, "")
	}
	found := bodyOf[query.Backlog](w.Call("GET", "/v1/apps/clinic/backlog", "").Is(200, ""))
	require.Equal(t, []int64{4, 1}, []int64{found.Pending.Count, found.Failed.Count})
	require.True(t, found.Failed.Oldest.Before(*found.Pending.Oldest))
	require.Equal(t, []int{1, 1, 0, 2, 4}, []int{found.Confirming, found.Settling, found.FirstTries, found.Retries, found.Examined})
	w.Call("GET", "/v1/apps/absent/backlog", "").Problem(404)
}
