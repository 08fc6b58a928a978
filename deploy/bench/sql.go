package main

import (
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
)

const (
	sqlApp  = "sql"
	sqlTool = "free-slots"
	sqlDays = 1000 // rows of the table, one for each call in turn
)

const toolsYAML = `kind: source
name: slots
type: sqlite
database: %s
---
kind: tool
name: free-slots
type: sqlite-sql
source: slots
description: How many slots are free on a day
statement: SELECT free FROM slots WHERE day = ?
parameters:
- {name: day, type: string, description: day of the week}
`

// sqlCalls compares a tool with a statement as a direct trigger of Earshot with the same tool of Toolbox over MCP.
// Toolbox answers and forgets; Earshot stores the trigger, publishes its event and result, and repeats its answer.
func (b *bench) sqlCalls(ctx context.Context) {
	config, path := filepath.Join(b.folder, "tools.yaml"), filepath.Join(b.folder, "slots.db")
	db, err := sql.Open("sqlite", path)
	b.must(err)
	_, err = db.ExecContext(ctx, `CREATE TABLE slots (day TEXT PRIMARY KEY, free INTEGER);
		WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ? - 1)
		INSERT INTO slots SELECT 'day-' || i, i % 7 FROM n`, sqlDays)
	b.must(errors.Join(err, db.Close(), os.WriteFile(config, fmt.Appendf(nil, toolsYAML, path), 0o600)))
	earshot := b.earshot("EARSHOT_SQLITE_DIR=" + b.folder)
	b.must(workload{app: sqlApp}.register(ctx, newClient(earshot, 1)))
	apply := exec.CommandContext(ctx, b.program, "apply", "-f", config, "--app", sqlApp, "--server", earshot.URL)
	apply.Env = append(os.Environ(), "EARSHOT_KEY="+testbed.AdminKey)
	if said, err := apply.CombinedOutput(); err != nil {
		b.t.Fatalf("apply %s: %v\n%s", config, err, said)
	}

	spread := workload{sessions: b.sessions}.spread()
	if b.toolbox == "" {
		b.note("Toolbox is not compared: give its program with -toolbox PATH (npm install @toolbox-sdk/server has one, in node_modules/@toolbox-sdk/server-*/bin).")
		var found []figures
		for _, connections := range b.connections {
			found = append(found, b.measure(ctx, b.sqlTrigger, b.at(connections), nil, earshot))
		}
		b.note("## a SQL tool, %s each, %s", b.measured, spread)
		b.table(figureTable("connections", b.connections, found))
		return
	}
	address := testbed.Address(b.t)
	_, port, _ := strings.Cut(address, ":")
	p := testbed.NewProcess(b.folder, "Toolbox", b.toolbox, "--config", config, "--port", port, "--disable-version-check", "--log-level", "ERROR")
	toolbox := b.serve(p, address, "/healthz", true)
	all := []subject{{"Toolbox", toolbox, callMCP}, {"Earshot", earshot, b.sqlTrigger}}
	for _, connections := range b.connections {
		rounds := b.inTurns(ctx, all, b.at(connections), func() {})
		b.note("## a SQL tool, %s, %s, %s", b.at(connections), b.rounded(), spread)
		b.table(turnTable(all, rounds))
	}
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
	path := "/v1/apps/" + sqlApp
	if b.sessions > 0 {
		path += fmt.Sprintf("/sessions/s%d", i%b.sessions)
	}
	var answer struct {
		Call struct {
			State  string
			Result []sqlRow
		}
	}
	body := map[string]any{"name": sqlTool, "source": "task", "values": sqlDay(i)}
	if err := replicas[0].send(ctx, http.MethodPost, path+"/triggers", body, &answer); err != nil {
		return 0, err
	}
	if answer.Call.State != "delivered" || len(answer.Call.Result) != 1 {
		return 0, fmt.Errorf("a call is %+v", answer.Call)
	}
	return 0, answer.Call.Result[0].check(i)
}

func callMCP(ctx context.Context, replicas []client, i int) (time.Duration, error) {
	var answer struct {
		Result struct {
			IsError bool
			Content []struct{ Text string }
		}
	}
	body := map[string]any{"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": map[string]any{"name": sqlTool, "arguments": sqlDay(i)}}
	if err := replicas[0].send(ctx, http.MethodPost, "/mcp", body, &answer); err != nil {
		return 0, err
	}
	if answer.Result.IsError || len(answer.Result.Content) != 1 {
		return 0, fmt.Errorf("a call is answered with %+v", answer.Result)
	}
	var row sqlRow
	if err := json.Unmarshal([]byte(answer.Result.Content[0].Text), &row); err != nil {
		return 0, fmt.Errorf("the row of a call: %w", err)
	}
	return 0, row.check(i)
}
