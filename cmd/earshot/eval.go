package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"earshot/cmd/earshot/client"
	"earshot/cmd/earshot/eval"
	"earshot/cmd/earshot/terminal"
	"earshot/matcher/chain"
	"earshot/repositories/files"
	"earshot/trigger/trial"
)

type evaluation struct {
	sourceFlags
	env      environment
	config   config
	service  client.Client
	json     bool
	examples bool // makes the tools' own examples the tests
	junit    string
	record   string
	replay   string
	compare  string
	tape     *eval.Recording // the recording that is made or replayed; nil for none
}

func newEval(env environment) *cobra.Command {
	e := &evaluation{env: env}
	cmd := &cobra.Command{
		Use: "eval FILE|DIR...",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := e.setPaths(args); err != nil && !(e.examples && e.service.Server != "") {
				return err
			}
			return e.run(cmd)
		},
	}
	flags := cmd.Flags()
	e.sourceFlags.register(flags)
	flags.StringVar(&e.service.Server, "server", "", "`URL` of a service whose tools are tested by dry runs, instead of the files'")
	settings{flags}.credential(&e.service.Key, "key", keyVariables, "bearer `KEY` for it: the admin's or an app's")
	flags.BoolVar(&e.examples, "examples", false, "test the tools' own examples instead of tests: each must fire its tool")
	flags.BoolVar(&e.json, "json", false, "print the report as JSON, for --compare")
	flags.StringVar(&e.junit, "junit", "", "also write the report to a `FILE` as JUnit XML, a case for each test")
	flags.StringVar(&e.record, "record", "", "write the model's answers to a `FILE`, without credentials")
	flags.StringVar(&e.replay, "replay", "", "take the model's answers from such a `FILE`: no key is needed, and a missing answer is a failure")
	flags.StringVar(&e.compare, "compare", "", "list what got worse since the run whose --json is in a `FILE`")
	e.config.registerModels(settings{flags})
	return cmd
}

func (e *evaluation) run(cmd *cobra.Command) error {
	switch {
	case e.record != "" && e.replay != "":
		return errors.New("--record and --replay exclude each other: give only one of them")
	case e.service.Server != "" && e.record+e.replay != "":
		return errors.New("--record and --replay cannot be used with --server: the service asks its own model")
	}
	var earlier *eval.Earlier
	var err error
	if e.compare != "" {
		if earlier, err = eval.ReadEarlier(e.compare); err != nil {
			return err
		}
	}
	set := &files.Set{AppID: e.appID}
	if len(e.paths) > 0 {
		e.tests = !e.examples
		set, err = e.read(e.env)
		if err = set.JoinCheck(err); err == nil && e.tests && len(set.Tests) == 0 {
			err = errors.New("the files have no test: add documents of kind: test, with what is said and what it should fire (chat: [{user: …}, {expect: {tool: …}}])")
		}
		if err != nil {
			return err
		}
	}
	stage, err := e.stage(set)
	if err != nil {
		return err
	}
	if e.examples {
		if err := e.useExamples(cmd.Context(), set, stage); err != nil {
			return err
		}
	}
	report := trial.Run(cmd.Context(), set.Tests, stage)
	if err := e.write(report, earlier); err != nil {
		return err
	}
	if failed := report.Failures(); failed != "" {
		return errors.New(failed)
	}
	return nil
}

func (e *evaluation) useExamples(ctx context.Context, set *files.Set, stage trial.Stage) (err error) {
	list, at := set.Decoded(), set.Position
	if there, is := stage.(*eval.Service); is {
		if list, err = there.Repositories(ctx); err != nil {
			return err
		}
		at = func(string, string) (string, int) { return "", 0 }
	}
	left := 0
	if set.Tests, left = trial.Examples(list, at); left > 0 {
		e.env.note(plural(left, "example") + " of tools that ask for a verified user are not tried")
	}
	if len(set.Tests) == 0 {
		return errors.New("no tool has an example to test: add some, as in examples: [what a user would say]")
	}
	return nil
}

// stage returns a service, or the matcher of a service with the same settings.
func (e *evaluation) stage(set *files.Set) (trial.Stage, error) {
	if e.service.Server != "" {
		return &eval.Service{Client: &e.service, AppID: set.AppID, Pause: e.env.pause}, nil
	}
	of := e.config.models(slog.New(slog.NewTextHandler(e.env.err, &slog.HandlerOptions{Level: slog.LevelError})), e.env)
	var err error
	switch {
	case e.replay != "":
		e.tape, err = eval.Replay(e.replay, &of)
	case e.record != "":
		e.tape, err = eval.Record(&of)
	}
	if err != nil {
		return nil, err
	}
	made := chain.New(of)
	e.env.note(made.Describe())
	process, err := trial.InProcess(set, made, e.config.History, e.env.now)
	if err != nil {
		return nil, err
	}
	if e.tape != nil {
		process.Explain = e.tape.Explain
	}
	return process, nil
}

func (e *evaluation) write(report *trial.Report, earlier *eval.Earlier) error {
	var faults []error
	if e.record != "" {
		faults = append(faults, e.tape.Save(e.record))
	}
	if e.junit != "" {
		faults = append(faults, eval.WriteJUnit(report, e.junit))
	}
	out := e.env.out
	if e.json {
		faults = append(faults, eval.WriteJSON(out, report))
		out = e.env.err // the rest is for people
	} else {
		eval.Print(out, report, terminal.StyleOf(out, e.env.lookup), terminal.Width(out, e.env.lookup))
	}
	if earlier != nil {
		worse := earlier.Worse(report)
		for _, line := range worse {
			fmt.Fprintln(out, "worse: "+terminal.Printable(line))
		}
		if len(worse) == 0 {
			fmt.Fprintln(out, "nothing got worse since "+e.compare)
		}
	}
	return errors.Join(faults...)
}
