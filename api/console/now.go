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

type overview struct {
	Service *service // the admin's alone
	Denied  string   // why the records of the app cannot be read
	Owed    []query.Record
	More    bool // there are more of either than were read
	Failed  int
	Causes  []*cause
	Recent  []query.Record
	Clock   time.Time
}

// cause is a reason of failed triggers, with their number.
type cause struct {
	Name, Reason, Error string
	Count               int
	Latest              query.Record
}

const sample = "100"

func nowPage(v *pageRequest) error {
	shown := overview{Clock: v.now()}
	var owed, failed, recent list[query.Record]
	path := v1("apps", v.app(), "triggers")
	err := errors.Join(
		v.get(path+"?limit="+sample+"&state=pending", &owed),
		v.get(path+"?limit="+sample+"&state=failed", &failed),
		v.get(path+"?limit=12", &recent),
	)
	found := refused(err, http.StatusForbidden)
	switch {
	case found != nil: // a key that may not see the triggers still sees the rest of the page
		shown.Denied = found.Detail
	case err != nil:
		return err
	default:
		shown.Owed, shown.Recent, shown.Failed = owed.Items, recent.Items, len(failed.Items)
		shown.More, shown.Causes = owed.Next != "" || failed.Next != "", causesOf(failed.Items)
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

// Oldest is the oldest pending trigger.
func (o overview) Oldest() *query.Record {
	if len(o.Owed) == 0 {
		return nil
	}
	return &o.Owed[len(o.Owed)-1] // the list is newest first
}

// causesOf counts failed triggers by tool and reason, the most frequent first. The reason is that of
// the last attempt that failed.
func causesOf(failed []query.Record) []*cause {
	counted := map[[2]string]*cause{}
	var causes []*cause
	for _, record := range failed {
		found := &cause{Name: record.Name, Latest: record}
		for _, attempt := range slices.Backward(record.Attempts) {
			if attempt.Error != "" || attempt.Reason != "" {
				found.Reason, found.Error = string(attempt.Reason), attempt.Error
				break
			}
		}
		key := [2]string{found.Name, found.Reason}
		if counted[key] == nil {
			counted[key] = found
			causes = append(causes, found)
		}
		counted[key].Count++
	}
	slices.SortStableFunc(causes, func(a, b *cause) int { return cmp.Compare(b.Count, a.Count) })
	return causes
}

type service struct {
	Began    time.Time
	Messages []outcome
	Due      float64
	Oldest   time.Duration
	Dead     float64
	Full     bool // Redis takes nothing new
}

type outcome struct {
	Name  string
	Count float64
}

// outcomes are those that the page shows, in their order, even without a message.
var outcomes = []string{"matched", "rejected", "unmatched", "undecided", "error"}

func (v *pageRequest) service() (*service, error) {
	got, err := v.record(http.MethodGet, "/metrics", nil)
	if err != nil {
		return nil, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(&got.Body)
	if err != nil {
		return nil, err
	}
	found := &service{
		Due: totalOf(families["earshot_effects_due"]), Dead: totalOf(families["earshot_dead"]),
		Oldest: time.Duration(totalOf(families["earshot_effects_oldest_seconds"]) * float64(time.Second)),
		Full:   totalOf(families["earshot_redis_full"]) > 0,
		Began:  time.Unix(int64(totalOf(families["process_start_time_seconds"])), 0),
	}
	counts := map[string]float64{}
	for _, metric := range families["earshot_messages_total"].GetMetric() {
		for _, label := range metric.GetLabel() {
			if label.GetName() == "outcome" {
				counts[label.GetValue()] += metric.GetCounter().GetValue()
			}
		}
	}
	for _, name := range outcomes {
		found.Messages = append(found.Messages, outcome{name, counts[name]})
	}
	return found, nil
}

// totalOf adds a gauge or a counter up; a missing one is zero.
func totalOf(family *dto.MetricFamily) float64 {
	sum := 0.0
	for _, metric := range family.GetMetric() {
		sum += metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
	}
	return sum
}
