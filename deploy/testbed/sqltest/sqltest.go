// Package sqltest runs PostgreSQL and MariaDB for tests, as child processes on loopback with a password and files of their own.
// A server can be stopped and started on the same port and files. It does not sync its files.
//
// PostgreSQL is on the PATH, in /usr/lib/postgresql (Debian), or in the folder EARSHOT_POSTGRES_BIN; MariaDB on the PATH, in
// /usr/sbin, or in the folder EARSHOT_MARIADB_BIN. PostgreSQL refuses to run as root, who runs it as postgres or nobody.
package sqltest

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver of PostgreSQL

	"earshot/deploy/testbed"
	"earshot/repositories"
	"earshot/repositories/secret"
)

// Password is that of every server's user; easily found where it must not be.
const Password = "hunter2-sql-password"

const user = "earshot"

// Server is a database server. Its methods end the test if they fail.
type Server struct {
	t       testbed.TB
	process *testbed.Process
	end     os.Signal // which it need not be asked for twice
	source  repositories.Source
	db      *sql.DB
}

// RunPostgres starts a PostgreSQL that lives until the end of the test.
func RunPostgres(t testbed.TB) *Server {
	t.Helper()
	bin := postgres()
	if bin == "" {
		testbed.Missing(t, "no PostgreSQL server: install it (apt-get install postgresql, brew install postgresql) or set "+envPostgres+" to the folder of initdb and postgres")
	}
	s := newServer(t, syscall.SIGINT, repositories.Source{Name: "db", Type: repositories.SourcePostgres, Database: "postgres"})
	data, file := filepath.Join(s.process.Dir, "data"), filepath.Join(s.process.Dir, "password")
	testbed.Must(s.t, "write the password", os.WriteFile(file, []byte(Password), 0o600))
	s.giveAway(file)
	s.prepare("", filepath.Join(bin, "initdb"), "-D", data, "-U", user, "--pwfile", file, "--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C", "--no-sync")
	var err error
	s.db, err = sql.Open("pgx", fmt.Sprintf("postgres://%s:%s@127.0.0.1:%s/%s?sslmode=disable&default_query_exec_mode=simple_protocol", user, Password, s.source.Port, s.source.Database))
	testbed.Must(s.t, "make a client", err)
	s.run(filepath.Join(bin, "postgres"), "-D", data, "-p", s.source.Port, "-k", "",
		"-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "max_connections=30", "-c", "timezone=Asia/Tokyo", "-c", "datestyle=SQL")
	return s
}

// RunMySQL starts a MariaDB that lives until the end of the test.
func RunMySQL(t testbed.TB) *Server {
	t.Helper()
	program, script := mariadb()
	if program == "" || script == "" {
		testbed.Missing(t, "no MariaDB server: install it (apt-get install mariadb-server, brew install mariadb) or set "+envMariaDB+" to the folder of mariadbd")
	}
	s := newServer(t, syscall.SIGTERM, repositories.Source{Name: "db", Type: repositories.SourceMySQL, Database: "clinic"})
	data := filepath.Join(s.process.Dir, "data")
	testbed.Must(s.t, "make a folder", os.Mkdir(data, 0o700))
	s.giveAway(data)
	tables, err := os.ReadFile(script)
	testbed.Must(s.t, "read the system tables", err)
	files := []string{ // small ones that are not synced
		"--no-defaults", "--datadir=" + data, "--log-warnings=0", "--innodb-flush-method=nosync", "--innodb-log-file-size=4M",
		"--innodb-buffer-pool-size=16M", "--innodb-data-file-path=ibdata1:4M:autoextend", "--innodb-temp-data-file-path=ibtmp1:2M:autoextend",
	}
	s.prepare(fmt.Sprintf("create database mysql;\nuse mysql;\nset @auth_root_socket=NULL;\n%s\nflush privileges;\n"+
		"create user '%s'@'%%' identified by '%s';\ngrant all on *.* to '%[2]s'@'%%' with grant option;\ncreate database %[4]s character set utf8mb4;\n",
		tables, user, Password, s.source.Database), program, append(files, "--bootstrap")...)
	config := mysql.NewConfig()
	config.Logger = &mysql.NopLogger{} // it is asked before it answers
	config.Net, config.Addr = "tcp", net.JoinHostPort("127.0.0.1", s.source.Port)
	config.User, config.Passwd, config.DBName, config.MultiStatements = user, Password, s.source.Database, true
	connector, err := mysql.NewConnector(config)
	testbed.Must(s.t, "make a client", err)
	s.db = sql.OpenDB(connector)
	s.run(program, append(files, "--port="+s.source.Port, "--bind-address=127.0.0.1", "--socket="+filepath.Join(s.process.Dir, "s"),
		"--pid-file="+filepath.Join(s.process.Dir, "pid"), "--skip-name-resolve", "--innodb-fast-shutdown=2", "--performance-schema=off",
		"--default-time-zone=+09:00", "--max-connections=30")...)
	return s
}

// newServer has a folder that its user may read, unlike those of tests.
func newServer(t testbed.TB, end os.Signal, source repositories.Source) *Server {
	t.Helper()
	s := &Server{t: t, end: end, source: source}
	dir, err := os.MkdirTemp("", "sqltest")
	testbed.Must(s.t, "make a folder", err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s.giveAway(dir)
	s.source.Host, s.source.Port, s.source.User, s.source.Password = "127.0.0.1", strconv.Itoa(testbed.Ports(t, 1)[0]), user, secret.New(Password)
	s.process = testbed.NewProcess(dir, s.source.Type, "")
	s.process.Dir, s.process.Unprivileged = dir, true
	return s
}

func (s *Server) giveAway(path string) {
	s.t.Helper()
	if uid, gid, other := testbed.Account(); other {
		testbed.Must(s.t, "give a file away", os.Chown(path, uid, gid))
	}
}

func (s *Server) prepare(input, program string, args ...string) {
	s.t.Helper()
	command := exec.Command(program, args...)
	command.Stdin, command.Dir, command.SysProcAttr = strings.NewReader(input), s.process.Dir, testbed.Attributes(true)
	testbed.Done(s.t, command)
}

func (s *Server) run(program string, args ...string) {
	s.process.Path, s.process.Args = program, args
	s.db.SetMaxIdleConns(-1)
	s.Start()
	s.t.Cleanup(s.Stop)
	s.t.Cleanup(func() { _ = s.db.Close() })
}

// Start starts a server that was stopped, and returns when it answers.
func (s *Server) Start() {
	s.t.Helper()
	testbed.Must(s.t, "run a database", s.process.Start())
	testbed.Must(s.t, "run a database", s.process.Until(context.Background(), s.db.PingContext))
}

// Stop ends the server without waiting for its clients. Stopping one that does not run does nothing.
func (s *Server) Stop() {
	s.t.Helper()
	testbed.Must(s.t, "end a database", s.process.Stop(s.end))
}

// Exec runs statements, with semicolons between them.
func (s *Server) Exec(statements string) {
	s.t.Helper()
	_, err := s.db.ExecContext(context.Background(), statements) // a test's own context has ended when it cleans up
	testbed.Must(s.t, statements, err)
}

// Count returns what a query returns that has one number.
func (s *Server) Count(query string) (n int) {
	s.t.Helper()
	testbed.Must(s.t, query, s.db.QueryRowContext(context.Background(), query).Scan(&n))
	return n
}

// Hold takes an advisory lock of PostgreSQL until release is called.
func (s *Server) Hold(key int) (release func()) {
	s.t.Helper()
	conn, err := s.db.Conn(context.Background())
	testbed.Must(s.t, "connect", err)
	_, err = conn.ExecContext(context.Background(), "select pg_advisory_lock($1)", key)
	testbed.Must(s.t, "take an advisory lock", err)
	return func() { _ = conn.Close() } // which gives the lock back
}

// Waiting returns how many statements wait for advisory locks of PostgreSQL.
func (s *Server) Waiting() int {
	return s.Count("select count(*) from pg_locks where locktype = 'advisory' and not granted")
}

// Source is the server as the source "db" of an app.
func (s *Server) Source() repositories.Source { return s.source }

const (
	envPostgres = "EARSHOT_POSTGRES_BIN"
	envMariaDB  = "EARSHOT_MARIADB_BIN"
)

// Missing are the packages of Debian with the servers that are not there.
func Missing() (packages []string) {
	if postgres() == "" {
		packages = append(packages, "postgresql")
	}
	if program, script := mariadb(); program == "" || script == "" {
		packages = append(packages, "mariadb-server")
	}
	return packages
}

func postgres() string {
	folders, set := []string{os.Getenv(envPostgres)}, os.Getenv(envPostgres) != ""
	if !set {
		folders, _ = filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is well formed
		version := func(bin string) int { n, _ := strconv.Atoi(filepath.Base(filepath.Dir(bin))); return n }
		slices.SortFunc(folders, func(a, b string) int { return cmp.Compare(version(b), version(a)) })
		if program, err := exec.LookPath("initdb"); err == nil {
			folders = slices.Insert(folders, 0, filepath.Dir(program))
		}
	}
	for _, folder := range folders {
		_, initdb := exec.LookPath(filepath.Join(folder, "initdb"))
		_, server := exec.LookPath(filepath.Join(folder, "postgres"))
		if errors.Join(initdb, server) == nil {
			return folder
		}
	}
	return ""
}

func mariadb() (program, script string) {
	names := []string{"mariadbd", "/usr/sbin/mariadbd"}
	if folder := os.Getenv(envMariaDB); folder != "" {
		names = []string{filepath.Join(folder, "mariadbd")}
	}
	for _, name := range names {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if real, err := filepath.EvalSymlinks(program); err == nil {
		prefix := filepath.Dir(filepath.Dir(real))
		for _, pattern := range []string{"share/m*/mysql_system_tables.sql", "share/m*/mariadb_system_tables.sql"} {
			if found, _ := filepath.Glob(filepath.Join(prefix, pattern)); len(found) > 0 && script == "" { // well formed
				script = found[0]
			}
		}
	}
	return program, script
}
