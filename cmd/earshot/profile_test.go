package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"
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

// mostAllocations bounds the allocated objects of a plain message: the model calls one tool, whose event is
// published before the answer. There are 398 of them, and some 25 more if other tests keep the machine busy.
const mostAllocations = 440

// TestAPlainMessageAllocatesLittle counts objects, independently of the machine's load. Some messages dial or
// fill caches, so the least of several rounds counts.
func TestAPlainMessageAllocatesLittle(t *testing.T) {
	_, round := plainMessages(t)
	round() // connections, scripts and caches
	least := math.Inf(1)
	for range 3 {
		least = min(least, round())
	}
	t.Logf("%.0f allocations a message", least)
	require.LessOrEqual(t, least, float64(mostAllocations))
}

// restaurant is a repository with a tool, which restaurantModel calls, whatever it is told.
const restaurant = `{"tools":[{"name":"book-table","description":"To reserve a table",
	"schema":[{"parameter":"day","type":"string","description":"wished day","required":true}]}]}`

func restaurantModel(t *testing.T) (url string) {
	return testbed.Serve(t, "", http.HandlerFunc(func(out http.ResponseWriter, request *http.Request) {
		_, _ = io.Copy(io.Discard, request.Body) // a client that is gone needs no answer
		testbed.Completion{Calls: [][2]string{{"book-table", `{"day":"Friday"}`}}}.Write(out, false)
	})) + "/v1"
}

// plainMessages starts a replica, and returns a function that posts some hundred messages, each in a new
// session, and returns the objects allocated per message.
func plainMessages(t *testing.T) (*testbed.Replica, func() float64) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and starts Earshot")
	}
	replica := testbed.NewReplica(t, t.TempDir(), "earshot", testbed.Program(t), "REDIS_URL="+redistest.Run(t).URL(), "NATS_URL="+natstest.Run(t).URL(),
		"OPENAI_API_KEY=none", "OPENAI_MODEL=double", "OPENAI_BASE_URL="+restaurantModel(t))
	require.NoError(t, replica.Up(t.Context()))
	ask := func(method, path, body string) string {
		answer := testbed.Got(replica.Ask(t.Context(), method, path, body))(t)
		require.Less(t, answer.Status, 300, "%s", answer.Body)
		return string(answer.Body)
	}
	ask(http.MethodPut, "/v1/apps/shop", `{"name":"shop","settings":{"limits":null}}`)
	ask(http.MethodPut, "/v1/apps/shop/repositories/main", restaurant)

	const messages, connections = 250, 4
	sent, allocated := 0, func() float64 {
		_, after, _ := strings.Cut(ask(http.MethodGet, "/metrics", ""), "\ngo_memstats_mallocs_total ")
		text, _, _ := strings.Cut(after, "\n")
		return testbed.Got(strconv.ParseFloat(text, 64))(t)
	}
	begun, at := time.Now(), allocated()
	testbed.Wait(t.Context(), time.Second)
	alone := (allocated() - at) / time.Since(begun).Seconds() // a replica's own allocations per second
	return replica, func() float64 {
		begun, before := time.Now(), allocated()
		var posting errgroup.Group
		posting.SetLimit(connections)
		for range messages {
			session := sent
			sent++
			posting.Go(func() error {
				answer, err := replica.Ask(t.Context(), http.MethodPost, fmt.Sprintf("/v1/apps/shop/sessions/s%d/messages", session),
					`{"actor":"user","text":"Good morning, this is Ms Keller. Please reserve a table on Friday"}`)
				if err == nil && !strings.Contains(string(answer.Body), `"state":"published"`) {
					err = fmt.Errorf("%d: %s", answer.Status, answer.Body)
				}
				return err
			})
		}
		require.NoError(t, posting.Wait())
		return (allocated() - before - alone*time.Since(begun).Seconds()) / messages
	}
}
