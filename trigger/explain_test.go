package trigger_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
	"earshot/trigger"
	"earshot/trigger/explain"
	"earshot/trigger/query"
)

// why returns the explanation of a message as another replica reads it.
func (w *world) why(id string) explain.Explanation {
	w.T.Helper()
	found := testbed.Got(w.Keeper.Explain(w.T.Context(), "clinic", "s1", id))(w.T)
	return found
}

// verdicts returns the verdicts on calls by name, each with its reason.
func verdicts(e explain.Explanation) map[string]string {
	of := map[string]string{}
	for _, call := range e.Calls {
		of[call.Name] = call.Verdict + ": " + call.Why
	}
	return of
}

func TestEveryVerdictSaysWhy(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("", "plain", `{"tools":[{"name":"a"},{"name":"lacks","schema":[{"parameter":"day","type":"string","required":true}]}]}`)
		w.Put("s1", "one", `{"options":{"triggerOnce":true},"tools":[{"name":"b"},{"name":"c"}]}`)
		w.Put("s1", "only", `{"options":{"exclusive":true},"tools":[{"name":"d"}]}`)
		w.Put("", "asking", `{"tools":[{"name":"refund","confirm":"always"},{"name":"pay","dedupe":{"within":"10m","scope":"session"}}]}`)
		for _, say := range []struct {
			text, why string
			verdicts  map[string]string
		}{
			{"refund", "Fired asking/refund (waits for a yes).", map[string]string{"refund": "fired: The model called it"}},
			{"pay", "Fired asking/pay.", map[string]string{"pay": "fired: "}},
			{"pay", "Fired asking/pay (a duplicate: nothing is done again).", map[string]string{"pay": "fired: "}},
			{"a; lacks", "Fired plain/a; rejected plain/lacks for its values.", map[string]string{"a": "fired: The model called it", "lacks": "rejected: Its values are not valid: day is required."}},
			{"a; d", "Fired only/d.", map[string]string{"a": "dropped: Repository only is exclusive", "d": "fired: "}},
			{"b; c", "Fired one/b.", map[string]string{"b": "fired: ", "c": "dropped: Repository one fires once, and its tool b came first."}},
			{"lacks", "Nothing fired: plain/lacks was called for, and its values are not valid.", map[string]string{"lacks": "rejected: "}},
			{"hello", "Nothing fired: no tool was called for.", map[string]string{}},
		} {
			answer := w.Say("", say.text)
			found := w.why(answer.MessageID)
			require.Equal(t, say.why, found.Why)
			require.Equal(t, "llm", found.Stage)
			got := verdicts(found)
			require.Len(t, got, len(say.verdicts))
			for name, begins := range say.verdicts {
				require.True(t, strings.HasPrefix(got[name], begins), got[name])
			}
		}
	})
}

func TestACatchAllAndAnEmptyScopeAreExplained(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		answer := w.Say("", "hello")
		require.Equal(t, "Nothing fired: no tool is in scope.", w.why(answer.MessageID).Why)
		w.Put("", "all", `{"tools":[{"name":"collect-user-message"},{"name":"a"}]}`)
		answer = w.Say("", "hello")
		found := w.why(answer.MessageID)
		require.Equal(t, "Fired all/collect-user-message.", found.Why)
		require.Equal(t, "all", found.Calls[0].RepositoryID)
		require.Equal(t, answer.Matches[0].TriggerID, found.Calls[0].TriggerID)
		require.Equal(t, []string{"a", "collect-user-message"}, []string{found.Candidates[0].Name, found.Candidates[1].Name})
		require.True(t, found.Candidates[1].Cut)
	})
}

// TestAnUnmatchedMessageExplainsTheDecider: what its chat's model calls is fired after the decision, if at all.
func TestAnUnmatchedMessageExplainsTheDecider(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		log := &testbed.Lines{}
		w.Put("", "r", `{"tools":[{"name":"a"},{"name":"b"}]}`)
		w.Log = slog.New(slog.NewTextHandler(log, nil))
		_, w.Engine = w.Replica()
		_, err := w.Engine.Post(t.Context(), trigger.Message{AppID: "clinic", SessionID: "s1", ID: "m1", Actor: matcher.ActorUser, Text: "a; b", CallerFires: true})
		require.NoError(t, err)
		const offered = "Nothing is matched: the model of the chat is offered the tools in scope, and calls them itself."
		require.Equal(t, offered, w.why("m1").Why)
		require.Contains(t, log.String(), "outcome=acted")
		require.Empty(t, w.Matcher.Asked)
		for _, name := range []string{"a", "b"} {
			w.Fire(trigger.Direct{SessionID: "s1", Name: name, Source: query.SourceMessage, TriggerID: "t-" + name, MessageID: "m1", Text: "a; b"})
		}
		w.Fire(trigger.Direct{SessionID: "s1", Name: "a", Source: query.SourceMessage, TriggerID: "t-a", MessageID: "m1", Text: "a; b"})
		w.Fire(trigger.Direct{SessionID: "s1", Name: "a", Source: query.SourceMessage, MessageID: "unknown"})
		require.Equal(t, offered+" The model called r/a, r/b.", w.why("m1").Why)
		entry := testbed.Got(w.Keeper.Message(t.Context(), "clinic", "s1", "m1"))(t)
		require.Len(t, entry.Matches, 2)
		require.Equal(t, []string{"t-a a delivered", "t-b b delivered"}, []string{
			entry.Matches[0].TriggerID + " " + entry.Matches[0].Name + " " + entry.Matches[0].State, entry.Matches[1].TriggerID + " " + entry.Matches[1].Name + " " + entry.Matches[1].State,
		})
	})
}

func TestAToolRemovedDuringTheMatchIsExplained(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("", "one", `{"options":{"triggerOnce":true},"tools":[{"name":"b"}]}`)
		w.Put("", "plain", `{"tools":[{"name":"a"},{"name":"c"}]}`)
		w.Matcher.Intercept(func(context.Context, matcher.Request) error {
			w.Matcher.Intercept(nil)
			_, err := w.TryFire(trigger.Direct{Name: "b", Source: "ui"})
			w.Register(session(""), "plain", `{"tools":[{"name":"a","description":"other"},{"name":"c"}]}`)
			return err
		})
		answer := w.Say("", "a; b; c")
		require.Len(t, answer.Matches, 1)
		got := verdicts(w.why(answer.MessageID))
		require.Contains(t, got["a"], "dropped: The tool was changed or removed while")
		require.Contains(t, got["b"], "dropped: Repository one fires once, and was taken")
		require.Contains(t, got["c"], "fired")
	})
}

func TestToolsForOtherUsersAreExplained(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.App("clinic", staffApp)
		w.Put("s1", "staff", staff)
		_, err := w.sayAs(nil, "m1", "payroll")
		require.NoError(t, err)
		_, err = w.sayAs(map[string]map[string]any{"corp": {"sub": "x"}}, "m2", "payroll")
		require.NoError(t, err)
		none, some := w.why("m1"), w.why("m2")
		require.Equal(t, []string{"payroll", "leave"}, []string{none.NotInScope[0].Name, none.NotInScope[1].Name})
		require.Equal(t, explain.Unverified, none.NotInScope[0].Reason)
		require.Contains(t, none.NotInScope[0].Why, "corp_token")
		require.Equal(t, "leave", some.NotInScope[0].Name)
		require.Contains(t, some.NotInScope[0].Why, "address.mail")
	})
}

// TestACallOfAToolForOtherUsersSaysWhyItWasNotOffered: the model knows the name from elsewhere, and did not make it up.
func TestACallOfAToolForOtherUsersSaysWhyItWasNotOffered(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.App("clinic", staffApp)
		w.Put("s1", "staff", staff)
		w.Matcher.Intercept(func(ctx context.Context, _ matcher.Request) error {
			for _, name := range []string{"pay", "payroll"} {
				matcher.TraceOf(ctx).Add(matcher.Call{Name: name, Dropped: "No tool in scope has this name."})
			}
			return nil
		})
		_, err := w.sayAs(nil, "m1", "hello")
		require.NoError(t, err)
		found := w.why("m1")
		require.Equal(t, "dropped: No tool in scope has this name.", verdicts(found)["pay"])
		require.Contains(t, verdicts(found)["payroll"], `dropped: The model was not offered this tool: tool "payroll" requires a verified user`)
		require.Contains(t, found.Why, "Nothing fired: what was called for was dropped (The model was not offered this tool")
	})
}

func TestExplanationsGoWhenTheirTimeIsOver(t *testing.T) {
	keeping(t, store.Retention{Explain: time.Millisecond}, func(t *testing.T, w *world) {
		answer := w.Say("", "book")
		client, k := w.Server.Client(), keyspace.KeysOf("clinic")
		w.Until("nothing of it is left", func() bool { return client.Exists(t.Context(), k.Explained(), k.ExplainedParts()).Val() == 0 })
		_, err := w.Engine.Explain(t.Context(), "clinic", "s1", answer.MessageID)
		require.ErrorIs(t, err, query.ErrUnexplained)
		require.ErrorContains(t, err, "explanations are kept for 1ms")
		for field := range client.HGetAll(t.Context(), k.Turns("s1")).Val() {
			require.False(t, strings.HasPrefix(field, "e:"), field)
		}
	})
}

// TestAnExplanationHasTheWholeRequest: it is stored by reference to those before it, also of drafts and of other replicas.
func TestAnExplanationHasTheWholeRequest(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("", "plain", `{"tools":[{"name":"greet"}]}`)
		_, other := w.Replica()
		requests := map[string]string{}
		w.Matcher.Intercept(func(ctx context.Context, request matcher.Request) error {
			body := `{"messages":[`
			for _, said := range request.History {
				body += fmt.Sprintf(`{"role":"user","content":%q},`, said.Text)
			}
			body += fmt.Sprintf(`{"role":"user","content":%q}]}`, request.Text)
			requests[request.ID] = body
			matcher.TraceOf(ctx).Asked(matcher.Exchange{Request: []matcher.Piece{{Text: []byte(body)}}, Answer: []byte(`{}`)})
			return nil
		})
		client, k := w.Server.Client(), keyspace.KeysOf("clinic")
		for i := range 30 {
			id, text := fmt.Sprint("m", i), strings.Repeat(fmt.Sprintf("the %dth of my wishes, ", i*i), 8)
			switch i % 3 {
			case 0:
				w.Say(id, text)
			case 1:
				testbed.Got(w.SayOn(other, "s1", id, text))(t)
			default:
				w.drafted(w.Engine, id, text+"perhaps")
				w.drafted(other, id, text)
				w.committed(w.Engine, id)
			}
			require.Less(t, client.HStrLen(t.Context(), k.Turns("s1"), "e:"+id).Val(), int64(800), id)
		}
		for id, request := range requests {
			found := w.why(id)
			require.Empty(t, found.Cut, id)
			require.Equal(t, request, string(found.Requests[0].Request), id)
		}
	})
}

func TestAShareOfFiredMessagesIsExplained(t *testing.T) {
	keeping(t, store.Retention{Unexplained: 0.5}, func(t *testing.T, w *world) {
		w.Put("", "plain", `{"tools":[{"name":"greet"}]}`)
		unexplained := 0
		for i := range 40 {
			id := fmt.Sprint("m", i)
			w.Say(id, "greet")
			if _, err := w.Engine.Explain(t.Context(), "clinic", "s1", id); err != nil {
				require.ErrorIs(t, err, query.ErrUnexplained)
				require.ErrorContains(t, err, "for a share of 0.5 of the messages (EARSHOT_EXPLAIN_SHARE)")
				unexplained++
			}
		}
		require.InDelta(t, 20, unexplained, 15)
	})
}

func TestUnfiredAndRequestedMessagesAreExplained(t *testing.T) {
	keeping(t, store.Retention{Unexplained: 1}, func(t *testing.T, w *world) {
		w.Put("", "plain", `{"tools":[{"name":"greet"}]}`)
		w.Put("s1", "booking", booking)
		for id, text := range map[string]string{"m1": "what is the time?", "m2": "greet; book"} {
			w.Say(id, text)
			w.why(id)
		}
		_, err := w.Engine.Post(t.Context(), trigger.Message{AppID: "clinic", SessionID: "s1", ID: "m3", Text: "greet", Explain: true})
		require.NoError(t, err)
		w.why("m3")
		w.Say("m4", "greet")
		_, err = w.Engine.Explain(t.Context(), "clinic", "s1", "m4")
		require.ErrorIs(t, err, query.ErrUnexplained)
	})
}

func TestASessionTakesItsExplanationsAlongAndAnAppAllOfThem(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("", "plain", `{"tools":[{"name":"a"}]}`)
		for _, session := range []string{"s1", "s2"} {
			_, err := w.SayOn(w.Engine, session, "m1", "a")
			require.NoError(t, err)
		}
		client, k := w.Server.Client(), keyspace.KeysOf("clinic")
		w.Close()
		_, err := w.Engine.Explain(t.Context(), "clinic", "s1", "m1")
		require.ErrorIs(t, err, query.ErrNoMessage)
		for _, member := range client.ZRange(t.Context(), k.Explained(), 0, -1).Val() {
			require.NotContains(t, member, "clinic/s1/")
		}
		_, err = w.Keeper.Explain(t.Context(), "clinic", "s2", "m1")
		require.NoError(t, err)
		require.NoError(t, w.Store.DeleteApp(t.Context(), "clinic"))
		require.Zero(t, client.Exists(t.Context(), k.Explained(), k.ExplainedParts()).Val())
		_, err = w.Engine.Explain(t.Context(), "clinic", "s2", "m1")
		require.ErrorIs(t, err, repositories.ErrNotFound)

		w.App("clinic", "{}") // another of that name, of which nothing is written yet
		w.Put("", "plain", `{"tools":[{"name":"a"}]}`)
		w.Say("m1", "a")
		require.Equal(t, []explain.Candidate{{RepositoryID: "plain", Name: "a"}}, w.why("m1").Candidates)
	})
}

func TestAMessageOfAnOlderVersionIsNotExplained(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Say("m1", "hello")
		require.NoError(t, w.Server.Client().HDel(t.Context(), keyspace.KeysOf("clinic").Turns("s1"), "e:m1").Err())
		_, err := w.Engine.Explain(t.Context(), "clinic", "s1", "m1")
		require.ErrorIs(t, err, query.ErrUnexplained)
		require.ErrorContains(t, err, "explanations are kept for 24h0m0s")
	})
}

func TestAnExplanationSurvivesPartsThatRedisHasLost(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("", "plain", `{"tools":[{"name":"a"}]}`)
		w.Say("m1", "a")
		require.NoError(t, w.Server.Client().Del(t.Context(), keyspace.KeysOf("clinic").ExplainedParts()).Err())
		found := w.why("m1")
		require.Equal(t, []string{"candidates are lost"}, found.Cut)
		require.Equal(t, "fired", found.Calls[0].Verdict)
	})
}

func TestExplanationsAreSmallBesideTheirSharedParts(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var tools []string
		for i := range 300 {
			tools = append(tools, fmt.Sprintf(`{"name":"tool-%d","description":"does the %dth thing"}`, i, i))
		}
		w.Put("", "plain", `{"tools":[`+strings.Join(tools, ",")+`]}`)
		client, k := w.Server.Client(), keyspace.KeysOf("clinic")
		for i := range 3 {
			w.Say(fmt.Sprint("m", i), "tool-1")
			require.Less(t, client.HStrLen(t.Context(), k.Turns("s1"), fmt.Sprint("e:m", i)).Val(), int64(400))
		}
		require.EqualValues(t, 2, client.HLen(t.Context(), k.ExplainedParts()).Val(), "the tools of the repository, and the list of repositories")
		require.Len(t, w.why("m2").Candidates, 300)
	})
}
