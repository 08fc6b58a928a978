package testbed

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// AdminKey is the admin key of a service that Environment or NewReplica is for.
const AdminKey = "admin-key-of-the-tests"

// Environment lets an earshot dev ask for AdminKey, and use nothing that is configured on the machine.
func Environment() []string {
	return []string{"EARSHOT_ADMIN_KEY=" + AdminKey, "OPENAI_API_KEY=", "OPENAI_BASE_URL=", "REDIS_URL=", "NATS_URL="}
}

// programs are those of earshot that this process has built, or was given, by their tags.
var programs struct {
	sync.Mutex
	built map[string]string
}

// Program returns the path of earshot with build tags. EARSHOT_PROGRAM names one without tags that is
// built already, EARSHOT_PROGRAM_CRASHTEST one with the tag crashtest. Otherwise each process builds
// its own, once.
func Program(t TB, tags ...string) string {
	t.Helper()
	tag := strings.Join(tags, ",")
	variable := strings.TrimSuffix("EARSHOT_PROGRAM_"+strings.ToUpper(tag), "_")
	if given := os.Getenv(variable); given != "" {
		return given
	}
	programs.Lock()
	defer programs.Unlock()
	if programs.built[tag] != "" {
		return programs.built[tag]
	}
	folder, err := os.MkdirTemp("", "earshot-program-")
	if err != nil {
		t.Fatal(err)
	}
	AtEnd(func() error { return os.RemoveAll(folder) })
	path := filepath.Join(folder, "earshot")
	Build(t, path, "earshot/cmd/earshot", "-tags", tag)
	if programs.built == nil {
		programs.built = map[string]string{}
	}
	programs.built[tag] = path
	return path
}

// Build builds packages into a file or a folder.
func Build(t TB, to, packages string, flags ...string) {
	t.Helper()
	build := exec.CommandContext(t.Context(), "go", append([]string{"build", "-o", to}, append(flags, packages)...)...)
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", packages, err, said)
	}
}
