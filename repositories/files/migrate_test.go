package files_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/files"
	"earshot/repositories/lists"
)

var update = flag.Bool("update", false, "write the golden files anew")

// migrated migrates a file in place.
func migrated(t *testing.T, content string) *files.Migration {
	t.Helper()
	folder(t, map[string]string{"t.yaml": content})
	m, err := files.Migrate("t.yaml", files.Options{})
	require.NoError(t, err)
	return m
}

func TestMigrateKeepsCommentsAndLayout(t *testing.T) {
	for _, name := range []string{"seed-v1", "seed-v2-plural", "layouts"} {
		t.Run(name, func(t *testing.T) {
			golden := filepath.Join("testdata", name+".golden")
			m, err := files.Migrate(filepath.Join("testdata", name+".yaml"), files.Options{})
			require.NoError(t, err)
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(m.After), 0o600))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), m.After)
		})
	}
}

func TestWhatIsMigratedMeansTheSame(t *testing.T) {
	env := files.Options{Lookup: variables("CLIENT=id"), AppID: "x"}
	here, err := filepath.Abs("testdata")
	require.NoError(t, err)
	for _, name := range []string{"seed-v1", "seed-v2-plural", "layouts"} {
		file := filepath.Join(here, name+".yaml")
		before, _ := files.Read([]string{file}, env)
		m, err := files.Migrate(file, files.Options{})
		require.NoError(t, err)
		folder(t, map[string]string{"t.yaml": m.After})
		after, _ := files.Read([]string{"t.yaml"}, env)
		require.Equal(t, bodies(before), bodies(after), name)
		again, err := files.Migrate("t.yaml", files.Options{})
		require.NoError(t, err)
		require.False(t, again.Changed(), "%s is of the newest form now:\n%s", name, again.After)
	}
}

func TestFilesOfTheNewestFormAndOfSermasStayAsTheyAre(t *testing.T) {
	for _, content := range []string{
		"# c\n\n--- # x\nkind: tool\nname:   a # b\n---\nkind: group\nname: g\ntools: [a]\n",
		"- name: a\n", "kind: app\nname: a\n---\nkind: repository\nname: r\ntools: []\n",
	} {
		require.Equal(t, content, migrated(t, content).After)
	}
}

func TestMigrateKeepsTheEndsOfLines(t *testing.T) {
	m := migrated(t, "tools:\r\n  a:\r\n    kind: http\r\n")
	require.Equal(t, "# yaml-language-server: $schema=earshot.schema.json\r\nkind: tool\r\nname: a\r\ntype: http\r\n", m.After)
}

func TestMigrateRefusesWhatIsAtFault(t *testing.T) {
	for content, want := range map[string]string{
		"tools:\n  a: [1\n": "t.yaml:2:6: malformed YAML", "tools:\n  a: 5\n": `t.yaml:2:3: tool "a" is a number`, "tols: {}\n": "t.yaml:1:1:",
		"tools:\n  a: {}\n---\nkind: tool\nname: a\n": `t.yaml:5:7: tool "a" is defined twice`, "": "t.yaml:1:1: the file is empty",
		"tools:\n  a: {kind: x, type: y}\n": "kind is the older word for type",
	} {
		folder(t, map[string]string{"t.yaml": content})
		_, err := files.Migrate("t.yaml", files.Options{})
		require.ErrorContains(t, err, want, content)
	}
	folder(t, map[string]string{"t.json": `{"tools":{"a":{}}}`})
	_, err := files.Migrate("t.json", files.Options{})
	require.ErrorContains(t, err, "JSON cannot hold the several documents of the newest")
}

func TestEveryExampleOfTheSeedsIsRead(t *testing.T) {
	for name, want := range map[string][]string{
		"seed-v1":           {"my_first_toolset", "my_second_toolset", "default"},
		"seed-v2-plural":    {"example_toolset", "default"},
		"seed-sermas-tools": {"default"},
	} {
		set, err := files.Read([]string{filepath.Join("testdata", name+".yaml")}, files.Options{Lookup: variables(), AppID: "x"})
		require.Empty(t, faultsButUnsupported(err), name)
		ids := lists.Map(set.Repositories, func(repository *files.Definition) string { return repository.ID })
		require.Equal(t, want, ids, name)
	}
	set, _ := files.Read([]string{"testdata/seed-v1.yaml"}, files.Options{Lookup: variables(), AppID: "x"})
	tools := strings.Join([]string{string(set.Repositories[0].Body()), string(set.Repositories[1].Body()), string(set.Repositories[2].Body())}, "\n")
	for _, part := range []string{
		`"statement":"SELECT * FROM flights\nWHERE airline = $1\nAND flight_number = $2\nLIMIT 10\n"`,
		`"items":{"name":"name","type":"string","description":"Name of the airline."}`, `"valueType":"integer"`,
		`"authServices":[{"name":"my-google-auth","field":"sub"}]`, `"escape":"double-quotes"`, `"authRequired":["my-google-auth","other-auth-service"]`,
	} {
		require.Contains(t, tools, part)
	}
}
