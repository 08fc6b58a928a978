package monitoring

import (
	_ "embed"
	"encoding/json"
	"strings"
	"testing"
)

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
	if err := json.Unmarshal(dashboard, &read); err != nil {
		t.Fatal(err)
	}
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
