package main

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"earshot/cmd/earshot/client"
	"earshot/cmd/earshot/eval"
	"earshot/cmd/earshot/terminal"
	"earshot/matcher/chain"
	"earshot/repositories"
	"earshot/repositories/files"
	"earshot/repositories/secret"
)

// evaluation is one run of the tests of files.
type evaluation struct {
	sourceFlags
	env     environment
	config  config
	service client.Client
	json    bool
}

func newEval(env environment) *cobra.Command {
	e := &evaluation{env: env}
	cmd := &cobra.Command{
		Use:   "eval FILE|DIR...",
		Short: "Run tests of tools: conversations with what they set off",
		Long: "Run the tests in files (kind: test, and SERMAS's tests/*.yaml) against the files' tools, by\n" +
			"the matcher that a service with the same settings has: the words alone, or a model\n" +
			"where one is configured. With --server the tools of a service, by dry runs. No tool is\n" +
			"ever called. Prints what failed, and precision, recall and values of each tool.\n" +
			"Exits with 0, and with 1 where a test has failed or a message could not be decided.",
		Example: "  earshot eval tools.yaml\n  earshot eval ./clinic --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := e.given(args); err != nil {
				return err
			}
			return e.run(cmd)
		},
	}
	e.register(cmd.Flags())
	return cmd
}

func (e *evaluation) register(flags *pflag.FlagSet) {
	e.sourceFlags.register(flags)
	flags.StringVar(&e.service.Server, "server", "", "`URL` of a service whose tools are tested, by dry runs, in place of the files'")
	flags.TextVar(&e.service.Key, "key", secret.Secret{}, "bearer `KEY` for it, of an app or the admin's (EARSHOT_KEY, else EARSHOT_ADMIN_KEY)")
	flags.SetAnnotation("key", envAnnotation, []string{"EARSHOT_KEY", "EARSHOT_ADMIN_KEY"}) //nolint:errcheck // the flag exists
	flags.BoolVar(&e.json, "json", false, "print the report as JSON, which --compare reads")
	e.config.registerModels(flags)
}

// run runs the tests, and fails where one of them does.
func (e *evaluation) run(cmd *cobra.Command) error {
	set, err := e.readTests()
	if err != nil {
		return err
	}
	stage, err := e.stage(set)
	if err != nil {
		return err
	}
	report := eval.Run(cmd.Context(), set.Tests, stage)
	if err := e.print(report); err != nil {
		return err
	}
	if failed := report.Failures(); failed != "" {
		return errors.New(failed)
	}
	return nil
}

// readTests reads the files with their tests, of which there must be some.
func (e *evaluation) readTests() (*files.Set, error) {
	e.tests = true
	set, err := e.read(e.env)
	if err = set.All(err); err == nil && len(set.Tests) == 0 {
		err = errors.New("the files have no test: add documents of kind: test, with what is said and what it should set off (chat: [{user: …}, {expect: {tool: …}}])")
	}
	return set, err
}

// stage is where the conversations are held.
func (e *evaluation) stage(set *files.Set) (eval.Stage, error) {
	id := set.AppID
	if id == "" {
		id = "app"
	}
	app, err := repositories.DecodeApp(id, set.App.Body())
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.NewTextHandler(e.env.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	made := chain.New(e.config.models(log, e.env))
	fmt.Fprintln(e.env.err, "note: "+made.Describe())
	return &eval.Process{Matcher: made, App: app, Repositories: set.Decoded(), History: e.config.History, Now: e.env.now}, nil
}

// print writes the report, for people or for programs.
func (e *evaluation) print(report *eval.Report) error {
	if e.json {
		return eval.WriteJSON(e.env.out, report)
	}
	report.Print(e.env.out, terminal.StyleOf(e.env.out, e.env.lookup), terminal.Width(e.env.out, e.env.lookup))
	return nil
}
