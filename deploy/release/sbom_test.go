package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

// checkSBOM checks a list against the schemas of CycloneDX, which npm has.
func checkSBOM(t *testing.T, path string) {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	folder := schemas(t)
	for _, name := range []string{"spdx", "jsf-0.82", "bom-1.6"} {
		require.NoError(t, compiler.AddResource("http://cyclonedx.org/schema/"+name+".SNAPSHOT.schema.json", document(t, filepath.Join(folder, name+".SNAPSHOT.schema.json"))))
	}
	schema, err := compiler.Compile("http://cyclonedx.org/schema/bom-1.6.SNAPSHOT.schema.json")
	require.NoError(t, err)
	require.NoError(t, schema.Validate(document(t, path)))
}

func document(t *testing.T, path string) any {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	read, err := jsonschema.UnmarshalJSON(file)
	require.NoError(t, err)
	return read
}

// schemas is the folder of the schemas, which are installed for the test.
func schemas(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		testbed.Missing(t, "npm is not installed: apt-get install npm")
	}
	folder := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(filepath.Join("testdata/schemas", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), text, 0o600))
	}
	cmd := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	if err != nil {
		testbed.Missing(t, "npm cannot get the package of the lock file: "+string(out))
	}
	return filepath.Join(folder, "node_modules/@cyclonedx/cyclonedx-library/res/schema")
}

func readSBOM(t *testing.T, path string) sbom {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var list sbom
	require.NoError(t, json.Unmarshal(text, &list))
	return list
}

// TestWhatIsLinkedInIsListed has a program of which the compiler knows nothing but Go's own
// library: the list says what is in the program, not what go.mod has.
func TestWhatIsLinkedInIsListed(t *testing.T) {
	s := newSmall(t)
	s.made("-version", "v1.2.3")
	list := readSBOM(t, filepath.Join(s.folder, "dist/earshot_1.2.3.cdx.json"))
	require.Equal(t, "2026-12-01T08:30:00Z", list.Metadata.Timestamp, "nothing tells when it was made")
	require.Equal(t, "pkg:golang/earshot@1.2.3", list.Metadata.Component.PURL)
	require.Len(t, list.Components, 1)
	require.Equal(t, "std", list.Components[0].Name)
	require.Equal(t, "BSD-3-Clause", list.Components[0].Licenses[0].License.ID)
	require.Equal(t, []string{list.Components[0].Ref}, list.Dependencies[0].DependsOn)
	serial := list.Serial

	s.write("README.md", "another\n")
	s.commit("the second", "2026-12-02T08:30:00Z")
	s.made("-version", "v1.2.4")
	require.NotEqual(t, serial, readSBOM(t, filepath.Join(s.folder, "dist/earshot_1.2.4.cdx.json")).Serial)
	require.Equal(t, 36, len(strings.TrimPrefix(serial, "urn:uuid:")))
}
