// Command earshot matches chat messages against registered tools, publishes an event on NATS for each match,
// and calls the tool's endpoint.
//
// earshot dev runs everything in one process, for a first look and for development;
// earshot serve is the service, on a Redis and a NATS server.
package main

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"earshot/cmd/earshot/terminal"
	"earshot/repositories/files"
)

func main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	os.Exit(run(ctx, os.Args[1:], environment{
		out: os.Stdout, err: standardError(os.Stderr, os.LookupEnv), lookup: os.LookupEnv, in: os.Stdin, now: clock(), pause: pause,
		catch: func() { // the first signal ends ctx; the second ends the process
			signals := make(chan os.Signal, 1)
			signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
			go func() {
				var cause error
				if <-signals == syscall.SIGTERM {
					cause = errTerminated
				}
				signal.Stop(signals)
				cancel(cause)
			}()
		},
		hangups: func() (came <-chan os.Signal, forget func()) {
			signals := make(chan os.Signal, 1) // a second hangup meanwhile asks for the same
			signal.Notify(signals, syscall.SIGHUP)
			return signals, func() { signal.Stop(signals) }
		},
	}))
}

// environment holds a command's inputs and outputs other than its arguments, so that tests can replace them.
type environment struct {
	out    io.Writer
	err    io.Writer
	lookup func(variable string) (string, bool)
	in     io.Reader // what a user types
	now    func() time.Time
	// pause waits for the duration, or returns the error of ctx.
	pause func(ctx context.Context, d time.Duration) error
	catch func() // makes signals end the command's context instead of the process; nil without signals
	// hangups sends each SIGHUP to a channel until forget is called; nil without signals.
	hangups func() (came <-chan os.Signal, forget func())
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// note prints a note, which may repeat what somebody else has written.
func (env environment) note(text string) {
	fmt.Fprintf(env.err, "note: %s\n", terminal.Printable(text))
}

// errTerminated is the cause of a context that a supervisor, not a person, ended.
var errTerminated = errors.New("told to end by SIGTERM")

// exitWith is an error that only sets the exit code, and is not printed.
type exitWith int

func (e exitWith) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// run executes the command line and returns its exit code: 0, 1 after an error, or that of an exitWith. What could not
// be printed is an error as well.
func run(ctx context.Context, args []string, env environment) int {
	out := terminal.NewOutput(env.out)
	env.out = out
	root := newRoot(env)
	completionOfKnown(root)
	root.SetArgs(args)
	root.SetOut(env.out)
	root.SetErr(env.err)
	err := cmp.Or(root.ExecuteContext(ctx), out.Err())
	if err == nil {
		return 0
	}
	if code, is := errors.AsType[exitWith](err); is {
		return int(code)
	}
	if _, is := errors.AsType[files.Faults](err); is {
		fmt.Fprintln(faultsTo(env.err), terminal.Printable(err.Error())) // begins with file:line:column, for editors
	} else {
		fmt.Fprintf(faultsTo(env.err), "earshot: %s\n", terminal.Printable(err.Error()))
	}
	return 1
}

// offline marks commands without connections or partial results: a signal ends them at once.
var offline = map[string]string{"offline": "yes"}

func newRoot(env environment) *cobra.Command {
	root := &cobra.Command{
		Use:           "earshot",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          knownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error { // runs before every command
			err := fromEnvironment(cmd.Flags(), env.lookup)
			if err != nil && cmd.PreRunE != nil { // it checks the settings
				err = errors.Join(err, cmd.PreRunE(cmd, args))
			}
			if err == nil && env.catch != nil && cmd.Annotations["offline"] == "" {
				env.catch()
			}
			return err
		},
	}
	imports := &cobra.Command{Use: "import", Args: knownCommand, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	imports.AddCommand(newImportOpenAPI(env))
	root.AddCommand(newDev(env), newServe(env), newEval(env), newValidate(env), newApply(env), newMigrate(env), imports,
		newChat(env), newListen(env), newTriggers(env), newVerify(env), newReseal(env), newDoctor(env), newHealth(env), newSchema(env), newVersion())
	helpOfKnown(root)
	root.SetFlagErrorFunc(flagFault)
	columns := terminal.Width(env.out, env.lookup) // 0: no line limit
	root.SetUsageFunc(func(cmd *cobra.Command) error { return printUsage(cmd, columns) })
	for all := []*cobra.Command{root}; len(all) > 0; all = append(all[1:], all[0].Commands()...) {
		describe(all[0])
		all[0].Long = terminal.Wrap(all[0].Long, columns)
	}
	return root
}

//go:embed help.txt
var helpText string

// describe gives a command its part of help.txt: a line, a text if there is more to say, and examples, which are indented.
func describe(cmd *cobra.Command) {
	_, part, _ := strings.Cut(helpText, "# "+cmd.CommandPath()+"\n")
	part, _, _ = strings.Cut(part, "\n\n# ")
	part, examples, _ := strings.Cut(part, "\n\n  ")
	cmd.Short, cmd.Long, _ = strings.Cut(part, "\n\n")
	cmd.Example = strings.TrimRight("  "+examples, "\n")
}

// helpOfKnown makes help refuse unknown commands, for which cobra's shows that of the program.
func helpOfKnown(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, _ := root.Find([]string{"help"})
	help.Args = func(_ *cobra.Command, args []string) error {
		of, rest, err := root.Find(args)
		if err == nil && of.HasSubCommands() {
			return knownCommand(of, rest)
		}
		return err
	}
}

// completionOfKnown makes completion refuse unknown shells, for which cobra's shows its help as if all were well.
func completionOfKnown(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	completion, _, _ := root.Find([]string{"completion"})
	completion.Args = knownCommand
	completion.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}

// printUsage prints cobra's usage with flags wrapped to the screen. A template would link text/template, which
// makes the linker keep all methods of all types.
func printUsage(cmd *cobra.Command, columns int) error {
	out := cmd.OutOrStderr()
	flags, inherited := cmd.LocalFlags(), cmd.InheritedFlags()
	fmt.Fprint(out, "Usage:")
	if cmd.Runnable() {
		fmt.Fprint(out, "\n  ", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(out, "\n  %s [command]", cmd.CommandPath())
	}
	if cmd.HasExample() {
		fmt.Fprint(out, "\n\nExamples:\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprint(out, "\n\nAvailable Commands:")
		for _, child := range cmd.Commands() {
			if child.IsAvailableCommand() || child.Name() == "help" {
				fmt.Fprintf(out, "\n  %-*s %s", child.NamePadding(), child.Name(), child.Short)
			}
		}
	}
	headings, groups := byGroup(flags)
	for _, heading := range headings {
		if group := groups[heading]; group.HasAvailableFlags() {
			fmt.Fprintf(out, "\n\n%s:\n%s", cmp.Or(heading, "Flags"), strings.TrimRightFunc(group.FlagUsagesWrapped(columns), unicode.IsSpace))
		}
	}
	if inherited.HasAvailableFlags() {
		fmt.Fprint(out, "\n\nGlobal Flags:\n", strings.TrimRightFunc(inherited.FlagUsagesWrapped(columns), unicode.IsSpace))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(out, "\n\nUse \"%s [command] --help\" for more information about a command.", cmd.CommandPath())
	}
	_, err := fmt.Fprintln(out)
	return err
}
