package emitter

import "github.com/prometheus/client_golang/prometheus"

var (
	fullDesc   = prometheus.NewDesc("earshot_stream_full", "1 while the stream takes no more events.", nil, nil)
	deniedDesc = prometheus.NewDesc("earshot_publish_denied", "Subjects that NATS lets nobody publish on with our user.", nil, nil)
)

// Describe implements prometheus.Collector.
func (e *Emitter) Describe(out chan<- *prometheus.Desc) { prometheus.DescribeByCollect(e, out) }

// Collect implements prometheus.Collector.
func (e *Emitter) Collect(out chan<- prometheus.Metric) {
	full := 0.0
	if e.stream.fullness.isFull() {
		full = 1
	}
	out <- prometheus.MustNewConstMetric(fullDesc, prometheus.GaugeValue, full)
	out <- prometheus.MustNewConstMetric(deniedDesc, prometheus.GaugeValue, float64(len(e.denials.denied())))
}
