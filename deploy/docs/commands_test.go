//go:build unix

package docs_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/natstest"
	"earshot/deploy/testbed/redistest"
)

const (
	patience  = 60 * time.Second
	glance    = 20 * time.Millisecond
	mostUnrun = 13
)

// prelude runs the built program in place of go run, and a curl that fails when it is refused.
const prelude = `
curl() { command curl --silent --show-error --fail-with-body --max-time 60 "$@"; }
go() {
	case "$1 $2" in
	"run ./cmd/earshot") shift 2; earshot "$@" ;;
	"install ./cmd/earshot") ;;
	*) command go "$@" ;;
	esac
}
`

func TestEveryCommandOfTheDocumentsRuns(t *testing.T) {
	testbed.Need(t, "bash", "curl", "jq", "openssl", "python3", "redis-cli", "sqlite3")
	program := testbed.Program(t)
	unrun := 0
	for _, path := range documents(t) {
		blocks := blocksOf(t, path)
		for _, b := range blocks {
			if b.kind == "norun" {
				require.NotEmpty(t, b.argument, "%s does not say why it is not run", b.place)
				t.Logf("%s is not run: %s", b.place, b.argument)
				unrun++
			}
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			reading(t, program, blocks).run()
		})
	}
	require.LessOrEqual(t, unrun, mostUnrun, "too many commands are not run")
}

func documents(t *testing.T) []string {
	chapters := testbed.Got(filepath.Glob("*.md"))(t)
	return append([]string{"../../README.md"}, slices.DeleteFunc(chapters, func(name string) bool { return name == "README.md" })...)
}

// reader types the commands of a document in one shell, in an empty folder, with a service of its own.
type reader struct {
	t       *testing.T
	dir     string // of the files that are the test's; the folder of the shell is below it
	program string
	goCache string // of whoever runs the test: one of our own would be cold
	blocks  []block
	shell   io.Writer
	answers *bufio.Scanner
	places  map[string]string
	nats    string // that of the service, where it has its own
	beside  []*besides
}

type besides struct {
	block
	out  string
	cmd  *exec.Cmd
	gone chan struct{}
}

const (
	service  = "127.0.0.1:8080"
	endpoint = "127.0.0.1:9000"
)

func reading(t *testing.T, program string, blocks []block) *reader {
	cache := testbed.Got(exec.Command("go", "env", "GOCACHE").Output())(t)
	r := &reader{t: t, dir: t.TempDir(), program: program, goCache: strings.TrimSpace(string(cache)), blocks: blocks, places: map[string]string{}}
	require.NoError(t, os.MkdirAll(r.at("folder/bin"), 0o700))
	r.write("prelude.sh", prelude)
	own := false
	for _, b := range blocks {
		own = own || b.kind == "server"
		r.provide(b)
	}
	r.places[service], r.places[endpoint] = testbed.Address(t), testbed.Address(t)
	r.writeProgram()
	if !own {
		r.start(block{place: "earshot dev", language: "sh", kind: "server", text: "earshot dev\n"})
	}
	r.openShell()
	return r
}

func (r *reader) provide(b block) {
	if b.language != "sh" || b.kind == "norun" {
		return
	}
	for address, start := range map[string]func() string{
		"127.0.0.1:6379": func() string { return strings.TrimPrefix(redistest.Run(r.t).URL(), "redis://") },
		"127.0.0.1:4222": func() string { return strings.TrimPrefix(natstest.Run(r.t).URL(), "nats://") },
	} {
		if strings.Contains(b.text, address) && r.places[address] == "" {
			r.places[address] = start()
		}
	}
}

func (r *reader) run() {
	wrote := ""
	for _, b := range r.blocks {
		switch {
		case b.kind == "file":
			require.NoError(r.t, os.MkdirAll(filepath.Dir(r.at("folder/"+b.argument)), 0o700))
			r.write("folder/"+b.argument, r.here(b.text))
		case b.kind == "output":
			require.Empty(r.t, b.differs(wrote), b.place)
		case b.kind == "server" || b.kind == "beside":
			r.start(b)
		case b.language == "sh" && b.kind != "norun":
			wrote = r.execute(b)
		case b.language == "json":
			_, err := values(b.text)
			require.NoError(r.t, err, b.place)
		}
	}
	for _, one := range slices.Backward(r.beside) {
		r.finish(one)
	}
}

func (r *reader) execute(b block) string {
	code, status := "0", ""
	switch b.kind {
	case "":
	case "exits":
		code = b.argument
	case "refused":
		code, status = "22", b.argument // of curl
	default:
		r.t.Fatalf("%s: sh %s is nothing that the test knows", b.place, b.kind)
	}
	r.write("block.sh", r.here(b.text))
	command := "source %[1]s/block.sh"
	if code != "0" {
		command = "set +e; (set -e; source %[1]s/block.sh)"
	}
	fmt.Fprintf(r.shell, "{ "+command+"; } > %[1]s/out 2> %[1]s/err < /dev/null; code=$?; set -e; export -p > %[1]s/variables.sh; echo $code >&3\n", r.dir)
	ended := "the shell, at a command that failed"
	if r.answers.Scan() {
		ended = r.answers.Text()
	}
	wrote := r.there(r.read("out"))
	require.Equal(r.t, code, ended, "%s:\n%s\nwrote:\n%s\nand as faults:\n%s\nbeside:\n%s", b.place, b.text, wrote, r.read("err"), r.saidBeside())
	if status != "" {
		require.Contains(r.t, wrote, `"status":`+status, b.place)
	}
	return wrote
}

// start runs a block beside. A server is waited for until it is ready.
func (r *reader) start(b block) {
	one := &besides{block: b, out: fmt.Sprintf("beside-%d", len(r.beside)), gone: make(chan struct{})}
	r.beside = append(r.beside, one)
	address := "127.0.0.1:0"
	if b.kind == "server" {
		address = r.places[service]
	}
	r.write(one.out+".sh", "source "+r.dir+"/variables.sh 2> /dev/null; source "+r.dir+"/prelude.sh\nexport EARSHOT_ADDR="+address+"\n"+r.here(b.text))
	out := testbed.Got(os.Create(r.at(one.out)))(r.t)
	one.cmd = r.bash(r.at(one.out + ".sh"))
	one.cmd.Stdout, one.cmd.Stderr = out, out
	require.NoError(r.t, one.cmd.Start())
	r.t.Cleanup(func() { _ = syscall.Kill(-one.cmd.Process.Pid, syscall.SIGKILL); <-one.gone; out.Close() })
	go func() { defer close(one.gone); _ = one.cmd.Wait() }()
	if b.kind != "server" {
		if first, _, more := strings.Cut(b.argument, " … "); more {
			r.until(one, "it writes "+first, func() bool { return strings.Contains(r.there(r.read(one.out)), first) })
		}
		return
	}
	r.until(one, "it is ready", func() bool {
		return testbed.Client{URL: "http://" + r.places[service]}.Ready(r.t.Context()) == nil
	})
	if _, after, found := strings.Cut(r.read(one.out), "events: nats://"); found {
		r.nats, _, _ = strings.Cut(after, ",")
		r.writeProgram()
	}
}

func (r *reader) finish(one *besides) {
	if one.kind == "beside" {
		r.until(one, "it writes "+one.argument, func() bool {
			return within(strings.ReplaceAll(one.argument, " … ", "…")).MatchString(r.there(r.read(one.out)))
		})
	}
	_ = syscall.Kill(-one.cmd.Process.Pid, syscall.SIGINT)
	select {
	case <-one.gone:
	case <-time.After(patience):
		r.t.Fatalf("%s does not end:\n%s", one.place, r.read(one.out))
	}
}

func (r *reader) until(one *besides, what string, holds func() bool) {
	r.t.Helper()
	deadline, again := time.After(patience), time.NewTicker(glance)
	defer again.Stop()
	for !holds() {
		select {
		case <-again.C:
		case <-one.gone:
			require.True(r.t, holds(), "%s has ended before %s:\n%s", one.place, what, r.read(one.out))
		case <-deadline:
			r.t.Fatalf("%s: not within %s: %s\n%s", one.place, patience, what, r.read(one.out))
		}
	}
}

func (r *reader) openShell() {
	cmd := r.bash()
	answers, told, err := os.Pipe()
	require.NoError(r.t, err)
	cmd.ExtraFiles, r.answers = []*os.File{told}, bufio.NewScanner(answers)
	var faults bytes.Buffer
	cmd.Stderr = &faults
	r.shell = testbed.Got(cmd.StdinPipe())(r.t)
	require.NoError(r.t, cmd.Start())
	told.Close()
	r.t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); _ = cmd.Wait(); answers.Close() })
	fmt.Fprintf(r.shell, "set -eao pipefail; source %s/prelude.sh\n", r.dir)
}

func (r *reader) bash(arguments ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	r.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "bash", append([]string{"--norc", "--noprofile"}, arguments...)...)
	cmd.Dir = r.at("folder")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Env = []string{"PATH=" + r.at("bin") + ":" + os.Getenv("PATH"), "HOME=" + r.at("folder"), "LANG=C.UTF-8", "TZ=UTC",
		"GOCACHE=" + r.goCache, "GOFLAGS=" + os.Getenv("GOFLAGS"), "EARSHOT_URL=http://" + r.places[service]}
	return cmd
}

// writeProgram puts the program on the path of the shell. Its listen finds the NATS of this document.
func (r *reader) writeProgram() {
	require.NoError(r.t, os.MkdirAll(r.at("bin"), 0o700))
	script := "#!/usr/bin/env bash\n"
	if nats := cmp.Or(r.nats, r.places["127.0.0.1:4222"]); nats != "" {
		script += `[ "$1" != listen ] || export NATS_URL=nats://` + nats + "\n"
	}
	r.write("bin/earshot", script+`exec `+r.program+` "$@"`+"\n")
	require.NoError(r.t, os.Chmod(r.at("bin/earshot"), 0o700))
}

// here puts the addresses of this document's servers in place of the usual ones, there does the reverse.
func (r *reader) here(text string) string {
	for usual, here := range r.places {
		text = strings.ReplaceAll(text, usual, here)
	}
	return text
}

func (r *reader) there(text string) string {
	for usual, here := range r.places {
		text = strings.ReplaceAll(text, here, usual)
	}
	return text
}

func (r *reader) at(name string) string { return filepath.Join(r.dir, name) }

func (r *reader) write(name, text string) {
	require.NoError(r.t, os.WriteFile(r.at(name), []byte(text), 0o600))
}

func (r *reader) read(name string) string { return testbed.Read(r.t, r.at(name)) }

func (r *reader) saidBeside() string {
	said := map[string]string{}
	for _, one := range r.beside {
		said[one.place] = r.read(one.out)
	}
	shown, _ := json.MarshalIndent(said, "", " ") // a map of strings always marshals
	return string(shown)
}
