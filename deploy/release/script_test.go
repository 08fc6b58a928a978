//go:build nightly

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

// checkout is a small module that is released in seconds: its program only prints its version. That package and the script
// are the real ones.
type checkout struct {
	t      *testing.T
	folder string
}

func newCheckout(t *testing.T) *checkout {
	c := &checkout{t, t.TempDir()}
	_, golang, _ := strings.Cut(testbed.Read(t, filepath.Join(root, "go.mod")), "\ngo ")
	golang, _, _ = strings.Cut(golang, "\n")
	c.write("go.mod", "module earshot\n\ngo "+golang+"\n")
	for _, name := range []string{"repositories/version/version.go", "deploy/release/release.sh", "cmd/earshot/default.pgo"} {
		c.write(name, testbed.Read(t, filepath.Join(root, name)))
	}
	c.write("cmd/earshot/main.go", "package main\n\nimport (\n\t\"fmt\"\n\n\t\"earshot/repositories/version\"\n)\n\nfunc main() { fmt.Println(version.Current()) }\n")
	c.write("README.md", "the read me\n")
	c.write("LICENSE", "the licence\n")
	c.write(".gitignore", "/dist/\n*.deb\nkey*\nallowed_signers\npublished\n")
	c.run("git", "init", "-q")
	c.commit("2026-12-01T09:30:00+01:00")
	return c
}

func (c *checkout) write(name, text string) {
	file := filepath.Join(c.folder, name)
	require.NoError(c.t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(c.t, os.WriteFile(file, []byte(text), 0o644))
}

func (c *checkout) read(name string) string { return testbed.Read(c.t, filepath.Join(c.folder, name)) }

func (c *checkout) try(program string, arguments ...string) (string, error) {
	cmd := exec.Command(program, arguments...)
	cmd.Dir = c.folder
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (c *checkout) run(program string, arguments ...string) string {
	out, err := c.try(program, arguments...)
	require.NoError(c.t, err, "%s %v: %s", program, arguments, out)
	return out
}

func (c *checkout) commit(at string) {
	c.t.Setenv("GIT_COMMITTER_DATE", at)
	c.run("git", "add", ".")
	c.run("git", "-c", "user.name=A", "-c", "user.email=a@clinic.example", "commit", "-q", "-m", "a commit")
}

func (c *checkout) release(arguments ...string) (string, error) {
	return c.try("sh", append([]string{"deploy/release/release.sh", "-p", runtime.GOOS + "/" + runtime.GOARCH}, arguments...)...)
}

func (c *checkout) made(arguments ...string) string {
	out, err := c.release(arguments...)
	require.NoError(c.t, err, out)
	return out
}

func (c *checkout) refused(want string, arguments ...string) {
	out, err := c.release(arguments...)
	require.Error(c.t, err)
	require.Contains(c.t, out, want)
}

const sums = "dist/release/SHA256SUMS"

func TestSameCommitIsTheSameBytesThatSayWhatTheyAre(t *testing.T) {
	c := newCheckout(t)
	commit := c.run("git", "rev-parse", "HEAD")
	c.made("v1.2.3")
	title := "earshot_1.2.3_" + runtime.GOOS + "_" + runtime.GOARCH
	listed := c.run("tar", "tvzf", "dist/release/"+title+".tar.gz", "--utc", "--full-time")
	for _, name := range []string{"earshot", "README.md", "LICENSE"} {
		require.Regexp(t, `(?m)^-rw.r-.r-. root/root +\d+ 2026-12-01 08:30:00 `+title+"/"+name+"$", listed)
	}
	c.run("tar", "xzf", "dist/release/"+title+".tar.gz", "-C", "dist")
	require.Contains(t, c.run("dist/"+title+"/earshot"), "1.2.3 (commit "+commit[:12]+" of 2026-12-01T08:30:00Z)")

	var list struct {
		Metadata   struct{ Timestamp string }
		Components []struct {
			Name     string
			Licenses []struct{ License struct{ ID string } }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(c.read("dist/release/earshot_1.2.3.cdx.json")), &list))
	require.Equal(t, "2026-12-01T08:30:00Z", list.Metadata.Timestamp)
	require.Equal(t, "std", list.Components[0].Name)

	other := &checkout{t, filepath.Join(t.TempDir(), "of somebody else")}
	c.run("git", "clone", "-q", c.folder, other.folder)
	t.Setenv("GOFLAGS", "-buildvcs=true")
	t.Setenv("GOAMD64", "v3")
	published := filepath.Join(c.folder, sums)
	require.Contains(t, other.made("-c", published, "v1.2.3"), "all as in")
	other.write("README.md", "another\n")
	other.commit("2026-12-01T08:30:00Z")
	other.refused(title+".tar.gz: FAILED", "-c", published, "v1.2.3")

	c.run("sh", "deploy/release/release.sh", "-p", "windows/amd64", "v1.2.3")
	require.Contains(t, c.run("unzip", "-l", "dist/release/earshot_1.2.3_windows_amd64.zip"), "earshot_1.2.3_windows_amd64/earshot.exe")
}

func TestVersionIsThatOfTheCommitOrRefused(t *testing.T) {
	c := newCheckout(t)
	commit := c.run("git", "rev-parse", "HEAD")
	require.Contains(t, c.made(), "release: 0.0.0-20261201083000-"+commit[:12]+" ")
	c.run("git", "tag", "v1.2.3")
	c.run("git", "tag", "nightly")
	require.Contains(t, c.made(), "release: 1.2.3 ")
	c.refused("give one as v1.2.3", "1.2.3")
	c.refused("give one as v1.2.3", "v1.2")
	c.write("README.md", "second\n")
	require.Contains(t, c.made(), commit[:12]+"+dirty ")
	c.refused("files were changed", "v1.3.0")
	c.commit("2026-12-02T08:30:00Z")
	c.refused("the tag v1.2.3 is commit "+commit, "v1.2.3")
	require.Contains(t, c.made("v1.3.0-rc.1"), "release: 1.3.0-rc.1 ")
}

// TestChecksumsAndProvenanceAreSigned verifies both by the command of SECURITY.md, and again after a change.
func TestChecksumsAndProvenanceAreSigned(t *testing.T) {
	_, command, _ := strings.Cut(testbed.Read(t, filepath.Join(root, "SECURITY.md")), "ssh-keygen -Y verify")
	command, _, _ = strings.Cut("ssh-keygen -Y verify"+command, "\n")

	c := newCheckout(t)
	c.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", "key")
	c.write("allowed_signers", "releases "+c.read("key.pub"))
	c.write("earshot_1.2.3_amd64.deb", "a package")
	c.made("-w", "earshot_1.2.3_amd64.deb", "-k", "key", "-b", "https://ci.example/earshot", "-s", "https://git.example/earshot", "v1.2.3")
	const provenance = "dist/release/earshot_1.2.3.provenance.json"
	for _, name := range []string{sums, provenance} {
		verify := strings.ReplaceAll(command, "SHA256SUMS", name)
		c.run("sh", "-c", verify)
		was := c.read(name)
		c.write(name, was+"\n")
		_, err := c.try("sh", "-c", verify)
		require.Error(t, err, "%s was changed", name)
		c.write(name, was)
	}
	require.Contains(t, c.read(sums), "  earshot_1.2.3_amd64.deb\n")

	var says struct {
		Subject []struct {
			Name   string
			Digest map[string]string
		}
		Predicate struct {
			BuildDefinition struct {
				ExternalParameters   map[string]any
				ResolvedDependencies []struct {
					URI    string
					Digest map[string]string
				}
			}
			RunDetails struct{ Builder struct{ ID string } }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(c.read(provenance)), &says))
	require.Len(t, says.Subject, 3)
	for _, subject := range says.Subject {
		require.Contains(t, c.read(sums), subject.Digest["sha256"]+"  "+subject.Name+"\n")
	}
	require.Equal(t, "https://ci.example/earshot", says.Predicate.RunDetails.Builder.ID)
	require.Equal(t, "1.2.3", says.Predicate.BuildDefinition.ExternalParameters["version"])
	commit := c.run("git", "rev-parse", "HEAD")
	require.Equal(t, "git+https://git.example/earshot@"+commit, says.Predicate.BuildDefinition.ResolvedDependencies[0].URI)
	require.Equal(t, commit, says.Predicate.BuildDefinition.ResolvedDependencies[0].Digest["gitCommit"])

	c.write("published", c.read(sums))
	require.Contains(t, c.made("-c", "published", "-b", "x", "v1.2.3"), "not compared, since other commands make it: earshot_1.2.3_amd64.deb")
	c.write("README.md", "changed\n")
	c.refused("nobody could build this again", "-k", "key")
}
