package mysqltest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// envFolder is the environment variable that says where the program is.
const envFolder = "EARSHOT_MARIADB_BIN"

const hint = "no MariaDB server: install it (apt-get install mariadb-server, brew install mariadb) or set " + envFolder + " to the folder of mariadbd"

// Installed reports whether there is a server to run.
func Installed() bool {
	program, script := programs()
	return program != "" && script != ""
}

func find(t testing.TB) (program, script string) {
	t.Helper()
	if program, script = programs(); program != "" && script != "" {
		return program, script
	}
	if os.Getenv("EARSHOT_REQUIRE_SERVERS") != "" {
		t.Fatal(hint)
	}
	t.Skip(hint)
	return "", ""
}

// programs are the server and the script of its system tables; empty where they are not.
func programs() (program, script string) {
	names := []string{"mariadbd", "/usr/sbin/mariadbd"}
	if named, set := os.LookupEnv(envFolder); set {
		names = []string{filepath.Join(named, "mariadbd")}
	}
	for _, name := range names {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if real, err := filepath.EvalSymlinks(program); err == nil {
		script = systemTables(filepath.Dir(filepath.Dir(real)))
	}
	return program, script
}

// systemTables finds the script below the folder that the server is installed in.
func systemTables(prefix string) string {
	for _, pattern := range []string{"share/m*/mysql_system_tables.sql", "share/m*/mariadb_system_tables.sql"} {
		if found, _ := filepath.Glob(filepath.Join(prefix, pattern)); len(found) > 0 { // the pattern is well formed
			return found[0]
		}
	}
	return ""
}
