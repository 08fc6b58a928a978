package files_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/files"
)

// FuzzRead holds that no file makes the reader panic, that what it accepts is accepted
// again, and that every fault has a place.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"seed-v1.yaml", "layouts.yaml", "seed-sermas-tools.yaml"} {
		content, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(f, err)
		f.Add(string(content), "yaml")
	}
	f.Add("kind: tool\nname: &a ${A}\nexamples: [*a, !!str 5, ? x]\n<<: *a\n", "yaml")
	f.Add("kind: tool\nname: a\nschema: [{parameter: p, type: integer}]\n---\nkind: test\nname: t\nnow: 2026-11-20T09:30:00Z\nchat:\n- user: a\n- expect: [{tool: a, values: {p: x, q: null}}, {rejected: b, missing: [p]}, {none: true}]\n", "yaml")
	f.Add(`{"kind":"tool","name":"x","examples":["${A}"]}`, "json")
	f.Add("- &a [*a]\n- {<<: [*a]}\n--- |\n x\n...\n%YAML\n", "yml")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content, ending string) {
		if ending != "json" {
			ending = "yaml"
		}
		name := filepath.Join(dir, "t."+ending)
		require.NoError(t, os.WriteFile(name, []byte(content), 0o600))
		set, err := files.Read([]string{name}, files.Options{Lookup: variables("A=b"), AppID: "x", Tests: true})
		if err == nil {
			_ = set.Check()
		}
		m, err := files.Migrate(name, files.Options{})
		if err != nil || !m.Changed() {
			return
		}
		require.NoError(t, os.WriteFile(name, []byte(m.After), 0o600))
		again, err := files.Migrate(name, files.Options{})
		require.NoError(t, err, "what is migrated can be read:\n%s", m.After)
		require.False(t, again.Changed(), "what is migrated is of the newest form:\n%s\n---- again\n%s", m.After, again.After)
	})
}
