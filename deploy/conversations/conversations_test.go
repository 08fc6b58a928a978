package conversations_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/matcher/chain"
	"earshot/matcher/llm"
	"earshot/repositories/files"
	"earshot/trigger/trial"
)

// The rule-based matcher must reach these shares of all messages with an expectation: a wrong effect is worse than none.
const (
	mostWrong  = 0.01
	leastRight = 0.80
)

// TestConversationsComeOutAsPeopleExpect runs without a model. Its log has what failed: go test -v ./deploy/conversations.
func TestConversationsComeOutAsPeopleExpect(t *testing.T) {
	t.Parallel()
	names := testbed.Got(filepath.Glob("*.yaml"))(t)
	require.NotEmpty(t, names)
	by := chain.New(llm.Options{})
	all := trial.Totals{}
	for _, name := range names {
		report := held(t, name, by)
		t.Logf("%s: %s", name, report.Summary())
		for _, test := range report.Tests {
			require.Empty(t, test.Error, "%s: %s", name, test.Name)
			if !test.OK {
				t.Log(test.Failures())
			}
		}
		all.Right, all.Wrong, all.Silent = all.Right+report.Right, all.Wrong+report.Wrong, all.Silent+report.Silent
	}
	sum := float64(all.Right + all.Wrong + all.Silent)
	t.Logf("of %.0f messages %d right, %d wrong, %d silent", sum, all.Right, all.Wrong, all.Silent)
	require.LessOrEqual(t, float64(all.Wrong), mostWrong*sum, "messages with a wrong effect")
	require.GreaterOrEqual(t, float64(all.Right), leastRight*sum, "messages that come out right")
}

func held(t *testing.T, name string, by *chain.Chain) *trial.Report {
	set := testbed.Got(files.Read([]string{name}, files.Options{Tests: true, AppID: "people"}))(t)
	stage := testbed.Got(trial.InProcess(set, by, llm.DefaultHistory, time.Now))(t)
	return trial.Run(t.Context(), set.Tests, stage)
}

// TestWhatNobodyTakesBackWaitsForAYes runs the conversations of an app that asks for it: each of their messages counts.
func TestWhatNobodyTakesBackWaitsForAYes(t *testing.T) {
	t.Parallel()
	for _, test := range held(t, "irreversible.yaml", chain.New(llm.Options{})).Tests {
		require.True(t, test.OK, test.Failures())
	}
}
