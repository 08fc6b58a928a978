package testbed

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

var (
	building sync.Mutex
	built    = map[string]string{} // paths, by what they were built of
)

// Built builds a program with flags of go build, once for this process, and returns its path.
func Built(t TB, program string, flags ...string) string {
	t.Helper()
	building.Lock()
	defer building.Unlock()
	key := strings.Join(append(flags, program), " ")
	if path, is := built[key]; is {
		return path
	}
	folder, err := os.MkdirTemp("", "earshot-built-")
	Must(t, "make a folder", err)
	AtEnd(func() error { return os.RemoveAll(folder) })
	path := filepath.Join(folder, filepath.Base(program))
	Done(t, exec.CommandContext(t.Context(), "go", slices.Concat([]string{"build", "-o", path}, flags, []string{program})...))
	built[key] = path
	return path
}

// Done runs a command, and returns all that it writes. One that fails ends the test.
func Done(t TB, command *exec.Cmd) string {
	t.Helper()
	said, err := command.CombinedOutput()
	Must(t, command.String()+"\n"+string(said), err)
	return string(said)
}

// Program returns the path of earshot with build tags, from EARSHOT_PROGRAM, or EARSHOT_PROGRAM_CRASHTEST, if set; else it is Built.
func Program(t TB, tags ...string) string {
	t.Helper()
	tag := strings.Join(tags, ",")
	variable := strings.TrimSuffix("EARSHOT_PROGRAM_"+strings.ToUpper(tag), "_")
	if given := os.Getenv(variable); given != "" {
		return given
	}
	return Built(t, "earshot/cmd/earshot", "-tags", tag)
}

// Sources is a folder without what programs of other languages have made in it, for [os.CopyFS].
func Sources(folder string) fs.FS { return sources{os.DirFS(folder)} }

type sources struct{ fs.FS }

func (s sources) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(s.FS, name)
	return slices.DeleteFunc(entries, func(entry fs.DirEntry) bool {
		return slices.Contains([]string{"node_modules", "built", "dist", "__pycache__", ".mypy_cache"}, entry.Name())
	}), err
}

// ProgramOf builds the earshot of a commit below a folder; of this source if the commit is empty. A path is returned as it is.
func ProgramOf(t TB, folder, commit string) string {
	t.Helper()
	switch {
	case commit == "":
		return Program(t)
	case strings.Contains(commit, "/"):
		path, err := filepath.Abs(commit)
		Must(t, "the path of "+commit, err)
		return path
	}
	run := func(in, program string, arguments ...string) string {
		command := exec.CommandContext(t.Context(), program, arguments...)
		command.Dir = in
		return strings.TrimSpace(Done(t, command))
	}
	root := filepath.Dir(run("", "go", "env", "GOMOD"))
	if exec.CommandContext(t.Context(), "git", "-C", root, "cat-file", "-e", commit+"^{commit}").Run() != nil {
		t.Fatalf("earshot of %s: its commit is not in this clone; get it with: git fetch --unshallow", commit)
	}
	source, archive, program := filepath.Join(folder, "source-"+commit), filepath.Join(folder, commit+".tar"), filepath.Join(folder, "earshot-"+commit)
	Must(t, "make a folder", os.MkdirAll(source, 0o700))
	run(root, "git", "archive", "-o", archive, commit)
	run(source, "tar", "-xf", archive)
	run(source, "go", "build", "-o", program, "./cmd/earshot")
	Must(t, "remove the source", os.RemoveAll(source))
	return program
}
