package monitoring

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

func alerts(t *testing.T) []rule {
	return slices.DeleteFunc(allRules(t), func(one rule) bool { return one.Alert == "" })
}

func TestPromtoolReadsTheRulesAndEachAlertFiresWhereItShould(t *testing.T) {
	t.Parallel()
	promtool(t, "check", "rules", "rules.yaml")
	promtool(t, "test", "rules", "rules_test.yaml")
	promtool(t, "check", "config", "prometheus.yaml")
}

// TestEachAlertIsSeenFiringAndQuiet holds the tests of promtool together with the rules.
func TestEachAlertIsSeenFiringAndQuiet(t *testing.T) {
	t.Parallel()
	text := testbed.Got(os.ReadFile("rules_test.yaml"))(t)
	var read struct {
		Tests []struct {
			Asked []struct {
				Name     string           `yaml:"alertname"`
				Expected []map[string]any `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &read))
	seen := map[string]map[bool]bool{}
	for _, test := range read.Tests {
		for _, one := range test.Asked {
			if seen[one.Name] == nil {
				seen[one.Name] = map[bool]bool{}
			}
			seen[one.Name][len(one.Expected) > 0] = true
		}
	}
	for _, one := range alerts(t) {
		require.Len(t, seen[one.Alert], 2, "%s must be tried where it fires, and where it does not", one.Alert)
	}
	require.Len(t, seen, len(alerts(t)))
}

// TestTheRunbookHasAChapterForEachAlert requires, under its runbook_url, the meaning, a command to look with, and what to do.
func TestTheRunbookHasAChapterForEachAlert(t *testing.T) {
	t.Parallel()
	text := testbed.Read(t, filepath.Join("..", "docs", "runbook.md"))
	chapters := map[string]string{}
	for _, chapter := range strings.Split(text, "\n### ")[1:] {
		name, rest, _ := strings.Cut(chapter, "\n")
		chapters[name] = strings.Split(rest, "\n## ")[0]
	}
	for _, one := range alerts(t) {
		require.Equal(t, "deploy/docs/runbook.md#"+strings.ToLower(one.Alert), one.Annotations["runbook_url"])
		for _, part := range []string{"**Means.**", "**Look.**", "**Do.**"} {
			require.Contains(t, chapters[one.Alert], part, one.Alert)
		}
		require.Regexp(t, "[*]{2}Look[.][*]{2} \\[?`[^`]+ [^`]+`", chapters[one.Alert], "%s: what is looked at begins with a command", one.Alert)
		require.Contains(t, []string{"critical", "warning"}, one.Labels["severity"])
		delete(chapters, one.Alert)
	}
	require.Empty(t, chapters, "chapters of alerts that there are not")
}

// TestTheRunbookHasEachReasonWhyAReplicaIsNotReady has the public texts of /readyz, but that of a replica that stops.
func TestTheRunbookHasEachReasonWhyAReplicaIsNotReady(t *testing.T) {
	t.Parallel()
	_, chapter, _ := strings.Cut(testbed.Read(t, filepath.Join("..", "docs", "runbook.md")), "### EarshotNotReady")
	chapter, _, _ = strings.Cut(chapter, "\n### ")
	for file, reasons := range map[string][]string{
		"emitter/emitter.go":                {"answers without JetStream", "refuses what its stream needs", "refuses the connection"},
		"emitter/stream.go":                 {"its stream has no leader", "its stream is full", "it acknowledges none"},
		"emitter/connection.go":             {"it denies them"},
		"repositories/keyspace/db.go":       {"is full"},
		"repositories/keyspace/replicas.go": {"too few replicas that follow it"},
		"repositories/format/format.go":     {"the format of this version"},
		"cmd/earshot/service.go":            {"another secret key"},
	} {
		source := testbed.Read(t, filepath.Join("..", "..", filepath.FromSlash(file)))
		for _, reason := range reasons {
			require.Contains(t, source, reason)
			require.Contains(t, chapter, reason)
		}
	}
}

func TestThePanelsOfTheDashboardStandBesideEachOther(t *testing.T) {
	t.Parallel()
	taken, ids := map[[2]int]string{}, map[int]bool{}
	for _, one := range panels(t) {
		require.False(t, ids[one.ID], "two panels have the id %d", one.ID)
		ids[one.ID] = true
		at := one.GridPos
		require.LessOrEqual(t, at.X+at.W, 24, one.Title)
		for x := at.X; x < at.X+at.W; x++ {
			for y := at.Y; y < at.Y+at.H; y++ {
				require.Empty(t, taken[[2]int{x, y}], "%s covers another panel", one.Title)
				taken[[2]int{x, y}] = one.Title
			}
		}
		for _, target := range one.Targets {
			require.Equal(t, "${datasource}", target.Datasource.UID, one.Title)
		}
		require.Equal(t, one.Type != "row", len(one.Targets) > 0, one.Title)
	}
}

// TestEveryMetricOfOursIsWatched has a panel or an alert for each metric of the reference.
func TestEveryMetricOfOursIsWatched(t *testing.T) {
	t.Parallel()
	text := testbed.Read(t, filepath.Join("..", "docs", "reference", "metrics.md"))
	named := regexp.MustCompile("(?m)^\\| `(earshot_[a-z_]+)`").FindAllStringSubmatch(text, -1)
	require.Greater(t, len(named), 15)
	watched := rules + strings.Join(Queries(t), "\n")
	for _, name := range named {
		require.True(t, strings.Contains(watched, name[1]), "%s is in no panel and in no rule", name[1])
	}
}
