package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime/pprof"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/natstest"
	"earshot/deploy/testbed/redistest"
)

// profiled names the file that TestProfileForTheCompiler writes: default.pgo, which go build finds in the
// program's package.
const profiled = "EARSHOT_PROFILE"

// TestProfileForTheCompiler writes a CPU profile of a replica for go build -pgo: messages that a model matches,
// most in new sessions and some in one with a history, direct triggers, statements over MCP, and reads.
func TestProfileForTheCompiler(t *testing.T) {
	file := os.Getenv(profiled)
	if file == "" {
		t.Skip(profiled + " names no file to write")
	}
	folder := t.TempDir()
	database := testbed.Got(sql.Open("sqlite", filepath.Join(folder, "shop.db")))(t)
	_, err := database.Exec("pragma journal_mode = wal; create table tables (day text primary key, free integer); insert into tables values ('Friday', 9)")
	require.NoError(t, errors.Join(err, database.Close()))
	w := &world{t: t, redis: redistest.Run(t), env: map[string]string{
		"EARSHOT_SQLITE_DIR": folder,
		"EARSHOT_ADDR":       "127.0.0.1:0", "NATS_URL": natstest.RunProcess(t, t.TempDir(), false).URL, "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": restaurantModel(t),
		"EARSHOT_ADMIN_KEY": testAdminKey, "EARSHOT_SECRET_KEY": "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
	}}
	w.env["REDIS_URL"] = w.redis.URL()
	replica := testbed.Client{URL: w.serve().url, Key: testAdminKey}
	ask := func(method, path, body string) error {
		answer, err := replica.Ask(t.Context(), method, "/v1/apps/shop"+path, body)
		if err == nil && answer.Status >= 300 {
			err = fmt.Errorf("%s %s: %s", method, path, answer.Body)
		}
		return err
	}
	require.NoError(t, ask(http.MethodPut, "", `{"name":"shop","settings":{"limits":null},"sources":[{"name":"db","type":"sqlite","database":"shop.db"}]}`))
	require.NoError(t, ask(http.MethodPut, "/repositories/main", restaurant))
	const day = `"parameters":[{"name":"day","type":"string","description":"day of the week"}]`
	require.NoError(t, ask(http.MethodPut, "/repositories/tables", `{"tools":[
		{"name":"free-tables","type":"sqlite-sql","source":"db","readOnly":true,"statement":"SELECT free FROM tables WHERE day = ?",`+day+`},
		{"name":"take-table","type":"sqlite-sql","source":"db","statement":"UPDATE tables SET free = free - 1 WHERE day = ? RETURNING free",`+day+`}]}`))

	out := testbed.Got(os.Create(file))(t)
	require.NoError(t, pprof.StartCPUProfile(out))
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	var sent atomic.Int64
	var clients errgroup.Group
	for range 16 {
		clients.Go(func() error {
			for ctx.Err() == nil {
				session, n := "", sent.Add(1)
				if n%4 > 0 {
					session = fmt.Sprint(n)
				}
				const message = `{"actor":"user","text":"Good morning, this is Ms Keller. Please reserve a table on Friday"}`
				err := ask(http.MethodPost, "/sessions/s"+session+"/messages", message)
				switch {
				case err == nil && n%8 == 0:
					err = ask(http.MethodPost, "/triggers", `{"name":"book-table","source":"task","values":{"day":"Friday"}}`)
				case err == nil && n%8 == 2:
					err = ask(http.MethodPost, "/sessions/s"+session+"/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"free-tables","arguments":{"day":"Friday"}}}`)
				case err == nil && n%16 == 4:
					err = ask(http.MethodPost, "/sessions/s"+session+"/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"take-table","arguments":{"day":"Friday"}}}`)
				case err == nil && n%64 == 1:
					err = ask(http.MethodGet, "/triggers?limit=20", "")
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, clients.Wait())
	pprof.StopCPUProfile()
	require.NoError(t, out.Close())
	require.Greater(t, sent.Load(), int64(5000), "the profile is of too little")
}
