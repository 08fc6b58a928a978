package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheCollectorRunsSeldomWhileLittleIsLive(t *testing.T) {
	percent := func() int64 {
		percent := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(percent)
		return int64(percent[0].Value.Uint64())
	}
	set := func(variables map[string]string) func(string) (string, bool) {
		return around(variables, nil, nil, "").lookup
	}
	before, limit := percent(), debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(limit) })
	bounded := cgroups("0::/\n", map[string]string{"memory.max": "1000000000"})
	paceCollector(set(map[string]string{"GOGC": "150", "GOMEMLIMIT": "1GiB"}), bounded)
	require.Equal(t, before, percent(), "whoever has set it knows better")
	require.Equal(t, limit, debug.SetMemoryLimit(-1))
	paceCollector(set(map[string]string{"GOGC": "150"}), bounded)
	require.Equal(t, before, percent())
	require.EqualValues(t, 900_000_000, debug.SetMemoryLimit(-1), "a container that has more is killed")

	paceCollector(set(nil), bounded)
	const spare = 900_000_000 / spareShare
	require.EqualValues(t, collectorPercent(spare, liveHeap()), percent())
	held := make([]byte, 2*spare)
	require.Eventually(t, func() bool {
		runtime.GC()
		return percent() == ownPercent
	}, time.Minute, time.Millisecond, "Go's own pace where much is live")
	runtime.KeepAlive(held)
	require.Eventually(t, func() bool {
		runtime.GC()
		return percent() > ownPercent
	}, time.Minute, time.Millisecond)
}

func TestTheCollectorsPaceFollowsWhatIsLiveAndWhatThereIs(t *testing.T) {
	for _, one := range []struct {
		limit, live int64
		percent     int
	}{
		{math.MaxInt64, 0, 3200}, {math.MaxInt64, 10 << 20, 1275}, {math.MaxInt64, 64 << 20, 200}, {math.MaxInt64, 1 << 30, 100},
		{128 << 20, 10 << 20, 150}, {128 << 20, 32 << 20, 100}, {1 << 30, 64 << 20, 200}, {64 << 30, 64 << 20, 400},
	} {
		require.Equal(t, one.percent, collectorPercent(spareHeap(one.limit), one.live), "%d bytes of %d", one.live, one.limit)
	}
}

// cgroups is a file system with this /proc/self/cgroup, and files below /sys/fs/cgroup.
func cgroups(list string, files map[string]string) fstest.MapFS {
	system := fstest.MapFS{"proc/self/cgroup": {Data: []byte(list)}}
	for name, text := range files {
		system["sys/fs/cgroup/"+name] = &fstest.MapFile{Data: []byte(text + "\n")}
	}
	return system
}

func TestTheLeastOfTheCgroupsIsWhatTheProcessMayHave(t *testing.T) {
	for name, one := range map[string]struct {
		system fstest.MapFS
		most   int64
	}{
		"no Linux":              {fstest.MapFS{}, math.MaxInt64},
		"no bound":              {cgroups("0::/a\n", map[string]string{"a/memory.max": "max"}), math.MaxInt64},
		"a container":           {cgroups("0::/\n", map[string]string{"memory.max": "1000"}), 1000},
		"a service":             {cgroups("0::/system.slice/a.service\n", map[string]string{"system.slice/a.service/memory.max": "3000", "system.slice/memory.max": "2000"}), 2000},
		"the first version":     {cgroups("9:cpu:/b\n4:memory:/a\n0::/\n", map[string]string{"memory/a/memory.limit_in_bytes": "4000", "memory/memory.limit_in_bytes": "9223372036854771712"}), 4000},
		"a container of it":     {cgroups("4:memory:/docker/abc\n", map[string]string{"memory/memory.limit_in_bytes": "5000"}), 5000},
		"what cannot be read":   {cgroups("nothing\n0::/a\n", map[string]string{"a/memory.max": "much"}), math.MaxInt64},
		"a path with two steps": {cgroups("0::/a/../b\n", map[string]string{"b/memory.max": "6000"}), 6000},
	} {
		require.Equal(t, one.most, cgroupMemory(one.system), name)
	}
}
