package main

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/repositories/keyspace"
	"earshot/trigger/verify"
)

func TestVerifySaysWhatIsWrongAndMendsIt(t *testing.T) {
	t.Parallel()
	w := serving(t, 1)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book"},{"name":"lamp","settle":"60s"}]}`)
	w.say("s1", "m1", "call book {}")
	held := w.say("s1", "m2", "call lamp {}").Matches[0].TriggerID
	w.rest()
	require.Regexp(t, `(?s)^looked at   \d+ keys: 1 app, 1 session, 2 triggers\nowed        0 messages, 0 calls, 0 events; 1 held back, 0 failed\norphaned    0\nimpossible  0\nsealed      by the newest key: nothing; by the old one: nothing; by none that is here: nothing\n$`, w.ok("verify"))

	k := keyspace.KeysOf("clinic")
	require.NoError(t, w.client().ZRem(t.Context(), k.Lane(keyspace.LaneHeld), held).Err())
	require.NoError(t, w.client().ZAdd(t.Context(), k.Triggers(""), redis.Z{Score: 1, Member: "none"}).Err())
	got := w.run("verify")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.out, "orphaned    2\nimpossible  0\n")
	require.Regexp(t, `clinic +record\.timer +orphaned +trigger `+held+` +yes +a trigger is held`, got.out)
	require.Contains(t, got.out, "--mend mends those that say yes")
	require.Empty(t, got.err)
	var report verify.Report
	require.NoError(t, json.Unmarshal([]byte(w.run("verify", "--json").out), &report))
	require.Len(t, report.Findings, 2)
	require.False(t, report.Findings[0].Mended)

	require.Contains(t, w.ok("verify", "--mend"), "orphaned    0\nimpossible  0\nmended      2\n")
	w.ok("verify")
	w.call(202, "POST", "/v1/apps/clinic/triggers/"+held+"/cancel", "")
	w.rest()

	sink := newSink(t)
	sink.answer(http.StatusServiceUnavailable)
	w.tool(`"url":"` + sink.URL + `"`)
	w.say("s1", "m3", "call book {}")
	got = w.run("verify")
	require.Equal(t, 1, got.code, "a call is owed")
	require.Contains(t, got.out, "owed        0 messages, 1 call, 0 events;")
	w.ok("verify", "--allow-owed")
	sink.answer(http.StatusOK)
	w.rest()

	require.NoError(t, w.client().HSet(t.Context(), k.Trigger(held), "state", "lurking").Err())
	got = w.run("verify", "--mend")
	require.Equal(t, 1, got.code, "that cannot be mended")
	require.Regexp(t, `record\.state +impossible .* no +a trigger in a state that there is not \(lurking\)`, got.out)
}

func TestVerifyNeedsARedisThatItCanRead(t *testing.T) {
	t.Parallel()
	got := command(t, nil, "verify", "--retention", "1ms")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.err, "REDIS_URL (--redis-url) is not set")
	require.Contains(t, got.err, "--retention (EARSHOT_RETENTION) is 1ms")
	got = command(t, map[string]string{"REDIS_URL": "redis://user:planted@127.0.0.1:1"}, "verify")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.err, "connection refused")
	require.NotContains(t, got.err, "planted")

	w := newWorld(t)
	got = w.run("verify")
	require.Zero(t, got.code)
	require.Contains(t, got.out, "nothing of Earshot is in this Redis")
	require.Empty(t, w.redis.Keys(), "it leaves no trace")
	require.NoError(t, w.client().Set(t.Context(), "earshot:partitions", "32", 0).Err())
	require.Contains(t, w.run("verify", "--mend").err, "32 partitions, this version uses 64")
	require.NoError(t, w.client().Del(t.Context(), "earshot:partitions").Err())
	require.NoError(t, w.client().HSet(t.Context(), keyspace.Format, "version", "99", "oldest", "99", "program", "v9").Err())
	require.Contains(t, w.run("verify", "--mend").err, "its format is 99, by earshot v9")
}

// TestTheDocumentsSayEachRuleOfTheLedger reads the table of the operator.
func TestTheDocumentsSayEachRuleOfTheLedger(t *testing.T) {
	text, err := os.ReadFile("../../deploy/docs/verify.md")
	require.NoError(t, err)
	for _, rule := range verify.Rules() {
		mend := rule.Mend
		if mend == "" {
			mend = "-"
		}
		row := strings.Join([]string{"| `" + rule.Name + "`", string(rule.Class), rule.Says, mend + " |"}, " | ")
		require.Contains(t, string(text), row+"\n")
	}
}
