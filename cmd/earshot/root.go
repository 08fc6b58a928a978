package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

func newRoot(env environment) *cobra.Command {
	root := &cobra.Command{
		Use:           "earshot",
		Short:         "Set off tools from what is said in a chat",
		Long:          "Earshot finds out which registered tool a chat message calls for, takes the tool's\nvalues out of the conversation, and sets it off: an event on NATS, an authenticated\nHTTP call.",
		Example:       "  earshot dev --demo",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.AddCommand(newDev(env), newServe(env), newValidate(env), newApply(env), newMigrate(env),
		newChat(env), newListen(env), newTriggers(env), newVersion())
	return root
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  earshot version",
		Args:    cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) {
			fmt.Fprintf(cmd.OutOrStdout(), "earshot %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		},
	}
}
