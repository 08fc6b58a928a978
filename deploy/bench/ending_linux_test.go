//go:build nightly

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

func TestNothingOutlivesTheBench(t *testing.T) {
	program := testbed.Program(t)
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(signal.String(), func(t *testing.T) {
			command := exec.Command(os.Args[0], "-earshot", program, "-for", "1h")
			command.Env = append(os.Environ(), whole+"=1", "TMPDIR="+t.TempDir())
			require.NoError(t, command.Start())
			var children []int
			require.Eventually(t, func() bool {
				children = childrenOf(t, command.Process.Pid)
				return len(children) == 6
			}, time.Minute, 10*time.Millisecond)
			require.NoError(t, command.Process.Signal(signal))
			require.Error(t, command.Wait())
			require.Eventually(t, func() bool { return !anyRuns(children) }, time.Minute, 10*time.Millisecond)
		})
	}
}

func childrenOf(t *testing.T, parent int) (pids []int) {
	files := testbed.Got(filepath.Glob("/proc/[0-9]*/stat"))(t)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		pid, state, of := 0, "", 0
		_, _ = fmt.Sscan(string(text), &pid)
		_, _ = fmt.Sscan(rest, &state, &of)
		if of == parent {
			pids = append(pids, pid)
		}
	}
	return pids
}

// anyRuns reports whether one of the processes exists and is no zombie.
func anyRuns(pids []int) bool {
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if _, rest, _ := strings.Cut(string(text), ") "); err == nil && !strings.HasPrefix(rest, "Z") {
			return true
		}
	}
	return false
}
