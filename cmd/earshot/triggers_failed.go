package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"earshot/cmd/earshot/client"
)

// matching narrows what is done to all failed triggers.
type matching struct{ tool, session string }

func (m *matching) register(flags *pflag.FlagSet) {
	flags.StringVar(&m.tool, "name", "", "only those of the `TOOL`")
	flags.StringVar(&m.session, "session", "", "only those of the `SESSION`")
}

// query is the narrowing as the service reads it, beside what is set already.
func (m *matching) query(set url.Values) string {
	for name, value := range map[string]string{"name": m.tool, "session": m.session} {
		if value != "" {
			set.Set(name, value)
		}
	}
	return "?" + set.Encode()
}

func (l *ledger) newRetry() *cobra.Command {
	all, only := false, &matching{}
	cmd := &cobra.Command{
		Use:     "retry [ID...]",
		Short:   "Deliver again what has failed",
		Long:    "Deliver again what has failed: of the triggers with these ids, as earshot triggers lists\nthem, or with --all of all that have failed.",
		Example: "  earshot triggers retry --all --name book",
		RunE: func(cmd *cobra.Command, ids []string) error {
			if err := fromEnvironment(cmd.Flags(), l.env.lookup); err != nil {
				return err
			}
			if all == (len(ids) > 0) {
				return errors.New("name the triggers that are to be tried again, or give --all")
			}
			if all {
				return l.doToFailed(cmd.Context(), http.MethodPost, "/retry"+only.query(url.Values{}), "tried again")
			}
			return l.retry(cmd.Context(), ids)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all that have failed")
	only.register(cmd.Flags())
	return cmd
}

func (l *ledger) newPurge() *cobra.Command {
	only := &matching{}
	cmd := &cobra.Command{
		Use:     "purge",
		Short:   "Remove failed triggers",
		Long:    "Remove all failed triggers with what they still owe, or only those of a tool or a session.\nThey cannot be tried again then.",
		Example: "  earshot triggers purge --name book",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fromEnvironment(cmd.Flags(), l.env.lookup); err != nil {
				return err
			}
			return l.doToFailed(cmd.Context(), http.MethodDelete, only.query(url.Values{"state": {"failed"}}), "removed")
		},
	}
	only.register(cmd.Flags())
	return cmd
}

// doToFailed does something to all failed triggers that match, and says to how many.
func (l *ledger) doToFailed(ctx context.Context, method, rest, done string) (err error) {
	if l.appID, err = l.client.OnlyApp(ctx, l.appID); err != nil {
		return err
	}
	answer, err := l.client.Call(ctx, method, client.Path("apps", l.appID, "triggers")+rest, nil)
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
