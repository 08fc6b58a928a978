package console

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"earshot/trigger/query"
)

// overview is what the page Now shows.
type overview struct {
	Service *service // nil for those who are not the admin
	Denied  string   // why the records of the app cannot be read
	Owed    []query.Record
	More    bool // there are more of either than were read
	Failed  int
	Causes  []cause
	Recent  []query.Record
	Clock   time.Time
}

// cause is why triggers failed, and how many.
type cause struct {
	Name, Reason, Error string
	Count               int
	Session             string
	Latest              query.Record
}

// sample is how many records the page looks at.
const sample = "100"

func nowPage(v *visit) error {
	shown := overview{Clock: v.now()}
	if err := v.readRecords(&shown); err != nil {
		return err
	}
	if v.ownApp() == "" {
		found, err := v.service()
		if err != nil {
			return err
		}
		shown.Service = found
	}
	return v.render("now", "Now", shown)
}

// readRecords reads what the app owes and what has failed. A key that may not see it
// still sees the rest of the page.
func (v *visit) readRecords(shown *overview) error {
	var owed, failed, recent list[query.Record]
	path := v1("apps", v.app(), "triggers")
	err := errors.Join(
		v.get(path+"?limit="+sample+"&state=pending", &owed),
		v.get(path+"?limit="+sample+"&state=failed", &failed),
		v.get(path+"?limit=12", &recent),
	)
	var found *problem
	if errors.As(err, &found) && found.Status == http.StatusForbidden {
		shown.Denied = found.Detail
		return nil
	}
	shown.Owed, shown.Recent, shown.Failed = owed.Items, recent.Items, len(failed.Items)
	shown.More = owed.Next != "" || failed.Next != ""
	shown.Causes = causesOf(failed.Items)
	return err
}

// Oldest is the oldest of what is owed.
func (o overview) Oldest() *query.Record {
	if len(o.Owed) == 0 {
		return nil
	}
	return &o.Owed[len(o.Owed)-1] // the list is newest first
}

// causesOf counts failed triggers by tool and reason, the most frequent first.
func causesOf(failed []query.Record) []cause {
	counted := map[[2]string]*cause{}
	var order []*cause
	for _, record := range failed {
		reason, text := whyFailed(record)
		key := [2]string{record.Name, reason}
		if counted[key] == nil {
			counted[key] = &cause{Name: record.Name, Reason: reason, Error: text, Latest: record}
			order = append(order, counted[key])
		}
		counted[key].Count++
	}
	slices.SortStableFunc(order, func(a, b *cause) int { return cmp.Compare(b.Count, a.Count) })
	causes := make([]cause, 0, len(order))
	for _, one := range order {
		causes = append(causes, *one)
	}
	return causes
}

// whyFailed is the reason and the error of the last attempt that failed.
func whyFailed(record query.Record) (reason, text string) {
	for _, attempt := range slices.Backward(record.Attempts) {
		if attempt.Error != "" || attempt.Reason != "" {
			return string(attempt.Reason), attempt.Error
		}
	}
	return "", ""
}

// service is what the metrics of this replica say.
type service struct {
	Began    time.Time
	Messages []outcome // by what came of them
	Due      float64
	Oldest   time.Duration
	Dead     float64
	Full     bool // Redis takes nothing new
}

// outcome is how many messages came to something.
type outcome struct {
	Name  string
	Count float64
}

// outcomes are those that the page shows, in their order, though none has come yet.
var outcomes = []string{"matched", "rejected", "unmatched", "undecided", "error"}

// service reads the metrics.
func (v *visit) service() (*service, error) {
	text, err := v.text("/metrics")
	if err != nil {
		return nil, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(text)
	if err != nil {
		return nil, err
	}
	found := &service{
		Due: totalOf(families["earshot_effects_due"]), Dead: totalOf(families["earshot_dead"]),
		Oldest: time.Duration(totalOf(families["earshot_effects_oldest_seconds"]) * float64(time.Second)),
		Full:   totalOf(families["earshot_redis_full"]) > 0,
		Began:  time.Unix(int64(totalOf(families["process_start_time_seconds"])), 0),
	}
	found.Messages = byOutcome(families["earshot_messages_total"])
	return found, nil
}

func byOutcome(family *dto.MetricFamily) []outcome {
	counts := map[string]float64{}
	for _, metric := range family.GetMetric() {
		for _, label := range metric.GetLabel() {
			if label.GetName() == "outcome" {
				counts[label.GetValue()] += metric.GetCounter().GetValue()
			}
		}
	}
	var all []outcome
	for _, name := range outcomes {
		all = append(all, outcome{name, counts[name]})
	}
	return all
}

// totalOf adds a gauge or a counter up; a missing one is zero.
func totalOf(family *dto.MetricFamily) float64 {
	sum := 0.0
	for _, metric := range family.GetMetric() {
		sum += metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
	}
	return sum
}
