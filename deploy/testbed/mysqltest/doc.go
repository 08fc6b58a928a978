// Package mysqltest runs MariaDB for tests: a real server as a child process, with files of
// its own that it loses at the end.
//
// The server listens on loopback, asks for a password, and can be stopped and started again
// on the same port and files, which it does not sync.
//
// The program is mariadbd, on the PATH, in /usr/sbin, or in the folder that EARSHOT_MARIADB_BIN
// names, with the script that makes its system tables where it was installed. Where they are not, tests that need them are skipped, or fail when
// EARSHOT_REQUIRE_SERVERS is set, as it is where a skipped test would go unnoticed.
package mysqltest
