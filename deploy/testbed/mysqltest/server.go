package mysqltest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/go-sql-driver/mysql"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/pgtest"
	"earshot/repositories"
	"earshot/repositories/secret"
)

const (
	database = "clinic"
	user     = "earshot" // may do everything
	password = "hunter2-mysql-password"
)

// Server is a MariaDB server. Its methods end the test where they fail.
type Server struct {
	t       testing.TB
	program string
	dir     string
	port    int
	child   *pgtest.Child
	db      *sql.DB
}

// Run starts a server that lives until the end of the test.
func Run(t testing.TB) *Server {
	t.Helper()
	program, script := find(t)
	s := &Server{t: t, program: program}
	s.create(script)
	port, err := testbed.Port()
	s.must(err, "listen")
	s.port = port
	s.connect()
	s.Start()
	t.Cleanup(s.Stop)
	return s
}

// flags are those of every run: small files that are not synced.
func (s *Server) flags(more ...string) []string {
	return append([]string{
		"--no-defaults", "--datadir=" + filepath.Join(s.dir, "data"), "--log-warnings=0",
		"--innodb-flush-method=nosync", "--innodb-log-file-size=4M", "--innodb-buffer-pool-size=16M",
		"--innodb-data-file-path=ibdata1:4M:autoextend", "--innodb-temp-data-file-path=ibtmp1:2M:autoextend",
	}, more...)
}

// create makes the system tables, the user and the database. The folder is one that the
// server's user may read: those of testing.TB may lie in one that is the owner's alone.
func (s *Server) create(script string) {
	dir, err := os.MkdirTemp("", "mysqltest")
	s.must(err, "make a folder")
	s.dir = dir
	s.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	data := filepath.Join(dir, "data")
	s.must(os.Mkdir(data, 0o700), "make a folder")
	if uid, gid, other := pgtest.Account(); other {
		s.must(errors.Join(os.Chown(dir, uid, gid), os.Chown(data, uid, gid)), "give the folder away")
	}
	tables, err := os.ReadFile(script)
	s.must(err, "read the system tables")
	bootstrap := exec.Command(s.program, s.flags("--bootstrap")...)
	bootstrap.SysProcAttr, bootstrap.Dir = pgtest.Attributes(), dir
	bootstrap.Stdin = bytes.NewReader(fmt.Appendf(nil, "create database mysql;\nuse mysql;\nset @auth_root_socket=NULL;\n%s\nflush privileges;\n"+
		"create user '%s'@'%%' identified by '%s';\ngrant all on *.* to '%[2]s'@'%%' with grant option;\ncreate database %[4]s character set utf8mb4;\n", tables, user, password, database))
	output, err := bootstrap.CombinedOutput()
	if err != nil {
		s.t.Fatalf("mariadbd --bootstrap: %v: %s", err, output)
	}
}

// Start starts a server that was stopped, and returns when it answers.
func (s *Server) Start() {
	s.t.Helper()
	command := exec.Command(s.program, s.flags("--port="+strconv.Itoa(s.port), "--bind-address=127.0.0.1", "--socket="+filepath.Join(s.dir, "s"),
		"--pid-file="+filepath.Join(s.dir, "pid"), "--skip-name-resolve", "--innodb-fast-shutdown=2", "--performance-schema=off", "--default-time-zone=+09:00", "--max-connections=30")...)
	child, err := pgtest.StartChild(s.dir, command, s.db.PingContext)
	s.must(err, "run MariaDB")
	s.child = child
}

// Stop ends the server without waiting for its clients. Stopping one that does not run does
// nothing.
func (s *Server) Stop() {
	s.t.Helper()
	s.must(s.child.Stop(syscall.SIGTERM), "end MariaDB")
	s.child = nil
}

// connect makes a client of the server.
func (s *Server) connect() {
	config := mysql.NewConfig()
	config.Logger = &mysql.NopLogger{} // it is asked before it answers
	config.Net, config.Addr = "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port))
	config.User, config.Passwd, config.DBName, config.MultiStatements = user, password, database, true
	connector, err := mysql.NewConnector(config)
	s.must(err, "read the settings of a client")
	s.db = sql.OpenDB(connector)
	s.db.SetMaxIdleConns(-1)
	s.t.Cleanup(func() { _ = s.db.Close() })
}

// Exec runs statements, with semicolons between them.
func (s *Server) Exec(statements string) {
	s.t.Helper()
	_, err := s.db.ExecContext(context.Background(), statements) // a test's own context has ended when it cleans up
	s.must(err, statements)
}

// Count returns what a query returns that has one number.
func (s *Server) Count(query string) int {
	s.t.Helper()
	var n int
	s.must(s.db.QueryRowContext(context.Background(), query).Scan(&n), query)
	return n
}

// Source is the server as a source of an app.
func (s *Server) Source(name string) repositories.Source {
	return repositories.Source{
		Name: name, Type: repositories.SourceMySQL, Host: "127.0.0.1", Port: strconv.Itoa(s.port),
		Database: database, User: user, Password: secret.New(password),
	}
}

func (s *Server) must(err error, what string) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("%s: %v", what, err)
	}
}
