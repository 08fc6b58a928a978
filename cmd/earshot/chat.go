package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"earshot/cmd/earshot/client"
	"earshot/cmd/earshot/terminal"
	"earshot/repositories"
	"earshot/trigger"
)

func newChat(env environment) *cobra.Command {
	c := &chat{client: &client.Client{}, env: env}
	cmd := &cobra.Command{
		Use:   "chat [MESSAGE]",
		Short: "Talk to an app in the terminal, and see what it sets off",
		Long: "Post what you type as messages of a session, and show what each sets off, with which\n" +
			"values, and where that stands; or why nothing fired. /history and /tools show what\n" +
			"there is, /quit ends. With a MESSAGE it posts that one and ends.",
		Example: "  earshot chat\n  earshot chat 'I want an appointment' --session s1 --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.run(cmd.Context(), args)
		},
	}
	registerService(c.client, cmd.Flags())
	cmd.Flags().StringVar(&c.appID, "app", "", "the app; not needed where the service has only one")
	cmd.Flags().StringVar(&c.sessionID, "session", "", "the session; a new one where none is given")
	cmd.Flags().BoolVar(&c.json, "json", false, "print each answer of the service as a line of JSON")
	return cmd
}

// chat is a session of an app, as a person or a script holds it in the terminal.
type chat struct {
	client           *client.Client
	env              environment
	style            terminal.Style
	appID, sessionID string
	json             bool
	// unexplained is set once the service has refused to explain its decisions.
	unexplained bool
}

func (c *chat) run(ctx context.Context, args []string) (err error) {
	if c.appID, err = c.client.App(ctx, c.appID); err != nil {
		return err
	}
	fresh := c.sessionID == ""
	if fresh {
		c.sessionID = "chat-" + strings.ToLower(rand.Text()[:8])
	}
	if err := repositories.CheckID("--session", c.sessionID); err != nil {
		return err
	}
	c.style = terminal.StyleOf(c.env.out, c.env.lookup)
	if len(args) == 1 {
		return c.say(ctx, args[0])
	}
	if !c.json {
		fmt.Fprintf(c.env.out, "app %s, session %s; /history, /tools, /quit\n", c.appID, c.sessionID)
	}
	if !fresh && !c.json {
		if err := c.showHistory(ctx); err != nil {
			return err
		}
	}
	return c.converse(ctx)
}

// maxLine bounds a line, in bytes; the service takes no longer text.
const maxLine = 1 << 20

// converse posts line after line. A message that fails ends a script, and not a person's
// conversation.
func (c *chat) converse(ctx context.Context) error {
	typed, isFile := c.env.in.(*os.File)
	person := isFile && isatty.IsTerminal(typed.Fd())
	lines := make(chan string)
	scanner := bufio.NewScanner(c.env.in)
	scanner.Buffer(nil, maxLine)
	go func() {
		defer close(lines)
		for scanner.Scan() {
			select {
			case lines <- scanner.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		if person && !c.json {
			fmt.Fprint(c.env.out, c.style.Paint(terminal.Bold, "> "))
		}
		select {
		case <-ctx.Done():
			return nil
		case line, more := <-lines:
			if !more {
				return scanner.Err()
			}
			err := c.handle(ctx, strings.TrimSpace(line))
			switch {
			case errors.Is(err, errQuit):
				return nil
			case err != nil && !person:
				return err
			case err != nil:
				fmt.Fprintln(c.env.err, c.style.Paint(terminal.Red, err.Error()))
			}
		}
	}
}

var errQuit = errors.New("quit")

// handle runs a command such as /tools, or posts the line as a message.
func (c *chat) handle(ctx context.Context, line string) error {
	switch line {
	case "":
		return nil
	case "/quit", "/exit":
		return errQuit
	case "/history":
		return c.showHistory(ctx)
	case "/tools":
		return c.showTools(ctx)
	}
	if strings.HasPrefix(line, "/") {
		return fmt.Errorf("%s is no command: /history, /tools, /quit", terminal.OneLine(strings.Fields(line)[0]))
	}
	return c.say(ctx, line)
}

// explainedAnswer is the answer to a message, with an explanation of the decision if the
// service gives one.
type explainedAnswer struct {
	trigger.Answer
	Explain json.RawMessage `json:"explain"`
}

// say posts a message and shows what came of it.
func (c *chat) say(ctx context.Context, content string) error {
	body, err := json.Marshal(map[string]string{"messageId": rand.Text(), "actor": "user", "text": content})
	if err != nil {
		return err
	}
	answer, err := c.post(ctx, body)
	if err != nil {
		return err
	}
	if c.json {
		fmt.Fprintf(c.env.out, "%s\n", terminal.Compact(answer))
		return nil
	}
	var said explainedAnswer
	if err := client.Decode(answer, &said); err != nil {
		return err
	}
	c.show(ctx, said)
	return nil
}

// post posts a message. It asks for an explanation as well, unless the service has
// refused to give one.
func (c *chat) post(ctx context.Context, body []byte) ([]byte, error) {
	at := client.Path("apps", c.appID, "sessions", c.sessionID, "messages")
	if !c.unexplained {
		answer, err := c.client.Call(ctx, http.MethodPost, at+"?explain=true", body)
		if !client.HasStatus(err, http.StatusBadRequest) {
			return answer, err
		}
		c.unexplained = true
	}
	return c.client.Call(ctx, http.MethodPost, at, body)
}

// showHistory prints the messages of the session so far, with what they set off.
func (c *chat) showHistory(ctx context.Context) error {
	items, err := c.client.All(ctx, client.Path("apps", c.appID, "sessions", c.sessionID, "messages"))
	if err != nil {
		return err
	}
	for _, item := range items {
		var entry trigger.Entry
		if err := client.Decode(item, &entry); err != nil {
			return err
		}
		if c.json {
			fmt.Fprintf(c.env.out, "%s\n", terminal.Compact(item))
			continue
		}
		when := entry.Time.Local().Format("15:04:05")
		fmt.Fprintf(c.env.out, "%s %s: %s\n", c.style.Paint(terminal.Faint, when), c.style.Paint(terminal.Bold, terminal.OneLine(entry.Actor)), terminal.Printable(entry.Text))
		for _, match := range entry.Triggers {
			c.showMatch(match)
		}
		if entry.Error != "" {
			fmt.Fprintf(c.env.out, "  %s\n", c.style.Paint(terminal.Red, "not decided: "+terminal.OneLine(entry.Error)))
		}
	}
	return nil
}
