package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"earshot/cmd/earshot/client"
	"earshot/cmd/earshot/terminal"
	"earshot/repositories"
	"earshot/trigger/query"
)

func (l *triggerList) newConfirm() *cobra.Command {
	sure := false
	cmd := &cobra.Command{
		Use:   "confirm ID",
		Short: "Say yes to a trigger that waits for it",
		Long: "Show what a trigger would do, with its values and the question that the user was asked,\n" +
			"and let it go. A person at a terminal is asked first; elsewhere --yes says it.",
		Example: "  earshot triggers confirm 3f2a --yes",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, ids []string) error {
			return l.confirm(cmd.Context(), ids[0], sure)
		},
	}
	cmd.Flags().BoolVar(&sure, "yes", false, "confirm it without asking")
	return cmd
}

func (l *triggerList) newDeny() *cobra.Command {
	return &cobra.Command{
		Use:     "deny ID...",
		Short:   "Say no to triggers that wait to be confirmed",
		Long:    "End triggers that wait to be confirmed: they have no effect, and are cancelled.",
		Example: "  earshot triggers deny 3f2a",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, ids []string) error {
			return l.end(cmd.Context(), ids, "deny")
		},
	}
}

func (l *triggerList) newCancel() *cobra.Command {
	return &cobra.Command{
		Use:     "cancel ID...",
		Short:   "Take back triggers that have had no effect yet",
		Long:    "End triggers that settle, or that wait to be confirmed: they have no effect, and are\ncancelled. Once an effect is under way it is too late.",
		Example: "  earshot triggers cancel 3f2a",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, ids []string) error {
			return l.end(cmd.Context(), ids, "cancel")
		},
	}
}

// end cancels triggers, by the word for it.
func (l *triggerList) end(ctx context.Context, ids []string, word string) (err error) {
	if l.appID, err = l.client.App(ctx, l.appID); err != nil {
		return err
	}
	for _, id := range ids {
		record, err := l.tell(ctx, id, word, nil)
		if err != nil {
			return fmt.Errorf("%s is not cancelled: %w", id, err)
		}
		fmt.Fprintf(l.env.out, "%s is %s\n", id, record.State)
	}
	return nil
}

// confirm shows what is confirmed and, where somebody can be asked, asks.
func (l *triggerList) confirm(ctx context.Context, id string, sure bool) (err error) {
	if l.appID, err = l.client.App(ctx, l.appID); err != nil {
		return err
	}
	if err := repositories.CheckID("the trigger", id); err != nil {
		return err
	}
	var record query.Record
	if err := l.client.Get(ctx, client.Path("apps", l.appID, "triggers", id), &record); err != nil {
		return fmt.Errorf("%s is not confirmed: %w", id, err)
	}
	if record.State != query.StateConfirming {
		return fmt.Errorf("%s waits for no yes: it is %s", id, record.State)
	}
	l.showQuestion(record)
	if !sure {
		if err := l.askYes(); err != nil {
			return fmt.Errorf("%s is not confirmed: %w", id, err)
		}
	}
	body, err := json.Marshal(map[string]string{"digest": record.Digest})
	if err != nil {
		return err
	}
	if record, err = l.tell(ctx, id, "confirm", body); err != nil {
		return fmt.Errorf("%s is not confirmed: %w", id, err)
	}
	fmt.Fprintf(l.env.out, "%s is confirmed, and %s\n", id, record.State)
	return nil
}

// showQuestion shows what would happen, as the user was asked about it.
func (l *triggerList) showQuestion(record query.Record) {
	style := terminal.StyleOf(l.env.out, l.env.lookup)
	until := ""
	if record.ExpiresAt != nil {
		until = ", until " + record.ExpiresAt.Local().Format(time.TimeOnly)
	}
	fmt.Fprintf(l.env.out, "%s %s/%s %s%s\n  %s\n", style.Paint(terminal.Yellow, record.State), record.RepositoryID, record.Name,
		terminal.OneLine(terminal.Value(record.Values)), until, terminal.OneLine(record.Question))
}

// askYes asks a person at a terminal. Its error says that there was no yes.
func (l *triggerList) askYes() error {
	person := terminal.NewEditor(l.env.in, l.env.out, "confirm it? [y/N] ", nil)
	if person == nil {
		return errors.New("nobody can be asked here; --yes says it")
	}
	said, err := person.Line()
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if said = strings.ToLower(strings.TrimSpace(said)); said != "y" && said != "yes" {
		return errors.New("nobody said yes")
	}
	return nil
}

// tell says a word about a trigger, and returns its record as it is then.
func (l *triggerList) tell(ctx context.Context, id, word string, body []byte) (record query.Record, err error) {
	if err := repositories.CheckID("the trigger", id); err != nil {
		return record, err
	}
	answer, err := l.client.Call(ctx, http.MethodPost, client.Path("apps", l.appID, "triggers", id, word), body)
	if err == nil {
		err = client.Decode(answer, &record)
	}
	return record, err
}
