package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"earshot/deploy/testbed"
	"earshot/repositories"
	"earshot/repositories/secret"
)

const (
	// Database is the name of the database that tests use.
	Database = "postgres"
	// User may do everything in it.
	User = "earshot"
	// Password is the user's. It is one that is easily found where it must not be.
	Password = "hunter2-pg-password"
)

// Server is a PostgreSQL server. Its methods end the test where they fail.
type Server struct {
	t     testing.TB
	bin   string
	dir   string
	port  int
	child *Child
}

// Run starts a server that lives until the end of the test.
func Run(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, bin: find(t)}
	s.create()
	port, err := testbed.Port()
	s.must(err, "listen")
	s.port = port
	s.Start()
	t.Cleanup(s.Stop)
	return s
}

// create makes a cluster in a folder that its user may read: those of testing.TB may
// lie in one that is the owner's alone.
func (s *Server) create() {
	dir, err := os.MkdirTemp("", "pgtest")
	s.must(err, "make a folder")
	s.dir = filepath.Join(dir, "data")
	s.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	secret := filepath.Join(dir, "password")
	s.must(os.WriteFile(secret, []byte(Password), 0o600), "write the password")
	if uid, gid, other := Account(); other {
		s.must(errors.Join(os.Chown(dir, uid, gid), os.Chown(secret, uid, gid)), "give the folder away")
	}
	initdb := exec.Command(filepath.Join(s.bin, "initdb"), "-D", s.dir, "-U", User, "--pwfile", secret,
		"--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C", "--no-sync")
	initdb.SysProcAttr, initdb.Dir = Attributes(), dir
	output, err := initdb.CombinedOutput()
	if err != nil {
		s.t.Fatalf("initdb: %v: %s", err, output)
	}
}

// Start starts a server that was stopped, and returns when it answers.
func (s *Server) Start() {
	s.t.Helper()
	command := exec.Command(filepath.Join(s.bin, "postgres"), "-D", s.dir, "-p", strconv.Itoa(s.port), "-k", "",
		"-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "max_connections=30", "-c", "timezone=Asia/Tokyo", "-c", "datestyle=SQL")
	child, err := StartChild(s.dir, command, func(ctx context.Context) error {
		conn, err := pgx.Connect(ctx, s.url())
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	})
	s.must(err, "run PostgreSQL")
	s.child = child
}

// Stop ends the server without waiting for its clients. Stopping one that does not
// run does nothing.
func (s *Server) Stop() {
	s.t.Helper()
	s.must(s.child.Stop(syscall.SIGINT), "end PostgreSQL")
	s.child = nil
}

// Exec runs statements, with semicolons between them.
func (s *Server) Exec(sql string) {
	s.t.Helper()
	ctx := context.Background() // a test's own has ended when it cleans up
	conn, err := pgx.Connect(ctx, s.url())
	s.must(err, "connect")
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.PgConn().Exec(ctx, sql).ReadAll()
	s.must(err, sql)
}

// Count returns what a query returns that has one number.
func (s *Server) Count(sql string) int {
	s.t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, s.url())
	s.must(err, "connect")
	defer func() { _ = conn.Close(ctx) }()
	var n int
	s.must(conn.QueryRow(ctx, sql).Scan(&n), sql)
	return n
}

// Hold takes an advisory lock, for which statements wait that ask for the same one,
// until release is called.
func (s *Server) Hold(key int) (release func()) {
	s.t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, s.url())
	s.must(err, "connect")
	_, err = conn.Exec(ctx, "select pg_advisory_lock($1)", key)
	s.must(err, "take an advisory lock")
	return func() { _ = conn.Close(ctx) } // which gives the lock back
}

// Waiting returns how many statements wait for advisory locks.
func (s *Server) Waiting() int {
	s.t.Helper()
	return s.Count("select count(*) from pg_locks where locktype = 'advisory' and not granted")
}

// Source is the server as a source of an app.
func (s *Server) Source(name string) repositories.Source {
	return repositories.Source{
		Name: name, Type: repositories.SourcePostgres, Host: "127.0.0.1", Port: strconv.Itoa(s.port),
		Database: Database, User: User, Password: secret.New(Password),
	}
}

// Port is the server's port on 127.0.0.1.
func (s *Server) Port() int { return s.port }

func (s *Server) url() string {
	return fmt.Sprintf("postgres://%s:%s@127.0.0.1:%d/%s?sslmode=disable", User, Password, s.port, Database)
}

func (s *Server) must(err error, what string) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("%s: %v", strings.TrimSpace(what), err)
	}
}
