package api_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/deploy/testbed/apitest"
	"earshot/repositories/audit"
)

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
