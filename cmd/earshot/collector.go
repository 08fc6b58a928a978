package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// spareHeap is how much is allocated between two runs of the garbage collector, or as much
// as is live, which is Go's own measure, where that is more. A replica keeps some 10 MB and
// allocates ten times as much a second under load: by Go's measure the collector would take
// a sixth of its CPU.
const spareHeap = 64 << 20

const (
	// ownPercent is Go's own GOGC.
	ownPercent = 100
	// leastLive is what Go takes for live where there is less.
	leastLive = 4 << 20
)

// paceCollector sets the garbage collector's pace, now and after each of its runs. Where the
// environment has one of Go's variables for it, it is left alone.
func paceCollector(lookup func(variable string) (string, bool)) {
	for _, variable := range []string{"GOGC", "GOMEMLIMIT"} {
		if _, given := lookup(variable); given {
			return
		}
	}
	setPace(ownPercent)
}

// setPace sets the percentage for what is live now, where it was set before, and does so
// again when the collector has run.
func setPace(before int) {
	percent := collectorPercent(liveHeap())
	if percent != before {
		debug.SetGCPercent(percent)
	}
	// What nobody refers to is found at the next run. Without a pointer in it, it could
	// share its memory with what lives on.
	type cycle struct{ _ *int }
	runtime.AddCleanup(new(cycle), setPace, percent)
}

// collectorPercent is the GOGC for that many live bytes, in coarse steps: a change stops
// the process for a moment.
func collectorPercent(live uint64) int {
	percent := int(spareHeap * 100 / max(live, leastLive))
	return max(percent-percent%25, ownPercent)
}

func liveHeap() uint64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return live[0].Value.Uint64()
}
