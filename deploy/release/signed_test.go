package main

import (
	"archive/zip"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

// key makes a key of a builder, and the file that those who verify have of it.
func (s *small) key() {
	s.t.Helper()
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		testbed.Missing(s.t, "ssh-keygen is not there: apt-get install openssh-client")
	}
	s.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", "dist.key")
	s.write("allowed_signers", "releases "+s.read("dist.key.pub"))
	s.write(".gitignore", "/dist/\ndist.key*\nallowed_signers\n*.deb\n")
	s.commit("the second", "2026-12-01T08:30:00Z")
}

// documented is the command that SECURITY.md has for those who verify a release.
func documented(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "SECURITY.md"))
	require.NoError(t, err)
	_, command, found := strings.Cut(string(text), "ssh-keygen -Y verify")
	require.True(t, found)
	command, _, _ = strings.Cut(command, "\n")
	return "ssh-keygen -Y verify" + command
}

// verify runs that command on a file, and returns its error.
func (s *small) verify(command, name string) error {
	cmd := exec.Command("sh", "-c", strings.ReplaceAll(command, sumsName, "dist/"+name))
	cmd.Dir = s.folder
	return cmd.Run()
}

// TestChecksumsAndProvenanceAreSigned verifies both as a user does, and again after a change.
func TestChecksumsAndProvenanceAreSigned(t *testing.T) {
	s, command := newSmall(t), documented(t)
	s.key()
	s.write("earshot_1.2.3_amd64.deb", "a package")
	arguments := []string{"-version", "v1.2.3", "-with", "earshot_1.2.3_amd64.deb", "-sign", "dist.key", "-builder", "https://ci.example/earshot", "-source", "https://git.example/earshot"}
	s.made(arguments...)
	s.made(arguments...) // over what is there
	for _, name := range []string{sumsName, "earshot_1.2.3.provenance.json"} {
		require.NoError(t, s.verify(command, name))
		s.write("dist/"+name, s.read("dist/"+name)+"\n")
		require.Error(t, s.verify(command, name), "it was changed")
	}
	require.Contains(t, s.read("dist/"+sumsName), "  earshot_1.2.3_amd64.deb\n")

	said := s.made("-version", "v1.2.3", "-compare", "dist/"+sumsName)
	require.NotContains(t, said, "not compared", "the file is written anew")
	s.write("published", s.read("dist/"+sumsName)+strings.Repeat("0", 64)+"  earshot_1.2.3_amd64.deb\n")
	s.git("add", ".")
	s.git("-c", "user.name=A", "-c", "user.email=a@clinic.example", "commit", "-q", "--amend", "-m", "the second")
	said, _ = s.release("-version", "v1.2.3", "-compare", "published")
	require.Contains(t, said, "not compared: earshot_1.2.3_amd64.deb")

	s.write("README.md", "changed\n")
	_, err := s.release("-sign", "dist.key")
	require.ErrorContains(t, err, "files were changed")
}

// TestProvenanceNamesBuilderCommitAndSubjects holds what is written against the fields that SLSA
// asks for.
func TestProvenanceNamesBuilderCommitAndSubjects(t *testing.T) {
	s := newSmall(t)
	s.made("-version", "v1.2.3", "-builder", "https://ci.example/earshot", "-source", "https://git.example/earshot")
	var said statement
	require.NoError(t, json.Unmarshal([]byte(s.read("dist/earshot_1.2.3.provenance.json")), &said))
	require.Equal(t, "https://in-toto.io/Statement/v1", said.Type)
	require.Equal(t, "https://slsa.dev/provenance/v1", said.PredicateType)
	require.Equal(t, "https://ci.example/earshot", said.Predicate.RunDetails.Builder.ID)
	commit := s.git("rev-parse", "HEAD")
	materials := said.Predicate.BuildDefinition.ResolvedDependencies
	require.Equal(t, resource{program, "git+https://git.example/earshot@" + commit, map[string]string{"gitCommit": commit}}, materials[0])
	require.Contains(t, materials[1].URI, "pkg:golang/std@")
	require.Equal(t, "1.2.3", said.Predicate.BuildDefinition.ExternalParameters["version"])
	sums := s.read("dist/" + sumsName)
	require.Len(t, said.Subject, 2)
	for _, subject := range said.Subject {
		require.Contains(t, sums, subject.Digest["sha256"]+"  "+subject.Name+"\n")
	}
}

func TestMaterialsHaveTheDigestsOfGoSum(t *testing.T) {
	got := materials(map[string]string{"example.org/a v1.0.0": "h1:AAECAw==", "std v1.26.0": ""})
	require.Equal(t, []resource{
		{URI: "pkg:golang/example.org/a@v1.0.0", Digest: map[string]string{"dirHash": "00010203"}}, {URI: "pkg:golang/std@1.26.0"},
	}, got)
}

// TestLinksOfTheReadMeLeadIntoTheArchive looks for each file that the real README.md and the
// documents after it link to, without building anything.
func TestLinksOfTheReadMeLeadIntoTheArchive(t *testing.T) {
	t.Chdir(root)
	files, err := documents()
	require.NoError(t, err)
	require.Subset(t, files, append([]string{"deploy/docs/operations.md", "deploy/docs/runbook.md", "deploy/monitoring/rules.yaml"}, beside...))
	require.Less(t, len(files), 200)
	size := int64(0)
	for _, file := range files {
		info, err := os.Stat(file)
		require.NoError(t, err)
		size += info.Size()
	}
	require.Less(t, size, int64(4<<20), "documents, and not the repository")
}

// TestWindowsHasAZip has the small program built for it; nothing of it is run.
func TestWindowsHasAZip(t *testing.T) {
	if testing.Short() {
		t.Skip("Go's own library is compiled for Windows")
	}
	s := newSmall(t)
	s.write("README.md", "[more](docs/more.md#part), [shown](`docs/none.md`), [away](https://example.org/x.md)\n```\n[none](none.md)\n```\n")
	s.write("docs/more.md", "[back](../README.md), [folder](pictures), [outside](../../x.md)\n")
	s.write("docs/pictures/one.svg", "<svg/>\n")
	s.commit("documents", "2026-12-01T08:30:00Z")
	s.made("-version", "v1.2.3", "-platforms", "windows/amd64")
	packed, err := zip.OpenReader(filepath.Join(s.folder, "dist/earshot_1.2.3_windows_amd64.zip"))
	require.NoError(t, err)
	defer packed.Close()
	texts := map[string]string{}
	for _, file := range packed.File {
		require.Equal(t, "2026-12-01T08:30:00Z", file.Modified.UTC().Format("2006-01-02T15:04:05Z"))
		opened, err := file.Open()
		require.NoError(t, err)
		text, err := io.ReadAll(opened)
		require.NoError(t, err)
		texts[strings.TrimPrefix(file.Name, "earshot_1.2.3_windows_amd64/")] = string(text)
	}
	require.True(t, strings.HasPrefix(texts["earshot.exe"], "MZ"), "a program of Windows")
	require.Equal(t, "<svg/>\n", texts["docs/pictures/one.svg"])
	require.Contains(t, texts, "docs/more.md")
	require.Len(t, texts, 1+len(beside)+2)
}
