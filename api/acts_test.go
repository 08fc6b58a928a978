package api_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/deploy/testbed/apitest"
	"earshot/repositories/audit"
	"earshot/trigger/query"
)

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
