// Package pgtest runs PostgreSQL for tests: a real server as a child process, with a
// cluster of its own that it loses at the end.
//
// The server listens on loopback, asks for a password, and can be stopped and started
// again on the same port and files. It does not sync its files, which a test of what
// survives a crash of the machine would need.
//
// The programs are initdb and postgres, on the PATH, where Debian keeps them
// (/usr/lib/postgresql), or in the folder that EARSHOT_POSTGRES_BIN names. Where there
// are none, tests that need them are skipped, or fail when EARSHOT_REQUIRE_SERVERS is
// set, as it is where a skipped test would go unnoticed. PostgreSQL refuses to run as
// root: a root that tests runs it as the user postgres, or as nobody.
package pgtest
