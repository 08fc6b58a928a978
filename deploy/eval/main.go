// Command eval measures the matcher without a model on data that is no part of this project, and
// prints tables: which tools fire for single messages (CLINC150), which calls conversations come
// to (Schema-Guided Dialogue), and which single messages come to with functions of all kinds
// (Berkeley Function Calling Leaderboard). Every case is a test of tools, and is run as earshot
// eval runs them.
//
//	EARSHOT_EVAL_DATA=/path/to/data go run ./deploy/eval
//
// The folder has clinc/tools.json and clinc/dev.jsonl, sgd/cases.jsonl and bfcl/cases.jsonl.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"earshot/cmd/earshot/eval"
	"earshot/matcher/chain"
	"earshot/matcher/llm"
	"earshot/repositories"
	"earshot/repositories/files"
)

func main() {
	if err := measure(context.Background(), os.Getenv("EARSHOT_EVAL_DATA")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// measure runs all the data of a folder, and prints a table for each.
func measure(ctx context.Context, folder string) error {
	if folder == "" {
		return errors.New("EARSHOT_EVAL_DATA names no folder; it should hold clinc, sgd and bfcl")
	}
	clinc, err := readCLINC(folder)
	if err != nil {
		return err
	}
	dialogues, err := readSGD(folder)
	if err != nil {
		return err
	}
	functions, err := readBFCL(folder)
	if err != nil {
		return err
	}
	for _, bar := range []string{repositories.BarCertain, repositories.BarLikely} {
		clinc.hold(ctx, bar).print(fmt.Sprintf("CLINC150, 150 tools with 10 examples each, settings.offline.bar %q", bar), "a tool", "nothing")
	}
	dialogues.hold(ctx, "").print("SGD, conversations with the tools of their services", kindsOf(dialogues.cases)...)
	functions.hold(ctx, "").print("BFCL, single messages with functions", kindsOf(functions.cases)...)
	return nil
}

// data is a set of cases.
type data struct{ cases []evalCase }

// evalCase is a test with the tools that are in scope in it.
type evalCase struct {
	kind  string
	test  *files.Test
	tools *repositories.Repository
}

// onStage is the Stage of cases that have tools of their own.
type onStage struct {
	by   *chain.Chain
	bar  string
	of   map[*files.Test]*repositories.Repository
	made map[*repositories.Repository]*eval.Process
}

// Begin implements eval.Stage.
func (s *onStage) Begin(test *files.Test) (eval.Conversation, error) {
	tools := s.of[test]
	if s.made[tools] == nil {
		app := &repositories.App{ID: "eval"}
		app.Settings.Offline.Bar = s.bar
		s.made[tools] = &eval.Process{
			Matcher: s.by, App: app, Repositories: []*repositories.Repository{tools}, History: llm.DefaultHistory, Now: time.Now,
		}
	}
	return s.made[tools].Begin(test)
}

// hold runs the cases, at a bar of the offline matcher; empty is the usual one.
func (d data) hold(ctx context.Context, bar string) table {
	stage := &onStage{by: chain.New(llm.Options{}), bar: bar, of: map[*files.Test]*repositories.Repository{}, made: map[*repositories.Repository]*eval.Process{}}
	tests := make([]*files.Test, len(d.cases))
	for i, one := range d.cases {
		tests[i] = one.test
		stage.of[one.test] = one.tools
	}
	return table{d.cases, eval.Run(ctx, tests, stage)}
}
