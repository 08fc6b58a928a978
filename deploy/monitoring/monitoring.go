// Package monitoring holds what watches a service: rules for Prometheus, a dashboard for Grafana, and what tests need
// to try both on what services really say. deploy/docs/runbook.md tells what each alert means.
package monitoring

import (
	_ "embed"
	"encoding/json"
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

type rule struct {
	Record, Alert, Expr, For string
	Labels, Annotations      map[string]string
}

func allRules(t testing.TB) (all []rule) {
	t.Helper()
	var read struct{ Groups []struct{ Rules []rule } }
	testbed.Must(t, "read the rules", yaml.Unmarshal([]byte(rules), &read))
	for _, group := range read.Groups {
		all = append(all, group.Rules...)
	}
	return all
}

// step is the time between two values of a series, in seconds, as between two scrapes.
const step = 30

// History is what a Prometheus would have of one replica: its /metrics at some minutes, interpolated. Hours take seconds.
type History struct{ scrapes []scrape }

// scrape has the values of all series at a minute; nil if the replica did not answer.
type scrape struct {
	minute int
	values map[string]float64
}

// At adds what /metrics said at a later minute. An empty text stands for a replica that did not answer.
func (h *History) At(t testing.TB, minute int, metrics string) {
	t.Helper()
	next := scrape{minute: minute}
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
			next.values = map[string]float64{labelled("up"): 1}
		}
		next.values[labelled(name)] = number
	}
	h.scrapes = append(h.scrapes, next)
}

func labelled(name string) string {
	const added = `job="earshot",instance="replica-1"`
	if bare, labels, found := strings.Cut(name, "{"); found {
		return bare + "{" + added + "," + labels
	}
	return name + "{" + added + "}"
}

func (h *History) end() int { return h.scrapes[len(h.scrapes)-1].minute }

// series are the values of each series for promtool, a step apart: on a line between two scrapes, else stale.
func (h *History) series() (all []map[string]string) {
	values := map[string][]string{labelled("up"): nil}
	for _, one := range h.scrapes {
		for name := range one.values {
			values[name] = nil
		}
	}
	for second := 0; second <= h.end()*60; second += step {
		next := slices.IndexFunc(h.scrapes, func(one scrape) bool { return one.minute*60 > second })
		if next < 0 {
			next = len(h.scrapes)
		}
		before, after := h.scrapes[max(0, next-1)], h.scrapes[min(next, len(h.scrapes)-1)]
		share := float64(second-before.minute*60) / float64(max(1, after.minute-before.minute)*60)
		for name := range values {
			from, there := before.values[name]
			to, goesOn := after.values[name]
			if !goesOn || after.minute == before.minute {
				to = from
			}
			text := strconv.FormatFloat(from+(to-from)*share, 'f', -1, 64)
			switch {
			case name == labelled("up"):
				text = strconv.FormatFloat(from, 'f', -1, 64)
			case !there:
				text = "stale"
			}
			values[name] = append(values[name], text)
		}
	}
	for name, list := range values {
		all = append(all, map[string]string{"series": name, "values": strings.Join(list, " ")})
	}
	return all
}

// Firing requires that exactly these alerts fire at the end of the history. A name with a ? may fire or not.
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

func (h *History) require(t testing.TB, tests []map[string]any) {
	t.Helper()
	for _, one := range tests {
		one["eval_time"] = fmt.Sprintf("%dm", h.end())
	}
	written, err := yaml.Marshal(map[string]any{
		"rule_files": []string{"rules.yaml"}, "evaluation_interval": fmt.Sprintf("%ds", step),
		"tests": []map[string]any{{"interval": fmt.Sprintf("%ds", step), "input_series": h.series(), "promql_expr_test": tests}},
	})
	testbed.Must(t, "write the test", err)
	folder := t.TempDir()
	for name, text := range map[string]string{"rules.yaml": rules, "test.yaml": string(written)} {
		testbed.Must(t, "write "+name, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
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
	testbed.Done(t, exec.Command(program, arguments...))
}

//go:embed dashboard.json
var dashboard []byte

type panel struct {
	ID      int    `json:"id"`
	Type    string `json:"type"`
	Title   string `json:"title"`
	GridPos struct {
		H, W, X, Y int
	} `json:"gridPos"`
	Targets []struct {
		Expr       string `json:"expr"`
		Datasource struct {
			UID string `json:"uid"`
		} `json:"datasource"`
	} `json:"targets"`
}

func panels(t testing.TB) []panel {
	t.Helper()
	var read struct {
		Panels []panel `json:"panels"`
	}
	testbed.Must(t, "read the dashboard", json.Unmarshal(dashboard, &read))
	return read.Panels
}

// Queries returns what the panels of the dashboard ask Prometheus for, of the job "earshot".
func Queries(t testing.TB) (queries []string) {
	t.Helper()
	chosen := strings.NewReplacer("$job", "earshot", "$__rate_interval", "5m")
	for _, one := range panels(t) {
		for _, target := range one.Targets {
			queries = append(queries, chosen.Replace(target.Expr))
		}
	}
	return queries
}

// Recorded returns the names of what the rules record.
func Recorded(t testing.TB) (names []string) {
	t.Helper()
	for _, one := range allRules(t) {
		if one.Record != "" {
			names = append(names, one.Record)
		}
	}
	return names
}
