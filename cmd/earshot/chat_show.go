package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"earshot/cmd/earshot/client"
	"earshot/cmd/earshot/terminal"
	"earshot/repositories"
	"earshot/trigger/query"
)

// show prints what came of a message.
func (c *chat) show(ctx context.Context, said explainedAnswer) {
	for _, match := range said.Matches {
		c.showMatch(match)
	}
	for _, rejected := range said.Rejected {
		c.showRejected(rejected)
	}
	if len(said.Matches)+len(said.Rejected) == 0 {
		fmt.Fprintf(c.env.out, "  %s %s\n", c.style.Paint(terminal.Yellow, "nothing fired:"), c.whyNothing(ctx, said.Explain))
	}
	if reply := replyOf(said.Reply); reply != "" {
		fmt.Fprintf(c.env.out, "%s %s\n", c.style.Paint(terminal.Bold, "agent:"), terminal.Printable(reply))
	}
}

// heldWords say what has become of a trigger that has not simply fired, by its state.
var heldWords = map[string]string{
	query.StateConfirming: "asks first", query.StateCancelled: "cancelled",
	query.StateDuplicate: "done before", query.StateDraft: "would fire",
}

// showMatch prints a tool that fired, with its values and where its effects stand; or, where
// these are kept back or do not come, why.
func (c *chat) showMatch(match query.Match) {
	word, code := cmp.Or(heldWords[match.State], "fired"), terminal.Yellow
	fired := word == "fired"
	if match.State == query.StatePending && match.DueAt != nil {
		word, fired = "settles", false
	}
	if fired {
		code = terminal.Green
	}
	fmt.Fprintf(c.env.out, "  %s %s/%s %s\n", c.style.Paint(code, word), match.RepositoryID, match.Name, terminal.OneLine(terminal.Value(match.Values)))
	if note := heldNote(match); note != "" {
		fmt.Fprintf(c.env.out, "    %s\n", note)
	}
	if fired {
		c.showEffects(match)
	}
}

// heldNote says what a trigger waits for, and what can be done until then; of a duplicate,
// which one stands for it. It is empty if there is no more to say.
func heldNote(match query.Match) string {
	switch {
	case match.State == query.StateConfirming && match.ExpiresAt != nil:
		return fmt.Sprintf("until %s: %s", match.ExpiresAt.Local().Format(time.TimeOnly), terminal.OneLine(match.Question))
	case match.State == query.StatePending && match.DueAt != nil:
		return fmt.Sprintf("until %s; earshot triggers cancel %s takes it back", match.DueAt.Local().Format(time.TimeOnly), match.TriggerID)
	case match.State == query.StateDuplicate:
		return "of " + match.Of
	}
	return ""
}

func (c *chat) showEffects(match query.Match) {
	for _, event := range []*query.EventState{match.Event, match.Emitter} {
		if event != nil {
			fmt.Fprintf(c.env.out, "    event %s %s\n", event.Subject, c.paintState(event.State, event.Error))
		}
	}
	if call := match.Call; call != nil {
		fmt.Fprintf(c.env.out, "    call %s", c.paintState(call.State, call.Error))
		if call.Status != 0 {
			fmt.Fprintf(c.env.out, ", status %d", call.Status)
		}
		if len(call.Result) > 0 {
			fmt.Fprintf(c.env.out, ", %s", terminal.OneLine(string(terminal.Compact(call.Result))))
		}
		fmt.Fprintln(c.env.out)
	}
}

// paintState colours the state of an effect, and adds its error.
func (c *chat) paintState(state, fault string) string {
	codes := map[string]string{query.StateFailed: terminal.Red, query.StatePending: terminal.Yellow}
	if fault != "" {
		state += " (" + terminal.OneLine(fault) + ")"
	}
	for prefix, code := range codes {
		if strings.HasPrefix(state, prefix) {
			return c.style.Paint(code, state)
		}
	}
	return state
}

func (c *chat) showRejected(rejected query.Rejected) {
	fmt.Fprintf(c.env.out, "  %s %s/%s %s\n", c.style.Paint(terminal.Yellow, "not fired"), rejected.RepositoryID, rejected.Name, terminal.OneLine(terminal.Value(rejected.Values)))
	for _, fault := range rejected.Errors {
		fmt.Fprintf(c.env.out, "    %s %s\n", terminal.OneLine(fault.Parameter), terminal.OneLine(fault.Detail))
	}
}

// describeScope names the tools that could have fired.
func (c *chat) describeScope(ctx context.Context) string {
	inScope, err := c.toolsInScope(ctx)
	switch {
	case err != nil:
		return "none of the tools in scope matched"
	case len(inScope) == 0:
		return "there is no tool in scope; register one with: earshot apply -f FILE"
	}
	return "none of the tools in scope matched: " + strings.Join(inScope, ", ")
}

// toolsInScope lists the tools of the session's and the app's repositories.
func (c *chat) toolsInScope(ctx context.Context) ([]string, error) {
	var names []string
	for _, at := range []string{
		client.Path("apps", c.appID, "sessions", c.sessionID, "repositories"), client.Path("apps", c.appID, "repositories"),
	} {
		items, err := c.client.All(ctx, at)
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			var repository repositories.Repository
			if err := client.Decode(item, &repository); err != nil {
				return nil, err
			}
			for _, tool := range repository.Tools {
				names = append(names, repository.ID+"/"+tool.Name)
			}
		}
	}
	return names, nil
}

func (c *chat) showTools(ctx context.Context) error {
	names, err := c.toolsInScope(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		fmt.Fprintf(c.env.out, "  %s\n", name)
	}
	if len(names) == 0 {
		fmt.Fprintln(c.env.out, "  there is no tool in scope")
	}
	return nil
}

// replyOf returns the text of a reply, or its JSON if it is no text.
func replyOf(reply json.RawMessage) string {
	var content string
	if len(reply) == 0 || string(reply) == "null" {
		return ""
	}
	if json.Unmarshal(reply, &content) == nil {
		return content
	}
	return string(terminal.Compact(reply))
}
