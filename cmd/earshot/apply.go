package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"earshot/cmd/earshot/client"
	"earshot/cmd/earshot/plan"
	"earshot/repositories/files"
)

// sourceFlags are the flags that say which files are read, and for which app.
type sourceFlags struct {
	paths []string
	appID string
}

func (s *sourceFlags) register(flags *pflag.FlagSet) {
	s.registerFiles(flags)
	flags.StringVar(&s.appID, "app", "", "the app, where the files do not name it (default: the name of their folder)")
}

func (s *sourceFlags) registerFiles(flags *pflag.FlagSet) {
	flags.StringArrayVarP(&s.paths, "file", "f", nil, "file or folder; may be given more than once")
}

// read reads the files and prints notes on what was left out of them.
func (s *sourceFlags) read(env environment) (*files.Set, error) {
	if len(s.paths) == 0 {
		return nil, errors.New("no file is given; name files and folders with -f")
	}
	set, err := files.Read(s.paths, files.Options{Lookup: env.lookup, AppID: s.appID})
	for _, note := range set.Notes {
		fmt.Fprintf(env.err, "note: %s\n", note)
	}
	return set, err
}

// readFor reads the files for an app, whose id must be known.
func (s *sourceFlags) readFor(env environment) (*files.Set, error) {
	set, err := s.read(env)
	if err == nil && set.AppID == "" {
		err = errors.New("the files name no app, and their folder has no name that could be an id; name it with --app")
	}
	return set, err
}

func newApply(env environment) *cobra.Command {
	source, remote := &sourceFlags{}, &client.Client{}
	var dryRun, prune, exitCode bool
	cmd := &cobra.Command{
		Use:   "apply -f FILE|DIR",
		Short: "Bring a running service to what files define",
		Long: "Compare files with what a service has, print the plan, and carry it out. A second run\n" +
			"changes nothing. What the files do not mention stays, unless --prune is given.\n\n" +
			"The app is the one that the files name (kind: app, or the appId of a SERMAS app), else\n" +
			"--app, else the name of the folder of the first -f. It is created where it is missing.\n\n" +
			"Exits with 0, with 1 at a fault, and with --dry-run --exit-code with 2 where something\nwould change.",
		Example: "  earshot apply -f tools.yaml --app clinic\n  earshot apply -f ./clinic --dry-run --exit-code",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if exitCode && !dryRun {
				return errors.New("--exit-code goes with --dry-run")
			}
			set, err := source.readFor(env)
			if err != nil {
				return err
			}
			p := &plan.Planner{Service: remote, Set: set, Pause: env.pause, Removable: func(plan.Member) bool { return prune }}
			return runApply(cmd.Context(), p, env.out, dryRun, exitCode)
		},
	}
	source.register(cmd.Flags())
	registerService(remote, cmd.Flags())
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print the plan and change nothing")
	cmd.Flags().BoolVar(&prune, "prune", false, "remove the app's repositories, modules, sources and services that the files do not have")
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "with --dry-run: exit with 2 where something would change")
	return cmd
}

func runApply(ctx context.Context, p *plan.Planner, out io.Writer, dryRun, exitCode bool) error {
	made, err := p.Plan(ctx)
	if err != nil {
		return err
	}
	made.Print(out)
	if dryRun {
		fmt.Fprintf(out, "nothing was done (--dry-run): would have %s\n", made.Summary())
		if exitCode && made.Changes() > 0 {
			return exitWith(2)
		}
		return nil
	}
	if err := p.Apply(ctx, made, out); err != nil {
		return err
	}
	fmt.Fprintln(out, made.Summary())
	return nil
}
