package main

import (
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheCollectorRunsSeldomWhileLittleIsLive(t *testing.T) {
	pace := func() uint64 {
		percent := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(percent)
		return percent[0].Value.Uint64()
	}
	set := func(variables map[string]string) func(string) (string, bool) {
		return around(variables, nil, nil, "").lookup
	}
	before := pace()
	paceCollector(set(map[string]string{"GOGC": "150"}))
	paceCollector(set(map[string]string{"GOMEMLIMIT": "1GiB"}))
	require.Equal(t, before, pace(), "whoever has set it knows better")

	paceCollector(set(nil))
	require.EqualValues(t, collectorPercent(liveHeap()), pace())
	held := make([]byte, 2*spareHeap)
	require.Eventually(t, func() bool {
		runtime.GC()
		return pace() == ownPercent
	}, time.Minute, time.Millisecond, "Go's own pace where much is live")
	runtime.KeepAlive(held)
	require.Eventually(t, func() bool {
		runtime.GC()
		return pace() > ownPercent
	}, time.Minute, time.Millisecond)
}

func TestTheCollectorsPaceFollowsWhatIsLive(t *testing.T) {
	for live, percent := range map[uint64]int{
		0: 1600, 4 << 20: 1600, 10 << 20: 625, 32 << 20: 200, 50 << 20: 125, 64 << 20: 100, 1 << 30: 100,
	} {
		require.Equal(t, percent, collectorPercent(live), "%d bytes", live)
	}
}
