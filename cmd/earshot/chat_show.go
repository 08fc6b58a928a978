package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"earshot/cmd/earshot/client"
	"earshot/cmd/earshot/terminal"
	"earshot/repositories"
	"earshot/trigger/explain"
	"earshot/trigger/query"
)

func (c *chat) show(ctx context.Context, result explainedAnswer) {
	for _, match := range result.Matches {
		c.showMatch(match)
	}
	for _, rejected := range result.Rejected {
		fmt.Fprintf(c.env.out, "  %s %s/%s %s\n", c.style.Paint(terminal.Yellow, "not fired"), rejected.RepositoryID, rejected.Name, terminal.OneLine(terminal.Value(rejected.Values)))
		for _, fault := range rejected.Errors {
			fmt.Fprintf(c.env.out, "    %s %s\n", terminal.OneLine(fault.Parameter), terminal.OneLine(fault.Detail))
		}
	}
	if len(result.Matches)+len(result.Rejected) == 0 {
		var explanation explain.Explanation
		reason, names := "", []string(nil)
		if len(result.Explain) > 0 && client.Decode(result.Explain, &explanation) == nil {
			reason = terminal.OneLine(strings.TrimPrefix(explanation.Why, "Nothing fired: "))
			for _, candidate := range explanation.Candidates {
				names = append(names, nameOf(candidate))
			}
			if len(names) > 0 {
				reason += " In scope: " + strings.Join(names, ", ")
			}
		} else { // otherwise the tools in scope are shown
			inScope, err := c.toolsInScope(ctx)
			switch {
			case err != nil:
				reason = "none of the tools in scope matched"
			case len(inScope) == 0:
				reason = "there is no tool in scope; register one with: earshot apply -f FILE"
			default:
				reason = "none of the tools in scope matched: " + strings.Join(inScope, ", ")
			}
		}
		fmt.Fprintf(c.env.out, "  %s %s\n", c.style.Paint(terminal.Yellow, "nothing fired:"), reason)
	}
	if reply := result.Reply; len(reply) > 0 && string(reply) != "null" {
		var text string
		if json.Unmarshal(reply, &text) != nil {
			text = string(terminal.Compact(reply))
		}
		if text == "" {
			return
		}
		fmt.Fprintf(c.env.out, "%s %s\n", c.style.Paint(terminal.Bold, "agent:"), terminal.Printable(text))
	}
}

// showMatch prints a trigger with its values and the state of its effects. For a trigger without effects it
// prints the reason and the next step.
func (c *chat) showMatch(match query.Match) {
	word, code, note := "fired", terminal.Yellow, ""
	switch {
	case match.State == query.StateConfirming:
		word = "asks first"
		if match.ExpiresAt != nil {
			note = fmt.Sprintf("until %s: %s", match.ExpiresAt.Local().Format(time.TimeOnly), terminal.OneLine(match.Question))
		}
	case match.State == query.StateCancelled:
		word = "cancelled"
	case match.State == query.StateDuplicate:
		word, note = "done before", "of "+match.Of
	case match.State == query.StateDraft:
		word = "would fire"
	case match.State == query.StatePending && match.DueAt != nil:
		word = "settles"
		note = fmt.Sprintf("until %s; earshot triggers cancel %s takes it back", match.DueAt.Local().Format(time.TimeOnly), match.TriggerID)
	default:
		code = terminal.Green
	}
	fmt.Fprintf(c.env.out, "  %s %s/%s %s\n", c.style.Paint(code, word), match.RepositoryID, match.Name, terminal.OneLine(terminal.Value(match.Values)))
	if note != "" {
		fmt.Fprintf(c.env.out, "    %s\n", note)
	}
	if word != "fired" {
		return
	}
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

// paintState colours the state of an effect and adds its error.
func (c *chat) paintState(state, fault string) string {
	code := terminal.Plain
	switch {
	case strings.HasPrefix(state, query.StateFailed):
		code = terminal.Red
	case strings.HasPrefix(state, query.StatePending):
		code = terminal.Yellow
	}
	if fault != "" {
		state += " (" + terminal.OneLine(fault) + ")"
	}
	return c.style.Paint(code, state)
}

// nameOf names a candidate with its score, if known.
func nameOf(candidate explain.Candidate) string {
	name := terminal.OneLine(candidate.RepositoryID + "/" + candidate.Name)
	if candidate.Score != nil {
		name += fmt.Sprintf(" (%.2f)", *candidate.Score)
	}
	return name
}

func (c *chat) showWhy(ctx context.Context) error {
	if c.lastMessage == "" {
		return errors.New("nothing was said yet; /why is about the last message")
	}
	body, err := c.client.Call(ctx, http.MethodGet, client.Path("apps", c.appID, "sessions", c.sessionID, "messages", c.lastMessage, "explain"), nil)
	if client.HasStatus(err, http.StatusNotFound) {
		return errors.New("the service has no explanation of the last message: it keeps them for 24 h as a rule, or is too old to make them")
	}
	if err != nil {
		return err
	}
	if c.json {
		fmt.Fprintf(c.env.out, "%s\n", terminal.Compact(body))
		return nil
	}
	var explanation explain.Explanation
	if err := client.Decode(body, &explanation); err != nil {
		return err
	}
	out := c.env.out
	fmt.Fprintf(out, "  %s (%s)\n", terminal.OneLine(explanation.Why), terminal.OneLine(explanation.Stage))
	for _, request := range explanation.Requests {
		cost := fmt.Sprintf("%s in %d ms, %d tokens %s", request.Model, request.Millis, request.Tokens.Prompt+request.Tokens.Completion, request.Error)
		fmt.Fprintf(out, "  %s %s\n", c.style.Paint(terminal.Faint, "asked"), terminal.OneLine(cost))
	}
	codes := map[string]string{explain.Fired: terminal.Green, explain.Rejected: terminal.Yellow}
	for _, call := range explanation.Calls {
		fmt.Fprintf(out, "  %s %s\n", c.style.Paint(codes[call.Verdict], terminal.OneLine(call.Verdict)),
			terminal.OneLine(call.Name+" "+string(terminal.Compact(call.Arguments))+" "+call.Why))
	}
	for _, candidate := range explanation.Candidates {
		fmt.Fprintf(out, "  %s %s\n", c.style.Paint(terminal.Faint, "in scope"), terminal.OneLine(nameOf(candidate)+" "+candidate.Why))
	}
	for _, excluded := range explanation.NotInScope {
		fmt.Fprintf(out, "  %s %s\n", c.style.Paint(terminal.Faint, "not in scope"), terminal.OneLine(excluded.RepositoryID+"/"+excluded.Name+" "+excluded.Why))
	}
	return nil
}

func (c *chat) toolsInScope(ctx context.Context) ([]string, error) {
	var names []string
	for _, path := range []string{
		client.Path("apps", c.appID, "sessions", c.sessionID, "repositories"), client.Path("apps", c.appID, "repositories"),
	} {
		page, err := client.All[repositories.Repository](ctx, c.client, path)
		if err != nil {
			return nil, err
		}
		for _, repository := range page {
			for _, tool := range repository.Tools {
				names = append(names, repository.ID+"/"+tool.Name)
			}
		}
	}
	return names, nil
}
