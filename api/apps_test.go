package api_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/deploy/testbed/apitest"
	"earshot/repositories"
	"earshot/repositories/audit"
	"earshot/repositories/secret"
	"earshot/trigger/query"
)

func clinic() *repositories.App {
	return &repositories.App{
		ID: "clinic", Name: "Clinic", SigningSecret: secret.New("whsec_plantedA"),
		Modules: []repositories.Module{{ID: "calendar", Secret: secret.New("planted"), TokenURL: "https://id.example.org/token"}},
	}
}

func TestPutAppSays201WhenItIsNewAnd200WhenItWasThere(t *testing.T) {
	for created, status := range map[bool]int{true: 201, false: 200} {
		s := start(t)
		s.store.created = created
		got := s.Call("PUT", "/v1/apps/clinic", `{"name":"Clinic"}`)
		got.Is(status, `{"appId":"clinic","name":"Clinic","settings":{"chatModeEnabled":false,"skipToolResponse":false}}`)
		put := s.store.last()
		require.Equal(t, "ChangeApp", put.Method)
		require.Equal(t, "Clinic", put.Args[0].(*repositories.App).Name)
	}
}

func TestCredentialsOfAnAppAreNeverAnswered(t *testing.T) {
	s := start(t)
	s.store.apps = []*repositories.App{clinic()}
	body := `{"name":"Clinic","signingSecret":"whsec_plantedA","modules":[{"moduleId":"calendar","secret":"planted","tokenUrl":"https://id.example.org/token"}]}`
	for _, got := range []apitest.Answer{
		s.Call("PUT", "/v1/apps/clinic", body),
		s.Call("GET", "/v1/apps/clinic", ""),
		s.Call("GET", "/v1/apps", ""),
	} {
		require.Equal(t, 200, got.StatusCode, string(got.Body))
		require.Contains(t, string(got.Body), `"***"`)
		require.NotContains(t, string(got.Body), "planted")
	}
	require.NotContains(t, s.Log.String(), "planted")
}

func TestGetAppReadsTheAppOfThePath(t *testing.T) {
	s := start(t)
	s.store.apps = []*repositories.App{clinic()}
	s.Call("GET", "/v1/apps/clinic", "").Is(200, "")
	require.Equal(t, asked{"App", []any{"clinic"}}, s.store.last())
}

func TestListsArePagedAndNeverNull(t *testing.T) {
	s := start(t)
	s.Call("GET", "/v1/apps", "").Is(200, `{"items":[]}`)
	require.Equal(t, asked{"Apps", []any{"", 50}}, s.store.last())

	s.store.apps, s.store.next = []*repositories.App{{ID: "clinic"}}, "clinic"
	next := cursorIn("/v1/apps", "clinic")
	s.Call("GET", "/v1/apps?limit=1&after=aWQ6YmFrZXJ5", "").Is(200,
		`{"items":[{"appId":"clinic","settings":{"chatModeEnabled":false,"skipToolResponse":false}}],"next":"`+next+`"}`)
	require.Equal(t, asked{"Apps", []any{"bakery", 1}}, s.store.last(), "as it was before cursors named their list")
	s.Call("GET", "/v1/apps?after="+next, "").Is(200, "")
	require.Equal(t, asked{"Apps", []any{"clinic", 50}}, s.store.last())
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
	s := start(t, func(o *api.Options) { o.Models = known("openai/gpt-4o-mini") })
	const claude = `{"settings":{"llm":{"tools":"anthropic/claude-haiku-4-5"}}}`
	for _, path := range []string{"/v1/apps/clinic", "/v1/apps/clinic?dryRun=true"} {
		faults := s.Call("PUT", path, claude).Problem(400)
		require.Contains(t, faults["/settings/llm/tools"], "set ANTHROPIC_API_KEY")
	}
	require.Zero(t, s.store.count())
	s.Call("PUT", "/v1/apps/clinic", claude, "Prefer: handling=lenient").Is(200, "")
	s.Call("PUT", "/v1/apps/clinic", `{"settings":{"llm":{"tools":"openai/gpt-4o-mini"}}}`).Is(200, "")
	s.Call("PUT", "/v1/apps/clinic", `{}`).Is(200, "")
}

func TestAnAppKeepsWhatToolsNameUnlessForced(t *testing.T) {
	t.Parallel()
	w := apitest.Live(t, apitest.Everything)
	const module = `"modules":[{"moduleId":"calendar","secret":"s","tokenUrl":"https://id.example.org/token"},{"moduleId":"spare","secret":"s","tokenUrl":"https://id.example.org/token"}]`
	const sources = `"sources":[{"name":"slots","type":"sqlite","database":"a.db"},{"name":"spare","type":"sqlite","database":"b.db"}]`
	w.Call("PUT", "/v1/apps/clinic", `{`+module+`,`+sources+`}`).Is(201, "")
	w.Call("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"free","description":"d","type":"sqlite-sql","source":"slots","statement":"SELECT 1"}]}`).Is(201, "")
	w.Call("PUT", apitest.BookingPath, apitest.BookingBody).Is(201, "")

	for method, body := range map[string]string{"PUT": `{}`, "PATCH": `{"modules":null,"sources":[]}`} {
		for _, query := range []string{"", "?dryRun=true", "?force=false"} {
			refused := w.Call(method, "/v1/apps/clinic"+query, body)
			refused.Problem(409)
			require.Contains(t, string(refused.Body), `{"pointer":"/modules","detail":"lacks the module \"calendar\", which is named by tool \"book\" of repository \"booking\" of session \"s1\"","code":"invalid_value"}`)
			require.Contains(t, string(refused.Body), `{"pointer":"/sources","detail":"lacks the source \"slots\", which is named by tool \"free\" of repository \"desk\"","code":"invalid_value"}`)
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
			if host+":"+port == "db.example:5432" {
				return errors.New("connection refused")
			}
			return nil
		}
	})
	s.store.apps = []*repositories.App{{ID: "clinic", Sources: []repositories.Source{
		{Name: "slots", Type: "sqlite", Database: "x.db"}, {Name: "records", Type: "postgres", Host: "db.example"},
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
		for i, host := range []string{"api.example:8443", "crm.example:443", "api.example:80", "db.example:5432", "", "api.example:443"} {
			require.Equal(t, host, shown.Items[i].Host, "they are sorted by name")
			if host != "" {
				require.Equal(t, host != "db.example:5432", *shown.Items[i].Reachable, host)
			}
		}
		require.Equal(t, "connection refused", shown.Items[3].Error)
		require.Nil(t, shown.Items[4].Reachable, "a file is not looked at")
	}
	s.Call("GET", "/v1/apps/clinic/sources?limit=1&after="+base64.RawURLEncoding.EncodeToString([]byte("id:crm")), "").Is(200,
		`{"items":[{"name":"plain","type":"http","host":"api.example:80","reachable":true,"checked":"2026-12-01T09:00:00Z"}],"next":"`+cursorIn("/v1/apps/:appId/sources\nclinic", "plain")+`"}`)
	require.EqualValues(t, 5, looks.Load(), "a look is good for a while")
	s.store.err = repositories.ErrNotFound
	s.Call("GET", "/v1/apps/clinic/sources", "").Problem(404)
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
	require.Equal(t, `"yesterday" is no time as 2026-12-01T09:00:00Z`, s.Call("POST", of+"/desk/resend", `{"since":"yesterday","from":1}`).Problem(400)["/since"])
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
	require.Contains(t, wrong["/settings/webhooks/0/secret"], "signs for another host")
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
