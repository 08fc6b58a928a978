package main

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver that makes the file

	"earshot/deploy/testbed"
	"earshot/repositories/lists"
)

const (
	sqlApp  = "sql"
	sqlDays = 1000 // rows of the table, one for each call in turn
)

// sqlTool is one that reads or changes a row, and returns its free slots. Toolbox knows no readOnly.
type sqlTool struct{ name, statement, readOnly string }

var (
	reads   = sqlTool{"free-slots", "SELECT free FROM slots WHERE day = ?", "readOnly: true\n"}
	changes = sqlTool{"take-slot", "UPDATE slots SET taken = taken + 1 WHERE day = ? RETURNING free", ""}
)

func toolsYAML(database string, ofEarshot bool) (text string) {
	text = fmt.Sprintf("kind: source\nname: slots\ntype: sqlite\ndatabase: %s\n", database)
	for _, tool := range []sqlTool{reads, changes} {
		text += fmt.Sprintf("---\nkind: tool\nname: %s\ntype: sqlite-sql\nsource: slots\ndescription: Slots of a day\nstatement: %s\n"+
			"parameters:\n- {name: day, type: string, description: day of the week}\n", tool.name, tool.statement)
		if ofEarshot {
			text += tool.readOnly
		}
	}
	return text
}

// sqlCalls compares SQL tools of Earshot, by direct triggers and MCP, with those of Toolbox over MCP, which keeps no record, event
// and result.
func (b *bench) sqlCalls(ctx context.Context) {
	config, path := filepath.Join(b.folder, "tools.yaml"), filepath.Join(b.folder, "slots.db")
	db, err := sql.Open("sqlite", path)
	b.must(err)
	_, err = db.ExecContext(ctx, `PRAGMA journal_mode = WAL;
		CREATE TABLE slots (day TEXT PRIMARY KEY, free INTEGER, taken INTEGER);
		WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ? - 1)
		INSERT INTO slots SELECT 'day-' || i, i % 7, 0 FROM n`, sqlDays)
	b.must(errors.Join(err, db.Close(), os.WriteFile(config, []byte(toolsYAML(path, true)), 0o600)))
	earshot := b.earshot("EARSHOT_SQLITE_DIR=" + b.folder)
	b.must(workload{app: sqlApp}.register(ctx, newClient(earshot, 1)))
	apply := exec.CommandContext(ctx, b.program, "apply", "-f", config, "--app", sqlApp, "--server", earshot.URL)
	apply.Env = append(os.Environ(), "EARSHOT_KEY="+testbed.AdminKey)
	testbed.Done(b.t, apply)
	var toolbox *server
	if b.toolbox == "" {
		b.note("Toolbox is not compared: give its program with -toolbox PATH (npm install @toolbox-sdk/server has one, in node_modules/@toolbox-sdk/server-*/bin).")
	} else {
		config := filepath.Join(b.folder, "toolbox.yaml")
		b.must(os.WriteFile(config, []byte(toolsYAML(path, false)), 0o600))
		address := testbed.Address(b.t)
		_, port, _ := strings.Cut(address, ":")
		p := testbed.NewProcess(b.folder, "Toolbox", b.toolbox, "--config", config, "--port", port, "--disable-version-check", "--log-level", "ERROR")
		toolbox = b.serve(p, address, "/healthz", true)
	}
	overMCP := func(tool sqlTool) post {
		return callMCP(tool, func(i int) string { return b.sqlPath(i) + "/mcp" })
	}
	for _, way := range []struct {
		name    string
		earshot post
		tool    sqlTool
	}{
		{"a SELECT, as a direct trigger", b.sqlTrigger, reads},
		{"a SELECT over MCP", overMCP(reads), reads},
		{"a statement that changes, over MCP", overMCP(changes), changes},
	} {
		b.sqlTables(ctx, way.name, toolbox, subject{"Earshot", earshot, way.earshot}, way.tool)
	}
}

// sqlTables prints what a call costs Earshot, beside Toolbox if it is there.
func (b *bench) sqlTables(ctx context.Context, name string, toolbox *server, earshot subject, tool sqlTool) {
	spread := workload{sessions: b.sessions}.spread()
	if toolbox == nil {
		found := lists.Map(b.connections, func(connections int) figures {
			return b.measure(ctx, earshot.post, b.at(connections), nil, earshot.server)
		})
		b.note("## %s, %s each, %s", name, b.measured, spread)
		b.table(figureTable("connections", b.connections, found))
		return
	}
	all := []subject{{"Toolbox", toolbox, callMCP(tool, func(int) string { return "/mcp" })}, earshot}
	for _, connections := range b.connections {
		rounds := b.inTurns(ctx, all, b.at(connections), func() {})
		b.note("## %s, %s, %s, %s", name, b.at(connections), b.rounded(), spread)
		b.table(turnTable(all, rounds))
	}
}

func (b *bench) sqlPath(i int) string {
	path := "/v1/apps/" + sqlApp
	if b.sessions > 0 {
		path += fmt.Sprintf("/sessions/s%d", i%b.sessions)
	}
	return path
}

func sqlDay(i int) map[string]any { return map[string]any{"day": fmt.Sprintf("day-%d", i%sqlDays)} }

type sqlRow struct{ Free int }

func (r sqlRow) check(i int) error {
	if wanted := i % sqlDays % 7; r.Free != wanted {
		return fmt.Errorf("%d slots are free on day %d, there were %d", r.Free, i%sqlDays, wanted)
	}
	return nil
}

func (b *bench) sqlTrigger(ctx context.Context, replicas []client, i int) (time.Duration, error) {
	var answer struct {
		Call struct {
			State  string
			Result []sqlRow
		}
	}
	body := map[string]any{"name": reads.name, "source": "task", "values": sqlDay(i)}
	if err := replicas[0].send(ctx, http.MethodPost, b.sqlPath(i)+"/triggers", body, &answer); err != nil {
		return 0, err
	}
	if answer.Call.State != "delivered" || len(answer.Call.Result) != 1 {
		return 0, fmt.Errorf("a call is %+v", answer.Call)
	}
	return 0, answer.Call.Result[0].check(i)
}

// callMCP calls a tool. The text of its result is the row for Toolbox, and a list of it for Earshot.
func callMCP(tool sqlTool, path func(i int) string) post {
	return func(ctx context.Context, replicas []client, i int) (time.Duration, error) {
		var answer struct {
			Result struct {
				IsError bool
				Content []struct{ Text string }
			}
		}
		body := map[string]any{"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": map[string]any{"name": tool.name, "arguments": sqlDay(i)}}
		if err := replicas[0].send(ctx, http.MethodPost, path(i), body, &answer); err != nil {
			return 0, err
		}
		if answer.Result.IsError || len(answer.Result.Content) != 1 {
			return 0, fmt.Errorf("a call is answered with %+v", answer.Result)
		}
		var row sqlRow
		text := answer.Result.Content[0].Text
		err := json.Unmarshal([]byte(strings.Trim(text, "[]")), &row)
		if err = cmp.Or(err, row.check(i)); err != nil {
			err = fmt.Errorf("a call is answered with %q: %w", text, err) // a call that takes too long is answered without a row
		}
		return 0, err
	}
}
