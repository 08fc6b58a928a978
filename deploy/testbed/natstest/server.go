// Package natstest runs a real NATS server with JetStream for tests and rigs: inside the process, on
// loopback, on a free port, with its files in a directory of the test; or as a process of its own.
//
// A Server can be stopped and started again on the same port and files, which is how tests take the
// broker away. Its stop is orderly; a Process can be killed.
package natstest

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"earshot/deploy/testbed"
)

// startLimit is generous for machines that run other suites with the race detector; it takes some 20 ms.
const startLimit = 30 * time.Second

// storeSize is given because the default is a share of the free disk, into which a default stream may not fit.
const storeSize = 1 << 40

// Server is a NATS server with JetStream. Its methods end the test if they fail.
type Server struct {
	Streams
	options server.Options

	mu      sync.Mutex
	running *server.Server // nil while it is stopped
}

// Run starts a server that lives until the end of the test. configure may change its options.
func Run(t testbed.TB, configure ...func(*server.Options)) *Server {
	t.Helper()
	s := prepare(t, configure...)
	s.Start()
	s.options.Port = s.running.Addr().(*net.TCPAddr).Port
	return s
}

func prepare(t testbed.TB, configure ...func(*server.Options)) *Server {
	t.Helper()
	s := &Server{options: server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), JetStreamMaxStore: storeSize, NoSigs: true, NoLog: true,
	}}
	for _, change := range configure {
		change(&s.options)
	}
	s.Streams = Streams{t, s.URL, nats.UserInfo(s.options.Username, s.options.Password)}
	t.Cleanup(s.Stop)
	return s
}

// URL is where clients connect, without a user. It stays the same over Stop and Start.
func (s *Server) URL() string { return fmt.Sprintf("nats://%s:%d", s.options.Host, s.options.Port) }

// Start starts a stopped server on its port and files, and returns when it accepts connections.
func (s *Server) Start() {
	s.t.Helper()
	s.launch()
	s.await()
}

func (s *Server) launch() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running != nil {
		s.t.Fatalf("the NATS server at %s runs already", s.URL())
	}
	running, err := server.NewServer(s.options.Clone())
	s.must("make a NATS server", err)
	running.Start()
	s.running = running
}

func (s *Server) await() {
	s.t.Helper()
	if !s.running.ReadyForConnections(startLimit) {
		s.t.Fatalf("the NATS server at %s did not start within %s", s.URL(), startLimit)
	}
}

// Stop stops the server, if it runs; its port refuses connections afterwards.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		return
	}
	s.running.Shutdown()
	s.running.WaitForShutdown()
	s.running = nil
}

// Restart stops the server and starts it again.
func (s *Server) Restart() {
	s.t.Helper()
	s.Stop()
	s.Start()
}

// Process is a NATS server in a process of its own.
type Process struct {
	*testbed.Process
	URL string
	// Folder is where it keeps its data.
	Folder string
}

// RunProcess builds a NATS server of the module's version, and runs it until the end of the test. If it syncs, an
// event is on the disk before it is acknowledged.
func RunProcess(t testbed.TB, folder string, sync bool) *Process {
	t.Helper()
	program := testbed.Built(t, "github.com/nats-io/nats-server/v2")
	address, file := testbed.Address(t), filepath.Join(folder, "nats.conf")
	p := &Process{testbed.NewProcess(folder, "nats", program, "--config", file), "nats://" + address, filepath.Join(folder, "nats")}
	interval := "2m" // the default
	if sync {
		interval = "always"
	}
	config := fmt.Sprintf("listen: %s\njetstream { store_dir: %q, sync_interval: %s, max_file_store: 1TB }\n", address, p.Folder, interval)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	if err := p.Up(); err != nil {
		t.Fatal(err)
	}
	return p
}

// Up starts it, and returns when it accepts connections.
func (p *Process) Up() error {
	if err := p.Start(); err != nil {
		return err
	}
	return p.Until(context.Background(), func(context.Context) error {
		conn, err := nats.Connect(p.URL)
		if err == nil {
			conn.Close()
		}
		return err
	})
}
