package main

import (
	"fmt"
	"os"
	"slices"
	"text/tabwriter"

	"earshot/cmd/earshot/eval"
)

// table is what came of cases.
type table struct {
	cases  []evalCase
	report *eval.Report
}

// kindsOf are the kinds of cases, in the order in which they come first.
func kindsOf(cases []evalCase) []string {
	var kinds []string
	for _, one := range cases {
		if !slices.Contains(kinds, one.kind) {
			kinds = append(kinds, one.kind)
		}
	}
	return kinds
}

// print writes a line for each kind of case: how many came out right, had a wrong effect, or none
// where one was expected; and, of the tools that fired as expected, how many values were right.
func (t table) print(title string, kinds ...string) {
	fmt.Printf("%s\n\n", title)
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "expected\tcases\tright\twrong\tsilent\t")
	for _, kind := range kinds {
		sum := eval.Totals{}
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
	fmt.Println(t.figures() + "\n")
}

func line(out *tabwriter.Writer, kind string, of eval.Totals) {
	all := of.Right + of.Wrong + of.Silent
	share := func(part int) string { return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(max(1, all))) }
	fmt.Fprintf(out, "%s\t%d\t%s\t%s\t%s\t\n", kind, all, share(of.Right), share(of.Wrong), share(of.Silent))
}

// figures are precision and recall over all tools, and the values of those that were met.
func (t table) figures() string {
	sum := eval.ToolReport{}
	for _, tool := range t.report.Tools {
		sum.Met, sum.Fired, sum.Expected = sum.Met+tool.Met, sum.Fired+tool.Fired, sum.Expected+tool.Expected
		sum.ValuesRight, sum.ValuesExpected = sum.ValuesRight+tool.ValuesRight, sum.ValuesExpected+tool.ValuesExpected
	}
	text := fmt.Sprintf("tools: %d of %d that fired were expected, %d of %d that were expected fired", sum.Met, sum.Fired, sum.Met, sum.Expected)
	if sum.ValuesExpected > 0 {
		text += fmt.Sprintf("; values: %d of %d right", sum.ValuesRight, sum.ValuesExpected)
	}
	return text
}
