package main

import (
	"bufio"
	"bytes"
	"cmp"
	"io/fs"
	"math"
	"path"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
)

// A replica keeps some 10 MB and allocates ten times as much a second under load: by Go's own measure, as much as is
// live, the collector would take a sixth of its CPU. It runs instead when a share of the memory that the process
// may have was allocated.
const (
	unboundedSpare = 128 << 20 // where nothing bounds the memory
	mostSpare      = 256 << 20 // more saves nothing that is worth it
	spareShare     = 8         // of the memory, one part in so many
)

const (
	ownPercent = 100     // Go's own GOGC
	leastLive  = 4 << 20 // what Go takes for live if there is less
)

// paceCollector paces the garbage collector by the memory that the process may have: GOMEMLIMIT, or nine tenths of what
// its cgroup allows. GOGC in the environment sets the pace instead.
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

// spareHeap is how much may be allocated between two runs of the collector.
func spareHeap(limit int64) int64 {
	if limit == math.MaxInt64 {
		return unboundedSpare
	}
	return min(limit/spareShare, mostSpare)
}

// pace is how often the collector runs, and the percentage that holds for that now.
type pace struct {
	spare   int64
	percent int
}

// setPace sets the percentage for what is live now, and again when the collector has run.
func setPace(p pace) {
	percent := collectorPercent(p.spare, liveHeap())
	if percent != p.percent {
		debug.SetGCPercent(percent)
	}
	// It is freed at the next run. Without a pointer in it, it could share its memory with what lives on.
	type cycle struct{ _ *int }
	runtime.AddCleanup(new(cycle), setPace, pace{p.spare, percent})
}

// collectorPercent is the GOGC for that many live bytes, in coarse steps: a change stops the process.
func collectorPercent(spare, live int64) int {
	percent := int(spare * 100 / max(live, leastLive))
	return max(percent-percent%25, ownPercent)
}

func liveHeap() int64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return int64(live[0].Value.Uint64())
}

// cgroupMemory is what the cgroups of the process allow it, in bytes; math.MaxInt64 for no bound, and where there are
// none. A container may see its own cgroup as the root of all.
func cgroupMemory(system fs.FS) int64 {
	least := int64(math.MaxInt64)
	list, _ := fs.ReadFile(system, "proc/self/cgroup") // there is none beside Linux
	for lines := bufio.NewScanner(bytes.NewReader(list)); lines.Scan(); {
		parts := strings.SplitN(lines.Text(), ":", 3) // number, controllers, path
		if len(parts) < 3 {
			continue
		}
		mount, file := "sys/fs/cgroup", "memory.max" // of the second version
		switch {
		case parts[1] == "memory":
			mount, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		case parts[1] != "":
			continue
		}
		for at := path.Clean("/" + parts[2]); ; at = path.Dir(at) { // a cgroup is bound by those around it
			least = min(least, bytesIn(system, mount+path.Join(at, file)))
			if at == "/" {
				break
			}
		}
	}
	return least
}

// bytesIn is the bound that a file of a cgroup has; math.MaxInt64 for none.
func bytesIn(system fs.FS, name string) int64 {
	text, _ := fs.ReadFile(system, name)
	bound, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // the word max is no bound
	if bound > 1<<60 {                                                    // what the first version says for none
		bound = 0
	}
	return cmp.Or(bound, math.MaxInt64)
}
