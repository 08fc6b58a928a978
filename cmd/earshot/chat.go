package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"earshot/cmd/earshot/client"
	"earshot/cmd/earshot/terminal"
	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/fault"
	"earshot/repositories/lists"
	"earshot/trigger/explain"
	"earshot/trigger/query"
)

func newChat(env environment) *cobra.Command {
	c := &chat{client: &client.Client{}, env: env}
	cmd := &cobra.Command{
		Use:  "chat [MESSAGE]",
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			ctx := cmd.Context()
			if c.appID, err = c.client.App(ctx, c.appID); err != nil {
				return err
			}
			isNew := c.sessionID == ""
			if isNew {
				c.sessionID = "chat-" + strings.ToLower(rand.Text()[:8])
			}
			if err := repositories.CheckID("--session", c.sessionID); err != nil {
				return err
			}
			c.style = terminal.StyleOf(c.env.out, c.env.lookup)
			if len(args) == 1 {
				return c.post(ctx, args[0])
			}
			if !c.json {
				fmt.Fprintf(c.env.out, "app %s, session %s; /help lists commands\n", c.appID, c.sessionID)
				c.editor = terminal.NewEditor(c.env.in, c.env.out, c.style.Paint(terminal.Bold, "> "), c.commandNames())
			}
			if !isNew && !c.json {
				if err := c.showHistory(ctx); err != nil {
					return err
				}
			}
			return c.converse(ctx)
		},
	}
	settings{cmd.Flags()}.service(c.client)
	cmd.Flags().StringVar(&c.appID, "app", "", "`ID` of the app; not needed with an app's key, or if there is only one app")
	cmd.Flags().StringVar(&c.sessionID, "session", "", "`ID` of the session; default: a new one")
	cmd.Flags().BoolVar(&c.json, "json", false, "print each answer as a line of JSON")
	return cmd
}

type chat struct {
	client           *client.Client
	env              environment
	style            terminal.Style
	appID, sessionID string
	json             bool
	lastMessage      string           // id of the last posted message
	editor           *terminal.Editor // nil unless a person types
	unexplained      bool             // set once the service has refused to explain its decisions
}

// maxLine bounds a line of a script, in bytes, as the service bounds texts.
const maxLine = 1 << 20

var errQuit = errors.New("quit")

// converse posts each line. A failed message ends a script, but not a conversation at a terminal.
func (c *chat) converse(ctx context.Context) error {
	scanner := bufio.NewScanner(c.env.in)
	scanner.Buffer(nil, maxLine)
	next := func() (string, error) { // of a script
		if scanner.Scan() {
			return scanner.Text(), nil
		}
		if err := scanner.Err(); err != nil {
			return "", fmt.Errorf("this line cannot be sent as a message: %w; a line has at most %d bytes", err, maxLine)
		}
		return "", io.EOF
	}
	if c.editor != nil {
		next = c.editor.Line
	}
	for {
		var text string
		var readErr error
		got := make(chan struct{})
		go func() { defer close(got); text, readErr = next() }()
		select {
		case <-ctx.Done():
			if c.editor != nil {
				c.editor.Restore()
			}
			return nil
		case <-got:
		}
		if errors.Is(readErr, io.EOF) {
			if c.editor != nil {
				fmt.Fprintln(c.env.out) // after the prompt
			}
			return nil
		}
		if readErr != nil {
			return readErr
		}
		err := c.handle(ctx, strings.TrimSpace(text))
		switch {
		case errors.Is(err, errQuit):
			return nil
		case err != nil && c.editor == nil:
			return err
		case err != nil:
			fmt.Fprintln(c.env.err, c.style.Paint(terminal.Red, err.Error()))
		}
	}
}

type chatCommand struct {
	name, help string
	run        func(ctx context.Context) error
}

func (c *chat) commands() []chatCommand {
	return []chatCommand{
		{"/help", "this list", nil}, // see handle
		{"/why", "why the last message came out as it did", c.showWhy},
		{"/tools", "the tools that can fire", func(ctx context.Context) error {
			names, err := c.toolsInScope(ctx)
			for _, name := range names {
				fmt.Fprintf(c.env.out, "  %s\n", name)
			}
			if err == nil && len(names) == 0 {
				fmt.Fprintln(c.env.out, "  there is no tool in scope")
			}
			return err
		}},
		{"/history", "what was said", c.showHistory},
		{"/quit", "end, as Ctrl-C and Ctrl-D do", func(context.Context) error { return errQuit }},
	}
}

func (c *chat) handle(ctx context.Context, line string) error {
	if line == "" {
		return nil
	}
	if !strings.HasPrefix(line, "/") {
		return c.post(ctx, line)
	}
	word := terminal.OneLine(strings.Fields(line)[0])
	commands := c.commands()
	if i := slices.IndexFunc(commands, func(entry chatCommand) bool { return entry.name == word }); i > 0 {
		return commands[i].run(ctx)
	} else if i == 0 {
		for _, entry := range commands {
			fmt.Fprintf(c.env.out, "  %s  %s\n", c.style.Paint(terminal.Bold, fmt.Sprintf("%-8s", entry.name)), entry.help)
		}
		fmt.Fprintln(c.env.out, "Anything else is a message.\nThe arrow keys move in a line, and back to earlier ones.")
		return nil
	}
	names := c.commandNames()
	return fmt.Errorf("unknown command %s; the commands are %s%s", word, strings.Join(names, ", "), fault.DidYouMean(word, names))
}

func (c *chat) commandNames() []string {
	return lists.Map(c.commands(), func(command chatCommand) string { return command.name })
}

type explainedAnswer struct {
	query.Answer
	Explain json.RawMessage `json:"explain"`
}

func (c *chat) post(ctx context.Context, content string) error {
	c.lastMessage = rand.Text()
	body, err := json.Marshal(map[string]string{"messageId": c.lastMessage, "actor": "user", "text": content})
	if err != nil {
		return err
	}
	path := client.Path("apps", c.appID, "sessions", c.sessionID, "messages")
	var answer []byte
	if !c.unexplained {
		answer, err = c.client.Call(ctx, http.MethodPost, path+"?explain=true", body)
		c.unexplained = client.HasStatus(err, http.StatusBadRequest)
	}
	if c.unexplained {
		answer, err = c.client.Call(ctx, http.MethodPost, path, body)
	}
	if err != nil {
		return err
	}
	if c.json {
		fmt.Fprintf(c.env.out, "%s\n", terminal.Compact(answer))
		return nil
	}
	var result explainedAnswer
	if err := client.Decode(answer, &result); err != nil {
		return err
	}
	c.show(ctx, result)
	return nil
}

func (c *chat) showHistory(ctx context.Context) error {
	items, err := client.All[json.RawMessage](ctx, c.client, client.Path("apps", c.appID, "sessions", c.sessionID, "messages"))
	if err != nil {
		return err
	}
	for _, item := range items {
		var entry query.Entry
		if err := client.Decode(item, &entry); err != nil {
			return err
		}
		if c.json {
			fmt.Fprintf(c.env.out, "%s\n", terminal.Compact(item))
			continue
		}
		if c.editor != nil && entry.Actor == matcher.ActorUser {
			c.editor.Remember(entry.Text)
		}
		when := entry.Time.Local().Format("15:04:05")
		fmt.Fprintf(c.env.out, "%s %s: %s\n", c.style.Paint(terminal.Faint, when), c.style.Paint(terminal.Bold, terminal.OneLine(entry.Actor)), terminal.Printable(entry.Text))
		for _, match := range entry.Matches {
			c.showMatch(match)
		}
		if entry.Error != "" {
			fmt.Fprintf(c.env.out, "  %s\n", c.style.Paint(terminal.Red, "not decided: "+terminal.OneLine(entry.Error)))
		}
	}
	return nil
}

func (c *chat) show(ctx context.Context, result explainedAnswer) {
	for _, match := range result.Matches {
		c.showMatch(match)
	}
	for _, rejected := range result.Rejected {
		fmt.Fprintf(c.env.out, "  %s %s/%s %s\n", c.style.Paint(terminal.Yellow, "not fired"), rejected.RepositoryID, rejected.Name, terminal.OneLine(terminal.Value(rejected.Values)))
		for _, fault := range rejected.Errors {
			fmt.Fprintf(c.env.out, "    %s %s\n", terminal.OneLine(fault.Parameter), terminal.OneLine(fault.Detail))
		}
		if rejected.Ask != "" {
			fmt.Fprintf(c.env.out, "    asks: %s\n", terminal.OneLine(rejected.Ask))
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
		return errors.New("there is no message yet; /why explains the last one")
	}
	body, err := c.client.Call(ctx, http.MethodGet, client.Path("apps", c.appID, "sessions", c.sessionID, "messages", c.lastMessage, "explain"), nil)
	if client.HasStatus(err, http.StatusNotFound) {
		return errors.New("the service has no explanation of the last message: it keeps explanations for 24 h by default, and old versions keep none")
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
