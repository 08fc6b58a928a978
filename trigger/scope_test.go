package trigger_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/trigger"
)

// offered lists the names of the tools that the last message was matched against.
func (w *world) offered() []string {
	asked := w.matcher.asked[len(w.matcher.asked)-1]
	names := []string{}
	for _, candidate := range asked.Candidates {
		names = append(names, candidate.Tool.Name)
	}
	return names
}

func TestToolsOfOthersAreNotInScope(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.app("other", "{}")
		foreign, err := repositories.DecodeRepository(repositories.Scope{AppID: "other"}, "r", []byte(`{"tools":[{"name":"foreign"}]}`))
		require.NoError(t, err)
		_, err = w.store.PutRepository(t.Context(), foreign)
		require.NoError(t, err)
		w.put("s2", "theirs", `{"tools":[{"name":"theirs"}]}`)
		w.put("s1", "ours", `{"tools":[{"name":"ours"}]}`)
		w.put("", "all", `{"tools":[{"name":"common"}]}`)

		answer, err := w.say("", "foreign; theirs; common")
		require.NoError(t, err)
		require.Equal(t, []string{"common", "ours"}, w.offered())
		require.Len(t, answer.Matches, 1)
		for _, name := range []string{"foreign", "theirs"} {
			_, err := w.fire(trigger.Direct{SessionID: "s1", Name: name, Source: "ui"})
			require.ErrorIs(t, err, trigger.ErrNotInScope, name)
		}
		_, err = w.fire(trigger.Direct{SessionID: "s1", Name: "theirs", RepositoryID: "theirs", Source: "ui"})
		require.ErrorIs(t, err, trigger.ErrNotInScope)
		_, err = w.fire(trigger.Direct{Name: "ours", Source: "ui"})
		require.ErrorIs(t, err, trigger.ErrNotInScope, "without a session there are the app's tools only")
	})
}

func TestSessionsToolShadowsTheAppsOfTheSameName(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.put("", "a", `{"tools":[{"name":"greet"}]}`)
		w.put("s1", "b", `{"tools":[{"name":"greet"}]}`)
		answer, err := w.say("", "greet")
		require.NoError(t, err)
		require.Len(t, answer.Matches, 1)
		require.Equal(t, "b", answer.Matches[0].RepositoryID)
		match, err := w.fire(trigger.Direct{SessionID: "s1", Name: "greet", RepositoryID: "a", Source: "ui"})
		require.NoError(t, err)
		require.Equal(t, "a", match.RepositoryID, "a program may name the repository")
	})
}

func TestOfTwoToolsWithOneNameThatWhichWasCreatedFirstHolds(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const greet = `{"tools":[{"name":"greet"}]}`
		winner := func(want, why string) {
			t.Helper()
			answer, err := w.say("", "greet")
			require.NoError(t, err)
			require.Len(t, answer.Matches, 1, why)
			require.Equal(t, want, answer.Matches[0].RepositoryID, why)
		}
		for _, session := range []string{"", "s1"} {
			for _, id := range []string{"second", "first"} { // by their ids
				w.register(session, id, greet)
			}
			winner("second", "the alphabet says nothing")
			w.register(session, "second", greet)
			winner("second", "a repository that is replaced keeps its place")
			w.register(session, "first", `{"options":{"exclusive":true},"tools":[{"name":"greet"}]}`)
			winner("first", "an exclusive one comes first")
			w.register(session, "first", greet)
			require.NoError(t, w.store.DeleteRepository(t.Context(), repositories.Scope{AppID: "clinic", SessionID: session}, "second"))
			w.register(session, "second", greet)
			winner("first", "one that was deleted begins anew")
		}
	})
}

func TestOnlyExclusiveToolsFireWhereBothMatch(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.put("", "common", `{"tools":[{"name":"greet"}]}`)
		w.put("s1", "quiz", `{"options":{"exclusive":true},"tools":[{"name":"answer"}]}`)
		answer, err := w.say("", "greet; answer")
		require.NoError(t, err)
		require.Len(t, answer.Matches, 1)
		require.Equal(t, "answer", answer.Matches[0].Name)
		answer, err = w.say("", "greet")
		require.NoError(t, err)
		require.Equal(t, "greet", answer.Matches[0].Name, "others fire where no exclusive one matches")
	})
}

func TestCatchAllTakesWhatNothingElseMatched(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.put("s1", "r", `{"tools":[{"name":"collect-user-message"},{"name":"greet"},{"name":"ask","schema":[{"parameter":"what","type":"string","required":true}]}]}`)
		answer, err := w.say("", "what a day")
		require.NoError(t, err)
		require.Equal(t, []string{"ask", "greet"}, w.offered(), "it is not offered to the matcher")
		require.Equal(t, "collect-user-message", answer.Matches[0].Name)
		require.Equal(t, map[string]any{"value": "what a day"}, answer.Matches[0].Values)

		answer, err = w.say("", "greet")
		require.NoError(t, err)
		require.Len(t, answer.Matches, 1)
		require.Equal(t, "greet", answer.Matches[0].Name)

		answer, err = w.say("", "ask")
		require.NoError(t, err)
		require.Empty(t, answer.Matches, "a rejected match is a match")
		require.NotContains(t, w.events.subjects(), "tool.notmatching.clinic.s1")
	})
}

func TestNotMatchingAndRejectedAreTold(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		_, err := w.say("", "hello")
		require.NoError(t, err)
		require.Empty(t, w.events.subjects(), "without tools in scope there is nothing to match")

		w.put("s1", "booking", booking)
		_, err = w.say("m2", "hello")
		require.NoError(t, err)
		unmatched := w.events.payloads("tool.notmatching.clinic.s1")
		require.Len(t, unmatched, 1)
		require.Equal(t, []any{"booking"}, unmatched[0]["repositories"])
		require.Equal(t, []any{"book"}, unmatched[0]["tools"])

		answer, err := w.say("m3", `book {"number":3}`)
		require.NoError(t, err)
		require.Empty(t, answer.Matches)
		require.Equal(t, []string{"day"}, answer.Rejected[0].Missing)
		rejected := w.events.payloads("tool.rejected.clinic.s1.book")
		require.Len(t, rejected, 1)
		require.Equal(t, []any{"day"}, rejected[0]["missing"])
		require.Equal(t, "booking", rejected[0]["repositoryId"])
		require.NotEmpty(t, rejected[0]["errors"])
		require.Len(t, w.events.payloads("tool.notmatching.clinic.s1"), 1)
	})
}

func TestToolsInScopeAreListedAsAModelSeesThem(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.put("", "a", `{"tools":[{"name":"greet","description":"of the app"},{"name":"collect-user-message"},{"name":"zeta"}]}`)
		w.put("s1", "b", `{"tools":[{"name":"greet","description":"of the session","schema":[
			{"parameter":"who","type":"string","required":true},{"parameter":"desk","type":"string","value":"A","ignore":true}]}]}`)
		list := func(session, after string, limit int) (names []string, next string) {
			tools, next, err := w.engine.Tools(t.Context(), "clinic", session, "", after, limit)
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

		tools, _, err := w.engine.Tools(t.Context(), "clinic", "s1", "greet", "", 10)
		require.Len(t, tools, 1)
		require.NoError(t, err)
		require.Equal(t, "of the session", tools[0].Description)
		require.JSONEq(t, `{"type":"object","properties":{"who":{"type":"string"}},"required":["who"]}`, string(tools[0].InputSchema))
		_, _, err = w.engine.Tools(t.Context(), "nobody", "", "", "", 1)
		require.ErrorIs(t, err, repositories.ErrNotFound)
	})
}

func TestUseOfToolsIsCounted(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.register("", "r", `{"tools":[{"name":"a"},{"name":"lacks","schema":[{"parameter":"day","type":"string","required":true}]}]}`)
		for _, text := range []string{"a", "a; lacks", "nothing"} {
			_, err := w.say("", text)
			require.NoError(t, err)
		}
		_, err := w.fire(trigger.Direct{Name: "a", Source: "ui"})
		require.NoError(t, err)
		used, err := w.engine.Usage(t.Context(), "clinic")
		require.NoError(t, err)
		require.Len(t, used, 2)
		require.Equal(t, []int{3, 0, 0, 1}, []int{used[0].Fired, used[0].Rejected, used[1].Fired, used[1].Rejected})
		_, err = w.engine.Usage(t.Context(), "nobody")
		require.ErrorIs(t, err, repositories.ErrNotFound)

		require.NoError(t, w.store.DeleteApp(t.Context(), "clinic"))
		w.app("clinic", "{}")
		used, err = w.engine.Usage(t.Context(), "clinic")
		require.NoError(t, err)
		require.Empty(t, used)
	})
}
