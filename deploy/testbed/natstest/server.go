// Package natstest runs a real NATS server with JetStream for tests and rigs, on loopback: inside the process, with its files in
// a folder of the test, or as a process of its own.
//
// A Server can be stopped and started on the same port and files, always in good order; a Process can be killed.
package natstest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

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
	s := prepare(t, configure...)
	if s.options.Port == server.RANDOM_PORT { // one that nobody takes while the server is stopped
		s.options.Port = testbed.Ports(t, 1)[0]
	}
	s.Start()
	return s
}

func prepare(t testbed.TB, configure ...func(*server.Options)) *Server {
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
	testbed.Must(s.t, "make a NATS server", err)
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
	s.Stop()
	s.Start()
}

// Process is a NATS server in a process of its own.
type Process struct {
	*testbed.Process
	URL    string
	Folder string // where it keeps its data
}

// RunProcess builds and runs a NATS server of the module's version. With sync, an event is on the disk before its acknowledgement.
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
	testbed.Must(t, "configure NATS", os.WriteFile(file, []byte(config), 0o600))
	t.Cleanup(p.Kill)
	testbed.Must(t, "run NATS", p.Up())
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

// requestLimit bounds what is done over one connection.
const requestLimit = testbed.Patience

// Streams looks into the streams of a server or a cluster. Its methods end the test if they fail.
type Streams struct {
	t    testbed.TB
	url  func() string
	user nats.Option
}

// Connect returns a connection of the test's own, closed at the end of the test. It survives a restart.
func (s Streams) Connect() *nats.Conn {
	conn := s.connect()
	s.t.Cleanup(conn.Close)
	return conn
}

func (s Streams) connect() *nats.Conn {
	s.t.Helper()
	conn, err := nats.Connect(s.url(), s.user, nats.Name(s.t.Name()), nats.MaxReconnects(-1))
	testbed.Must(s.t, "connect to the test's NATS server at "+s.url(), err)
	return conn
}

func (s Streams) do(what string, request func(context.Context, jetstream.JetStream) error) {
	s.t.Helper()
	conn := s.connect()
	defer conn.Close()
	js, err := jetstream.New(conn)
	testbed.Must(s.t, what, err)
	ctx, cancel := context.WithTimeout(context.Background(), requestLimit)
	defer cancel()
	testbed.Must(s.t, what, request(ctx, js))
}

// JetStream is that of a server without users, over a connection until the end of the test, which survives restarts.
func JetStream(t testbed.TB, url string) jetstream.JetStream {
	t.Helper()
	conn, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
	testbed.Must(t, "connect to NATS at "+url, err)
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	testbed.Must(t, "use JetStream at "+url, err)
	return js
}

// Stored returns the messages of a stream on the subjects that filter matches, oldest first; none if there is no stream.
func (s Streams) Stored(stream, filter string) (messages []*jetstream.RawStreamMsg) {
	s.do("read stream "+stream, func(ctx context.Context, js jetstream.JetStream) error {
		held, err := js.Stream(ctx, stream)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return nil
		}
		for next := uint64(1); err == nil; {
			var message *jetstream.RawStreamMsg
			message, err = held.GetMsg(ctx, next, jetstream.WithGetMsgSubject(filter))
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				return nil
			}
			if err == nil {
				messages = append(messages, message)
				next = message.Sequence + 1
			}
		}
		return err
	})
	return messages
}

// Purge removes all messages of a stream, which still knows their ids.
func (s Streams) Purge(stream string) {
	s.do("purge stream "+stream, func(ctx context.Context, js jetstream.JetStream) error {
		held, err := js.Stream(ctx, stream)
		if err != nil {
			return err
		}
		return held.Purge(ctx)
	})
}

// DeleteStream removes a stream with all that it holds.
func (s Streams) DeleteStream(stream string) {
	s.do("delete stream "+stream, func(ctx context.Context, js jetstream.JetStream) error {
		return js.DeleteStream(ctx, stream)
	})
}

// CreateStream makes a stream as somebody other than Earshot would.
func (s Streams) CreateStream(config jetstream.StreamConfig) {
	s.do("create stream "+config.Name, func(ctx context.Context, js jetstream.JetStream) error {
		_, err := js.CreateStream(ctx, config)
		return err
	})
}

// UpdateStream changes a stream as somebody other than Earshot would.
func (s Streams) UpdateStream(config jetstream.StreamConfig) {
	s.do("change stream "+config.Name, func(ctx context.Context, js jetstream.JetStream) error {
		_, err := js.UpdateStream(ctx, config)
		return err
	})
}

// StreamConfig returns the configuration that a stream has; the zero one if the stream is missing.
func (s Streams) StreamConfig(stream string) jetstream.StreamConfig {
	if held := s.info(stream); held != nil {
		return held.Config
	}
	return jetstream.StreamConfig{}
}

func (s Streams) info(stream string) (info *jetstream.StreamInfo) {
	s.do("look at stream "+stream, func(ctx context.Context, js jetstream.JetStream) error {
		held, err := js.Stream(ctx, stream)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return nil
		}
		if err == nil {
			info = held.CachedInfo()
		}
		return err
	})
	return info
}
