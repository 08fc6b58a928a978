package files_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/files"
)

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
	require.EqualError(t, set.All(err), `t.yaml:3:7: source "my-pg": type: "cloud-sql-postgres" is reached by its host here, and not through a connector: add host (the address of the instance, or 127.0.0.1 where its auth proxy runs), or set MY_PG_HOST
t.yaml:19:7: source "span": type: "spanner" is not a supported type of source: postgres, mysql, sqlite, http or mcp
t.yaml:24:7: tool "rows": type: "spanner-sql" is not a supported type of tool: http, mcp, postgres-sql, mysql-sql, sqlite-sql, postgres-execute-sql, mysql-execute-sql, sqlite-execute-sql, postgres-list-tables or mysql-list-tables; a tool without a type fires an event and calls its url`)

	at := func(name string) (string, bool) { return "10.0.0.3", name == "MY_PG_HOST" }
	set, err = files.Read([]string{"t.yaml"}, files.Options{Lookup: at, SkipUnsupported: true})
	require.NoError(t, set.All(err))
	require.Equal(t, `{"sources":[{"name":"my-pg","type":"postgres","database":"d","user":"u","host":"10.0.0.3"}]}`, bodies(set)["app"])
	require.Equal(t, []string{"hotels", "ping"}, set.Repositories[0].Names("tools"))
	require.Len(t, set.Notes, 3, "of the connector, the source and the tool: %v", set.Notes)
}

func TestASkippedSourceStopsWhatNeedsItAlone(t *testing.T) {
	folder(t, map[string]string{"t.yaml": cloudFile})
	set, err := files.Read([]string{"t.yaml"}, files.Options{Lookup: variables(), SkipUnsupported: true})
	require.NoError(t, set.All(err))
	require.Equal(t, []string{"ping"}, set.Repositories[0].Names("tools"))
}

func TestUnknownSourcesAreNamedBesideOtherFaults(t *testing.T) {
	folder(t, map[string]string{
		"a.yaml": "kind: source\nname: s\ntype: sqlite\nfile: x\n---\nkind: tool\nname: a\ntype: sqlite-sql\nsource: s\ndescription: d\nstatement: SELECT 1\n",
		"b.yaml": "kind: tool\nname: b\ntype: sqlite-sql\nsource: nowhere\ndescripton: d\n---\nkind: tool\nname: c\ntype: sqlite-sql\nsource: there\ndescription: d\nstatement: SELECT 1\n---\nkind: toolset\nname: t\ntools: [c]\noptions: {exclusive: true}\n",
	})
	set, err := files.Read([]string{"."}, files.Options{})
	require.EqualError(t, set.All(err), `a.yaml:2:7: source "s": database: is missing: sqlite needs it
a.yaml:4:1: source "s": file: unknown field "file"
b.yaml:2:7: tool "b": statement: is missing: sqlite-sql needs it
b.yaml:4:9: tool "b": source: the app has no source "nowhere"
b.yaml:5:1: tool "b": descripton: unknown field "descripton"; did you mean "description"?
b.yaml:10:9: tool "c": source: the app has no source "there"; it has s
b.yaml:17:1: toolset "t": options is for a repository: write kind: repository in place of kind: toolset`)
}
