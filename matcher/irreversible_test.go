package matcher_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/matchertest"
	"earshot/repositories"
)

func given(t *testing.T, tool string) *repositories.Tool {
	return matchertest.InScope(t, matchertest.Scope, "r", tool)[0].Tool
}

func TestToolsAreIrreversibleByTheirNames(t *testing.T) {
	for tool, does := range map[string]string{
		`{"name":"refund-order","description":"Refund an order"}`:                                                                                   "moves money",
		`{"name":"pay_bill","description":"Pay a bill"}`:                                                                                            "moves money",
		`{"name":"transfer","description":"Send it to somebody","schema":[{"parameter":"amount","type":"number"}]}`:                                 "moves money",
		`{"name":"post_v1_refunds","description":"Refunds"}`:                                                                                        "moves money",
		`{"name":"ueberweisen","description":"Überweise Geld an jemanden"}`:                                                                         "moves money",
		`{"name":"rembourser","description":"Rembourser un client"}`:                                                                                "moves money",
		`{"name":"handle","description":"Charges the customer's card"}`:                                                                             "moves money",
		`{"name":"order-pizza","description":"Order a pizza"}`:                                                                                      "orders something",
		`{"name":"createOrder","description":"Create an order"}`:                                                                                    "orders something",
		`{"name":"bestellen","description":"Bestelle etwas zu essen"}`:                                                                              "orders something",
		`{"name":"deleteWarehouse"}`:                                                                                                                "deletes something",
		`{"name":"getRidOfPlaylist"}`:                                                                                                               "deletes something",
		`{"name":"op17","description":"User","type":"http","source":"api","path":"/users","method":"DELETE"}`:                                       "deletes something",
		`{"name":"cancel_contract","description":"Cancel a contract"}`:                                                                              "ends a contract",
		`{"name":"close-account"}`:                                                                                                                  "ends a contract",
		`{"name":"kuendigen","description":"Kündige den Vertrag"}`:                                                                                  "ends a contract",
		`{"name":"close-window","description":"Close a window"}`:                                                                                    "",
		`{"name":"cancel-appointment","description":"Cancel an appointment"}`:                                                                       "",
		`{"name":"transfer-call","description":"Transfer the call to somebody"}`:                                                                    "",
		`{"name":"order-status","description":"Tell the status of an order"}`:                                                                       "",
		`{"name":"list-refunds","description":"List refunds"}`:                                                                                      "",
		`{"name":"get_v1_payments"}`:                                                                                                                "",
		`{"name":"payments","type":"http","source":"api","path":"/payments","method":"GET","description":"Payments"}`:                               "",
		`{"name":"update-order","description":"Update an order"}`:                                                                                   "",
		`{"name":"book-table","description":"Book a table"}`:                                                                                        "",
		`{"name":"refund-order","description":"Refund an order","settle":"10s"}`:                                                                    "",
		`{"name":"delete-user","type":"postgres-sql","source":"db","statement":"SELECT 1","readOnly":true,"description":"Delete a user in a test"}`: "",
	} {
		noted := matcher.Unconfirmed(&repositories.App{ID: "clinic"}, matchertest.InScope(t, matchertest.Scope, "r", tool)[0].Repository)
		if does == "" {
			require.Empty(t, noted, tool)
			continue
		}
		require.Len(t, noted, 1, tool)
		require.Equal(t, "/tools/0", noted[0].Pointer)
		require.Equal(t, does+" and fires without a question: set its confirm, or settings.offline.confirm of the app", noted[0].Detail, tool)
	}
}

func TestAskingFirstIsForWordsThatDecideAlone(t *testing.T) {
	const refund, light, status = `{"name":"refund-order"}`, `{"name":"light-on"}`, `{"name":"status","request":{"method":"GET"},"url":"https://a.example/b"}`
	for _, c := range []struct {
		confirm, stage, tool string
		asks                 bool
	}{
		{"", matcher.StageOffline, refund, false},
		{repositories.ConfirmNever, matcher.StageOffline, refund, false},
		{repositories.ConfirmIrreversible, matcher.StageOffline, refund, true},
		{repositories.ConfirmIrreversible, matcher.StageExact, refund, true},
		{repositories.ConfirmIrreversible, matcher.StageLLM, refund, false},
		{repositories.ConfirmIrreversible, "", refund, false},
		{repositories.ConfirmIrreversible, matcher.StageOffline, light, false},
		{repositories.ConfirmIrreversible, matcher.StageOffline, `{"name":"refund-order","confirm":"never"}`, false},
		{repositories.ConfirmIrreversible, matcher.StageOffline, `{"name":"refund-order","confirm":"once"}`, false},
		{repositories.ConfirmIrreversible, matcher.StageOffline, `{"name":"refund-order","settle":"5s"}`, false},
		{repositories.ConfirmAlways, matcher.StageOffline, light, true},
		{repositories.ConfirmAlways, matcher.StageLLM, light, false},
		{repositories.ConfirmAlways, matcher.StageOffline, status, false},
		{repositories.ConfirmAlways, matcher.StageOffline, `{"name":"light-on","confirm":"never"}`, false},
		{repositories.ConfirmAlways, matcher.StageOffline, `{"name":"` + repositories.CatchAll + `"}`, false},
	} {
		app := &repositories.App{ID: "clinic"}
		app.Settings.Offline.Confirm = c.confirm
		require.Equal(t, c.asks, matcher.AsksFirst(app, c.stage, given(t, c.tool)) != "", "%+v", c)
	}
}
