package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"earshot/matcher/llm"
)

// llmMetrics counts the requests to the LLM. The names are the contract's.
type llmMetrics struct {
	seconds prometheus.Histogram
	tokens  *prometheus.CounterVec
}

func newLLMMetrics() *llmMetrics {
	return &llmMetrics{
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "earshot_llm_seconds", Help: "Time of one request to the LLM.", Buckets: prometheus.ExponentialBuckets(0.01, 2, 12),
		}),
		tokens: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "earshot_llm_tokens_total", Help: "Tokens that the LLM has counted.",
		}, []string{"kind"}),
	}
}

func (m *llmMetrics) observe(exchange llm.Exchange) {
	m.seconds.Observe(exchange.Took.Seconds())
	m.tokens.WithLabelValues("prompt").Add(float64(exchange.Usage.Prompt))
	m.tokens.WithLabelValues("completion").Add(float64(exchange.Usage.Completion))
}

// Describe implements prometheus.Collector.
func (m *llmMetrics) Describe(out chan<- *prometheus.Desc) { prometheus.DescribeByCollect(m, out) }

// Collect implements prometheus.Collector.
func (m *llmMetrics) Collect(out chan<- prometheus.Metric) {
	m.seconds.Collect(out)
	m.tokens.Collect(out)
}
