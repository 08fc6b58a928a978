package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"earshot/cmd/earshot/client"
	"earshot/cmd/earshot/terminal"
	"earshot/trigger/explain"
)

// whyNothing says why no tool fired: from the explanation of the service if it gives one,
// else from the tools in scope.
func (c *chat) whyNothing(ctx context.Context, given json.RawMessage) string {
	var said explain.Explanation
	if len(given) == 0 || client.Decode(given, &said) != nil {
		return c.describeScope(ctx)
	}
	why := terminal.OneLine(strings.TrimPrefix(said.Why, "Nothing fired: "))
	var names []string
	for _, candidate := range said.Candidates {
		names = append(names, nameOf(candidate))
	}
	if len(names) == 0 {
		return why
	}
	return why + " In scope: " + strings.Join(names, ", ")
}

// nameOf names a candidate, with how near it was where that is known.
func nameOf(candidate explain.Candidate) string {
	name := terminal.OneLine(candidate.RepositoryID + "/" + candidate.Name)
	if candidate.Score != nil {
		name += fmt.Sprintf(" (%.2f)", *candidate.Score)
	}
	return name
}

// showWhy prints how the last message of the session was decided.
func (c *chat) showWhy(ctx context.Context) error {
	if c.last == "" {
		return errors.New("nothing was said yet; /why is about the last message")
	}
	body, err := c.client.Call(ctx, http.MethodGet, client.Path("apps", c.appID, "sessions", c.sessionID, "messages", c.last, "explain"), nil)
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
	var said explain.Explanation
	if err := client.Decode(body, &said); err != nil {
		return err
	}
	c.explain(said)
	return nil
}

// explain prints a decision: why, what was asked of a model, what became of each call, and
// which tools there were.
func (c *chat) explain(said explain.Explanation) {
	out := c.env.out
	fmt.Fprintf(out, "  %s (%s)\n", terminal.OneLine(said.Why), terminal.OneLine(said.Stage))
	for _, asked := range said.Requests {
		cost := fmt.Sprintf("%s in %d ms, %d tokens %s", asked.Model, asked.Millis, asked.Tokens.Prompt+asked.Tokens.Completion, asked.Error)
		fmt.Fprintf(out, "  %s %s\n", c.style.Paint(terminal.Faint, "asked"), terminal.OneLine(cost))
	}
	codes := map[string]string{explain.Fired: terminal.Green, explain.Rejected: terminal.Yellow}
	for _, call := range said.Calls {
		fmt.Fprintf(out, "  %s %s\n", c.style.Paint(codes[call.Verdict], terminal.OneLine(call.Verdict)),
			terminal.OneLine(call.Name+" "+string(terminal.Compact(call.Arguments))+" "+call.Why))
	}
	for _, candidate := range said.Candidates {
		fmt.Fprintf(out, "  %s %s\n", c.style.Paint(terminal.Faint, "in scope"), terminal.OneLine(nameOf(candidate)+" "+candidate.Why))
	}
	for _, barred := range said.NotInScope {
		fmt.Fprintf(out, "  %s %s\n", c.style.Paint(terminal.Faint, "not in scope"), terminal.OneLine(barred.RepositoryID+"/"+barred.Name+" "+barred.Why))
	}
}
