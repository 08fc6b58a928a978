package main

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/rolling/stage"
	"earshot/deploy/testbed"
	"earshot/repositories/keyspace"
)

// TestDataOfTheFirstVersionsIsWorkedOn starts this version on what builds have left that kept all
// work of a partition in one set: they still owed calls and events, and each is delivered once, under
// the id that it had. An entry that nobody knows stands among them.
func TestDataOfTheFirstVersionsIsWorkedOn(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		testbed.Missing(t, "no redis-server on the path: install it with apt-get install redis-server, or brew install redis")
	}
	program, err := stage.Build(t.Context(), t.TempDir(), "")
	require.NoError(t, err)
	recorded, err := filepath.Glob("testdata/first/*.jsonl")
	require.NoError(t, err)
	require.NotEmpty(t, recorded)
	for _, file := range recorded {
		t.Run(filepath.Base(file), func(t *testing.T) {
			u := upgrade(t, program, file, func(db *redis.Client) {
				for n := range 40 { // more than are read at once
					require.NoError(t, db.ZAdd(t.Context(), keyspace.KeysOf("clinic").Due(), redis.Z{Score: 1, Member: fmt.Sprintf("queue/clinic-%d", n)}).Err())
				}
			})
			require.Len(t, u.ask(http.MethodGet, app+"/repositories/desk", "", http.StatusOK)["tools"], 3)
			messages := u.items(session+"/messages", "messageId")
			require.Len(t, messages, 2)
			for n := range firstOwed {
				id := fmt.Sprintf("t-busy-%d", n)
				u.until(id, "delivered")
				require.Equal(t, 1, u.calls(id))
			}
			require.Equal(t, "failed", u.call("t-dead")["state"])
			u.fire("t-new", "ring", `{}`, http.StatusCreated)
			u.until("t-new", "delivered")
			require.Eventually(t, func() bool { return u.published()["tool.result.clinic.s1.busy"] == firstOwed }, testbed.Patience, testbed.Glance)
			require.GreaterOrEqual(t, u.published()["tool.trigger.clinic.s1.ring"], 2, "that of m4, and the new one")
			u.ask(http.MethodPost, app+"/triggers/t-dead/retry", "", http.StatusAccepted)
			u.until("t-dead", "delivered")
			u.owesNothing()

			due := strings.Join(u.stage.Redis.ZRange(t.Context(), keyspace.KeysOf("clinic").Due(), 0, -1).Val(), " ")
			require.Equal(t, 40, strings.Count(due, "queue/clinic-"), "what nobody knows is left alone")
			require.NotContains(t, due, "e/clinic/")
			require.Equal(t, 40, strings.Count(u.replica.Log(), `"ledger.unknown"`), "each is logged once")
			require.NotContains(t, u.replica.Log(), "panic")
		})
	}
}
