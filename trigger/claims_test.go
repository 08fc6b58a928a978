package trigger_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/parameters"
	"earshot/trigger"
	"earshot/trigger/query"
)

const (
	staffApp = `{"authServices":[{"name":"corp","type":"google","clientId":"c"},{"name":"partner","type":"google","clientId":"d"}]}`
	staff    = `{"tools":[{"name":"payroll","authRequired":["corp","partner"]},{"name":"free"},
		{"name":"leave","schema":[{"parameter":"who","type":"string","required":true,"authServices":[{"name":"partner","field":"sub"},{"name":"corp","field":"address.mail"}]},
			{"parameter":"day","type":"string","required":true}]}]}`
)

// anna returns claims verified by corp, with more of them than any tool needs.
func anna() parameters.Claims {
	return parameters.Claims{"corp": {"address": map[string]any{"mail": "anna@example.org", "street": "Hidden Lane"}, "sub": "hidden-subject"}}
}

func (w *world) sayAs(claims parameters.Claims, id, text string) (answer query.Answer, err error) {
	raw, err := w.Engine.Post(w.T.Context(), trigger.Message{AppID: "clinic", SessionID: "s1", ID: id, Actor: matcher.ActorUser, Text: text, Claims: claims})
	if err == nil {
		err = json.Unmarshal(raw, &answer)
	}
	return answer, err
}

func TestToolForVerifiedUsersIsInScopeOfThoseAlone(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.App("clinic", staffApp)
		w.Put("s1", "staff", staff)
		for _, claims := range []parameters.Claims{nil, {}, {"other": {"sub": "x"}}} {
			answer := testbed.Got(w.sayAs(claims, "", "payroll; leave {\"day\":\"monday\"}; free"))(t)
			require.Equal(t, []string{"free"}, w.Offered())
			require.Len(t, answer.Matches, 1)
		}
		answer := testbed.Got(w.sayAs(anna(), "", "payroll"))(t)
		require.Equal(t, []string{"free", "leave", "payroll"}, w.Offered())
		require.Equal(t, "payroll", answer.Matches[0].Name)
	})
}

func TestOfEqualNamesTheFirstThatTheUserMayUseIsInScope(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.App("clinic", staffApp)
		w.Put("", "a", `{"tools":[{"name":"payroll","authRequired":["corp"]},{"name":"leave"}]}`)
		w.Put("", "b", `{"tools":[{"name":"payroll"},{"name":"leave","authRequired":["corp"]}]}`)
		w.Put("", "c", `{"options":{"exclusive":true},"tools":[{"name":"collect-user-message","authRequired":["corp"]}]}`)
		w.Put("", "d", `{"tools":[{"name":"collect-user-message"}]}`)
		for user, from := range map[string][]string{"": {"b", "a", "d"}, "anna": {"a", "a", "c"}} {
			claims := parameters.Claims{}
			if user != "" {
				claims = anna()
			}
			for i, text := range []string{"payroll", "leave", "good morning"} {
				answer := testbed.Got(w.sayAs(claims, "", text))(t)
				require.Equal(t, []string{"leave", "payroll"}, w.Offered())
				require.Len(t, answer.Matches, 1)
				require.Equal(t, from[i], answer.Matches[0].RepositoryID, text+" of "+user)
			}
		}
	})
}

func TestAuthenticatedValueIsTheClaimAndNeverTheModelsWord(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.App("clinic", staffApp)
		w.Put("s1", "staff", staff)
		answer := testbed.Got(w.sayAs(anna(), "m1", `leave {"day":"monday","who":"boss@example.org"}`))(t)
		require.EqualValues(t, map[string]any{"day": "monday", "who": "anna@example.org"}, answer.Matches[0].Values)
		require.Equal(t, map[string]any{"day": "monday", "who": "anna@example.org"}, w.Events.Payloads("tool.trigger.clinic.s1.leave")[0]["values"])
		for _, candidate := range w.Matcher.Asked[0].Candidates {
			require.NotContains(t, string(candidate.Tool.Params().ModelSchema()), "who")
		}
	})
}

func TestDirectTriggerWithoutAVerifiedUserNamesTheServices(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.App("clinic", staffApp)
		w.Put("s1", "staff", staff)
		_, err := w.TryFire(trigger.Direct{SessionID: "s1", Name: "payroll", Source: "ui"})
		lacks := &repositories.Unverified{}
		require.ErrorAs(t, err, &lacks)
		require.ErrorContains(t, err, "corp_token or partner_token")
		direct := trigger.Direct{SessionID: "s1", Name: "leave", Source: "ui", Values: map[string]any{"day": "monday", "who": "boss"}}
		_, err = w.TryFire(direct)
		require.ErrorAs(t, err, &lacks)
		require.ErrorContains(t, err, "partner or corp")
		direct.Claims = parameters.Claims{"partner": {"sub": json.Number("5")}}
		_, err = w.TryFire(direct)
		require.ErrorAs(t, err, &lacks, "a claim of another type is no value")
		require.ErrorContains(t, err, "not a string")
		direct.Claims = parameters.Claims{"partner": {}, "corp": anna()["corp"]}
		_, err = w.TryFire(direct)
		require.ErrorAs(t, err, &lacks, "the first service that is verified decides")

		direct.Claims = anna()
		match := w.Fire(direct)
		require.Equal(t, "anna@example.org", match.Values["who"])
		_, err = w.TryFire(trigger.Direct{SessionID: "s1", Name: "payroll", Source: "ui", Claims: parameters.Claims{"partner": {}}})
		require.NoError(t, err, "any one of the services will do")
	})
}

// everythingStored returns the whole content of Redis as text.
func (w *world) everythingStored() string {
	w.T.Helper()
	client, all := w.Server.Client(), ""
	for _, key := range w.Server.Keys() {
		switch client.Type(w.T.Context(), key).Val() {
		case "hash":
			for field, value := range client.HGetAll(w.T.Context(), key).Val() {
				all += field + " " + value + "\n"
			}
		case "list":
			for _, value := range client.LRange(w.T.Context(), key, 0, -1).Val() {
				all += value + "\n"
			}
		}
	}
	return all
}

func TestWaitingMessageKeepsTheClaimsThatItNeedsAndNoOthers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.App("clinic", staffApp)
		w.Put("s1", "staff", staff)
		w.Matcher.Intercept(func(context.Context, matcher.Request) error { return &matcher.Unavailable{Reason: "it answered 500"} })
		_, err := w.sayAs(anna(), "m1", `leave {"day":"monday"}`)
		require.Error(t, err)
		stored := w.everythingStored()
		require.Contains(t, stored, "anna@example.org")
		require.NotContains(t, stored, "Hidden Lane")
		require.NotContains(t, stored, "hidden-subject")

		w.Matcher.Intercept(nil)
		answer := testbed.Got(w.sayAs(nil, "m1", `leave {"day":"monday"}`))(t)
		require.Equal(t, "anna@example.org", answer.Matches[0].Values["who"], "a message is what it was when it was accepted")
		require.NotContains(t, w.everythingStored(), "v:m1", "they go with the decision")
	})
}

func TestLaterClaimsDoNotChangeTheClaimsOfAMessage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.App("clinic", staffApp)
		w.Put("s1", "staff", staff)
		w.Matcher.Intercept(func(context.Context, matcher.Request) error { return &matcher.Unavailable{Reason: "it answered 500"} })
		_, err := w.sayAs(nil, "m1", `leave {"day":"monday"}`)
		require.Error(t, err)
		w.Matcher.Intercept(nil)
		answer := testbed.Got(w.sayAs(anna(), "m1", `leave {"day":"monday"}`))(t)
		require.Empty(t, answer.Matches)
	})
}

func TestClaimsOutliveAChangeOfTheRepositories(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.App("clinic", staffApp)
		w.Put("s1", "staff", staff)
		changed := false
		w.Matcher.Intercept(func(context.Context, matcher.Request) error {
			if !changed {
				changed = true
				w.Register(session("s1"), "staff", staff)
			}
			return nil
		})
		answer := testbed.Got(w.sayAs(anna(), "", "payroll"))(t)
		require.Len(t, answer.Matches, 1)
	})
}

func TestMessageOfAnAgentNeedsNoClaims(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.App("clinic", staffApp)
		w.Put("s1", "staff", staff)
		_, err := w.Engine.Post(t.Context(), trigger.Message{AppID: "clinic", SessionID: "s1", Actor: matcher.ActorAgent, Text: "hello", Claims: anna()})
		require.NoError(t, err)
		require.NotContains(t, w.everythingStored(), "anna@example.org")
		_, err = w.Engine.Post(t.Context(), trigger.Message{AppID: "nobody", SessionID: "s1", Actor: matcher.ActorUser, Text: "hello", Claims: anna()})
		require.True(t, errors.Is(err, repositories.ErrNotFound))
	})
}
