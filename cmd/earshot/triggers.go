package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"earshot/cmd/earshot/client"
	"earshot/cmd/earshot/terminal"
	"earshot/repositories"
	"earshot/trigger/query"
)

type triggerList struct {
	client *client.Client
	env    environment
	appID  string
	state  string
	oldest bool
	limit  int
	json   bool
}

func newTriggers(env environment) *cobra.Command {
	l, filter := &triggerList{client: &client.Client{}, env: env}, &triggerFilter{}
	cmd := &cobra.Command{Use: "triggers", Args: knownCommand, RunE: func(cmd *cobra.Command, _ []string) error {
		return l.list(cmd.Context(), filter)
	}}
	settings{cmd.PersistentFlags()}.service(l.client)
	cmd.PersistentFlags().StringVar(&l.appID, "app", "", "`ID` of the app; not needed with an app's key, or if there is only one app")
	cmd.Flags().StringVar(&l.state, "state", "", "only those in `STATE`: pending, delivered, failed, confirming, cancelled or duplicate")
	cmd.Flags().BoolVar(&l.oldest, "oldest", false, "oldest first")
	filter.register(cmd.Flags())
	cmd.Flags().IntVar(&l.limit, "limit", 50, "list at most `N`, up to 200")
	cmd.Flags().BoolVar(&l.json, "json", false, "print each record as a line of JSON")
	cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions([]string{
		query.StatePending, query.StateDelivered, query.StateFailed, query.StateConfirming, query.StateCancelled, query.StateDuplicate,
	}, cobra.ShellCompDirectiveNoFileComp)) //nolint:errcheck // the flag exists
	cmd.AddCommand(l.newRetry(), l.newPurge(), l.newConfirm(), l.newEnd("deny ID..."), l.newEnd("cancel ID..."))
	return cmd
}

func (l *triggerList) list(ctx context.Context, filter *triggerFilter) error {
	params := url.Values{"limit": {fmt.Sprint(l.limit)}}
	if l.state != "" {
		params.Set("state", l.state)
	}
	if l.oldest {
		params.Set("order", "asc")
	}
	path, err := l.path(ctx, "", filter, params)
	if err != nil {
		return err
	}
	var page struct {
		Items []json.RawMessage `json:"items"`
		Next  string            `json:"next"`
	}
	if err := l.client.Get(ctx, path, &page); err != nil {
		return err
	}
	if l.json {
		for _, item := range page.Items {
			fmt.Fprintf(l.env.out, "%s\n", terminal.Compact(item))
		}
		return nil
	}
	if len(page.Items) == 0 {
		fmt.Fprintln(l.env.out, "no triggers were found")
		return nil
	}
	records := make([]query.Record, len(page.Items))
	for i, item := range page.Items {
		if err := client.Decode(item, &records[i]); err != nil {
			return err
		}
	}
	l.print(records)
	if page.Next != "" {
		fmt.Fprintf(l.env.out, "there are more than these %d; --limit shows more\n", len(records))
	}
	return nil
}

// path returns the path of the app's triggers with the query of the filter and set.
func (l *triggerList) path(ctx context.Context, suffix string, filter *triggerFilter, params url.Values) (string, error) {
	for name, value := range map[string]string{"name": filter.tool, "session": filter.session} {
		if value != "" {
			params.Set(name, value)
		}
	}
	for name, text := range map[string]string{"since": filter.since, "until": filter.until} {
		if text == "" {
			continue
		}
		at, err := timeOf("--"+name, text, l.env.now())
		if err != nil {
			return "", err
		}
		params.Set(name, at.UTC().Format(time.RFC3339Nano))
	}
	appID, err := l.client.App(ctx, l.appID)
	l.appID = appID
	return client.Path("apps", appID, "triggers") + suffix + "?" + params.Encode(), err
}

// print writes a line per record, or two on a narrow screen, with the time or the date only.
func (l *triggerList) print(records []query.Record) {
	columns, today := terminal.Width(l.env.out, l.env.lookup), l.env.now().Local().Format(time.DateOnly)
	rows := [][]string{{"TIME", "STATE", "TOOL", "SESSION", "ID", "LAST ATTEMPT"}}
	for _, record := range records {
		at := record.Time.Local()
		layout := time.DateOnly
		switch {
		case columns == 0:
			layout = time.DateTime
		case at.Format(time.DateOnly) == today:
			layout = time.TimeOnly
		}
		rows = append(rows, []string{
			at.Format(layout), record.State, record.RepositoryID + "/" + record.Name,
			cmp.Or(record.SessionID, "-"), record.TriggerID, lastAttempt(record),
		})
	}
	style := terminal.StyleOf(l.env.out, l.env.lookup)
	colours := map[string]string{
		query.StateFailed: terminal.Red, query.StatePending: terminal.Yellow, query.StateDelivered: terminal.Green,
		query.StateConfirming: terminal.Yellow, query.StateCancelled: terminal.Faint, query.StateDuplicate: terminal.Faint,
	}
	terminal.Table{Style: style, Columns: columns, Below: 4}.Print(l.env.out, rows, func(cell string) string { return colours[cell] })
}

// lastAttempt describes the last failed attempt, or else the last; for a held trigger, what it waits for.
func lastAttempt(record query.Record) string {
	switch {
	case record.State == query.StateConfirming:
		return terminal.OneLine(record.Question)
	case record.State == query.StateDuplicate:
		return "of " + record.Of
	case record.State == query.StatePending && record.DueAt != nil && len(record.Attempts) == 0:
		return "settles until " + record.DueAt.Local().Format(time.TimeOnly)
	case len(record.Attempts) == 0:
		return "-"
	}
	last := record.Attempts[len(record.Attempts)-1]
	for _, attempt := range slices.Backward(record.Attempts) {
		if attempt.Error != "" && record.State != query.StateDelivered {
			last = attempt
			break
		}
	}
	text := fmt.Sprintf("%s #%d", last.Effect, last.Number)
	if last.Status != 0 {
		text += fmt.Sprintf(", status %d", last.Status)
	}
	if last.Error != "" {
		text += ": " + terminal.OneLine(last.Error)
	}
	return text
}

type triggerFilter struct{ tool, session, since, until string }

func (m *triggerFilter) register(flags *pflag.FlagSet) {
	flags.StringVar(&m.tool, "name", "", "only those of `TOOL`")
	flags.StringVar(&m.session, "session", "", "only those of `SESSION`")
	flags.StringVar(&m.since, "since", "", "only those that fired at `TIME` or later: so long ago, as 10m, or 2026-12-01T09:00:00Z")
	flags.StringVar(&m.until, "until", "", "only those that fired before `TIME`")
}

func (l *triggerList) newRetry() *cobra.Command {
	all, filter := false, &triggerFilter{}
	cmd := &cobra.Command{
		Use: "retry [ID...]",
		RunE: func(cmd *cobra.Command, ids []string) (err error) {
			if all == (len(ids) > 0) {
				return errors.New("give the IDs of the triggers to try again, or --all for all failed ones")
			}
			if all {
				return l.forAllFailed(cmd.Context(), http.MethodPost, "/retry", filter, url.Values{}, "tried again")
			}
			ctx := cmd.Context()
			if l.appID, err = l.client.App(ctx, l.appID); err != nil {
				return err
			}
			for _, id := range ids {
				if err := repositories.CheckID("the trigger", id); err != nil {
					return err
				}
				if _, err := l.client.Call(ctx, http.MethodPost, client.Path("apps", l.appID, "triggers", id, "retry"), nil); err != nil {
					return fmt.Errorf("%s is not tried again: %w", id, err)
				}
				fmt.Fprintf(l.env.out, "%s is tried again\n", id)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all failed triggers")
	filter.register(cmd.Flags())
	return cmd
}

func (l *triggerList) newPurge() *cobra.Command {
	filter := &triggerFilter{}
	cmd := &cobra.Command{Use: "purge", Args: arguments(0, 0), RunE: func(cmd *cobra.Command, _ []string) error {
		return l.forAllFailed(cmd.Context(), http.MethodDelete, "", filter, url.Values{"state": {"failed"}}, "removed")
	}}
	filter.register(cmd.Flags())
	return cmd
}

func (l *triggerList) forAllFailed(ctx context.Context, method, below string, filter *triggerFilter, set url.Values, done string) error {
	path, err := l.path(ctx, below, filter, set)
	if err != nil {
		return err
	}
	answer, err := l.client.Call(ctx, method, path, nil)
	if err != nil {
		return err
	}
	var counted struct {
		Triggers int `json:"triggers"`
	}
	if err := json.Unmarshal(answer, &counted); err != nil {
		return err
	}
	fmt.Fprintf(l.env.out, "%d %s\n", counted.Triggers, done)
	return nil
}

func (l *triggerList) newConfirm() *cobra.Command {
	sure := false
	cmd := &cobra.Command{
		Use:  "confirm ID",
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, ids []string) (err error) {
			ctx, id := cmd.Context(), ids[0]
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
				if _, err := l.decide(ctx, id, "confirm", fmt.Appendf(nil, `{"digest":%q}`, record.Digest)); err != nil {
					return fmt.Errorf("%s does not wait for a confirmation: it is %s", id, record.State)
				}
				fmt.Fprintf(l.env.out, "%s was confirmed before, and is %s\n", id, record.State)
				return nil
			}
			until := ""
			if record.ExpiresAt != nil {
				until = ", until " + record.ExpiresAt.Local().Format(time.TimeOnly)
			}
			state := terminal.StyleOf(l.env.out, l.env.lookup).Paint(terminal.Yellow, record.State)
			fmt.Fprintf(l.env.out, "%s %s/%s %s%s\n  %s\n", state, record.RepositoryID, record.Name,
				terminal.OneLine(terminal.Value(record.Values)), until, terminal.OneLine(record.Question))
			if !sure {
				if err := l.askConfirmation(); err != nil {
					return fmt.Errorf("%s is not confirmed: %w", id, err)
				}
			}
			if record, err = l.decide(ctx, id, "confirm", fmt.Appendf(nil, `{"digest":%q}`, record.Digest)); err != nil {
				return fmt.Errorf("%s is not confirmed: %w", id, err)
			}
			fmt.Fprintf(l.env.out, "%s is confirmed, and %s\n", id, record.State)
			return nil
		},
	}
	cmd.Flags().BoolVar(&sure, "yes", false, "confirm without asking")
	return cmd
}

func (l *triggerList) newEnd(use string) *cobra.Command {
	return &cobra.Command{Use: use, Args: arguments(1, math.MaxInt), RunE: func(cmd *cobra.Command, ids []string) (err error) {
		if l.appID, err = l.client.App(cmd.Context(), l.appID); err != nil {
			return err
		}
		for _, id := range ids {
			record, err := l.decide(cmd.Context(), id, cmd.Name(), nil)
			if err != nil {
				participle := map[string]string{"deny": "denied", "cancel": "cancelled"}[cmd.Name()]
				return fmt.Errorf("%s is not %s: %w", id, participle, err)
			}
			fmt.Fprintf(l.env.out, "%s is %s\n", id, record.State)
		}
		return nil
	}}
}

// askConfirmation asks a person at a terminal. It returns nil only after a yes.
func (l *triggerList) askConfirmation() error {
	editor := terminal.NewEditor(l.env.in, l.env.out, "confirm it? [y/N] ", nil)
	if editor == nil {
		return errors.New("there is no terminal to ask at; give --yes to confirm")
	}
	reply, err := editor.Line()
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if reply = strings.ToLower(strings.TrimSpace(reply)); reply != "y" && reply != "yes" {
		return errors.New("the answer was not yes")
	}
	return nil
}

func (l *triggerList) decide(ctx context.Context, id, verb string, body []byte) (record query.Record, err error) {
	if err := repositories.CheckID("the trigger", id); err != nil {
		return record, err
	}
	answer, err := l.client.Call(ctx, http.MethodPost, client.Path("apps", l.appID, "triggers", id, verb), body)
	if err == nil {
		err = client.Decode(answer, &record)
	}
	return record, err
}
