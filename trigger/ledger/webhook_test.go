package ledger_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/repositories/keyspace"
	"earshot/trigger/ledger"
)

func TestAWebhookIsServedAgainAtOnceForWhatCameMeanwhile(t *testing.T) {
	each(t, func(w *world) {
		webhooks := ledger.NewWebhooks(w.Ledger)
		key, _ := keyspace.Webhook(w.k, "desk")
		require.NoError(w, w.db.HSet(w.Context(), key, "since", 1).Err())
		known := testbed.Got(webhooks.Resend(w.Context(), "shop", "desk", nil, true))(w)
		require.True(w, known)
		claim := func(token string) *ledger.WebhookClaim {
			return testbed.Got(webhooks.Claim(w.Context(), "shop", "desk", token, time.Hour, 10))(w)
		}
		serve := func(token string, meanwhile func()) {
			w.Helper()
			had := claim(token)
			require.NotNil(w, had)
			meanwhile()
			require.Nil(w, claim("another"), "it is leased")
			written := testbed.Got(webhooks.Report(w.Context(), ledger.WebhookReport{App: "shop", Name: "desk", Token: token, Claim: had, Pause: time.Hour}))(w)
			require.True(w, written)
		}
		serve("a", func() { require.NoError(w, webhooks.Wake(w.Context(), "shop", []string{"desk"})) })
		serve("b", func() {})
		require.Nil(w, claim("c"), "its pause is not over")

		known = testbed.Got(webhooks.Resend(w.Context(), "shop", "desk", nil, true))(w)
		require.True(w, known)
		failed := ledger.WebhookReport{App: "shop", Name: "desk", Token: "d", Claim: claim("d"), Streak: 1}
		written := testbed.Got(webhooks.Report(w.Context(), failed))(w)
		require.True(w, written)
		known = testbed.Got(webhooks.Resend(w.Context(), "shop", "desk", nil, true))(w)
		require.True(w, known)
		anew := claim("e")
		require.Equal(w, []any{0, time.Time{}}, []any{anew.Streak, anew.Failing}, "who asks for it begins anew")

		known = testbed.Got(webhooks.Resend(w.Context(), "shop", "desk", new(uint64), true))(w)
		require.True(w, known)
		written = testbed.Got(webhooks.Report(w.Context(), ledger.WebhookReport{App: "shop", Name: "desk", Token: "e", Claim: anew, Position: 7, Positioned: true}))(w)
		require.False(w, written, "what was asked for is not undone by who served it before")
	})
}
