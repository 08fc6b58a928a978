package scope_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/matcher"
	"earshot/repositories"
	"earshot/trigger"
)

func TestToolsOfOthersAreNotInScope(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.App("other", "{}")
		foreign := testbed.Got(repositories.DecodeRepository(repositories.Scope{AppID: "other"}, "r", []byte(`{"tools":[{"name":"foreign"}]}`)))(t)
		_, err := w.Store.PutRepository(t.Context(), foreign)
		require.NoError(t, err)
		w.Put("s2", "theirs", `{"tools":[{"name":"theirs"}]}`)
		w.Put("s1", "ours", `{"tools":[{"name":"ours"}]}`)
		w.Put("", "all", `{"tools":[{"name":"common"}]}`)

		answer := w.Say("", "foreign; theirs; common")
		require.Equal(t, []string{"common", "ours"}, w.Offered())
		require.Len(t, answer.Matches, 1)
		for _, name := range []string{"foreign", "theirs"} {
			_, err := w.TryFire(trigger.Direct{SessionID: "s1", Name: name, Source: "ui"})
			require.ErrorIs(t, err, trigger.ErrNotInScope, name)
		}
		_, err = w.TryFire(trigger.Direct{SessionID: "s1", Name: "theirs", RepositoryID: "theirs", Source: "ui"})
		require.ErrorIs(t, err, trigger.ErrNotInScope)
		_, err = w.TryFire(trigger.Direct{Name: "ours", Source: "ui"})
		require.ErrorIs(t, err, trigger.ErrNotInScope, "without a session there are the app's tools only")
	})
}

func TestSessionsToolShadowsTheAppsOfTheSameName(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("", "a", `{"tools":[{"name":"greet"}]}`)
		w.Put("s1", "b", `{"tools":[{"name":"greet"}]}`)
		answer := w.Say("", "greet")
		require.Len(t, answer.Matches, 1)
		require.Equal(t, "b", answer.Matches[0].RepositoryID)
		match := w.Fire(trigger.Direct{SessionID: "s1", Name: "greet", RepositoryID: "a", Source: "ui"})
		require.Equal(t, "a", match.RepositoryID, "a program may name the repository")
	})
}

func TestOfTwoToolsWithOneNameTheFirstCreatedWins(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const greet = `{"tools":[{"name":"greet"}]}`
		winner := func(want, why string) {
			t.Helper()
			answer := w.Say("", "greet")
			require.Len(t, answer.Matches, 1, why)
			require.Equal(t, want, answer.Matches[0].RepositoryID, why)
		}
		for _, of := range []string{"", "s1"} {
			for _, id := range []string{"second", "first"} { // by their ids
				w.Register(session(of), id, greet)
			}
			winner("second", "the alphabet says nothing")
			w.Register(session(of), "second", greet)
			winner("second", "a repository that is replaced keeps its place")
			w.Register(session(of), "first", `{"options":{"exclusive":true},"tools":[{"name":"greet"}]}`)
			winner("first", "an exclusive one comes first")
			w.Register(session(of), "first", greet)
			require.NoError(t, w.Store.DeleteRepository(t.Context(), session(of), "second"))
			w.Register(session(of), "second", greet)
			winner("first", "one that was deleted begins anew")
		}
	})
}

func TestOnlyExclusiveToolsFireWhereBothMatch(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("", "common", `{"tools":[{"name":"greet"}]}`)
		w.Put("s1", "quiz", `{"options":{"exclusive":true},"tools":[{"name":"answer"}]}`)
		answer := w.Say("", "greet; answer")
		require.Len(t, answer.Matches, 1)
		require.Equal(t, "answer", answer.Matches[0].Name)
		answer = w.Say("", "greet")
		require.Equal(t, "greet", answer.Matches[0].Name, "others fire where no exclusive one matches")
	})
}

func TestCatchAllTakesUnmatchedMessages(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "r", `{"tools":[{"name":"collect-user-message"},{"name":"greet"},{"name":"ask","schema":[{"parameter":"what","type":"string","required":true}]}]}`)
		answer := w.Say("", "what a day")
		require.Equal(t, []string{"ask", "greet"}, w.Offered(), "it is not offered to the matcher")
		require.Equal(t, "collect-user-message", answer.Matches[0].Name)
		require.EqualValues(t, map[string]any{"value": "what a day"}, answer.Matches[0].Values)

		answer = w.Say("", "greet")
		require.Len(t, answer.Matches, 1)
		require.Equal(t, "greet", answer.Matches[0].Name)

		answer = w.Say("", "ask")
		require.Empty(t, answer.Matches, "a rejected match is a match")
		require.NotContains(t, w.Events.Subjects(), "tool.notmatching.clinic.s1")
	})
}

func TestNotMatchingAndRejectedArePublished(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Say("", "hello")
		require.Empty(t, w.Events.Subjects(), "without tools in scope there is nothing to match")

		w.Put("s1", "booking", booking)
		w.Say("m2", "hello")
		unmatched := w.Events.Payloads("tool.notmatching.clinic.s1")
		require.Len(t, unmatched, 1)
		require.Equal(t, []any{"booking"}, unmatched[0]["repositories"])
		require.Equal(t, []any{"book"}, unmatched[0]["tools"])
		require.EqualValues(t, 1, unmatched[0]["toolsTotal"])

		answer := w.Say("m3", `book {"number":3}`)
		require.Empty(t, answer.Matches)
		require.Equal(t, []string{"day"}, answer.Rejected[0].Missing)
		rejected := w.Events.Payloads("tool.rejected.clinic.s1.book")
		require.Len(t, rejected, 1)
		require.Equal(t, []any{"day"}, rejected[0]["missing"])
		require.Equal(t, "booking", rejected[0]["repositoryId"])
		require.NotEmpty(t, rejected[0]["errors"])
		require.Len(t, w.Events.Payloads("tool.notmatching.clinic.s1"), 1)
	})
}

func TestNotMatchingNamesTheNearestTools(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.many(63)
		w.Put("", "garden", `{"tools":[{"name":"water-orchids","description":"Water the orchids"}]}`)
		w.byWords()
		unmatched := func(text string) (tools, repositories []any, total any) {
			before := w.Events.Payloads("tool.notmatching.clinic.s1")
			w.Say("", text)
			told := w.Events.Payloads("tool.notmatching.clinic.s1")
			require.Len(t, told, len(before)+1)
			last := told[len(told)-1]
			return last["tools"].([]any), last["repositories"].([]any), last["toolsTotal"]
		}
		tools, _, total := unmatched("the orchids were lovely")
		require.Len(t, tools, 64)
		require.Equal(t, "water-orchids", tools[63], "all are named, by their names")
		require.EqualValues(t, 64, total)

		w.many(100)
		tools, repositories, total := unmatched("the orchids were lovely")
		require.Len(t, tools, 64)
		require.Equal(t, []any{"water-orchids", "open-window-00000"}, tools[:2], "the nearest is the first")
		require.Equal(t, []any{"garden", "r00000"}, repositories)
		require.EqualValues(t, 101, total)

		_, err := w.Engine.Draft(t.Context(), trigger.Message{AppID: "clinic", SessionID: "s1", ID: "d1", Actor: matcher.ActorUser, Text: "the orchids were lovely"})
		require.NoError(t, err)
		_, err = w.Engine.CommitDraft(t.Context(), "clinic", "s1", "d1")
		require.NoError(t, err)
		told := w.Events.Payloads("tool.notmatching.clinic.s1")
		require.Equal(t, "d1", told[len(told)-1]["messageId"])
		require.Equal(t, "water-orchids", told[len(told)-1]["tools"].([]any)[0], "as its draft was matched")
	})
}

func TestToolsInScopeAreListedAsAModelSeesThem(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("", "a", `{"tools":[{"name":"greet","description":"of the app"},{"name":"collect-user-message"},{"name":"zeta"}]}`)
		w.Put("s1", "b", `{"tools":[{"name":"greet","description":"of the session","schema":[
			{"parameter":"who","type":"string","required":true},{"parameter":"desk","type":"string","value":"A","ignore":true}]}]}`)
		list := func(session, after string, limit int) (names []string, next string) {
			tools, next, err := w.Engine.Tools(t.Context(), "clinic", session, "", after, limit)
			require.NoError(t, err)
			for _, one := range tools {
				names = append(names, one.RepositoryID+"/"+one.Name)
			}
			return names, next
		}
		names, next := list("s1", "", 2)
		require.Equal(t, []string{"a/collect-user-message", "b/greet"}, names)
		names, next = list("s1", next, 2)
		require.Equal(t, []string{"a/zeta"}, names)
		require.Empty(t, next)
		names, _ = list("", "", 10)
		require.Equal(t, []string{"a/collect-user-message", "a/greet", "a/zeta"}, names)

		tools, _, err := w.Engine.Tools(t.Context(), "clinic", "s1", "greet", "", 10)
		require.Len(t, tools, 1)
		require.NoError(t, err)
		require.Equal(t, "of the session", tools[0].Description)
		require.JSONEq(t, `{"type":"object","properties":{"who":{"type":"string"}},"required":["who"]}`, string(tools[0].InputSchema))
		_, _, err = w.Engine.Tools(t.Context(), "nobody", "", "", "", 1)
		require.ErrorIs(t, err, repositories.ErrNotFound)
	})
}

func TestUseOfToolsIsCounted(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Register(session(""), "r", `{"tools":[{"name":"a"},{"name":"lacks","schema":[{"parameter":"day","type":"string","required":true}]}]}`)
		for _, text := range []string{"a", "a; lacks", "nothing"} {
			w.Say("", text)
		}
		w.Fire(trigger.Direct{Name: "a", Source: "ui"})
		used := testbed.Got(w.Engine.Usage(t.Context(), "clinic"))(t)
		require.Len(t, used, 2)
		require.Equal(t, []int{3, 0, 0, 1}, []int{used[0].Fired, used[0].Rejected, used[1].Fired, used[1].Rejected})
		_, err := w.Engine.Usage(t.Context(), "nobody")
		require.ErrorIs(t, err, repositories.ErrNotFound)

		require.NoError(t, w.Store.DeleteApp(t.Context(), "clinic"))
		w.App("clinic", "{}")
		used = testbed.Got(w.Engine.Usage(t.Context(), "clinic"))(t)
		require.Empty(t, used)
	})
}
