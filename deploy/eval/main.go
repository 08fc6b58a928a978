// Command eval measures the matcher without a model on data that is no part of this project, and prints tables: which
// tools fire for single messages (CLINC150), which calls conversations come to (Schema-Guided Dialogue), and which
// single messages come to with functions of all kinds (Berkeley Function Calling Leaderboard). Every case is a test
// of tools, and is run as earshot eval runs them.
//
//	EARSHOT_EVAL_DATA=/path/to/data go run ./deploy/eval
//	EARSHOT_EVAL_DATA=/path/to/data go run ./deploy/eval fit
//
// The second finds the weights of the matcher's confidence from the same data, and prints them as Go. The folder
// has clinc/tools.json, clinc/dev.jsonl and clinc/train.jsonl, sgd/cases.jsonl and bfcl/cases.jsonl.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"earshot/matcher/chain"
	"earshot/matcher/evaldata"
	"earshot/matcher/llm"
	"earshot/repositories"
	"earshot/repositories/files"
	"earshot/trigger/trial"
)

func main() {
	folder, run := os.Getenv("EARSHOT_EVAL_DATA"), measure
	if len(os.Args) > 1 && os.Args[1] == "fit" {
		run = fit
	}
	err := errors.New("EARSHOT_EVAL_DATA names no folder; it should hold clinc, sgd and bfcl")
	if folder != "" {
		err = run(folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func measure(folder string) error {
	clinc, err := readCLINC(folder)
	if err != nil {
		return err
	}
	sgd, err := evaldata.ReadSGD(folder)
	if err != nil {
		return err
	}
	dialogues, err := casesOf(sgd, sgdNow, func(call evaldata.Call) files.Expectation {
		return files.Expectation{Tool: call.Name, Values: call.Values, Also: call.Accepted}
	})
	if err != nil {
		return err
	}
	bfcl, err := evaldata.ReadBFCL(folder)
	if err != nil {
		return err
	}
	functions, err := casesOf(bfcl, time.Time{}, func(call evaldata.Call) files.Expectation {
		one := files.Expectation{Tool: call.Name, Values: map[string]any{}, Also: map[string][]any{}}
		for parameter, right := range call.Accepted {
			if len(right) > 0 && !slices.Contains(right, any("")) { // one that may be left out is not compared
				one.Values[parameter], one.Also[parameter] = right[0], right[1:]
			}
		}
		return one
	})
	if err != nil {
		return err
	}
	for _, bar := range []string{repositories.BarCertain, repositories.BarLikely} {
		hold(clinc, bar).print(fmt.Sprintf("CLINC150, 150 tools with 10 examples each, settings.offline.bar %q", bar), "a tool", "nothing")
	}
	hold(dialogues, "").print("SGD, conversations with the tools of their services", kindsOf(dialogues)...)
	hold(functions, "").print("BFCL, single messages with functions", kindsOf(functions)...)
	return nil
}

type onStage struct {
	by   *chain.Chain
	bar  string
	of   map[*files.Test]*repositories.Repository
	made map[*repositories.Repository]*trial.Process
}

func (s *onStage) Begin(test *files.Test) (trial.Conversation, error) {
	tools := s.of[test]
	if s.made[tools] == nil {
		app := &repositories.App{ID: "eval"}
		app.Settings.Offline.Bar = s.bar
		s.made[tools] = &trial.Process{
			Matcher: s.by, App: app, Repositories: []*repositories.Repository{tools}, History: llm.DefaultHistory, Now: time.Now,
		}
	}
	return s.made[tools].Begin(test)
}

func hold(cases []evalCase, bar string) table {
	stage := &onStage{by: chain.New(llm.Options{}), bar: bar, of: map[*files.Test]*repositories.Repository{}, made: map[*repositories.Repository]*trial.Process{}}
	tests := make([]*files.Test, len(cases))
	for i, one := range cases {
		tests[i] = one.test
		stage.of[one.test] = one.tools
	}
	return table{cases, trial.Run(context.Background(), tests, stage)}
}

type table struct {
	cases  []evalCase
	report *trial.Report
}

func kindsOf(cases []evalCase) []string {
	var kinds []string
	for _, one := range cases {
		if !slices.Contains(kinds, one.kind) {
			kinds = append(kinds, one.kind)
		}
	}
	return kinds
}

// print writes a line for each kind of case, and the values of the tools that fired as expected.
func (t table) print(title string, kinds ...string) {
	fmt.Printf("%s\n\n", title)
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "expected\tcases\tright\twrong\tsilent\t")
	for _, kind := range kinds {
		sum := trial.Totals{}
		for i, one := range t.cases {
			if one.kind == kind {
				of := t.report.Tests[i].Totals
				sum.Right, sum.Wrong, sum.Silent = sum.Right+of.Right, sum.Wrong+of.Wrong, sum.Silent+of.Silent
			}
		}
		line(out, kind, sum)
	}
	line(out, "all", t.report.Totals)
	out.Flush() //nolint:errcheck // to standard output
	sum := trial.ToolReport{}
	for _, tool := range t.report.Tools {
		sum.Met, sum.Fired, sum.Expected = sum.Met+tool.Met, sum.Fired+tool.Fired, sum.Expected+tool.Expected
		sum.ValuesRight, sum.ValuesExpected = sum.ValuesRight+tool.ValuesRight, sum.ValuesExpected+tool.ValuesExpected
	}
	fmt.Printf("tools: %d of %d that fired were expected, %d of %d that were expected fired", sum.Met, sum.Fired, sum.Met, sum.Expected)
	if sum.ValuesExpected > 0 {
		fmt.Printf("; values: %d of %d right", sum.ValuesRight, sum.ValuesExpected)
	}
	fmt.Print("\n\n")
}

func line(out *tabwriter.Writer, kind string, of trial.Totals) {
	all := of.Right + of.Wrong + of.Silent
	share := func(part int) string { return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(max(1, all))) }
	fmt.Fprintf(out, "%s\t%d\t%s\t%s\t%s\t\n", kind, all, share(of.Right), share(of.Wrong), share(of.Silent))
}
