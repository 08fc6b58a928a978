package rig

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Usage is what processes have used since they began.
type Usage struct {
	// CPU of each process by its name: "server" (all replicas together), "Redis",
	// "NATS", "LLM double", and "load", which is the bench itself.
	CPU map[string]time.Duration
	// Mallocs is how many objects the servers have allocated, from go_memstats_mallocs_total.
	Mallocs float64
}

// Server and Load are names of processes in a Usage.
const (
	NameServer = "server"
	NameLoad   = "load"
)

const mallocs = "go_memstats_mallocs_total"

// Usage reads what the servers and all that they use have used.
func (w *World) Usage(ctx context.Context, servers ...*Server) (Usage, error) {
	u := Usage{CPU: map[string]time.Duration{}}
	pids := map[int]string{os.Getpid(): NameLoad}
	for _, p := range w.shared {
		pids[p.command.Process.Pid] = p.name
	}
	for _, s := range servers {
		pids[s.process.command.Process.Pid] = NameServer
		if s.silent {
			continue
		}
		metrics, err := s.Metrics(ctx, mallocs)
		if err != nil {
			return u, err
		}
		u.Mallocs += metrics[mallocs]
	}
	for pid, name := range pids {
		used, err := cpuOf(pid)
		if err != nil {
			return u, fmt.Errorf("CPU of %s: %w", name, err)
		}
		u.CPU[name] += used
	}
	return u, nil
}

// tick is the unit of times in /proc/PID/stat: USER_HZ is 100 on every Linux.
const tick = 10 * time.Millisecond

// cpuOf reads how much CPU a process has used, of all its threads, in the kernel and
// outside.
func cpuOf(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The name of the program, in brackets, may have spaces.
	_, rest, found := strings.Cut(string(text[max(0, bytes.LastIndexByte(text, ')')):]), " ")
	fields := strings.Fields(rest)
	if !found || len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat is %q", pid, text)
	}
	total := 0
	for _, field := range fields[11:13] { // utime, stime
		n, err := strconv.Atoi(field)
		if err != nil {
			return 0, fmt.Errorf("/proc/%d/stat: %w", pid, err)
		}
		total += n
	}
	return time.Duration(total) * tick, nil
}

// StreamBytes is the size of the files in which NATS keeps its streams.
func (w *World) StreamBytes() (total int64, err error) {
	err = filepath.WalkDir(w.natsDir(), func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		file, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a file of the server's own that was there for a moment
		}
		if err == nil {
			total += file.Size()
		}
		return err
	})
	return total, err
}

// Metrics reads some of the server's metrics, which have no labels.
func (s *Server) Metrics(ctx context.Context, names ...string) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+AdminKey)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return metricsIn(response.Body, names)
}

func metricsIn(text io.Reader, names []string) (map[string]float64, error) {
	found, lines := map[string]float64{}, bufio.NewScanner(text)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if !slices.Contains(names, name) {
			continue
		}
		var err error
		if found[name], err = strconv.ParseFloat(value, 64); err != nil {
			return nil, fmt.Errorf("/metrics has %s of %q", name, value)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	for _, name := range names {
		if _, there := found[name]; !there {
			return nil, fmt.Errorf("/metrics has no %s", name)
		}
	}
	return found, nil
}
