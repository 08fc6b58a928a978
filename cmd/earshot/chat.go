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

	"github.com/spf13/cobra"

	"earshot/cmd/earshot/client"
	"earshot/cmd/earshot/terminal"
	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/fault"
	"earshot/trigger/query"
)

func newChat(env environment) *cobra.Command {
	c := &chat{client: &client.Client{}, env: env}
	cmd := &cobra.Command{
		Use:   "chat [MESSAGE]",
		Short: "Chat with an app in the terminal, and see what it fires",
		Long: "Post what you type as messages of a session. It shows what each message fired, with which values\n" +
			"and in which state, or why nothing fired. /why explains the last message, /help lists the other\n" +
			"commands. With a MESSAGE it posts that one and ends.\n\n" +
			"The app is that of the key. An admin names it with --app.",
		Example: "  earshot chat\n  earshot chat 'I want an appointment' --session s1 --json",
		Args:    cobra.MaximumNArgs(1),
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
	// unexplained is set once the service has refused to explain its decisions.
	unexplained bool
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
			return "", fmt.Errorf("a line is no message: %w; the longest has %d bytes", err, maxLine)
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
		{"/quit", "end; so do Ctrl-C and Ctrl-D", func(context.Context) error { return errQuit }},
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
	return fmt.Errorf("%s is no command: %s%s", word, strings.Join(names, ", "), fault.DidYouMean(word, names))
}

func (c *chat) commandNames() []string {
	var names []string
	for _, command := range c.commands() {
		names = append(names, command.name)
	}
	return names
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
