package main

import (
	"earshot/deploy/release/licences"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is that of the module.
const root = "../.."

// small is a module with a program that only says its version, and a history of one commit, so
// that a release of it is made in seconds. What says the version is the real thing.
type small struct {
	t      *testing.T
	folder string
}

func newSmall(t *testing.T) *small {
	t.Helper()
	s := &small{t, t.TempDir()}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	said, err := os.ReadFile(filepath.Join(root, "repositories/version/version.go"))
	require.NoError(t, err)
	golang := ""
	for line := range strings.Lines(string(mod)) {
		if strings.HasPrefix(line, "go ") {
			golang = line
		}
	}
	s.write("go.mod", "module earshot\n\n"+golang)
	s.write("repositories/version/version.go", string(said))
	s.write("cmd/earshot/main.go", "package main\n\nimport (\n\t\"fmt\"\n\n\t\"earshot/repositories/version\"\n)\n\nfunc main() { fmt.Println(version.Current()) }\n")
	for _, name := range beside {
		s.write(name, "the text of "+name+"\n")
	}
	s.write(".gitignore", "/dist/\n")
	s.git("init", "-q")
	s.commit("the first", "2026-12-01T09:30:00+01:00")
	return s
}

func (s *small) write(name, text string) {
	path := filepath.Join(s.folder, name)
	require.NoError(s.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(s.t, os.WriteFile(path, []byte(text), 0o600))
}

func (s *small) commit(message, at string) {
	s.t.Setenv("GIT_COMMITTER_DATE", at)
	s.git("add", ".")
	s.git("-c", "user.name=A", "-c", "user.email=a@clinic.example", "commit", "-q", "-m", message)
}

func (s *small) git(arguments ...string) string { return s.run("git", arguments...) }

func (s *small) run(program string, arguments ...string) string {
	s.t.Helper()
	cmd := exec.Command(program, arguments...)
	cmd.Dir = s.folder
	out, err := cmd.CombinedOutput()
	require.NoError(s.t, err, "%s %v: %s", program, arguments, out)
	return strings.TrimSpace(string(out))
}

// release makes one for the platform of the machine, as the command does.
func (s *small) release(arguments ...string) (said string, err error) {
	s.t.Chdir(s.folder)
	var out strings.Builder
	err = run(s.t.Context(), append([]string{"-platforms", here}, arguments...), &out)
	return out.String(), err
}

func (s *small) made(arguments ...string) string {
	s.t.Helper()
	said, err := s.release(arguments...)
	require.NoError(s.t, err, said)
	return said
}

func (s *small) read(name string) string {
	text, err := os.ReadFile(filepath.Join(s.folder, name))
	require.NoError(s.t, err)
	return string(text)
}

const here = runtime.GOOS + "/" + runtime.GOARCH

// titled is how a version for the platform of the machine is called.
func titled(version string) string {
	return "earshot_" + version + "_" + strings.ReplaceAll(here, "/", "_")
}

func TestReleaseIsAnArchiveWithItsChecksumThatSaysWhatItIs(t *testing.T) {
	s := newSmall(t)
	commit := s.git("rev-parse", "HEAD")

	s.made("-version", "v1.2.3")

	s.run("sh", "-c", "cd dist && sha256sum -c SHA256SUMS")
	require.Equal(t, 2, strings.Count(s.read("dist/SHA256SUMS"), "\n"), "the archive and the list")
	name := titled("1.2.3")
	listed := s.run("tar", "tvzf", "dist/"+name+".tar.gz", "--utc", "--full-time")
	for _, file := range append([]string{program}, beside...) {
		require.Regexp(t, `(?m)^-rw.r-.r-. root/root +\d+ 2026-12-01 08:30:00 `+name+"/"+file+"$", listed)
	}
	s.run("tar", "xzf", "dist/"+name+".tar.gz", "-C", "dist")
	require.Equal(t, "1.2.3 (commit "+commit[:12]+" of 2026-12-01T08:30:00Z) "+runtime.Version()+" "+here, s.run("dist/"+name+"/earshot"))
}

// TestSameCommitIsTheSameBytes builds once in the folder of a clone, by somebody else's
// settings, and once without a history, as in an image.
func TestSameCommitIsTheSameBytes(t *testing.T) {
	s := newSmall(t)
	s.made("-version", "v1.2.3")
	sums := s.read("dist/SHA256SUMS")
	commit := s.git("rev-parse", "HEAD")

	other := &small{t, filepath.Join(t.TempDir(), "of somebody else")}
	s.git("clone", "-q", s.folder, other.folder)
	t.Setenv("GOFLAGS", "-buildvcs=true")
	t.Setenv("GOAMD64", "v3")
	said := other.made("-version", "v1.2.3", "-compare", filepath.Join(s.folder, "dist", sumsName))
	require.Contains(t, said, "all as in")

	require.NoError(t, os.RemoveAll(filepath.Join(other.folder, ".git")))
	other.made("-version", "v1.2.3", "-commit", commit, "-date", "2026-12-01T08:30:00Z")
	require.Equal(t, sums, other.read("dist/SHA256SUMS"))

	other.write("README.md", "another\n")
	_, err := other.release("-version", "v1.2.3", "-commit", commit, "-date", "2026-12-01T08:30:00Z", "-compare", filepath.Join(s.folder, "dist", sumsName))
	require.ErrorContains(t, err, titled("1.2.3")+".tar.gz")
	require.NotContains(t, err.Error(), "cdx.json", "what did not change is not named")
}

func TestVersionIsThatOfTheCommitOrRefused(t *testing.T) {
	s := newSmall(t)
	commit := s.git("rev-parse", "--short=12", "HEAD")
	of := func(arguments ...string) string {
		s.t.Chdir(s.folder)
		o, err := parse(arguments, os.Stderr)
		require.NoError(t, err)
		r, err := identify(t.Context(), o)
		if err != nil {
			return err.Error()
		}
		return r.version
	}
	require.Equal(t, "0.0.0-20261201083000-"+commit, of())
	s.git("tag", "v1.2.3")
	s.git("tag", "nightly")
	require.Equal(t, "1.2.3", of())
	require.Equal(t, "1.2.3", of("-version", "v1.2.3"))
	require.Contains(t, of("-version", "1.2.3"), `give one as v1.2.3`)
	require.Contains(t, of("-version", "v1.2"), `give one as v1.2.3`)
	require.Contains(t, of("-commit", "4bf92f", "-date", "yesterday"), "-date")

	s.write("README.md", "second\n")
	s.commit("the second", "2026-12-02T08:30:00Z")
	require.Contains(t, of("-version", "v1.2.3"), "the tag v1.2.3 is commit "+commit)
	require.Equal(t, "1.3.0-rc.1", of("-version", "v1.3.0-rc.1"))

	s.write("README.md", "changed\n")
	require.Regexp(t, `^0\.0\.0-20261202083000-\w{12}\+dirty$`, of())
	require.Contains(t, of("-version", "v1.3.0"), "files were changed")

	require.NoError(t, os.RemoveAll(filepath.Join(s.folder, ".git")))
	require.Contains(t, of(), "-commit and -date")
}

// TestNoticeHasWhatIsLinkedIn fails where go.mod has changed since NOTICE was written.
func TestNoticeHasWhatIsLinkedIn(t *testing.T) {
	fresh := filepath.Join(t.TempDir(), "NOTICE")
	require.NoError(t, licences.Write(t.Context(), fresh, platformsOf(everywhere)))
	want, err := os.ReadFile(fresh)
	require.NoError(t, err)
	got, err := os.ReadFile(filepath.Join(root, "NOTICE"))
	require.NoError(t, err)
	require.True(t, string(want) == string(got), "NOTICE is not that of what is linked in; write it with: go run ./deploy/release -notice")
}
