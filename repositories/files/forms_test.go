package files_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
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
	set := readFolder(t, map[string]string{
		"b.yml": "toolsets:\n  desk: [book, ring]\n", "a.yaml": "tools:\n  book: {description: Book}\n",
		"c.yaml": "kind: tool\nname: ring\n", "package.json": "{}", "notes.txt": "x",
	})
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

func TestASermasFolderIsAnApp(t *testing.T) {
	set := readFolder(t, map[string]string{
		"app.yaml":      "name: My clinic\ndescription: d\npublic: true\nappId: clinic-1\n",
		"tools.yaml":    " - name: request-for-appointment\n   description: User need an appointment\n   returnDirect: true\n   skipResponse: true\n   url: https://example.org/book\n   request: {moduleId: calendar}\n",
		"modules.yaml":  "- moduleId: calendar\n  secret: ${CALENDAR}\n  tokenUrl: https://id.example.org/token\n  supports: [dialogue, ui]\n  config: {a: 1}\n- moduleId: avatar\n  secret: x\n  supports: [ui]\n- moduleId: bare\n  supports: [ui]\n",
		"settings.json": `{"chatModeEnabled": true, "avatar": "one", "llm": {"chat": "openai/gpt-4o", "tools": "openai/gpt-4o-mini"}, "prompt": {"text": "Be kind."}}`,
		"tasks.yaml":    "- taskId: t\n", "users.yaml": "- {}\n",
	}, "CALENDAR=secret")
	require.NoError(t, set.Check())
	require.Equal(t, "clinic-1", set.AppID)
	require.Equal(t, map[string]string{
		"app": `{"name":"My clinic","modules":[{"moduleId":"calendar","secret":"secret","tokenUrl":"https://id.example.org/token"},{"moduleId":"avatar","secret":"x"}],` +
			`"settings":{"chatModeEnabled":true,"llm":{"tools":"openai/gpt-4o-mini"},"prompt":{"text":"Be kind."}}}`,
		"default": `{"tools":[{"name":"request-for-appointment","description":"User need an appointment","returnDirect":true,"skipResponse":true,` +
			`"url":"https://example.org/book","request":{"moduleId":"calendar"}}]}`,
	}, bodies(set))
	require.Equal(t, []string{
		`tasks.yaml: is left out: Earshot has no tasks: what asks for values one after the other is a tool with required parameters`,
		`users.yaml: is left out: Earshot keeps no users: those of an identity provider are verified (authServices)`,
		`modules.yaml:2:11: module "calendar": secret: is too short to sign in with: at least 16 characters`,
		`modules.yaml:7:11: module "avatar": secret: is too short to sign in with: at least 16 characters`,
		`modules.yaml:9:13: module "bare" is left out: no tool calls with it, and it has no secret`,
		`settings.json:1:27: the setting "avatar" is left out: Earshot has no use for it`,
		`settings.json:1:52: the model for "chat" is left out: Earshot has no use for it`,
	}, lines(set.Notes))
}

func TestEverySettingCountsInTheFolderOfASermasApp(t *testing.T) {
	var definitions struct {
		Defs struct {
			Settings struct{ Properties map[string]any }
		} `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(repositories.DefinitionSchema(), &definitions))
	require.NotEmpty(t, definitions.Defs.Settings.Properties)
	for name := range definitions.Defs.Settings.Properties {
		set := readFolder(t, map[string]string{"app.yaml": "name: My clinic\n", "settings.yaml": name + ": null\n"})
		require.Empty(t, set.Notes, name)
	}
	set := readFolder(t, map[string]string{
		"app.yaml":      "name: My clinic\n",
		"settings.yaml": "language: en-GB\ntimeZone: Europe/Berlin\nchatEvents: true\n",
	})
	require.NoError(t, set.Check())
	require.Equal(t, map[string]string{"app": `{"name":"My clinic","settings":{"language":"en-GB","timeZone":"Europe/Berlin","chatEvents":true}}`}, bodies(set))
}

func TestALanguageOfSermasThatIsNoneIsLeftOut(t *testing.T) {
	set := readFolder(t, map[string]string{"app.yaml": "name: My clinic\n", "settings.yaml": "chatModeEnabled: true\nlanguage: plain English\n"})
	require.NoError(t, set.Check())
	require.Equal(t, map[string]string{"app": `{"name":"My clinic","settings":{"chatModeEnabled":true}}`}, bodies(set))
	require.Equal(t, []string{`settings.yaml:2:11: the setting "language" is left out: "plain English" is not the tag of a language, as de or de-AT`}, lines(set.Notes))
}

func TestASermasAppWithoutAnIDHasTheNameOfItsFolder(t *testing.T) {
	set := readFolder(t, map[string]string{"app.json": `{"name":"My clinic","tools":[{"name":"ring"}],"modules":[]}`})
	require.Equal(t, "clinic", set.AppID)
	require.Equal(t, map[string]string{"app": `{"name":"My clinic"}`, "default": `{"tools":[{"name":"ring"}]}`}, bodies(set))
}

func TestFaultsOfASermasFolder(t *testing.T) {
	folder(t, map[string]string{
		"app.yaml":      "nmae: x\nappId: [1]\n",
		"tools.yaml":    "- name: a\n  descripton: d\n- description: no name\n- 5\n- kind: tool\n  name: b\n",
		"modules.yaml":  "- moduleId: a b\n  secret: s\n  tokenUrl: x\n- secret: s\n",
		"settings.yaml": "chatModeEnable: true\n",
	})
	_, err := files.Read([]string{"."}, files.Options{Lookup: variables()})
	require.Equal(t, []string{
		`app.yaml:1:1: app: nmae: unknown field "nmae"; did you mean "name"?`,
		`app.yaml:2:8: appId is a list; it must be a text`,
		`modules.yaml:1:13: module "a b": moduleId: the id "a b" is not an id: 1 to 128 of A-Z a-z 0-9 _ -, the first a letter or digit`,
		`modules.yaml:3:13: module "a b": tokenUrl: "x" is not an absolute URL, as https://example.org/path`,
		`modules.yaml:4:3: module: moduleId: is missing`,
		`settings.yaml:1:1: app: settings/chatModeEnable: unknown field "chatModeEnable"; did you mean "chatModeEnabled"?`,
		`tools.yaml:2:3: tool "a": descripton: unknown field "descripton"; did you mean "description"?`,
		`tools.yaml:3:3: tool: name: is missing`,
		`tools.yaml:4:3: is a number; a list holds tools or modules, each a map`,
		`tools.yaml:5:3: a document with a kind cannot be in a list; write it by itself, after a line ---`,
	}, faults(t, err))
}

func TestAModuleThatAToolCallsWithMustBeComplete(t *testing.T) {
	set := readFolder(t, map[string]string{
		"modules.yaml": "- {moduleId: calendar, secret: s, supports: []}\n",
		"tools.yaml":   "- {name: a, url: https://example.org/, request: {moduleId: calendar}}\n",
	})
	require.Equal(t, []string{`tools.yaml:1:60: tool "a": request/moduleId: module "calendar" has no tokenUrl, so that no token can be obtained; add tokenUrl to the module`}, faults(t, set.Check()))
}

// TestWhatSermasWritesIsRead: SERMAS writes every known field, empty if unset.
func TestWhatSermasWritesIsRead(t *testing.T) {
	set := readFolder(t, map[string]string{
		"app.yaml": "name: clinic\nappId: clinic\n",
		"tools.json": `[{"name":"book","url":"","emitter":"","schema":[{"parameter":"day","type":"string","ignore":null,"value":null}],
		  "request":{"url":"https://x.example/cal/:day","auth":"bearer","bearer":{"clientType":"client_credentials","clientId":"c","clientSecret":"s","audience":"a","tokenUrl":"https://x.example/token","refreshUrl":"","username":"","password":""},
		  "basic":{"username":"","password":""},"moduleId":"","headers":{}}},
		 {"name":"nothing","request":{"url":"","auth":"","basic":{"username":"","password":""},"bearer":{"clientType":"client_credentials","clientId":"","tokenUrl":""},"moduleId":"","headers":{}}}]`,
		"modules.yaml":  "- moduleId: spare\n  secret: ''\n  tokenUrl:\n",
		"settings.yaml": "chatModeEnabled:\nprompt:\nllm: {tools: azure_openai/gpt-4o}\n",
		"more.yaml":     "- name: bare\n  url:\n  emitter:\n  request:\n- name: desk\n  url: https://x.example/\n  request: {headers: {X-Desk: A}}\n",
		"tasks.yaml":    "- taskId: t\n",
	})
	require.Equal(t, []string{
		`tasks.yaml: is left out: Earshot has no tasks: what asks for values one after the other is a tool with required parameters`,
		`modules.yaml:1:13: module "spare" is left out: no tool calls with it, and it has no secret`,
		`more.yaml:7:3: tool "desk": request: has headers and no auth: its calls authenticate with these headers only, as with auth "none"; set auth to "none" to confirm that, or give basic, bearer or moduleId`,
		`settings.yaml:3:14: the model "azure_openai/gpt-4o" is left out: azure_openai is asked through variables of the service; set OPENAI_BASE_URL to https://RESOURCE.openai.azure.com/openai/v1, with OPENAI_API_KEY and OPENAI_MODEL`,
	}, lines(set.Notes))
	require.NoError(t, set.Check())
}

const cloudFile = `kind: sources
name: my-pg
type: cloud-sql-postgres
project: p
region: us-central1
instance: i
database: d
user: u
---
kind: tools
name: hotels
type: postgres-sql
source: my-pg
description: d
statement: SELECT 1
---
kind: sources
name: span
type: spanner
instance: i
---
kind: tools
name: rows
type: spanner-sql
source: span
description: d
---
kind: tools
name: ping
description: d
---
kind: toolsets
name: all
tools: [hotels, rows, ping]
`

func TestSourcesOfACloudAreReachedByTheirHost(t *testing.T) {
	folder(t, map[string]string{"t.yaml": cloudFile})
	set, err := files.Read([]string{"t.yaml"}, files.Options{Lookup: variables()})
	require.EqualError(t, set.JoinCheck(err), `t.yaml:3:7: source "my-pg": type: "cloud-sql-postgres" is reached by its host, not through a connector: add host (the address of the instance, or 127.0.0.1 with its auth proxy on this machine), or set MY_PG_HOST
t.yaml:19:7: source "span": type: "spanner" is not a supported type of source: postgres, mysql, sqlite, http or mcp
t.yaml:24:7: tool "rows": type: "spanner-sql" is not a supported type of tool: http, mcp, postgres-sql, mysql-sql, sqlite-sql, postgres-execute-sql, mysql-execute-sql, sqlite-execute-sql, postgres-list-tables or mysql-list-tables; a tool without a type fires an event and calls its url`)

	at := func(name string) (string, bool) { // an empty variable gives no port
		return map[string]string{"MY_PG_HOST": "10.0.0.3"}[name], name == "MY_PG_HOST" || name == "MY_PG_PORT"
	}
	set, err = files.Read([]string{"t.yaml"}, files.Options{Lookup: at, SkipUnsupported: true})
	require.NoError(t, set.JoinCheck(err))
	require.Equal(t, `{"sources":[{"name":"my-pg","type":"postgres","database":"d","user":"u","host":"10.0.0.3"}]}`, bodies(set)["app"])
	require.Equal(t, []string{"hotels", "ping"}, set.Repositories[0].Names("tools"))
	require.Len(t, set.Notes, 3, "of the connector, the source and the tool: %v", set.Notes)
}

func TestASkippedSourceStopsWhatNeedsItAlone(t *testing.T) {
	folder(t, map[string]string{"t.yaml": cloudFile})
	set, err := files.Read([]string{"t.yaml"}, files.Options{Lookup: variables(), SkipUnsupported: true})
	require.NoError(t, set.JoinCheck(err))
	require.Equal(t, []string{"ping"}, set.Repositories[0].Names("tools"))
}

func TestUnknownSourcesAreNamedBesideOtherFaults(t *testing.T) {
	folder(t, map[string]string{
		"a.yaml": "kind: source\nname: s\ntype: sqlite\nfile: x\n---\nkind: tool\nname: a\ntype: sqlite-sql\nsource: s\ndescription: d\nstatement: SELECT 1\n",
		"b.yaml": "kind: tool\nname: b\ntype: sqlite-sql\nsource: nowhere\ndescripton: d\n---\nkind: tool\nname: c\ntype: sqlite-sql\nsource: there\ndescription: d\nstatement: SELECT 1\n---\nkind: toolset\nname: t\ntools: [c]\noptions: {exclusive: true}\n",
	})
	set, err := files.Read([]string{"."}, files.Options{})
	require.EqualError(t, set.JoinCheck(err), `a.yaml:2:7: source "s": database: is missing: sqlite needs it
a.yaml:4:1: source "s": file: unknown field "file"
b.yaml:2:7: tool "b": statement: is missing: sqlite-sql needs it
b.yaml:4:9: tool "b": source: the app has no source "nowhere"; it has s
b.yaml:5:1: tool "b": descripton: unknown field "descripton"; did you mean "description"?
b.yaml:10:9: tool "c": source: the app has no source "there"; it has s
b.yaml:17:1: toolset "t": options is for a repository: write kind: repository in place of kind: toolset`)
}

func TestPrebuiltToolsNeedTheVariablesOfToolbox(t *testing.T) {
	for name, needs := range map[string]string{
		"postgres": "POSTGRES_HOST POSTGRES_DATABASE POSTGRES_USER POSTGRES_PASSWORD", "mysql": "MYSQL_DATABASE MYSQL_USER MYSQL_PASSWORD", "sqlite": "SQLITE_DATABASE",
	} {
		asked := map[string]bool{}
		set, err := files.Read([]string{files.Prebuilt + name}, files.Options{Lookup: func(variable string) (string, bool) {
			asked[variable] = true
			return "4711", strings.Contains(needs, variable)
		}})
		require.NoError(t, err)
		require.NoError(t, set.Check())
		require.Equal(t, name, set.AppID)
		require.Empty(t, set.Notes)
		for variable := range strings.FieldsSeq(needs) {
			require.True(t, asked[variable], variable)
		}
		_, err = files.Read([]string{files.Prebuilt + name}, files.Options{Lookup: func(string) (string, bool) { return "", false }})
		require.ErrorContains(t, err, strings.Fields(needs)[0])
	}
	_, err := files.Read([]string{files.Prebuilt + "postgre"}, files.Options{})
	require.ErrorContains(t, err, `unknown prebuilt; it must be postgres, mysql or sqlite; did you mean "postgres"?`)
}

func TestOpenTemplateParametersAreNoted(t *testing.T) {
	const tool = `{"tools":[{"name":"rows","description":"d","type":"postgres-sql","source":"pg","statement":"select 1","templateParameters":[`
	for parameter, open := range map[string]bool{
		`"type":"string"`: true, `"type":"string","excludedValues":["x"]`: true, `"type":"array","items":{"type":"string","name":"i","description":"d"}`: true,
		`"type":"string","escape":"backticks"`: false, `"type":"string","allowedValues":["a"]`: false, `"type":"integer"`: false, `"type":"string","value":"a"`: false,
		`"type":"array","items":{"type":"string","name":"i","description":"d","escape":"backticks"}`: false,
	} {
		r, err := repositories.DecodeRepository(repositories.Scope{AppID: "clinic"}, "r", []byte(tool+`{"name":"p","description":"d",`+parameter+`}]}]}`))
		require.NoError(t, err)
		if !open {
			require.Empty(t, r.NotesInWords(), parameter)
			continue
		}
		require.Len(t, r.NotesInWords(), 1, parameter)
		require.Contains(t, r.NotesInWords()[0], `tool "rows": templateParameters/0 has neither allowedValues nor escape`)
	}
}
