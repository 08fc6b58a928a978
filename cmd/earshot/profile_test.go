package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
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
// most in new sessions and some in one with a history, direct triggers, and reads.
func TestProfileForTheCompiler(t *testing.T) {
	file := os.Getenv(profiled)
	if file == "" {
		t.Skip(profiled + " names no file to write")
	}
	model := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, request *http.Request) {
		_, _ = io.Copy(io.Discard, request.Body) // a client that is gone needs no answer
		testbed.Completion{Calls: [][2]string{{"book-table", `{"day":"Friday"}`}}}.Write(out, false)
	}))
	t.Cleanup(model.Close)
	w := &world{t: t, redis: redistest.Run(t), env: map[string]string{
		"EARSHOT_ADDR": "127.0.0.1:0", "NATS_URL": natstest.RunProcess(t, t.TempDir(), false).URL, "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": model.URL + "/v1",
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
	require.NoError(t, ask(http.MethodPut, "", `{"name":"shop","settings":{"limits":null}}`))
	require.NoError(t, ask(http.MethodPut, "/repositories/main",
		`{"tools":[{"name":"book-table","description":"To reserve a table","schema":[{"parameter":"day","type":"string","description":"wished day","required":true}]}]}`))

	out, err := os.Create(file)
	require.NoError(t, err)
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
