package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"earshot/repositories/files"
)

func newValidate(env environment) *cobra.Command {
	source := &sourceFlags{}
	cmd := &cobra.Command{
		Use:   "validate -f FILE|DIR",
		Short: "Check files without a service",
		Long: "Read files as apply does, and print every fault of every file as file:line:column: text.\n" +
			"Nothing is connected to. Exits with 0, and with 1 where there is a fault.",
		Example: "  earshot validate -f tools.yaml",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			set, err := source.read(env)
			if err == nil {
				err = set.Check()
			}
			var faults files.Faults
			if errors.As(err, &faults) {
				fmt.Fprintln(env.out, faults)
				return fmt.Errorf("%s in the files", counted(len(faults), "fault"))
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(env.out, "%s, %s: no faults\n", counted(len(set.Files), "file"), summary(set))
			return nil
		},
	}
	source.register(cmd.Flags())
	return cmd
}

func summary(set *files.Set) string {
	return fmt.Sprintf("app %s, %s", cmp.Or(set.AppID, "not named"), counted(len(set.Repositories), "repository", "repositories"))
}

// counted writes a number with its noun.
func counted(n int, noun string, plural ...string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case len(plural) > 0:
		return fmt.Sprintf("%d %s", n, plural[0])
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
