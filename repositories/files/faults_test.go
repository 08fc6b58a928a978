package files_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/files"
)

func TestFaultsNameThePlaceAndTheWayOut(t *testing.T) {
	for name, test := range map[string]struct {
		file string
		want []string
	}{
		"an empty file":     {"", []string{`t.yaml:1:1: the file is empty; it defines nothing`}},
		"only a comment":    {"# nothing\n---\n", []string{`t.yaml:1:1: the file is empty; it defines nothing`}},
		"a text":            {"tools", []string{`t.yaml:1:1: holds a text, where a map or a list of definitions is wanted`}},
		"an unknown kind":   {"kind: tol\nname: x\n", []string{`t.yaml:1:7: unknown kind "tol": app, module, authService, source, tool, repository, toolset, group, test; did you mean "tool"?`}},
		"a kind of no word": {"kind: [tool]\n", []string{`t.yaml:1:7: kind is a list; it must be a word, as in kind: tool`}},
		"no kind":           {"name: x\ndescription: y\n", []string{`t.yaml:1:1: has no kind; every document says what it is, as in kind: tool`}},
		"marks": {"kind: tool\nname: x\nschema: [{parameter: people, type: integer}]\nexamples:\n- a table\n- '[two](people), [noon](time)'\n", []string{
			`t.yaml:6:3: tool "x": examples/1: "noon" is marked as "time", which is no parameter of the tool`}},
		"an unknown section": {"tols:\n  a: {}\ntools:\n  b: {}\n", []string{
			`t.yaml:1:1: unknown section "tols"; did you mean "tools"?`}},
		"no known section": {"tols:\n  a: {}\n", []string{
			`t.yaml:1:1: "tols" is no section of a file of tools: sources, authServices, tools, toolsets, groups, prompts, embeddingModels, resources, resourceTemplates; did you mean "tools"?`}},
		"a section that is no map": {"sources:\ntools:\n  a: {}\n", []string{`t.yaml:1:1: section "sources" is null; it must be a map of names`}},
		"entries that are no maps": {"tools:\n  a: 5\n  b:\n", []string{
			`t.yaml:2:3: tool "a" is a number; it must be a map`, `t.yaml:3:3: tool "b" is null; it must be a map`}},
		"kind and type": {"tools:\n  a:\n    kind: x\n    type: y\n", []string{
			`t.yaml:3:5: kind is the older word for type, and type is given as well on line 4`,
			`t.yaml:4:11: tool "a": type: "y"`}},
		"documents without a name": {"kind: toolset\n---\nkind: repository\ntools: []\n---\nkind: app\n---\nkind: tool\n---\nkind: repository\nname: [x]\n---\nkind: app\nname: ''\n", []string{
			`t.yaml:1:1: a toolset has no name`, `t.yaml:3:1: a repository has no name`, `t.yaml:6:1: an app has no name`,
			`t.yaml:8:1: tool: name: is missing`, `t.yaml:11:7: the name of a repository is a list; it must be a text`,
			`t.yaml:13:1: app is a second app`, `t.yaml:14:7: the name of an app is empty`}},
		"a repository": {"kind: repository\nname: a b\ntools: [x, {name: y}, x, z]\noption: {}\n---\nkind: tool\nname: x\n", []string{
			`t.yaml:2:7: the name "a b" is not an id: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit`,
			`t.yaml:3:12: repository "a b": a tool is a map; write its name, and the tool as a document of kind: tool`,
			`t.yaml:3:23: repository "a b": the tool "x" is named twice`,
			`t.yaml:3:26: repository "a b": there is no tool "z"`,
			`t.yaml:4:1: repository "a b": unknown field "option"; did you mean "options"?`}},
		"a toolset without tools":     {"toolsets:\n  a: {}\n", []string{`t.yaml:2:3: toolset "a": tools is missing: a list of the names of its tools`}},
		"a toolset of something else": {"toolsets:\n  a: {tools: x}\n", []string{`t.yaml:2:14: toolset "a": tools is a text; it must be a list of names`}},
		"a tool that is there twice": {"kind: tool\nname: x\n---\ntools:\n  x: {}\n", []string{
			`t.yaml:5:3: tool "x" is defined twice, first in t.yaml on line 2`}},
		"a toolset and a repository of one name": {"kind: toolset\nname: x\ntools: []\n---\nkind: repository\nname: x\ntools: []\n", []string{
			`t.yaml:6:7: repository "x" is defined twice, first in t.yaml on line 2`}},
		"a second app": {"kind: app\nname: x\n---\nkind: app\nname: y\n", []string{
			`t.yaml:5:7: app "y" is a second app, after the one in t.yaml on line 2; files are for one app`}},
		"an app that is no id": {"kind: app\nname: a b\n", []string{
			`t.yaml:2:7: the name of the app "a b" is not an id: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit`}},
		"fields that are given twice": {"kind: tool\nname: x\nurl: https://a/\nurl: https://b/\nparameters: []\nparameters: []\n", []string{
			`t.yaml:4:1: "url" is given twice in one map, first on line 3`, `t.yaml:6:1: "parameters" is given twice in one map, first on line 5`}},
		"what the decoders find": {"kind: tool\nname: x\nschema:\n- parameter: a\n  type: strng\n- type: string\n  parameter: b\n  minvalue: 5\nurl: https://x/:c\n", []string{
			`t.yaml:5:9: tool "x": schema/0/type: "strng" is not one of`, `t.yaml:8:3: tool "x": schema/1/minvalue: unknown field "minvalue"; did you mean "minValue"?`,
			`t.yaml:9:6: tool "x": url: :c names no parameter of the tool`}},
		"parameters in braces": {"kind: tool\nname: x\nschema: [{parameter: day, type: string}]\nrequest:\n  url: https://x/{day}\n---\nkind: tool\nname: y\nurl: https://x/{day}/:dya\nschema: [{parameter: day, type: string}]\n---\n" +
			"kind: tool\nname: z\ntype: http\nsource: s\nmethod: GET\npath: a/{day}\npathParams: [{name: day, type: string, description: d}]\n---\nkind: source\nname: s\ntype: http\nbaseUrl: https://x/\n", []string{
			`t.yaml:5:8: tool "x": request/url: {day} is not filled in: write :day; write %7B and %7D for braces that are meant as they are`,
			`t.yaml:9:6: tool "y": url: :dya names no parameter of the tool`, `t.yaml:9:6: tool "y": url: {day} is not filled in: write :day`,
			`t.yaml:17:7: tool "z": path: {day} is not filled in: write {{.day}}`}},
		"what holds a trigger back": {"kind: tool\nname: x\nsettle: 800\ncancelOnNext: true\nconfirm: allways\ndedupe:\n  by: [n]\nanswer: {within: 25h}\nurl: https://x/\n", []string{
			`t.yaml:3:9: tool "x": settle: "800" is not a duration as "800ms"`,
			`t.yaml:5:10: tool "x": confirm: "allways" is not one of "always", "once", "never"; did you mean "always"?`,
			`t.yaml:6:1: tool "x": dedupe/within: is missing`,
			`t.yaml:7:8: tool "x": dedupe/by/0: "n" is no parameter of the tool`,
			`t.yaml:8:1: tool "x": answer: is given beside url: whoever`,
			`t.yaml:8:18: tool "x": answer/within: "25h" is out of range: more than 0 and at most 24h`}},
		"malformed YAML in one document of several": {"kind: tool\nname: a\nx: [1\n---\nkind: tol\n---\nkind: tool\nname: b\n\turl: c\n", []string{
			`t.yaml:3:4: malformed YAML: sequence end token ']' not found`, `t.yaml:5:7: unknown kind "tol"`, `t.yaml:9:1: malformed YAML: `}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(t, test.file)
			found := faults(t, err)
			for i, want := range test.want {
				require.Truef(t, len(found) > i && strings.HasPrefix(found[i], want), "want %s\nin   %s", want, strings.Join(found, "\n     "))
			}
			require.Len(t, found, len(test.want), strings.Join(found, "\n"))
		})
	}
}

func TestFaultsOfAllFilesComeAtOnceAndInOrder(t *testing.T) {
	folder(t, map[string]string{"b.yaml": "kind: tol\n", "a.yaml": "kind: tool\nname: x\nurl: nowhere\n", "c.json": "{\"a\":\n  1,}"})
	_, err := files.Read([]string{"b.yaml", "missing.yaml", "a.yaml", "c.json"}, files.Options{Lookup: variables()})
	found := faults(t, err)
	require.Len(t, found, 4)
	require.Contains(t, found[0], `missing.yaml: no such file or directory`)
	require.Contains(t, found[1], `b.yaml:1:7: unknown kind "tol"`)
	require.Contains(t, found[2], `a.yaml:3:6: tool "x": url: "nowhere" is not an absolute URL`)
	require.Contains(t, found[3], `c.json:2:5: malformed JSON: `)
}

func TestFilesThatCannotBeReadAreFaults(t *testing.T) {
	folder(t, map[string]string{"bytes.yaml": "a: \xff", "long.yaml": "# " + strings.Repeat("x", 1<<20), "private.yaml": "kind: tool\nname: \U000F0000\n"})
	_, err := files.Read([]string{"bytes.yaml", "long.yaml", "private.yaml"}, files.Options{Lookup: variables()})
	require.Equal(t, []string{
		`bytes.yaml: is not UTF-8`, `long.yaml: is longer than 1048576 bytes; write several files`,
		`private.yaml:2:7: holds a character of the private plane U+F0000, which means nothing to anybody else`,
	}, faults(t, err))
	_, err = files.Read([]string{t.TempDir()}, files.Options{Lookup: variables()})
	require.ErrorContains(t, err, "the folder has no *.yaml and no *.yml")
	_, err = files.Read(nil, files.Options{Lookup: variables()})
	require.ErrorContains(t, err, "no file is given")
}

func TestWhatToolsReferToMustBeInTheApp(t *testing.T) {
	set := mustRead(t, "kind: tool\nname: x\nauthRequired: [g, h]\nurl: https://a/\nrequest: {moduleId: m}\n---\nkind: authService\nname: h\ntype: google\nclientId: c\n")
	require.Equal(t, []string{
		`t.yaml:3:16: tool "x": authRequired/0: the app has no authentication service "g"; it has h`,
		`t.yaml:5:21: tool "x": request/moduleId: the app has no module "m"; it has none at all`,
	}, faults(t, set.Check()))
	require.NoError(t, set.CheckWith([]byte(`{"modules":[{"moduleId":"m","secret":"***","tokenUrl":"https://a/"}],
	  "authServices":[{"name":"g","type":"google","clientId":"c"},{"name":"h","type":"google","clientId":"c"}]}`)))
}

func TestAnotherAppThanTheCallersIsAFault(t *testing.T) {
	folder(t, map[string]string{"t.yaml": "kind: app\nname: clinic\n"})
	_, err := files.Read([]string{"t.yaml"}, files.Options{Lookup: variables(), AppID: "other"})
	require.Equal(t, []string{`t.yaml:2:7: the file is for the app "clinic", and --app says "other"`}, faults(t, err))
}
