package trigger_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/matcher"
	"earshot/repositories"
	"earshot/trigger"
	"earshot/trigger/query"
)

// talk is a conversation with triggers that ask first.
type talk struct {
	*world
	said int
}

func (c *talk) id() string { c.said++; return fmt.Sprint("t", c.said) }

// refund posts a message for a refund, which asks the user.
func (c *talk) refund(order string) query.Match {
	return c.One(c.id(), `refund {"order":"`+order+`"}`)
}

// agent posts an agent's message, with the trigger that it asks about, if any.
func (c *talk) agent(text string, asks ...string) {
	c.T.Helper()
	m := trigger.Message{AppID: "clinic", SessionID: "s1", ID: c.id(), Actor: matcher.ActorAgent, Text: text}
	if len(asks) > 0 {
		m.Metadata = repositories.Metadata(`{"asks":"` + asks[0] + `"}`)
	}
	_, err := c.Engine.Post(c.T.Context(), m)
	require.NoError(c.T, err)
}

// user posts a user's message, and returns the triggers that it confirmed or ended.
func (c *talk) user(text string) []string {
	c.T.Helper()
	ids := []string{}
	for _, match := range c.Say(c.id(), text).Matches {
		if match.State == query.StateDelivered || match.State == query.StateCancelled {
			ids = append(ids, match.TriggerID)
		}
	}
	return ids
}

// button fires the refund without a message.
func (c *talk) button(order string) query.Match {
	c.T.Helper()
	match := c.Fire(trigger.Direct{SessionID: "s1", Name: "refund", Values: map[string]any{"order": order}})
	require.Equal(c.T, query.StateConfirming, match.State)
	return match
}

const newsletter = "Would you like our newsletter?"

// yeses are the rows of the table "When a yes is one" in confirm.md, except those of chats.
var yeses = map[string]func(t *testing.T, c *talk){
	"the answer has just asked": func(t *testing.T, c *talk) {
		asked := c.refund("A1")
		require.Equal(t, []string{asked.TriggerID}, c.user("yes"))
	},
	"the user said something else since": func(t *testing.T, c *talk) {
		asked := c.refund("A1")
		require.Empty(t, c.user("hm, wait"))
		require.Equal(t, []string{asked.TriggerID}, c.user("yes"))
	},
	"the user refused or corrected something since": func(t *testing.T, c *talk) {
		for _, since := range []string{
			"please don't refund it", "I don't want a refund", "it should be order 31", "ich will keine Erstattung", "je ne veux pas de remboursement",
			"no quiero ningún reembolso", "non voglio un rimborso",
		} {
			asked := c.refund("A1")
			require.Empty(t, c.user(since))
			require.Empty(t, c.user("ok"), since)
			require.Equal(t, query.StateConfirming, c.Trigger(asked.TriggerID).State, since)
		}
	},
	"another tool was called for since": func(t *testing.T, c *talk) {
		c.refund("A1")
		c.user("alarm")
		require.Empty(t, c.user("yes"))
	},
	"an agent asked something else": func(t *testing.T, c *talk) {
		asked := c.refund("A1")
		c.agent("One moment.")
		c.agent(newsletter)
		require.Empty(t, c.user("yes"))
		require.Empty(t, c.user("no"), "nor is it a no")
		require.Equal(t, query.StateConfirming, c.Trigger(asked.TriggerID).State)
		explained := testbed.Got(c.Engine.Explain(t.Context(), "clinic", "s1", fmt.Sprint("t", c.said)))(t)
		require.Contains(t, explained.Why, "was not the last thing that was put to the user")
	},
	"an agent used the words of the question in another sentence": func(t *testing.T, c *talk) {
		for _, other := range []string{
			"We do not refund an order: order A1. Shall I go ahead and close the chat?", "I cannot refund an order: order A1. Shall I go ahead?",
			"Refund an order: order A1. Shall I go ahead and pay 500 more?",
		} {
			asked := c.refund("A1")
			c.agent(other)
			require.Empty(t, c.user("yes"), other)
			require.Equal(t, query.StateConfirming, c.Trigger(asked.TriggerID).State)
		}
	},
	"an agent quoted the question": func(t *testing.T, c *talk) {
		asked := c.refund("A1")
		c.agent(`I was told to ask "` + asked.Question + `" but do you like pizza?`)
		require.Empty(t, c.user("yes"))
	},
	"an agent asked something else after the question": func(t *testing.T, c *talk) {
		asked := c.refund("A1")
		c.agent(asked.Question + " " + newsletter)
		require.Empty(t, c.user("yes"))
	},
	"two triggers have the same question": func(t *testing.T, c *talk) {
		first, second := c.button("A1"), c.button("A1")
		c.agent(first.Question)
		require.Equal(t, []string{second.TriggerID}, c.user("yes"))
		require.Equal(t, query.StateConfirming, c.Trigger(first.TriggerID).State)
		c.agent(first.Question)
		require.Equal(t, []string{first.TriggerID}, c.user("yes"))
	},
	"an agent asked the question again": func(t *testing.T, c *talk) {
		asked := c.refund("A1")
		c.agent(newsletter)
		c.agent("Just to be sure. **Refund an order:** order *A1*.\nShall I go ahead?")
		require.Equal(t, []string{asked.TriggerID}, c.user("yes"))
	},
	"an agent named the trigger": func(t *testing.T, c *talk) {
		asked := c.refund("A1")
		c.agent(newsletter)
		c.agent("Soll ich das Geld zurückgeben?", asked.TriggerID)
		require.Equal(t, []string{asked.TriggerID}, c.user("ja"))
	},
	"an agent named another trigger": func(t *testing.T, c *talk) {
		c.refund("A1")
		c.agent("Shall I?", "no-trigger-of-this-session")
		require.Empty(t, c.user("yes"))
	},
	"an agent asked one of two questions": func(t *testing.T, c *talk) {
		first := c.refund("A1")
		second := c.refund("A12")
		c.agent(first.Question)
		require.Equal(t, []string{first.TriggerID}, c.user("yes"))
		require.Equal(t, query.StateConfirming, c.Trigger(second.TriggerID).State)
	},
	"one answer asked two questions": func(t *testing.T, c *talk) {
		answer := testbed.Got(c.TrySay(c.id(), `refund {"order":"A1"}; refund {"order":"A2"}`))(t)
		require.Equal(t, []string{answer.Matches[0].TriggerID, answer.Matches[1].TriggerID}, c.user("yes"))
	},
	"two answers asked one question each": func(t *testing.T, c *talk) {
		first := c.refund("A1")
		second := c.refund("A2")
		require.Equal(t, []string{second.TriggerID}, c.user("yes"))
		require.Equal(t, query.StateConfirming, c.Trigger(first.TriggerID).State)
		require.Empty(t, c.user("yes"))
	},
	"the chat reply asked": func(t *testing.T, c *talk) {
		c.App("clinic", `{"settings":{"chatModeEnabled":true}}`)
		asked := c.refund("A1")
		require.Equal(t, []string{asked.TriggerID}, c.user("yes"))
	},
	"the chat reply was about something else since": func(t *testing.T, c *talk) {
		c.App("clinic", `{"settings":{"chatModeEnabled":true}}`)
		c.refund("A1")
		c.user("what is the weather like")
		require.Empty(t, c.user("yes"))
	},
	"the chat reply asked again": func(t *testing.T, c *talk) {
		c.App("clinic", `{"settings":{"chatModeEnabled":true}}`)
		asked := c.refund("A1")
		c.user("It takes a day. " + asked.Question)
		require.Equal(t, []string{asked.TriggerID}, c.user("yes"))
	},
	"the reply was the result of another tool": func(t *testing.T, c *talk) {
		c.App("clinic", `{"settings":{"chatModeEnabled":true}}`)
		c.Put("", "info", `{"tools":[{"name":"hours","url":"https://shop.example/hours","returnDirect":true}]}`)
		answer := testbed.Got(c.TrySay(c.id(), `refund {"order":"A1"}; hours`))(t)
		require.JSONEq(t, `{"ok":true}`, string(answer.Reply))
		require.Empty(t, c.user("yes"))
	},
	"a button, a task or an agent fired the tool": func(t *testing.T, c *talk) {
		asked := c.button("A1")
		require.Empty(t, c.user("yes"))
		c.agent(asked.Question)
		require.Equal(t, []string{asked.TriggerID}, c.user("yes"))
	},
	"the yes is a draft that is committed": func(t *testing.T, c *talk) {
		asked := c.refund("A1")
		c.drafted(c.Engine, "d1", "yes")
		require.Equal(t, query.StateConfirming, c.Trigger(asked.TriggerID).State)
		c.committed(c.Engine, "d1")
		require.Equal(t, query.StateDelivered, c.Trigger(asked.TriggerID).State)
	},
	"an agent spoke between draft and commit": func(t *testing.T, c *talk) {
		asked := c.refund("A1")
		c.drafted(c.Engine, "d1", "yes")
		c.agent(newsletter)
		c.committed(c.Engine, "d1")
		require.Equal(t, query.StateConfirming, c.Trigger(asked.TriggerID).State)
	},
	"another question was asked between draft and commit": func(t *testing.T, c *talk) {
		c.refund("A1")
		c.drafted(c.Engine, "d1", "yes")
		asked := c.refund("B2")
		c.committed(c.Engine, "d1")
		require.Equal(t, query.StateConfirming, c.Trigger(asked.TriggerID).State)
	},
	"the tool asks once": func(t *testing.T, c *talk) {
		asked := c.One(c.id(), `address {"street":"Elm"}`)
		c.agent(newsletter)
		require.Empty(t, c.user("yes"))
		require.Equal(t, query.StateConfirming, c.One(c.id(), `address {"street":"Elm"}`).State, "the values were not confirmed")
		c.agent("May I?", asked.TriggerID)
		require.Equal(t, []string{asked.TriggerID}, c.user("yes"))
		require.Equal(t, query.StateDelivered, c.One(c.id(), `address {"street":"Elm"}`).State)

		c.Put("s1", "shop", strings.Replace(shop, `{"name":"address",`, `{"name":"address","description":"Delete the account",`, 1))
		require.Equal(t, query.StateConfirming, c.One(c.id(), `address {"street":"Elm"}`).State, "the yes was to something else")
	},
}

func TestWhenAYesIsOne(t *testing.T) {
	rows := yesRows(t)
	for name, row := range yeses {
		require.Contains(t, rows, name, "confirm.md has no such row")
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				w.Put("s1", "shop", shop)
				row(t, &talk{world: w})
			})
		})
	}
	for _, name := range rows {
		if !strings.HasPrefix(name, "chat: ") {
			require.Contains(t, yeses, name, "a row of confirm.md that nobody tests")
		}
	}
}

// yesRows are the first cells of the table in the document.
func yesRows(t *testing.T) (rows []string) {
	t.Helper()
	text := testbed.Got(os.ReadFile("../deploy/docs/confirm.md"))(t)
	_, section, found := strings.Cut(string(text), "### When a yes is one\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n#")
	for line := range strings.Lines(section) {
		if cells := strings.Split(line, "|"); len(cells) > 3 && !strings.Contains(cells[1], "---") && strings.TrimSpace(cells[1]) != "before the yes" {
			rows = append(rows, strings.TrimSpace(cells[1]))
		}
	}
	return rows
}

func TestTheExplanationMentionsOpenQuestions(t *testing.T) {
	const waits = "The trigger of refund still waits for a yes: the message is neither a plain yes nor a plain no."
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "shop", shop)
		w.Put("s1", "trips", trip)
		w.One("m1", `refund {"order":"A1"}`)
		for i, step := range []struct{ said, why string }{
			{"yes?", "Nothing fired: no tool was called for. " + waits},
			{`book {"people":2}`, "Nothing fired: trips/book was called for, and its values are not valid. " + waits},
			{"hours", "Fired trips/hours."},
			{`refund {"order":"A2"}`, "Fired shop/refund (waits for a yes)."},
			{"never mind", "Nothing fired: the message is a plain no to what refund asked last, and the trigger is cancelled."},
			{`book {"people":2}`, "Nothing fired: trips/book was called for, and its values are not valid."},
			{"never mind", "Nothing fired: no tool was called for. The message drops the call of trips/book, which lacked values. A trigger waits for a yes, but its question " +
				"was not the last thing that was put to the user: these words are about something else."},
			{"yes?", "Nothing fired: no tool was called for."},
		} {
			id := fmt.Sprint("w", i)
			w.Say(id, step.said)
			explained := testbed.Got(w.Engine.Explain(t.Context(), "clinic", "s1", id))(t)
			require.Equal(t, step.why, explained.Why, step.said)
		}
	})
}

// TestAYesInADryRunIsJudgedLikeAnother gives dry runs the earlier conversation.
func TestAYesInADryRunIsJudgedLikeAnother(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "shop", shop)
		asked := w.One("m1", `refund {"order":"A1"}`)
		for agent, fires := range map[string]int{newsletter: 0, asked.Question: 1, "": 1} {
			history := []trigger.Earlier{{Actor: matcher.ActorUser, Text: `refund {"order":"A1"}`, Matches: []query.Match{asked}}}
			if agent != "" {
				history = append(history, trigger.Earlier{Actor: matcher.ActorAgent, Text: agent})
			}
			answer, _, err := w.Engine.DryRun(t.Context(), trigger.Message{AppID: "clinic", SessionID: "s1", Actor: matcher.ActorUser, Text: "yes", History: history})
			require.NoError(t, err)
			require.Len(t, answer.Matches, fires, agent)
		}

		w.Put("s1", "once", `{"options":{"triggerOnce":true},"tools":[{"name":"leave","confirm":"always"}]}`)
		history := []trigger.Earlier{{Actor: matcher.ActorUser, Text: "leave", Matches: []query.Match{{RepositoryID: "once", Name: "leave", State: query.StateConfirming}}}}
		answer, _, err := w.Engine.DryRun(t.Context(), trigger.Message{AppID: "clinic", SessionID: "s1", Actor: matcher.ActorUser, Text: "yes", History: history})
		require.NoError(t, err)
		require.Len(t, answer.Matches, 1, "a repository that fires once is gone by then, and its question is answered all the same")
	})
}
