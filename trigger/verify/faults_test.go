package verify_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/repositories/keyspace"
	"earshot/trigger/verify"
)

// fault breaks one thing of a ledger. It has the expected rules, and whether everything is repaired.
type fault struct {
	name   string
	breaks func(w *world) redis.Cmder
	finds  []string
	stays  bool // it is not mended
}

func (w *world) z(key string, members ...any) redis.Cmder {
	return w.client.ZRem(w.t.Context(), key, members...)
}

func (w *world) set(key string, pairs ...any) redis.Cmder {
	return w.client.HSet(w.t.Context(), key, pairs...)
}

func (w *world) del(keys ...string) redis.Cmder { return w.client.Del(w.t.Context(), keys...) }

func (w *world) add(key string, score float64, member string) redis.Cmder {
	return w.client.ZAdd(w.t.Context(), key, redis.Z{Score: score, Member: member})
}

func (w *world) trigger(tool string) string { return w.k.Trigger(w.ids["s1 "+tool]) }

// elsewhere returns a partition other than the app clinic's.
func (w *world) elsewhere() int { return (keyspace.PartitionOf("clinic") + 1) % keyspace.Partitions }

var (
	dayFrom = func() float64 { return float64(time.Now().Add(24 * time.Hour).UnixMilli()) }
	faults  = []fault{
		{"a record of an app that is gone", func(w *world) redis.Cmder {
			return w.set(keyspace.KeysOf("gone").Trigger("t"), "fire", "f", "record", "{}", "open", 0)
		}, []string{"record.app"}, false},
		{"a record without its text", func(w *world) redis.Cmder { return w.client.HDel(w.t.Context(), w.trigger("note"), "record") }, []string{"record.unreadable"}, true},
		{"a record that no list has", func(w *world) redis.Cmder { return w.z(w.k.Triggers(""), w.ids["s1 note"]) }, []string{"record.unlisted"}, false},
		{"a state that there is not", func(w *world) redis.Cmder { return w.set(w.trigger("note"), "state", "lurking") }, []string{"record.state"}, true},
		{"it says that it owes nothing", func(w *world) redis.Cmder { return w.set(w.trigger("busy"), "open", 0) }, []string{"record.open"}, false},
		{"it says that it owes something", func(w *world) redis.Cmder { return w.set(w.trigger("note"), "open", 2) }, []string{"record.open"}, false},
		{"it says that nothing has failed", func(w *world) redis.Cmder { return w.set(w.trigger("risky"), "dead", 0) }, []string{"record.dead"}, false},
		{"its call is lost", func(w *world) redis.Cmder { return w.del(w.effect(w.ids["s1 busy"], "call")) }, []string{"record.failed", "record.lost", "record.open", "record.pending", "record.unending"}, false},
		{"its event is lost", func(w *world) redis.Cmder { return w.del(w.effect(w.ids["s1 late"], "event")) }, []string{"record.failed", "record.lost", "record.open", "record.pending", "record.unending"}, false},
		{"it owes a call, and is not pending", func(w *world) redis.Cmder { return w.z(w.k.InState(keyspace.Pending), w.ids["s1 busy"]) }, []string{"record.pending"}, false},
		{"it owes nothing, and is pending", func(w *world) redis.Cmder { return w.add(w.k.InState(keyspace.Pending), 1, w.ids["s1 note"]) }, []string{"record.pending"}, false},
		{"it has failed, and is not listed so", func(w *world) redis.Cmder { return w.z(w.k.InState(keyspace.Failed), w.ids["s1 risky"]) }, []string{"failed.count", "record.failed"}, false},
		{"it has not failed, and is listed so", func(w *world) redis.Cmder { return w.add(w.k.InState(keyspace.Failed), 1, w.ids["s1 note"]) }, []string{"failed.count", "record.failed"}, false},
		{"it would be kept for ever", func(w *world) redis.Cmder { return w.z(w.k.Over(), "clinic/"+w.ids["s1 note"]) }, []string{"record.unending"}, false},
		{"it would go with what it owes", func(w *world) redis.Cmder { return w.add(w.k.Over(), 1, "clinic/"+w.ids["s1 busy"]) }, []string{"record.ending"}, false},
		{"it settles, and has no timer", func(w *world) redis.Cmder { return w.z(w.k.Lane(keyspace.LaneHeld), w.ids["s1 lamp"]) }, []string{"record.timer"}, false},
		{"it waits for a yes, and has no timer", func(w *world) redis.Cmder { return w.z(w.k.Lane(keyspace.LaneHeld), w.ids["s1 refund"]) }, []string{"record.timer"}, false},
		{"it is held, and keeps nothing back", func(w *world) redis.Cmder { return w.client.HDel(w.t.Context(), w.trigger("lamp"), "held") }, []string{"record.empty"}, true},
		{"it was cancelled, and owes a call", func(w *world) redis.Cmder { return w.set(w.trigger("busy"), "state", "cancelled") }, []string{"record.early"}, true},
		{"an effect in no state", func(w *world) redis.Cmder { return w.set(w.k.Effect("odd"), "kind", "call", "state", "asleep") }, []string{"effect.state"}, true},
		{"an effect of no kind", func(w *world) redis.Cmder { return w.set(w.k.Effect("odd"), "kind", "fax", "state", "due") }, []string{"effect.state"}, true},
		{"a dead effect of nobody", func(w *world) redis.Cmder {
			return w.set(w.k.Effect("odd"), "kind", "call", "state", "dead", "trigger", "none")
		}, []string{"effect.dead"}, false},
		{"a call that is in no lane", func(w *world) redis.Cmder {
			w.client.Decr(w.t.Context(), w.k.PendingCount())
			return w.z(w.k.Lane(keyspace.LaneCalls), keyspace.EffectID(w.firing(w.ids["s1 busy"]), "call"))
		}, []string{"effect.call"}, false},
		{"an answer that nobody waits for", func(w *world) redis.Cmder {
			w.client.Decr(w.t.Context(), w.k.PendingCount())
			return w.z(w.k.Lane(keyspace.LaneCalls), keyspace.EffectID(w.firing(w.ids["s1 wait"]), "call"))
		}, []string{"effect.call"}, false},
		{"an event that is in no outbox", func(w *world) redis.Cmder {
			w.client.Decr(w.t.Context(), w.k.PendingCount())
			w.z(w.k.Lane(keyspace.LaneOutboxes), "s1")
			w.client.HDel(w.t.Context(), w.k.Holders(), "s1")
			return w.del(w.k.Outbox("s1"))
		}, []string{"effect.event"}, false},
		{"an outbox that nobody looks at", func(w *world) redis.Cmder { return w.z(w.k.Lane(keyspace.LaneOutboxes), "s1") }, []string{"outbox.unscheduled"}, false},
		{"an outbox that cannot be read", func(w *world) redis.Cmder {
			w.client.Incr(w.t.Context(), w.k.PendingCount())
			w.add(w.k.Lane(keyspace.LaneOutboxes), 1, "odd")
			w.add(w.k.Due(), 1, "outboxes/clinic")
			return w.client.RPush(w.t.Context(), w.k.Outbox("odd"), "#torn")
		}, []string{"outbox.unreadable"}, true},
		{"a lane that nobody looks at", func(w *world) redis.Cmder { return w.z(w.k.Due(), "calls/clinic") }, []string{"lane.unscheduled"}, false},
		{"a lane that is looked at too late", func(w *world) redis.Cmder { return w.add(w.k.Due(), dayFrom(), "outboxes/clinic") }, []string{"lane.unscheduled"}, false},
		{"the lease of an empty outbox", func(w *world) redis.Cmder { return w.set(w.k.Holders(), "s9", "token") }, []string{"holder"}, false},
		{"a message that nobody decides", func(w *world) redis.Cmder {
			return w.client.HDel(w.t.Context(), w.k.Turns("s1"), "f:away")
		}, []string{"turn"}, false},
		{"a message that is not there", func(w *world) redis.Cmder { return w.client.RPush(w.t.Context(), w.k.Order("s1"), "nobody") }, []string{"order"}, false},
		{"a session without an end", func(w *world) redis.Cmder { return w.z(w.k.Idle(), "clinic/s1") }, []string{"session.unending"}, false},
		{"a session that its user is not found by", func(w *world) redis.Cmder { return w.set(w.k.Turns("s1"), "user", "ada") }, []string{"session.user"}, false},
		{"a session of a user that is not there", func(w *world) redis.Cmder { return w.add(w.k.Users(), 0, keyspace.OfUser("ada", "s9")) }, []string{"user.listed"}, false},
		{"a session that is not there", func(w *world) redis.Cmder { return w.add(w.k.Sessions(), 0, "s9") }, []string{"session.listed"}, false},
		{"an app that is not listed", func(w *world) redis.Cmder { return w.z(w.k.Apps(), "clinic") }, []string{"app.unlisted"}, false},
		{"an app that is gone, and has something", func(w *world) redis.Cmder { return w.del(w.k.App()) }, []string{"app.gone"}, true},
		{"an app that is gone, and has nothing", func(w *world) redis.Cmder { return w.del(keyspace.KeysOf("museum").App()) }, []string{"app.listed"}, false},
		{"an app without its definition", func(w *world) redis.Cmder { return w.client.HDel(w.t.Context(), w.k.App(), "record") }, []string{"app.unreadable"}, true},
		{"keys of an app that is gone", func(w *world) redis.Cmder {
			w.set(keyspace.KeysOf("gone").AppKeys(), "k1", "/{}")
			w.set(keyspace.KeysOf("gone").KeyUses(), "k1", 1)
			w.set(keyspace.KeysOf("gone").Sourced(), "/r", "crm 1 2")
			return w.set(keyspace.KeysOf("gone").Repos(""), "r", "1 {}")
		}, []string{"app.left", "app.left", "app.left", "app.left"}, false},
		{"a trigger that is listed and gone", func(w *world) redis.Cmder {
			w.add(w.k.Triggers("s1"), 1, "none")
			w.add(w.k.InState(keyspace.Pending), 1, "none")
			return w.add(w.k.Triggers(""), 1, "none")
		}, []string{"listed", "listed", "listed"}, false},
		{"a failed trigger that is gone", func(w *world) redis.Cmder {
			w.set(w.k.Dead(), "clinic", 2)
			return w.add(w.k.InState(keyspace.Failed), 1, "none")
		}, []string{"listed"}, false},
		{"another number of failed triggers", func(w *world) redis.Cmder { return w.set(w.k.Dead(), "clinic", 7) }, []string{"failed.count"}, false},
		{"failed triggers of an app without any", func(w *world) redis.Cmder { return w.set(keyspace.KeysOf("museum").Dead(), "museum", 1) }, []string{"failed.count"}, false},
		{"another number of what is owed", func(w *world) redis.Cmder { return w.client.IncrBy(w.t.Context(), w.k.PendingCount(), 3) }, []string{"owed.count"}, false},
		{"something is counted where nothing is owed", func(w *world) redis.Cmder {
			return w.client.IncrBy(w.t.Context(), keyspace.PartitionKeys(w.elsewhere()).PendingCount(), 3)
		}, []string{"owed.count"}, false},
		{"tests and versions of an app that is gone", func(w *world) redis.Cmder {
			k := keyspace.KeysOf("nowhere")
			w.set(keyspace.Tests(k), "t", "{}")
			w.add(keyspace.Versioned(k), 1, "r")
			return w.set(keyspace.Versions(k, "r"), "last", 1)
		}, []string{"app.left", "app.left", "app.left"}, false},
		{"a fence without an end", func(w *world) redis.Cmder { return w.client.Set(w.t.Context(), w.k.Fence("f"), "1 t", 0) }, []string{"endless"}, false},
		{"the mark of a closed session without an end", func(w *world) redis.Cmder { return w.set(w.k.Closed("s9"), "generation", "g") }, []string{"endless"}, false},
		{"a part of explanations without an end", func(w *world) redis.Cmder { return w.set(w.k.ExplainedParts(), "p", "text") }, []string{"explained"}, false},
		{"an effect in another partition", func(w *world) redis.Cmder {
			place, _ := keyspace.ParseKey(w.k.Effect("odd"))
			place.Partition = w.elsewhere()
			return w.set(place.Key(), "kind", "call", "state", "due")
		}, []string{"foreign.key"}, true},
		{"work of a kind that nobody knows", func(w *world) redis.Cmder { return w.add(w.k.Due(), 1, "queue/clinic") }, []string{"entry.unknown"}, true},
		{"an app noted in another partition", func(w *world) redis.Cmder {
			k := keyspace.PartitionKeys(w.elsewhere())
			w.add(k.Over(), 1, "clinic/t")
			w.add(k.Due(), 1, "calls/clinic")
			return w.set(k.Dead(), "clinic", 1)
		}, []string{"foreign.entry", "foreign.entry", "foreign.entry"}, false},
	}
)

func rulesOf(report *verify.Report) (names []string) {
	for _, f := range report.Findings {
		names = append(names, f.Rule)
	}
	slices.Sort(names)
	return names
}

// TestEachFaultIsFoundAndMended breaks one thing at a time. The ledger of an embedded store is not accessible
// to a command.
func TestEachFaultIsFoundAndMended(t *testing.T) {
	t.Parallel()
	redistest.OnRedis(t, func(t *testing.T, server *redistest.Server) {
		if server.Embedded() {
			return
		}
		w := newWorld(t, server)
		w.fill()
		found := map[string]bool{}
		restore := w.keep()
		for _, one := range faults {
			t.Run(one.name, func(t *testing.T) {
				restore()
				require.NoError(t, one.breaks(w).Err())
				broken := w.dump()
				report := w.verify(false)
				require.Equal(t, one.finds, rulesOf(report), "%+v", report.Findings)
				require.False(t, report.Clean())
				require.Equal(t, broken, w.dump(), "it was looked at, and nothing was written")

				mended := w.verify(true)
				require.Equal(t, !one.stays, mended.Clean(), "%+v", mended.Findings)
				for _, f := range mended.Findings {
					require.Equal(t, f.Mend != "", f.Mended, "%+v", f)
					found[f.Rule] = true
				}
				after := w.verify(false)
				require.Equal(t, !one.stays, after.Clean(), "%+v", after.Findings)
			})
		}
		for _, rule := range verify.Rules() {
			require.True(t, found[rule.Name] || t.Failed(), "%s is broken by no test", rule.Name)
		}
	})
}
