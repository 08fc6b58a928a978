package trigger_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/enginetest"
	"earshot/deploy/testbed/redistest"
	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/repositories/parameters"
	"earshot/trigger"
	"earshot/trigger/explain"
	"earshot/trigger/ledger"
	"earshot/trigger/query"
)

const monday = `book {"day":"monday","number":9007199254740993}`

// draft posts a draft of message m1 in session s1.
func (w *world) draft(engine *trigger.Engine, text string) (query.Answer, error) {
	return w.draftAs(engine, nil, text)
}

func (w *world) draftAs(engine *trigger.Engine, claims parameters.Claims, text string) (query.Answer, error) {
	return enginetest.AnswerOf(engine.Draft(w.T.Context(), trigger.Message{AppID: "clinic", SessionID: "s1", ID: "m1", Actor: matcher.ActorUser, Text: text, Claims: claims}))
}

func (w *world) commit(engine *trigger.Engine) (query.Answer, error) {
	return enginetest.AnswerOf(engine.CommitDraft(w.T.Context(), "clinic", "s1", "m1"))
}

// drafted posts a draft in session s1, which is matched.
func (w *world) drafted(engine *trigger.Engine, id, text string) query.Answer {
	w.T.Helper()
	message := trigger.Message{AppID: "clinic", SessionID: "s1", ID: id, Actor: matcher.ActorUser, Text: text}
	return testbed.Got(enginetest.AnswerOf(engine.Draft(w.T.Context(), message)))(w.T)
}

// committed commits a draft of session s1, which is decided.
func (w *world) committed(engine *trigger.Engine, id string) query.Answer {
	w.T.Helper()
	return testbed.Got(enginetest.AnswerOf(engine.CommitDraft(w.T.Context(), "clinic", "s1", id)))(w.T)
}

func TestADraftFiresNothingAndItsCommitAsksNoModel(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Unhurried() // a renewal of a lease is a trip as well
		w.Put("s1", "booking", booking)
		_, other := w.Replica()
		_, err := w.TrySay("m0", monday) // the scripts are loaded now, and the app is cached
		require.NoError(t, err)
		w.Flushed()
		w.Rest()
		events, requests := len(w.Events.Subjects()), w.Matcher.Requests()

		drafted := w.drafted(other, "m1", monday)
		require.Len(t, drafted.Matches, 1)
		match := drafted.Matches[0]
		require.Equal(t, []string{"draft", "draft", "draft", "draft"}, []string{match.State, match.Event.State, match.Emitter.State, match.Call.State})
		require.Equal(t, requests+1, w.Matcher.Requests())
		w.Rest()
		require.Len(t, w.Events.Subjects(), events, "no event")
		require.Len(t, w.History("s1"), 1, "it is in no history")

		answer := w.committed(w.Engine, "m1")
		require.Equal(t, requests+1, w.Matcher.Requests(), "no model is asked")
		require.Equal(t, match.TriggerID, answer.Matches[0].TriggerID)
		require.Equal(t, query.StateDelivered, answer.Matches[0].State)
		require.Equal(t, "published", answer.Matches[0].Event.State)
		record := w.Trigger(match.TriggerID)
		require.Contains(t, asJSON(t, record), `"number":9007199254740993`)
		w.Rest()
		require.Len(t, w.Events.Subjects(), events+3, "event, emitter and result")

		again := w.committed(other, "m1")
		require.Equal(t, answer, again)
		posted := w.Say("m1", monday)
		require.Equal(t, answer, posted)

		least := int64(math.MaxInt64)
		for i := 0; i < 20 && least > 3+1; i++ { // on a busy machine what settles is written in parts
			least = min(least, w.tripsOfCommit(other, fmt.Sprint("d", i)))
		}
		require.LessOrEqual(t, least, int64(3+1), "as any message, and one trip of settled")
	})
}

// tripsOfCommit has a replica draft a message, and counts the round trips of the first replica when that is committed.
func (w *world) tripsOfCommit(drafts *trigger.Engine, id string) int64 {
	w.T.Helper()
	w.drafted(drafts, id, monday)
	w.Rest()
	trips := w.Trips.Made()
	w.committed(w.Engine, id)
	w.Flushed()
	defer w.Rest()
	return w.Trips.Made() - trips
}

// TestACommittedDraftIsExplainedAsAnyMessage compares its explanation with that of a posted message.
func TestACommittedDraftIsExplainedAsAnyMessage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "booking", booking)
		for _, text := range []string{monday, "book", "nothing that is known"} {
			w.drafted(w.Engine, "m1", text)
			before := testbed.Got(w.Keeper.ExplainDraft(t.Context(), "clinic", "s1", "m1"))(t)
			w.committed(w.Keeper, "m1")
			_, err := w.SayOn(w.Engine, "s1", "m2", text)
			require.NoError(t, err)
			drafted, posted := w.explained("m1"), w.explained("m2")
			require.True(t, drafted.Time.After(before.Time) || drafted.Time.Equal(before.Time))
			require.Equal(t, plain(posted), plain(drafted))
			require.Equal(t, plain(before), plain(drafted))
			w.Close()
			w.Put("s1", "booking", booking)
		}
	})
}

func (w *world) explained(id string) explain.Explanation {
	found := testbed.Got(w.Engine.Explain(w.T.Context(), "clinic", "s1", id))(w.T)
	return found
}

// plain returns an explanation without the parts that always differ between messages.
func plain(e explain.Explanation) explain.Explanation {
	e.MessageID, e.Time = "", time.Time{}
	e.Calls = slices.Clone(e.Calls)
	for i := range e.Calls {
		e.Calls[i].TriggerID = ""
	}
	return e
}

func TestTheSameTextAsAMessageDecidesItsDraft(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "booking", booking)
		w.drafted(w.Engine, "m1", monday)
		answer := testbed.Got(w.SayOn(w.Keeper, "s1", "m1", monday))(t)
		require.Len(t, answer.Matches, 1)
		require.Equal(t, 1, w.Matcher.Requests())
		_, err := w.draft(w.Engine, monday)
		posted := &trigger.PostedError{}
		require.ErrorAs(t, err, &posted, "it is a message now")
	})
}

func TestAnotherTextAsAMessageIsMatched(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "booking", booking)
		w.drafted(w.Engine, "m1", monday)
		answer := testbed.Got(w.SayOn(w.Keeper, "s1", "m1", `book {"day":"tuesday"}`))(t)
		require.Equal(t, "tuesday", answer.Matches[0].Values["day"])
		require.Equal(t, 2, w.Matcher.Requests())
		require.Zero(t, w.Server.Client().Exists(t.Context(), keyspace.KeysOf("clinic").Draft("s1", "m1")).Val())
	})
}

// hanging blocks matches until they are released or their context ends.
type hanging struct {
	begun chan struct{}
	ended chan error // of their contexts
	let   chan struct{}
}

func (w *world) hang() *hanging {
	h := &hanging{make(chan struct{}, 100), make(chan error, 100), make(chan struct{})}
	w.Matcher.Intercept(func(ctx context.Context, _ matcher.Request) error {
		h.begun <- struct{}{}
		select {
		case <-h.let:
			return nil
		case <-ctx.Done():
			h.ended <- context.Cause(ctx)
			return ctx.Err()
		}
	})
	return h
}

// background runs work, and returns a function that waits for it.
func background(work func() (query.Answer, error)) func() (query.Answer, error) {
	var answer query.Answer
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		answer, err = work()
	}()
	return func() (query.Answer, error) {
		<-done
		return answer, err
	}
}

// TestTheNewestDraftWins has the request to the model cancelled by a newer text, a message of
// another text and a retraction, on the same replica and on another one.
func TestTheNewestDraftWins(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "booking", booking)
		for by, supersede := range map[string]func(engine *trigger.Engine) error{
			"draft": func(engine *trigger.Engine) error {
				_, err := w.draft(engine, `book {"day":"tuesday"}`)
				return err
			},
			"message": func(engine *trigger.Engine) error {
				_, err := w.SayOn(engine, "s1", "m1", `book {"day":"tuesday"}`)
				return err
			},
			"retraction": func(engine *trigger.Engine) error { return engine.WithdrawDraft(t.Context(), "clinic", "s1", "m1") },
		} {
			for _, engine := range []*trigger.Engine{w.Engine, w.Keeper} {
				h := w.hang()
				first := background(func() (query.Answer, error) { return w.draft(w.Engine, monday) })
				<-h.begun
				w.Matcher.Intercept(nil)
				require.NoError(t, supersede(engine), by)
				require.ErrorIs(t, <-h.ended, trigger.ErrSuperseded, by)
				_, err := first()
				require.ErrorIs(t, err, trigger.ErrSuperseded, by)
				w.Close()
				w.Put("s1", "booking", booking)
			}
		}
	})
}

func TestTheSameDraftWaitsForItsMatchAndThenHasItsAnswer(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Unhurried()
		_, other := w.Replica()
		w.Put("s1", "booking", booking)
		h := w.hang()
		var waiting []func() (query.Answer, error)
		for _, engine := range []*trigger.Engine{w.Engine, w.Engine, other} {
			waiting = append(waiting, background(func() (query.Answer, error) { return w.draft(engine, monday) }))
		}
		<-h.begun
		close(h.let)
		first := w.drafted(other, "m1", monday)
		for _, wait := range waiting {
			answer := testbed.Got(wait())(t)
			require.Equal(t, first, answer)
		}
		require.Equal(t, 1, w.Matcher.Requests())
	})
}

func TestACommitWaitsForTheMatchInProgress(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Unhurried()
		_, other := w.Replica()
		w.Put("s1", "booking", booking)
		for _, engine := range []*trigger.Engine{w.Engine, other} {
			h, requests := w.hang(), w.Matcher.Requests()
			draft := background(func() (query.Answer, error) { return w.draft(w.Engine, monday) })
			<-h.begun
			commit := background(func() (query.Answer, error) { return w.commit(engine) })
			w.Until("it is accepted", func() bool { return len(w.History("s1")) == 1 })
			close(h.let)
			answer := testbed.Got(commit())(t)
			require.Len(t, answer.Matches, 1)
			require.Equal(t, requests+1, w.Matcher.Requests())
			_, err := draft()
			require.NoError(t, err)
			w.Close()
			w.Put("s1", "booking", booking)
		}
	})
}

// TestInterimTranscriptsAndACommitFireOnce sends a growing transcript, word by word, to three replicas, without
// waiting for the answers.
func TestInterimTranscriptsAndACommitFireOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Unhurried()
		engines := []*trigger.Engine{w.Engine}
		for range 2 {
			_, engine := w.Replica()
			engines = append(engines, engine)
		}
		w.Put("s1", "booking", booking)
		var group sync.WaitGroup
		var superseded int
		var mu sync.Mutex
		for i := range 50 {
			group.Go(func() {
				_, err := w.draft(engines[i%3], fmt.Sprintf(`book {"day":"day %d"}`, i))
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					require.ErrorIs(t, err, trigger.ErrSuperseded)
					superseded++
				}
			})
		}
		group.Wait()
		require.Less(t, superseded, 50, "the newest is matched")
		w.drafted(engines[0], "m1", monday)
		requests := w.Matcher.Requests()
		answers := make([]query.Answer, 6)
		for i := range answers {
			group.Go(func() {
				answer := w.committed(engines[i%3], "m1")
				answers[i] = answer
			})
		}
		group.Wait()
		w.Rest()
		for _, answer := range answers {
			require.Equal(t, "monday", answer.Matches[0].Values["day"])
			require.Equal(t, answers[0].Matches[0].TriggerID, answer.Matches[0].TriggerID)
		}
		require.Equal(t, requests, w.Matcher.Requests())
		require.Len(t, w.Events.Payloads("tool.trigger.clinic.s1.book"), 1)
	})
}

func TestADraftIsMatchedAgainAfterAChangeOfItsTools(t *testing.T) {
	const other = `{"tools":[{"name":"other","description":"something else"}]}`
	each(t, func(t *testing.T, w *world) {
		w.Put("", "other", `{"tools":[{"name":"other"}]}`)
		for _, test := range []struct {
			name, said string
			change     func()
			again      bool
			fires      []string
		}{
			{"nothing", monday, func() {}, false, []string{"book"}},
			{"a tool that is not called for", monday, func() { w.Put("", "other", other) }, false, []string{"book"}},
			{"one that is new", monday, func() { w.Put("s1", "new", `{"tools":[{"name":"new"}]}`) }, false, []string{"book"}},
			{"one that is new, and nothing matched", "new", func() { w.Put("s1", "new", `{"tools":[{"name":"new"}]}`) }, true, []string{"new"}},
			{"it is changed", monday, func() { w.Put("s1", "booking", strings.Replace(booking, `"A"`, `"B"`, 1)) }, true, []string{"book"}},
			{"it is gone", "other; " + monday, func() { require.NoError(t, w.Store.DeleteRepository(t.Context(), session("s1"), "booking")) }, true, []string{"other"}},
			{"the user is elsewhere", monday, func() { w.App("clinic", `{"settings":{"timeZone":"Asia/Tokyo"}}`) }, true, []string{"book"}},
			{"and speaks otherwise", monday, func() { w.App("clinic", `{"settings":{"timeZone":"Asia/Tokyo","language":"ja"}}`) }, true, []string{"book"}},
			{"it is hidden", monday, func() {
				w.Put("s1", "a", `{"options":{"exclusive":true},"tools":[{"name":"book","description":"another"}]}`)
			}, true, []string{"book"}},
		} {
			w.Put("s1", "booking", booking)
			w.drafted(w.Engine, "m1", test.said)
			requests := w.Matcher.Requests()
			test.change()
			answer, err := w.commit(w.Keeper)
			require.NoError(t, err, test.name)
			require.Equal(t, test.again, w.Matcher.Requests() > requests, test.name)
			var fired []string
			for _, match := range answer.Matches {
				fired = append(fired, match.Name)
				if test.name == "it is changed" {
					require.Equal(t, "B", match.Values["desk"])
				}
			}
			require.Equal(t, test.fires, fired, test.name)
			why := w.explained("m1")
			require.Equal(t, len(test.fires) > 0, strings.HasPrefix(why.Why, "Fired "), why.Why)
			w.Close()
		}
	})
}

// TestATriggerOnceRepositoryFiresForOneOfManyDrafts has them decided at once.
func TestATriggerOnceRepositoryFiresForOneOfManyDrafts(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("", "once", `{"options":{"triggerOnce":true},"tools":[{"name":"once"}]}`)
		ids := []string{"d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8"}
		for _, id := range ids {
			w.drafted(w.Engine, id, "once")
		}
		var group sync.WaitGroup
		fired := make([]int, len(ids))
		for i, id := range ids {
			group.Go(func() {
				answer := w.committed([]*trigger.Engine{w.Engine, w.Keeper}[i%2], id)
				fired[i] = len(answer.Matches)
			})
		}
		group.Wait()
		slices.Sort(fired)
		require.Equal(t, []int{0, 0, 0, 0, 0, 0, 0, 1}, fired)
		w.Rest()
	})
}

func TestADraftExpiresWithinAMinute(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "booking", booking)
		client, key := w.Server.Client(), keyspace.KeysOf("clinic").Draft("s1", "m1")
		w.drafted(w.Engine, "m1", monday)
		left := client.PTTL(t.Context(), key).Val()
		require.Greater(t, left, 30*time.Second)
		require.LessOrEqual(t, left, time.Minute)
		require.NoError(t, client.PExpire(t.Context(), key, time.Millisecond).Err())
		w.Until("it is gone", func() bool { return client.Exists(t.Context(), key).Val() == 0 })
		_, err := w.commit(w.Engine)
		require.ErrorIs(t, err, trigger.ErrNoDraft)
		require.ErrorIs(t, w.Engine.CommitDraftAsync(t.Context(), "clinic", "s1", "m1"), trigger.ErrNoDraft)
		require.ErrorIs(t, w.Engine.WithdrawDraft(t.Context(), "clinic", "s1", "m1"), trigger.ErrNoDraft)
		_, err = w.Engine.CommitDraft(t.Context(), "nobody", "s1", "m1")
		require.ErrorIs(t, err, repositories.ErrNotFound)
		require.Empty(t, w.History("s1"))
	})
}

func TestADraftIsTakenBack(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "booking", booking)
		w.drafted(w.Engine, "m1", monday)
		require.NoError(t, w.Keeper.WithdrawDraft(t.Context(), "clinic", "s1", "m1"))
		_, err := w.commit(w.Engine)
		require.ErrorIs(t, err, trigger.ErrNoDraft)
		require.ErrorIs(t, w.Keeper.WithdrawDraft(t.Context(), "clinic", "s1", "m1"), trigger.ErrNoDraft)

		_, err = w.draft(w.Engine, monday)
		require.NoError(t, err, "it may be said again")
		answer := w.committed(w.Engine, "m1")
		posted := &trigger.PostedError{}
		require.ErrorAs(t, w.Keeper.WithdrawDraft(t.Context(), "clinic", "s1", "m1"), &posted)
		require.Equal(t, "decided", posted.State)
		require.Equal(t, answer.Matches[0].TriggerID, posted.Triggers[0].TriggerID)
	})
}

func TestADraftThatTheModelDidNotMatchIsMatchedWhenItIsDecided(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "booking", booking)
		w.Matcher.Intercept(func(context.Context, matcher.Request) error { return &matcher.Unavailable{Reason: "it answered 500"} })
		_, err := w.draft(w.Engine, monday)
		require.ErrorContains(t, err, "it answered 500")
		_, err = w.commit(w.Engine)
		require.ErrorContains(t, err, "it answered 500")
		require.Equal(t, "failed", w.History("s1")[0].State)
		w.Matcher.Intercept(nil)
		answer := w.committed(w.Engine, "m1")
		require.Len(t, answer.Matches, 1)
	})
}

// TestATurnOfADraftIsResumedByItsMatch accepts a draft like a process that then dies.
func TestATurnOfADraftIsResumedByItsMatch(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "booking", booking)
		w.drafted(w.Engine, "m1", monday)
		db := &keyspace.DB{UniversalClient: w.Server.Client(), Embedded: w.Server.Embedded()}
		found, err := ledger.New(db).Accept(t.Context(), ledger.Acceptance{
			Turn: ledger.Turn{App: "clinic", Session: "s1", Message: "m1"}, Token: "dead", Lease: time.Millisecond,
			OfDraft: true, SessionTTL: time.Hour, GenerationTTL: time.Hour, Messages: 10,
		})
		require.NoError(t, err)
		require.Equal(t, ledger.Taken, found.Status)
		w.Until("a worker goes on", func() bool { return w.History("s1")[0].State == "decided" })
		w.Rest()
		require.Len(t, w.Events.Payloads("tool.trigger.clinic.s1.book"), 1)
		require.Equal(t, 1, w.Matcher.Requests())
	})
}

func TestADraftEndsWithTheGenerationOfItsSession(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("", "all", `{"tools":[{"name":"greet"}]}`)
		w.drafted(w.Engine, "m1", "greet")
		w.Close()
		_, err := w.commit(w.Engine)
		require.ErrorIs(t, err, trigger.ErrNoDraft)
		require.ErrorIs(t, w.Engine.WithdrawDraft(t.Context(), "clinic", "s1", "m1"), trigger.ErrNoDraft)
		w.drafted(w.Engine, "m1", "greet")
		require.Equal(t, 2, w.Matcher.Requests())
	})
}

// TestADraftIsGoodForItsUserAlone commits by the user's own word, and by another's message.
func TestADraftIsGoodForItsUserAlone(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.App("clinic", staffApp)
		w.Put("", "staff", staff)
		leave := `leave {"day":"monday"}`
		_, err := w.draftAs(w.Engine, anna(), leave)
		require.NoError(t, err)
		answer := w.committed(w.Keeper, "m1")
		require.Equal(t, "anna@example.org", answer.Matches[0].Values["who"])
		left := w.Server.Client().HKeys(t.Context(), keyspace.KeysOf("clinic").Draft("s1", "m1")).Val()
		require.Subset(t, left, []string{"kept", "explained"})
		require.NotContains(t, left, "verified", "what is verified of the user goes with the message")
		require.Equal(t, 1, w.Matcher.Requests())

		w.Close()
		_, err = w.draftAs(w.Engine, anna(), leave)
		require.NoError(t, err)
		answer = testbed.Got(w.sayAs(nil, "m1", leave))(t)
		require.Empty(t, answer.Matches)
		require.Equal(t, 3, w.Matcher.Requests())
	})
}

func TestDraftsOverTheLimitAreRefused(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.App("clinic", `{"settings":{"limits":{"sessionDraftsPerMinute":2,"sessionMessagesPerMinute":1}}}`)
		for _, text := range []string{"one", "one", "two"} {
			w.drafted(w.Engine, "m1", text)
		}
		_, err := w.draft(w.Engine, "three")
		limited := &ledger.RateError{}
		require.ErrorAs(t, err, &limited)
		require.Equal(t, "sessionDraftsPerMinute 2", fmt.Sprint(limited.Limit, " ", limited.Most))
		_, err = w.commit(w.Engine)
		require.NoError(t, err, "drafts are no messages, and one that is refused replaces none")
		require.Equal(t, "two", w.History("s1")[0].Text)

		w.App("clinic", "{}")
		require.NoError(t, w.Server.Client().HSet(t.Context(), keyspace.KeysOf("clinic").App(), "limits", "0 0 0 0 0 0").Err())
		_, err = enginetest.AnswerOf(w.Engine.Draft(t.Context(), trigger.Message{AppID: "clinic", SessionID: "s2", Actor: "user", Text: "hello"}))
		require.NoError(t, err, "an app that an older version wrote has no number for them")
	})
}

func TestAnAsynchronousCommitIsDecidedInTheBackground(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "booking", booking)
		w.drafted(w.Engine, "m1", monday)
		require.NoError(t, w.Engine.CommitDraftAsync(t.Context(), "clinic", "s1", "m1"))
		w.Until("it fires", func() bool { return len(w.Events.Payloads("tool.trigger.clinic.s1.book")) == 1 })
		w.Rest()
		require.Equal(t, 1, w.Matcher.Requests())
	})
}

// TestADraftIsNotTheNextMessage has held tools and an unfinished message.
func TestADraftIsNotTheNextMessage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "shop", shop)
		w.Put("", "greetings", `{"tools":[{"name":"greet"}]}`)
		lamp := w.One("l1", "lamp")
		w.drafted(w.Engine, "m1", "greet")
		require.Equal(t, query.StatePending, w.Trigger(lamp.TriggerID).State, "it settles")
		w.committed(w.Engine, "m1")
		w.UntilState(lamp.TriggerID, query.StateCancelled)
		w.Rest()
	})
}

func TestADraftOfAHeldToolIsHeldWhenItIsDecided(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "shop", shop)
		for said, want := range map[string]string{`refund {"order":"A1"}`: query.StateConfirming, "mail": query.StatePending, `order {"id":"7"}`: query.StateDuplicate} {
			if want == query.StateDuplicate {
				w.One("first", said)
			}
			requests := w.Matcher.Requests()
			id := want + "1"
			drafted := w.drafted(w.Engine, id, said)
			match := drafted.Matches[0]
			require.Equal(t, []string{"draft", "draft"}, []string{match.State, match.Event.State})
			require.Empty(t, match.Digest+match.Of)
			require.True(t, match.DueAt == nil && match.ExpiresAt == nil)
			decided := w.committed(w.Keeper, id)
			require.Equal(t, match.TriggerID, decided.Matches[0].TriggerID)
			require.Equal(t, want, decided.Matches[0].State)
			require.Equal(t, want == query.StateConfirming, decided.Matches[0].Digest != "")
			require.Equal(t, requests+1, w.Matcher.Requests())
		}
	})
}

// TestADraftOfAYesIsNoYesYet has the question answered elsewhere the second time.
func TestADraftOfAYesIsNoYesYet(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "shop", shop)
		for _, id := range []string{"q1", "q2"} {
			asked := w.One(id, `refund {"order":"`+id+`"}`)
			requests := w.Matcher.Requests()
			drafted := w.drafted(w.Engine, "yes-"+id, "yes")
			require.Equal(t, []string{asked.TriggerID, "draft"}, []string{drafted.Matches[0].TriggerID, drafted.Matches[0].State})
			require.Equal(t, query.StateConfirming, w.Trigger(asked.TriggerID).State)
			require.Equal(t, requests, w.Matcher.Requests(), "no model is asked")
			if id == "q2" {
				_, err := w.Engine.Deny(t.Context(), "clinic", asked.TriggerID, "", "key-1")
				require.NoError(t, err)
			}
			decided := w.committed(w.Keeper, "yes-"+id)
			if id == "q2" {
				require.Empty(t, decided.Matches, "it is a message like any other")
				require.Equal(t, requests+1, w.Matcher.Requests())
				continue
			}
			require.Equal(t, asked.TriggerID, decided.Matches[0].TriggerID)
			require.Equal(t, query.StateDelivered, decided.Matches[0].State)
			require.Equal(t, requests, w.Matcher.Requests())
			require.Equal(t, query.StateDelivered, w.Trigger(asked.TriggerID).State)
		}
		w.Rest()
	})
}

func TestTheYesOfADraftAnswersNoLaterQuestion(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "shop", shop)
		earlier := w.One("q1", `refund {"order":"A1"}`)
		for _, id := range []string{"yes-1", "yes-2"} {
			waiting := 1
			if id == "yes-2" { // nothing is asked
				waiting = 0
				_, err := w.Engine.Deny(t.Context(), "clinic", earlier.TriggerID, "", "key-1")
				require.NoError(t, err)
			}
			drafted := w.drafted(w.Engine, id, "yes")
			require.Len(t, drafted.Matches, waiting)
			later := w.One("q-"+id, `refund {"order":"`+id+`"}`)
			decided := w.committed(w.Keeper, id)
			require.Empty(t, decided.Matches)
			require.Equal(t, query.StateConfirming, w.Trigger(later.TriggerID).State)
			w.Say("again-"+id, "yes")
			require.Equal(t, query.StateDelivered, w.Trigger(later.TriggerID).State, "the user has read that one")
		}
		w.Rest()
	})
}

func TestAPanicReleasesADraft(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Unhurried()
		w.Matcher.Intercept(func(context.Context, matcher.Request) error { panic(errors.New("oops")) })
		_, err := w.draft(w.Engine, "hello")
		require.ErrorContains(t, err, "failed inside Earshot")
		w.Matcher.Intercept(nil)
		w.drafted(w.Engine, "m1", "hello")
	})
}

// BenchmarkDecision measures the decision of a draft without the publish, which takes no time here, and that of
// a message whose model takes no time.
func BenchmarkDecision(b *testing.B) {
	for of, prepared := range map[string]bool{"message": false, "draft": true} {
		b.Run(of, func(b *testing.B) { decideAll(b, prepared) })
	}
}

func decideAll(b *testing.B, prepared bool) {
	w := newWorld(b, redistest.Run(b))
	w.App("clinic", `{"settings":{"limits":null}}`)
	w.Put("", "r", `{"tools":[{"name":"greet"}]}`)
	took := make([]time.Duration, b.N)
	for i := range took {
		m := trigger.Message{AppID: "clinic", SessionID: fmt.Sprint("s", i%100), ID: fmt.Sprint("d", i), Actor: matcher.ActorUser, Text: "greet"}
		if prepared {
			_, err := w.Engine.Draft(b.Context(), m)
			require.NoError(b, err)
		}
		begun := time.Now()
		_, err := w.Engine.Post(b.Context(), m)
		took[i] = time.Since(begun)
		require.NoError(b, err)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}
