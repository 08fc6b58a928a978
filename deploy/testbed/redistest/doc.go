// Package redistest runs Redis for tests: a real redis-server as a child process, a
// cluster of them, a master under the watch of sentinels, or miniredis, the embedded
// store of "earshot dev".
//
// A real server can be killed and started again on the same port and files. It never
// syncs its append-only file, and so loses nothing when its process is killed: what it
// has answered is with the kernel. With everysec, Redis's default, it would answer
// before it writes whenever a sync takes long.
//
// The program is redis-server on the PATH, or what EARSHOT_REDIS_SERVER names. Where
// there is none, tests that need it are skipped, or fail when EARSHOT_REQUIRE_SERVERS
// is set, as it is where a skipped test would go unnoticed.
package redistest
