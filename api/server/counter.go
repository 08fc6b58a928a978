package server

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// Counter returns the registry's counter of that name, which several handlers share. A counter with one label begins
// with all its values at zero: Prometheus misses the increase of a series that starts at 1.
func Counter(registry prometheus.Registerer, name, help string, labels []string, values ...string) *prometheus.CounterVec {
	made := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	for _, value := range values {
		made.WithLabelValues(value)
	}
	var there prometheus.AlreadyRegisteredError
	if errors.As(registry.Register(made), &there) {
		return there.ExistingCollector.(*prometheus.CounterVec)
	}
	return made
}
