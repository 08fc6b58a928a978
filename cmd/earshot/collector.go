package main

import (
	"io/fs"
	"math"
	"path"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
)

// A replica keeps some 10 MB and allocates ten times as much per second under load. With Go's default pace the
// collector would take a sixth of its CPU. Instead it runs when a share of the process's memory was allocated.
const (
	unboundedSpare = 128 << 20 // without a memory limit
	mostSpare      = 256 << 20 // more saves little
	spareShare     = 8         // a fraction of the memory: 1/8
)

const (
	ownPercent = 100     // Go's default GOGC
	leastLive  = 4 << 20 // the least live heap that Go counts
)

// paceCollector sets the collector's pace from the memory limit: GOMEMLIMIT, or 90 % of the cgroup's limit.
// GOGC overrides the pace.
func paceCollector(lookup func(variable string) (string, bool), system fs.FS) {
	limit := debug.SetMemoryLimit(-1)
	if _, given := lookup("GOMEMLIMIT"); !given {
		if allowed := cgroupMemory(system); allowed < math.MaxInt64 {
			limit = allowed / 10 * 9
			debug.SetMemoryLimit(limit)
		}
	}
	if _, given := lookup("GOGC"); !given {
		setPace(pace{spareHeap(limit), ownPercent})
	}
}

// spareHeap returns how much may be allocated between two collections.
func spareHeap(limit int64) int64 {
	if limit == math.MaxInt64 {
		return unboundedSpare
	}
	return min(limit/spareShare, mostSpare)
}

// pace is the spare heap and the GOGC that is set for it.
type pace struct {
	spare   int64
	percent int
}

// setPace sets GOGC for the live heap, now and after each collection.
func setPace(p pace) {
	percent := collectorPercent(p.spare, liveHeap())
	if percent != p.percent {
		debug.SetGCPercent(percent)
	}
	// It is freed at the next collection. Without a pointer, it could share memory with live objects.
	type cycle struct{ _ *int }
	runtime.AddCleanup(new(cycle), setPace, pace{p.spare, percent})
}

// collectorPercent returns the GOGC for a live heap, in coarse steps: each change stops the process.
func collectorPercent(spare, live int64) int {
	percent := int(spare * 100 / max(live, leastLive))
	return max(percent-percent%25, ownPercent)
}

func liveHeap() int64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return int64(live[0].Value.Uint64())
}

// cgroupMemory returns the memory limit of the process's cgroups in bytes; math.MaxInt64 without a limit or
// cgroups. A container may see its own cgroup as the root.
func cgroupMemory(system fs.FS) int64 {
	least := int64(math.MaxInt64)
	list, _ := fs.ReadFile(system, "proc/self/cgroup") // exists only on Linux
	for line := range strings.Lines(string(list)) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3) // number, controllers, path
		if len(parts) < 3 {
			continue
		}
		mount, file := "sys/fs/cgroup", "memory.max" // of version 2
		switch {
		case parts[1] == "memory":
			mount, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		case parts[1] != "":
			continue
		}
		for at := path.Clean("/" + parts[2]); ; at = path.Dir(at) { // parent limits apply as well
			text, _ := fs.ReadFile(system, mount+path.Join(at, file))
			limit, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // the word max means no limit
			if 0 < limit && limit <= 1<<60 {                                      // version 1 has a huge number for no limit
				least = min(least, limit)
			}
			if at == "/" {
				break
			}
		}
	}
	return least
}
