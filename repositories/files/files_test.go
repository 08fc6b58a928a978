package files_test

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/fault"
	"earshot/repositories/files"
	"earshot/repositories/lists"
)

// folder writes files into a folder with a fixed name and changes to it, so that their names in faults are short.
func folder(t *testing.T, contents map[string]string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "clinic")
	require.NoError(t, os.Mkdir(dir, 0o700))
	for name, content := range contents {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	t.Chdir(dir)
}

// variables looks up "NAME=value" pairs.
func variables(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, pair := range pairs {
			if key, value, _ := strings.Cut(pair, "="); key == name {
				return value, true
			}
		}
		return "", false
	}
}

func read(t *testing.T, content string, env ...string) (*files.Set, error) {
	t.Helper()
	folder(t, map[string]string{"t.yaml": content})
	return files.Read([]string{"t.yaml"}, files.Options{Lookup: variables(env...)})
}

func mustRead(t *testing.T, content string, env ...string) *files.Set {
	t.Helper()
	set, err := read(t, content, env...)
	require.NoError(t, err)
	return set
}

// readFolder reads all files of a folder with these.
func readFolder(t *testing.T, contents map[string]string, env ...string) *files.Set {
	t.Helper()
	folder(t, contents)
	set, err := files.Read([]string{"."}, files.Options{Lookup: variables(env...)})
	require.NoError(t, err)
	return set
}

func faults(t *testing.T, err error) []string {
	t.Helper()
	var found files.Faults
	require.ErrorAs(t, err, &found)
	return lines(found)
}

func lines(found []files.Fault) []string { return lists.Map(found, files.Fault.String) }

// faultsButUnsupported leaves out faults about unsupported types.
func faultsButUnsupported(err error) []string {
	rest := []string{}
	if found, ok := errors.AsType[files.Faults](err); ok {
		for _, fault := range found {
			if !strings.Contains(fault.Detail, "not supported") {
				rest = append(rest, fault.String())
			}
		}
	}
	return rest
}

// bodies lists the bodies to send: the app, and the repositories by id.
func bodies(set *files.Set) map[string]string {
	found := map[string]string{"app": string(set.App.Body())}
	for _, repository := range set.Repositories {
		found[repository.ID] = string(repository.Body())
	}
	return found
}

// described returns the decoded description of a tool, as JSON.
func described(t *testing.T, value string, env ...string) string {
	t.Helper()
	set := mustRead(t, "kind: tool\nname: x\nparameters: {type: object, properties: {a: {}}}\nschema: null\nexamples: []\ndescription: "+value+"\n", env...)
	body := bodies(set)["default"]
	const head, tail = `{"tools":[{"name":"x","parameters":{"type":"object","properties":{"a":{}}},"schema":null,"examples":[],"description":`, `}]}`
	return body[len(head) : len(body)-len(tail)]
}

// fixed returns the decoded static value, as JSON.
func fixed(t *testing.T, value string, env ...string) string {
	t.Helper()
	set, err := read(t, "kind: tool\nname: x\nschema:\n- parameter: a\n  type: string\n  value: "+value+"\n", env...)
	_ = err // the value may violate the type; only its decoding matters
	const head, tail = `{"tools":[{"name":"x","schema":[{"parameter":"a","type":"string","value":`, `}]}]}`
	body := bodies(set)["default"]
	return body[len(head) : len(body)-len(tail)]
}

func TestPlaceholdersAreFilledInInValues(t *testing.T) {
	for _, test := range []struct{ value, env, want string }{
		{"${A}", "A=text", `"text"`},
		{"a ${A} b ${A}", "A=1", `"a 1 b 1"`},
		{"${B:default}", "", `"default"`},
		{"${B:https://x:80/}", "", `"https://x:80/"`},
		{"${B:a: b #c}", "", `"a: b #c"`},
		{"'${A}'", "A=5", `"5"`},
		{`"${A}\n"`, "A=5", `"5\n"`},
		{"|\n  x ${A}\n  y", "A=1", `"x 1\ny\n"`},
		{"x${A}", "A=", `"x"`},
		{"x${A:set}", "A=", `"x"`},
		{"x${A:}", "", `"x"`},
		{"$A ${-} ${A-b} $${A}", "A=1", `"$A ${-} ${A-b} $1"`},
		{"é ${A}", "A=ü", `"é ü"`},
	} {
		require.Equal(t, test.want, described(t, test.value, test.env), test.value)
	}
}

func TestAPlaceholderThatIsAllOfAnUnquotedValueHasTheTypeOfWhatItStandsFor(t *testing.T) {
	for _, test := range []struct{ value, env, want string }{
		{"${A}", "A=5432", "5432"}, {"${A:5432}", "", "5432"}, {"${A}", "A=true", "true"}, {"${A}", "A=null", "null"},
		{"${A}", "A=", "null"}, {"${A}", "A=0x10", "16"}, {"${A}", "A=1e3", "1e3"},
		{"'${A}'", "A=5432", `"5432"`}, {"5${A}", "A=4", `"54"`}, {"[${A}, '${A}']", "A=1", `[1,"1"]`}, {"{k: ${A:x}}", "", `{"k":"x"}`},
	} {
		require.Equal(t, test.want, fixed(t, test.value, test.env), test.value)
	}
}

func TestVariablesNeverReachIntoTheStructure(t *testing.T) {
	for _, hostile := range []string{"a: b", "[1, 2]", "{a: 1}", "x\nname: y", "\"", "# x", "*a", "!!int 5", "- a", "| x", "---"} {
		require.Equal(t, string(quoted(t, hostile)), fixed(t, "${A}", "A="+hostile))
	}
}

func TestATextIsWhatIsWrittenWhereATextIsWanted(t *testing.T) {
	require.Equal(t, `"0123"`, described(t, "0123"))
	require.Equal(t, `"0123"`, described(t, "${A}", "A=0123"))
	require.Equal(t, `"TRUE"`, described(t, "TRUE"))
	set := mustRead(t, "kind: tool\nname: 5\nurl: https://a/\nrequest: {basic: {username: 1, password: ${PW}}, headers: {X-N: 1.50}}\n", "PW=1e3")
	require.Equal(t, `{"tools":[{"name":"5","url":"https://a/","request":{"basic":{"username":"1","password":"1e3"},"headers":{"X-N":"1.50"}}}]}`, bodies(set)["default"])
}

func TestAllMissingVariablesAreNamedAtOnceWithTheirPlace(t *testing.T) {
	folder(t, map[string]string{
		"a.yaml": "# ${COMMENT}\nkind: tool\nname: x\ndescription: |\n  first\n  é ${ONE} and ${TWO}\nurl: \"https://${THREE}/\" # ${COMMENT}\nexamples: [${ONE}]\n",
		"b.json": "{\"kind\": \"tool\",\n \"name\": \"y\", \"description\": \"${FOUR}\"}",
	})
	_, err := files.Read([]string{"a.yaml", "b.json"}, files.Options{Lookup: variables()})
	const missing = ` is not set; `
	found := faults(t, err)
	for i, want := range []string{`a.yaml:6:5: environment variable "ONE"`, `a.yaml:6:16: environment variable "TWO"`, `a.yaml:7:15: environment variable "THREE"`, `a.yaml:8:12: environment variable "ONE"`} {
		require.Contains(t, found[i], want+missing)
	}
	require.Equal(t, `b.json:2:30: environment variable "FOUR" is not set; ${FOUR:default} gives it a default`, found[len(found)-1])
}

func TestAMissingVariableIsItsValuesOnlyFault(t *testing.T) {
	folder(t, map[string]string{
		"a.yaml": "kind: tool\nname: x\nurl: https://a/\nrequest:\n  auth: basic\n  basic: {username: \"${ONE}\", password: \"${TWO}\"}\n",
		"b.yaml": "kind: tool\nname: y\nurl: https://a/\nrequest: {auth: basic, timeout: \"${THREE}\"}\n",
	})
	set, err := files.Read([]string{"a.yaml", "b.yaml"}, files.Options{Lookup: variables()})
	found := faults(t, set.JoinCheck(err))
	require.Len(t, found, 4, "%v", found)
	require.Contains(t, found[0], `"ONE" is not set`)
	require.Contains(t, found[1], `"TWO" is not set`)
	require.Contains(t, strings.Join(found[2:], " "), `"THREE" is not set`)
	require.Contains(t, strings.Join(found[2:], " "), "request/basic: is missing", "no variable would mend that")
}

func TestKeysAndCommentsAreNotFilledIn(t *testing.T) {
	set := mustRead(t, "kind: tool # ${NONE}\nname: x\n# ${NONE}\nparameters:\n  type: object\n  properties:\n    ${A}: {type: string}\n", "A=b")
	require.Contains(t, bodies(set)["default"], `{"${A}":{"type":"string"}}`)
}

func quoted(t *testing.T, value string) []byte {
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return text
}

func TestScalarsAreReadAsYAMLSays(t *testing.T) {
	for value, want := range map[string]string{
		"5": "5", "-5": "-5", "+5": "5", "1.50": "1.50", "0x1F": "31", "1_000": "1000", "1e3": "1e3", ".5": "0.5",
		"123456789012345678901234567890": "123456789012345678901234567890", "9007199254740993": "9007199254740993",
		"true": "true", "False": "false", "~": "null", "": "null", "null": "null", "yes": `"yes"`, "12:30": `"12:30"`, "2026-12-01": `"2026-12-01"`,
		"'5'": `"5"`, `"\u00e9\t"`: `"é\t"`, "!!str 5": `"5"`, "!!int '5'": "5", "a b": `"a b"`, ">-\n    a\n    b\n": `"a b"`,
		"[a, 1, {b: [~]}]": `["a",1,{"b":[null]}]`, "{1: a, true: b}": `{"1":"a","true":"b"}`, "{}": "{}", "[]": "[]",
	} {
		require.Equal(t, want, fixed(t, value), value)
	}
}

func TestWhatYAMLCanSayAndJSONCannotIsAFault(t *testing.T) {
	for value, want := range map[string]string{
		".inf": ".inf is not a number in JSON", "*nowhere": "the alias *nowhere names nothing that stands before it",
		"!custom x": "the tag !custom has no meaning here", "{<<: 5}": "<< merges maps, and this is a number", "&a [*a]": "the alias *a names nothing",
		"{[1]: 2}": "",
	} {
		_, err := read(t, "kind: tool\nname: x\nexamples: "+value+"\n")
		require.ErrorContains(t, err, want, value)
		require.ErrorContains(t, err, "t.yaml:3:", value)
	}
}

func TestAliasesCannotExpandWithoutEnd(t *testing.T) {
	bomb := "kind: tool\nname: x\nexamples:\n- &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		alias := "*a" + string(rune('0'+i))
		bomb += "- &a" + string(rune('1'+i)) + " [" + strings.Repeat(alias+", ", 9) + alias + "]\n"
	}
	_, err := read(t, bomb)
	require.ErrorContains(t, err, "t.yaml:1:1: the aliases of the document expand to more than 100000 values")
}

func TestWhatWouldTakeTheParserLongIsRefused(t *testing.T) {
	for name, file := range map[string]string{
		"brackets": "a: " + strings.Repeat("[", 100_000), "dashes": strings.Repeat("- ", 100_000), "keys": strings.Repeat("a: b\n", 100_000),
		"questions": strings.Repeat("? ", 100_000), "anchors": strings.Repeat("&a ", 100_000), "tags": strings.Repeat("!!a ", 100_000),
		"braces": strings.Repeat("{a: ", 100_000), "steps": steps(1400),
	} {
		_, err := read(t, file)
		require.Error(t, err, name)
	}
}

// steps returns a map in a map, n deep.
func steps(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func TestFaultsNameThePlaceAndTheWayOut(t *testing.T) {
	for name, test := range map[string]struct {
		file string
		want []string
	}{
		"an empty file":     {"", []string{`t.yaml:1:1: the file is empty; it defines nothing`}},
		"only a comment":    {"# nothing\n---\n", []string{`t.yaml:1:1: the file is empty; it defines nothing`}},
		"a text":            {"tools", []string{`t.yaml:1:1: is a text; a file must hold a map or a list of definitions`}},
		"an unknown kind":   {"kind: tol\nname: x\n", []string{`t.yaml:1:7: unknown kind "tol": app, module, authService, source, tool, repository, toolset, group, test; did you mean "tool"?`}},
		"a kind of no word": {"kind: [tool]\n", []string{`t.yaml:1:7: kind is a list; it must be a word, as in kind: tool`}},
		"no kind":           {"name: x\ndescription: y\n", []string{`t.yaml:1:1: has no kind; every document needs one, as kind: tool`}},
		"marks": {"kind: tool\nname: x\nschema: [{parameter: people, type: integer}]\nexamples:\n- a table\n- '[two](people), [noon](time)'\n", []string{
			`t.yaml:6:3: tool "x": examples/1: "noon" is marked as "time", which is not a parameter of the tool`}},
		"an OpenAPI document": {"openapi: 3.1.0\ninfo: {title: t}\n", []string{
			`t.yaml:1:1: is an OpenAPI document; make tools of it with: earshot import openapi t.yaml`}},
		"a function of OpenAI": {"type: function\nfunction: {name: x}\n", []string{
			`t.yaml:1:1: has no kind; for a function of OpenAI, write kind: tool beside function`}},
		"an app with an id": {"kind: app\nname: My clinic\nappId: clinic\n", []string{
			`t.yaml:2:7: the name of the app "My clinic" is not an id: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit`,
			`t.yaml:3:8: the id of an app is its name; write name, and leave appId out`}},
		"an unknown section": {"tols:\n  a: {}\ntools:\n  b: {}\n", []string{
			`t.yaml:1:1: unknown section "tols"; did you mean "tools"?`}},
		"no known section": {"tols:\n  a: {}\n", []string{
			`t.yaml:1:1: unknown section "tols"; the sections of a file are sources, authServices, tools, toolsets, groups, prompts, embeddingModels, resources, resourceTemplates; did you mean "tools"?`}},
		"a body of REST": {"tools:\n- name: x\n", []string{
			`t.yaml:1:1: "tools" is a list, but a section of a file is a map with a name for each entry; for the body of a REST call, add kind: repository beside it`}},
		"a section that is no map": {"sources:\ntools:\n  a: {}\n", []string{`t.yaml:1:1: section "sources" is null; it must be a map of names`}},
		"entries that are no maps": {"tools:\n  a: 5\n  b:\n", []string{
			`t.yaml:2:3: tool "a" is a number; it must be a map`, `t.yaml:3:3: tool "b" is null; it must be a map`}},
		"kind and type": {"tools:\n  a:\n    kind: x\n    type: y\n", []string{
			`t.yaml:3:5: kind is the older word for type, and type is given as well on line 4`,
			`t.yaml:4:11: tool "a": type: "y"`}},
		"documents without a name": {"kind: toolset\n---\nkind: repository\ntools: []\n---\nkind: app\n---\nkind: tool\n---\nkind: repository\nname: [x]\n---\nkind: app\nname: ''\n", []string{
			`t.yaml:1:1: a toolset needs a name`, `t.yaml:3:1: a repository needs a name`, `t.yaml:6:1: an app needs a name`,
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
			`t.yaml:9:6: tool "x": url: :c is not a parameter of the tool`}},
		"parameters in braces": {"kind: tool\nname: x\nschema: [{parameter: day, type: string}]\nrequest:\n  url: https://x/{day}\n---\nkind: tool\nname: y\nurl: https://x/{day}/:dya\nschema: [{parameter: day, type: string}]\n---\n" +
			"kind: tool\nname: z\ntype: http\nsource: s\nmethod: GET\npath: a/{day}\npathParams: [{name: day, type: string, description: d}]\n---\nkind: source\nname: s\ntype: http\nbaseUrl: https://x/\n", []string{
			`t.yaml:5:8: tool "x": request/url: {day} is not filled in: write :day; write %7B and %7D for braces that are meant as they are`,
			`t.yaml:9:6: tool "y": url: :dya is not a parameter of the tool`, `t.yaml:9:6: tool "y": url: {day} is not filled in: write :day`,
			`t.yaml:17:7: tool "z": path: {day} is not filled in: write {{.day}}`}},
		"what holds a trigger back": {"kind: tool\nname: x\nsettle: 800\ncancelOnNext: true\nconfirm: allways\ndedupe:\n  by: [n]\nanswer: {within: 25h}\nurl: https://x/\n", []string{
			`t.yaml:3:9: tool "x": settle: "800" is not a duration as "800ms": a number with a unit, of ms, s, m and h`,
			`t.yaml:5:10: tool "x": confirm: "allways" is not one of "always", "once", "never"; did you mean "always"?`,
			`t.yaml:6:1: tool "x": dedupe/within: is missing`,
			`t.yaml:7:8: tool "x": dedupe/by/0: "n" is not a parameter of the tool`,
			`t.yaml:8:1: tool "x": answer: excludes url: with answer, a subscriber answers`,
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

func TestAFileThatIsNamedTwiceIsReadOnce(t *testing.T) {
	folder(t, map[string]string{"a.yaml": "kind: tool\nname: x\n", "b.yaml": "kind: tool\nname: y\n"})
	require.NoError(t, os.Symlink("a.yaml", "link.yaml"))
	require.NoError(t, os.Link("b.yaml", "hard.yaml"))
	absolute, err := filepath.Abs("b.yaml")
	require.NoError(t, err)
	for given, want := range map[string]string{
		"a.yaml ./a.yaml ../clinic/a.yaml b.yaml": "a.yaml b.yaml", "link.yaml a.yaml": "link.yaml", ".": "a.yaml b.yaml",
		"hard.yaml . ./": "hard.yaml a.yaml", absolute + " b.yaml": absolute, "- - prebuilt:sqlite prebuilt:sqlite": "- prebuilt:sqlite",
	} {
		found, err := files.Expand(strings.Fields(given))
		require.NoError(t, err)
		require.Equal(t, strings.Fields(want), found, given)
	}
	set, err := files.Read([]string{"a.yaml", ".", "link.yaml"}, files.Options{Lookup: variables()})
	require.NoError(t, err)
	require.Equal(t, []string{"a.yaml", "b.yaml"}, set.Files)
}

func TestFilesThatCannotBeReadAreFaults(t *testing.T) {
	folder(t, map[string]string{"bytes.yaml": "a: \xff", "long.yaml": "# " + strings.Repeat("x", 1<<20), "private.yaml": "kind: tool\nname: \U000F0000\n"})
	_, err := files.Read([]string{"bytes.yaml", "long.yaml", "private.yaml"}, files.Options{Lookup: variables()})
	require.Equal(t, []string{
		`bytes.yaml: is not UTF-8`, `long.yaml: is longer than 1048576 bytes; write several files`,
		`private.yaml:2:7: holds a character of the private plane U+F0000, which is reserved for Earshot itself; remove it`,
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
		`t.yaml:5:21: tool "x": request/moduleId: the app has no module "m"; it has none: add one to the modules of the app`,
	}, faults(t, set.Check()))
	require.NoError(t, set.CheckWith([]byte(`{"modules":[{"moduleId":"m","secret":"***","tokenUrl":"https://a/"}],
	  "authServices":[{"name":"g","type":"google","clientId":"c"},{"name":"h","type":"google","clientId":"c"}]}`)))
}

func TestAnotherAppThanTheCallersIsAFault(t *testing.T) {
	folder(t, map[string]string{"t.yaml": "kind: app\nname: clinic\n"})
	_, err := files.Read([]string{"t.yaml"}, files.Options{Lookup: variables(), AppID: "other"})
	require.Equal(t, []string{`t.yaml:2:7: the file is for the app "clinic", and --app says "other"`}, faults(t, err))
}

// FuzzRead checks that no file makes the reader panic, that an accepted file is accepted again, and that every
// fault has a place.
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

func TestATestOfABodyIsReadAsThatOfAFile(t *testing.T) {
	t.Parallel()
	test, err := files.ReadTest("a day", []byte(`{"now":"2026-11-20T09:30:00+01:00","tools":"book","chat":[
		{"user":"on ${DAY}","expect":[{"tool":"book","values":{"day":"Monday"}}]},{"agent":"fine"},{"user":"thanks"},{"expect":{"none":true}}]}`))
	require.NoError(t, err)
	require.Equal(t, "a day", test.Name)
	require.Equal(t, []string{"book"}, test.Tools)
	require.Equal(t, "on ${DAY}", test.Chat[0].Text, "nothing is filled in")
	require.Equal(t, "book", test.Chat[0].Expect[0].Tool)
	require.True(t, test.Chat[2].Expect[0].None)
	require.Equal(t, 9, test.Now.Hour())
}

func TestFaultsOfATestOfABodyHavePointers(t *testing.T) {
	t.Parallel()
	for body, pointers := range map[string][]string{
		`{`: {""}, `[]`: {""}, `{}`: {""}, `{"chat":[]}`: {"/chat"}, `{"chat":["hello"]}`: {"/chat/0"},
		`{"chat":[{"user":""},{"expect":{"none":false}},{"expect":{"tool":"a","vals":{}}}],"timeZone":"Mars"}`: {"/chat/0/user", "/chat/1/expect", "/chat/1/expect/none", "/chat/2/expect/vals", "/timeZone"},
	} {
		_, err := files.ReadTest("t", []byte(body))
		var faults fault.List
		require.ErrorAs(t, err, &faults, body)
		var found []string
		for _, one := range faults {
			found = append(found, one.Pointer)
			require.NotContains(t, one.Detail, "test \"t\"")
		}
		require.ElementsMatch(t, pointers, found, body)
	}
}

var update = flag.Bool("update", false, "write the golden files anew")

func isGolden(t *testing.T, path, text string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), text)
}

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
			m, err := files.Migrate(filepath.Join("testdata", name+".yaml"), files.Options{})
			require.NoError(t, err)
			isGolden(t, filepath.Join("testdata", name+".golden"), m.After)
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
