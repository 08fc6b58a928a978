package usage

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// names are the names of the kinds in metrics, as in Day.
var names = [kinds]string{
	"messages", "matched", "rejected", "unmatched", "triggers", "modelRequests", "promptTokens", "completionTokens", "calls", "callFailures", "events",
}

// other is the label of all apps without their own. No app has this name.
const other = "(other)"

// byApp are metrics with a label for each of the first apps with any use, and one for all others.
type byApp struct {
	*prometheus.CounterVec
	most int

	mu   sync.Mutex
	apps map[string]*[kinds]prometheus.Counter
}

// ByApp returns metrics of the use from now on, with at most most apps by name. Call it before the Counter is
// used.
func (c *Counter) ByApp(most int) prometheus.Collector {
	c.byApp = &byApp{most: most, apps: map[string]*[kinds]prometheus.Counter{}, CounterVec: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "earshot_app_usage_total", Help: "What an app has used, with the kinds of GET /v1/apps/{appId}/usage. Only with EARSHOT_METRICS_APPS: 11 series for each app on each replica. Further apps are counted together as (other).",
	}, []string{"app", "kind"})}
	return c.byApp
}

func (m *byApp) add(appID string, of Kind, count int) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	counters := m.apps[appID]
	if counters == nil {
		if len(m.apps) >= m.most {
			appID = other
		}
		if counters = m.apps[appID]; counters == nil {
			counters = &[kinds]prometheus.Counter{}
			for kind, name := range names {
				counters[kind] = m.WithLabelValues(appID, name)
			}
			m.apps[appID] = counters
		}
	}
	counters[of].Add(float64(count))
}
