package files_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/files"
)

const emptyApp = `{}`

func TestEveryFormBecomesTheRESTForm(t *testing.T) {
	const book, ring = `{"name":"book","description":"Book"}`, `{"name":"ring","description":"Ring"}`
	for name, test := range map[string]struct {
		file string
		want map[string]string
	}{
		"Toolbox nested": {
			"tools:\n  book: {description: Book}\n  ring:\n    description: Ring\ntoolsets:\n  desk: [book]\n",
			map[string]string{"app": emptyApp, "desk": `{"tools":[` + book + `]}`, "default": `{"tools":[` + ring + `]}`},
		},
		"OpenAI's functions": {
			"kind: tool\ntype: function\nfunction: {name: book, parameters: {type: object}}\n---\nkind: repository\nname: desk\ntools: [book]\n",
			map[string]string{"app": emptyApp, "desk": `{"tools":[{"name":"book","type":"function","function":{"name":"book","parameters":{"type":"object"}}}]}`},
		},
		"a list of OpenAI's functions": {
			"- {type: function, function: {name: book}}\n",
			map[string]string{"app": emptyApp, "default": `{"tools":[{"name":"book","type":"function","function":{"name":"book"}}]}`},
		},
		"Toolbox nested, toolset as a map": {
			"tools:\n  book: {description: Book}\ntoolsets:\n  desk:\n    description: d\n    tools: [book]\n",
			map[string]string{"app": emptyApp, "desk": `{"tools":[` + book + `]}`},
		},
		"Toolbox flat, plural kinds": {
			"kind: tools\nname: book\ndescription: Book\n---\nkind: toolsets\nname: desk\ntools:\n- book\n",
			map[string]string{"app": emptyApp, "desk": `{"tools":[` + book + `]}`},
		},
		"Toolbox flat, singular kinds, the kind last": {
			"name: book\ndescription: Book\nkind: tool\n---\nname: desk\ntools: [book]\nkind: toolset\n",
			map[string]string{"app": emptyApp, "desk": `{"tools":[` + book + `]}`},
		},
		"Toolbox group, and the one without a name that describes all": {
			"kind: group\ndescription: all\n---\nkind: group\nname: desk\ndescription: d\ntools: [book]\n---\nkind: tool\nname: book\ndescription: Book\n",
			map[string]string{"app": emptyApp, "desk": `{"tools":[` + book + `]}`},
		},
		"a group wins over a toolset of its name": {
			"kind: toolset\nname: desk\ntools: [ring]\n---\nkind: group\nname: desk\ntools: [book]\n---\nkind: tool\nname: book\ndescription: Book\n---\nkind: tool\nname: ring\ndescription: Ring\n",
			map[string]string{"app": emptyApp, "desk": `{"tools":[` + book + `]}`, "default": `{"tools":[` + ring + `]}`},
		},
		"a tool in two repositories": {
			"kind: repository\nname: a\ntools: [book, ring]\noptions: {triggerOnce: true}\n---\nkind: repository\nname: b\ntools: [ring]\n---\nkind: tool\nname: book\ndescription: Book\n---\nkind: tool\nname: ring\ndescription: Ring\n",
			map[string]string{"app": emptyApp, "a": `{"tools":[` + book + `,` + ring + `],"options":{"triggerOnce":true}}`, "b": `{"tools":[` + ring + `]}`},
		},
		"the default repository with options of its own": {
			"kind: repository\nname: default\ntools: [ring]\noptions: {exclusive: true}\n---\nkind: tool\nname: book\ndescription: Book\n---\nkind: tool\nname: ring\ndescription: Ring\n",
			map[string]string{"app": emptyApp, "default": `{"tools":[` + ring + `,` + book + `],"options":{"exclusive":true}}`},
		},
		"a repository from a source": {
			"kind: source\nname: crm\ntype: mcp\nurl: https://crm.example/mcp\nallow: [find_*]\nrefresh: 1m\n---\nkind: repository\nname: customers\nfrom: crm\noptions: {exclusive: true}\n",
			map[string]string{"app": `{"sources":[{"name":"crm","type":"mcp","url":"https://crm.example/mcp","allow":["find_*"],"refresh":"1m"}]}`, "customers": `{"tools":[],"from":"crm","options":{"exclusive":true}}`},
		},
		"nested and flat documents in one file": {
			"tools:\n  book: {description: Book}\n---\nkind: toolset\nname: desk\ntools: [book]\n",
			map[string]string{"app": emptyApp, "desk": `{"tools":[` + book + `]}`},
		},
		"Earshot's own form": {
			"kind: app\nname: clinic\ndisplayName: My clinic\ndescription: left\nsettings: {chatModeEnabled: true}\nsigningSecret: whsec_c2Vj\n---\n" +
				"kind: module\nname: calendar\nsecret: x\ntokenUrl: https://id.example.org/\n---\n" +
				"kind: authService\nname: g\ntype: google\nclientId: c\n---\nkind: tool\nname: book\ndescription: Book\n",
			map[string]string{
				"app": `{"name":"My clinic","settings":{"chatModeEnabled":true},"signingSecret":"whsec_c2Vj",` +
					`"modules":[{"moduleId":"calendar","secret":"x","tokenUrl":"https://id.example.org/"}],"authServices":[{"name":"g","type":"google","clientId":"c"}]}`,
				"default": `{"tools":[` + book + `]}`,
			},
		},
		"Toolbox's generic service is one of OpenID Connect": {
			"kind: authService\nname: k\ntype: generic\naudience: a\nauthorizationServer: https://id.example.org/\n",
			map[string]string{"app": `{"authServices":[{"name":"k","type":"oidc","audience":"a","issuer":"https://id.example.org/"}]}`},
		},
		"fields of tool types pass through": {
			"sources:\n  db:\n    kind: sqlite\n    database: ./x.db\ntools:\n  find:\n    kind: sqlite-sql\n    source: db\n" +
				"    statement: |\n      SELECT *\n      FROM t\n    templateParameters:\n    - {name: n, type: string, description: d}\n",
			map[string]string{
				"app": `{"sources":[{"name":"db","type":"sqlite","database":"./x.db"}]}`,
				"default": `{"tools":[{"name":"find","type":"sqlite-sql","source":"db","statement":"SELECT *\nFROM t\n",` +
					`"templateParameters":[{"name":"n","type":"string","description":"d"}]}]}`,
			},
		},
		"kind becomes type at any depth of the nested form, and nowhere else": {
			"tools:\n  book:\n    description: Book\n    parameters:\n    - name: m\n      kind: map\n      description: d\n      default: {kind: [{kind: 1}]}\n" +
				"---\nkind: tool\nname: ring\nparameters:\n- {name: m, type: map, description: d, default: {kind: x}}\n",
			map[string]string{"app": emptyApp, "default": `{"tools":[` +
				`{"name":"book","description":"Book","parameters":[{"name":"m","type":"map","description":"d","default":{"type":[{"type":1}]}}]},` +
				`{"name":"ring","parameters":[{"name":"m","type":"map","description":"d","default":{"kind":"x"}}]}]}`},
		},
		"empty documents swallow nothing": {
			"---\n---\n# only a comment\n---\nkind: tool\nname: book\n---\n\n---\n...\n---\nkind: tool\nname: ring\n",
			map[string]string{"app": emptyApp, "default": `{"tools":[{"name":"book"},{"name":"ring"}]}`},
		},
		"an empty section is nothing": {"tools: {}\nsources: {}\n", map[string]string{"app": emptyApp}},
		"anchors, aliases and merge keys": {
			"kind: tool\nname: x\nschema:\n- &day {parameter: day, type: string, description: &d one}\n- <<: *day\n  parameter: night\n  description: *d\n" +
				"- <<: [{type: integer}, *day]\n  parameter: n\n",
			map[string]string{"app": emptyApp, "default": `{"tools":[{"name":"x","schema":[{"parameter":"day","type":"string","description":"one"},` +
				`{"parameter":"night","description":"one","type":"string"},{"parameter":"n","type":"integer","description":"one"}]}]}`},
		},
		"a file of another system": {
			"\ufeff%YAML 1.2\r\n---\r\nkind: tool\r\nname: x\r\ndescription: |\r\n  a\r\n  b\r\n...\r\n",
			map[string]string{"app": emptyApp, "default": `{"tools":[{"name":"x","description":"a\nb\n"}]}`},
		},
		"markers with text behind them": {
			"--- # first\nkind: tool\nname: x\n--- {kind: tool, name: y}\n",
			map[string]string{"app": emptyApp, "default": `{"tools":[{"name":"x"},{"name":"y"}]}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.want, bodies(mustRead(t, test.file)))
		})
	}
}

func TestWhatHoldsATriggerBackIsReadInEveryForm(t *testing.T) {
	const held = `"settle":"800ms","cancelOnNext":true,"confirm":"once","dedupe":{"by":["n"],"within":"10m","scope":"app"},"answer":{"within":"30s"},"request":{"timeout":"5s"}`
	const yaml = "settle: 800ms, cancelOnNext: true, confirm: once, dedupe: {by: [n], within: 10m, scope: app}, answer: {within: 30s}, request: {timeout: 5s}"
	for form, file := range map[string]string{
		"own, as Toolbox's flat one": "kind: tool\nname: refund\n" + strings.NewReplacer(", c", "\nc", ", d", "\nd", ", a", "\na", ", r", "\nr").Replace(yaml) +
			"\nparameters: [{name: n, type: integer, description: d}]\n",
		"Toolbox's nested one": "tools:\n  refund: {" + yaml + ", parameters: [{name: n, type: integer, description: d}]}\n",
		"SERMAS":               "- {name: refund, public: true, " + yaml + ", schema: [{parameter: n, type: number}]}\n",
	} {
		set := mustRead(t, file)
		require.NoError(t, set.Check(), form)
		require.Contains(t, bodies(set)["default"], held, form)
	}
}

func TestFilesAndFoldersAreMerged(t *testing.T) {
	folder(t, map[string]string{
		"b.yml": "toolsets:\n  desk: [book, ring]\n", "a.yaml": "tools:\n  book: {description: Book}\n",
		"c.yaml": "kind: tool\nname: ring\n", "package.json": "{}", "notes.txt": "x",
	})
	set, err := files.Read([]string{"."}, files.Options{Lookup: variables()})
	require.NoError(t, err)
	require.Equal(t, []string{"a.yaml", "c.yaml", "b.yml"}, set.Files)
	require.Equal(t, `{"tools":[{"name":"book","description":"Book"},{"name":"ring"}]}`, bodies(set)["desk"])
	again, err := files.Read([]string{"b.yml", "c.yaml", "a.yaml", "c.yaml"}, files.Options{Lookup: variables()})
	require.NoError(t, err)
	require.Equal(t, bodies(set), bodies(again), "in whatever order they come")
}

func TestASourceMayRepeatInAnotherFileWhereItIsTheSame(t *testing.T) {
	const source = "kind: source\nname: db\ntype: sqlite\ndatabase: x\n"
	folder(t, map[string]string{"a.yaml": source, "b.yaml": source, "c.yaml": source + "readOnly: true\n"})
	_, err := files.Read([]string{"a.yaml", "b.yaml"}, files.Options{Lookup: variables()})
	require.Empty(t, faultsButUnsupported(err))
	_, err = files.Read([]string{"a.yaml", "c.yaml"}, files.Options{Lookup: variables()})
	require.Contains(t, faults(t, err), `c.yaml:2:7: source "db" is defined twice, first in a.yaml on line 2`)
}

func TestWhatEarshotHasNoUseForIsLeftWithANote(t *testing.T) {
	set := mustRead(t, "prompts:\n  p: {description: d}\nembeddingModels:\n  e: {kind: gemini}\ntools:\n  book: {}\n")
	require.Equal(t, []string{
		`t.yaml:2:3: prompt "p" is left out: Earshot has tools, and no prompts`,
		`t.yaml:4:3: embeddingModel "e" is left out: Earshot has tools, and no embeddingModels`,
	}, lines(set.Notes))
}

func TestTheAppIsTheOneThatIsNamedFirst(t *testing.T) {
	for name, test := range map[string]struct {
		file, option, want string
	}{
		"by the document":        {"kind: app\nname: one\n", "", "one"},
		"by both alike":          {"kind: app\nname: one\n", "one", "one"},
		"by the caller":          {"kind: tool\nname: t\n", "two", "two"},
		"by the folder":          {"kind: tool\nname: t\n", "", "clinic"},
		"by a placeholder in it": {"kind: app\nname: ${APP:three}\n", "", "three"},
	} {
		t.Run(name, func(t *testing.T) {
			folder(t, map[string]string{"t.yaml": test.file})
			set, err := files.Read([]string{"t.yaml"}, files.Options{Lookup: variables(), AppID: test.option})
			require.NoError(t, err)
			require.Equal(t, test.want, set.AppID)
			set, err = files.Read([]string{"."}, files.Options{Lookup: variables(), AppID: test.option})
			require.NoError(t, err)
			require.Equal(t, test.want, set.AppID, "a folder says the same")
		})
	}
}
