// Package monitoring holds what watches a service: rules for Prometheus, a dashboard for
// Grafana, and what tests need to try both on what services really say. deploy/docs/runbook.md
// tells what each alert means.
package monitoring

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"earshot/deploy/testbed"
)

//go:embed rules.yaml
var rules string

// rule is one of the rules.
type rule struct {
	Record, Alert, Expr, For string
	Labels, Annotations      map[string]string
}

// allRules reads the rules of all groups.
func allRules(t testing.TB) (all []rule) {
	t.Helper()
	var read struct{ Groups []struct{ Rules []rule } }
	if err := yaml.Unmarshal([]byte(rules), &read); err != nil {
		t.Fatal(err)
	}
	for _, group := range read.Groups {
		all = append(all, group.Rules...)
	}
	return all
}

// step is the time between two values of a series, in seconds: what Prometheus is commonly told
// to leave between two scrapes.
const step = 30

// History is what a Prometheus would have gathered of one replica: what its /metrics said at
// some minutes, and in between what lies between. Tests tell in seconds of hours.
type History struct{ told []told }

// told are the values of all series at a minute; nil where the replica did not answer.
type told struct {
	minute int
	values map[string]float64
}

// At adds what /metrics said at a minute, which must be later than those before. An empty text
// is that of a replica that did not answer.
func (h *History) At(t testing.TB, minute int, metrics string) {
	t.Helper()
	next := told{minute: minute}
	for line := range strings.Lines(metrics) {
		name, value, ok := strings.Cut(strings.TrimSpace(strings.ReplaceAll(line, "} ", "}\x00")), "\x00")
		if !ok {
			name, value, _ = strings.Cut(name, " ")
		}
		number, err := strconv.ParseFloat(value, 64)
		if strings.HasPrefix(line, "#") || err != nil {
			continue
		}
		if next.values == nil {
			next.values = map[string]float64{}
		}
		next.values[labelled(name)] = number
	}
	h.told = append(h.told, next)
}

// labelled is the name of a series with the labels that Prometheus adds.
func labelled(name string) string {
	const added = `job="earshot",instance="replica-1"`
	if bare, labels, found := strings.Cut(name, "{"); found {
		return bare + "{" + added + "," + labels
	}
	return name + "{" + added + "}"
}

// series are the values of each series, a step apart, as promtool reads them.
func (h *History) series() []map[string]string {
	up, names := "", map[string]bool{}
	for _, one := range h.told {
		for name := range one.values {
			names[name] = true
		}
	}
	for at := 0; at <= h.end()*60; at += step {
		before, _ := h.around(at)
		up += " " + map[bool]string{true: "1", false: "0"}[before.values != nil]
	}
	all := []map[string]string{{"series": labelled("up"), "values": strings.TrimSpace(up)}}
	for name := range names {
		all = append(all, map[string]string{"series": name, "values": h.valuesOf(name)})
	}
	return all
}

func (h *History) end() int { return h.told[len(h.told)-1].minute }

// around are what was told last at or before a second, and what was told next.
func (h *History) around(second int) (before, after told) {
	next := slices.IndexFunc(h.told, func(one told) bool { return one.minute*60 > second })
	if next < 0 {
		next = len(h.told)
	}
	return h.told[max(0, next-1)], h.told[min(next, len(h.told)-1)]
}

// valuesOf draws a line between what was told of a series; where it was not there it is stale.
func (h *History) valuesOf(name string) string {
	var values []string
	for at := 0; at <= h.end()*60; at += step {
		before, after := h.around(at)
		values = append(values, between(before, after, name, at))
	}
	return strings.Join(values, " ")
}

func between(before, after told, name string, second int) string {
	from, there := before.values[name]
	if !there {
		return "stale"
	}
	to, there := after.values[name]
	if !there || after.minute == before.minute {
		to = from
	}
	share := float64(second-before.minute*60) / float64(max(1, after.minute-before.minute)*60)
	return strconv.FormatFloat(from+(to-from)*share, 'f', -1, 64)
}

// Firing requires that at the end of the history these alerts fire and no others, but for those
// with a ? behind their name, which may.
func (h *History) Firing(t testing.TB, alerts ...string) {
	t.Helper()
	samples, others := []map[string]any{}, []string{}
	for _, alert := range alerts {
		if name, may := strings.CutSuffix(alert, "?"); may {
			others = append(others, name)
		} else {
			samples = append(samples, map[string]any{"labels": fmt.Sprintf("{alertname=%q}", name), "value": 1})
		}
	}
	query := fmt.Sprintf(`group by (alertname) (ALERTS{alertstate="firing", alertname!~%q})`, strings.Join(others, "|"))
	h.require(t, []map[string]any{{"expr": query, "exp_samples": samples}})
}

// Answered requires that each of the queries has an answer at the end of the history.
func (h *History) Answered(t testing.TB, queries ...string) {
	t.Helper()
	var tests []map[string]any
	for _, query := range queries {
		tests = append(tests, map[string]any{"expr": "count(" + query + ") > bool 0", "exp_samples": []map[string]any{{"labels": "{}", "value": 1}}})
	}
	h.require(t, tests)
}

// require has promtool compare the answers of queries at the end of the history.
func (h *History) require(t testing.TB, tests []map[string]any) {
	t.Helper()
	for _, one := range tests {
		one["eval_time"] = fmt.Sprintf("%dm", h.end())
	}
	written, err := yaml.Marshal(map[string]any{
		"rule_files": []string{"rules.yaml"}, "evaluation_interval": fmt.Sprintf("%ds", step),
		"tests": []map[string]any{{"interval": fmt.Sprintf("%ds", step), "input_series": h.series(), "promql_expr_test": tests}},
	})
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, text := range map[string]string{"rules.yaml": rules, "test.yaml": string(written)} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	promtool(t, "test", "rules", filepath.Join(folder, "test.yaml"))
}

// promtool runs promtool, which comes with Prometheus. What it finds fault with ends the test.
func promtool(t testing.TB, arguments ...string) {
	t.Helper()
	program, err := exec.LookPath("promtool")
	if err != nil {
		testbed.Missing(t, "rules are read by promtool, which is not here: apt-get install prometheus")
	}
	if said, err := exec.Command(program, arguments...).CombinedOutput(); err != nil {
		t.Fatalf("promtool %s: %v\n%s", strings.Join(arguments, " "), err, said)
	}
}
