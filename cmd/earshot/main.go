// Command earshot hears what a chat calls for and sets it off: it matches messages
// against registered tools, publishes an event on NATS for each match, and calls the
// tool's endpoint.
//
// earshot dev runs everything in one process, for a first look and for development;
// earshot serve is the service, on a Redis and a NATS server.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"earshot/cmd/earshot/systemd"
	"earshot/cmd/earshot/terminal"
	"earshot/repositories/fault"
	"earshot/repositories/files"
)

func main() {
	ctx, catch := untilSignalled()
	code := run(ctx, os.Args[1:], environment{out: os.Stdout, err: systemd.Stderr(os.Stderr, os.LookupEnv), lookup: os.LookupEnv, in: os.Stdin, now: clock(), pause: pause, catch: catch, hangups: hangups})
	os.Exit(code)
}

// environment holds the inputs and outputs of a command beside its arguments, so that
// tests can run commands as main does.
type environment struct {
	out    io.Writer
	err    io.Writer
	lookup func(variable string) (string, bool)
	in     io.Reader // what a user types
	now    func() time.Time
	// pause waits until the duration is over, or returns the error of ctx, which ended.
	pause func(ctx context.Context, d time.Duration) error
	// catch has signals end the context of a command from then on, in place of the process; nil
	// where nobody sends any.
	catch func()
	// hangups has each SIGHUP sent to a channel from then on, in place of ending the process, until
	// forget is called; nil where nobody sends any.
	hangups func() (came <-chan os.Signal, forget func())
}

// hangups are the hangups of an environment that the operating system sends.
func hangups() (came <-chan os.Signal, forget func()) {
	signals := make(chan os.Signal, 1) // a second one that comes meanwhile asks for the same
	signal.Notify(signals, syscall.SIGHUP)
	return signals, func() { signal.Stop(signals) }
}

// offline marks commands that speak to nobody and leave nothing half done: a signal ends them at once.
var offline = map[string]string{"offline": "yes"}

// pause is the pause of an environment that is measured by the clock of the machine.
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

// exitWith is an error that only sets the exit code; nothing is printed for it.
type exitWith int

// Error returns the code, for whoever prints it all the same.
func (e exitWith) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// errTerminated is why a context has ended that a supervisor has ended, and no person.
var errTerminated = errors.New("told to end by SIGTERM")

// untilSignalled is a context that ends with the first signal to end after catch was called. Each
// before, and the second, ends the process at once.
func untilSignalled() (ctx context.Context, catch func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	return ctx, func() {
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
	}
}

// run executes the command line and returns its exit code: 0, 1 for a fault, or that of an
// exitWith.
func run(ctx context.Context, args []string, env environment) int {
	root := newRoot(env)
	root.SetArgs(args)
	root.SetOut(env.out)
	root.SetErr(env.err)
	err := root.ExecuteContext(ctx)
	var code exitWith
	if errors.As(err, &code) {
		return int(code)
	}
	var faults files.Faults
	switch {
	case err == nil:
		return 0
	case errors.As(err, &faults):
		fmt.Fprintln(systemd.Faults(env.err), err) // begins with file:line:column, for editors
	default:
		fmt.Fprintf(systemd.Faults(env.err), "earshot: %v\n", err)
	}
	return 1
}

func newRoot(env environment) *cobra.Command {
	root := &cobra.Command{
		Use:           "earshot",
		Short:         "Set off tools from what is said in a chat",
		Long:          "Earshot finds out which registered tool a chat message calls for, takes the tool's\nvalues out of the conversation, and sets it off: an event on NATS, an authenticated\nHTTP call.",
		Example:       "  earshot dev --demo",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          knownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { // of every command
			err := fromEnvironment(cmd.Flags(), env.lookup)
			if err == nil && env.catch != nil && cmd.Annotations["offline"] == "" {
				env.catch()
			}
			return err
		},
	}
	root.AddCommand(newDev(env), newServe(env), newEval(env), newValidate(env), newApply(env), newMigrate(env), newImport(env),
		newChat(env), newListen(env), newTriggers(env), newVerify(env), newReseal(env), newDoctor(env), newHealth(env), newSchema(env), newVersion())
	root.SetFlagErrorFunc(explainFlag)
	fitHelp(root, terminal.Width(env.out, env.lookup))
	return root
}

// fitHelp wraps what the commands say of themselves to a screen; zero columns have room for
// everything.
func fitHelp(root *cobra.Command, columns int) {
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", columns)))
	all := []*cobra.Command{root}
	for len(all) > 0 {
		cmd := all[0]
		cmd.Long = terminal.Wrap(cmd.Long, columns)
		all = append(all[1:], cmd.Commands()...)
	}
}

// knownCommand refuses arguments of a command that only has commands below it.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var known []string
	for _, child := range cmd.Commands() {
		if child.IsAvailableCommand() {
			known = append(known, child.Name())
		}
	}
	return fmt.Errorf("unknown command %q for %q%s (see: %s --help)", fault.Clip(args[0]), cmd.CommandPath(), fault.DidYouMean(args[0], known), cmd.CommandPath())
}

// explainFlag adds to the error of a flag what was meant, and where all flags are listed.
func explainFlag(cmd *cobra.Command, err error) error {
	hint := ""
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		var known []string
		cmd.Flags().VisitAll(func(flag *pflag.Flag) { known = append(known, "--"+flag.Name) })
		hint = fault.DidYouMean("--"+unknown.GetSpecifiedName(), known)
	}
	return fmt.Errorf("%w%s (see: %s --help)", err, hint, cmd.CommandPath())
}
