package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDemoShowsAMessageSetOffATool(t *testing.T) {
	t.Parallel()
	r := launch(t, nil, "dev", "--demo", "--addr", "127.0.0.1:0")
	for _, shown := range []string{
		`says    Good morning, I want an appointment for 2 people at desk B`,
		`event   tool\.trigger\.demo\.s1\.request-for-appointment`,
		`event   app\.demo\.calendar\.request`,
		`call    POST /book/B as user "demo"`,
		`event   tool\.result\.demo\.s1\.request-for-appointment`,
		`answer`, `"booked": true`, `try     curl -s http://127\.0\.0\.1:\d+/v1/apps/demo/sessions/s1/messages`,
	} {
		r.log.await(t, regexp.MustCompile(shown))
	}
	require.NotContains(t, r.log.String(), "demo-password")
	require.NotContains(t, r.log.String(), `"level":"ERROR"`)
	require.Zero(t, r.stop())
}

// atDev returns a world on what dev embeds, with the address that it announces.
func atDev(t *testing.T, env map[string]string, flags ...string) *world {
	r := launch(t, env, append([]string{"dev", "--addr", "127.0.0.1:0"}, flags...)...)
	r.url = r.log.await(t, regexp.MustCompile(`Earshot listens on (http://127\.0\.0\.1:\d+)`))
	w := &world{t: t, env: map[string]string{}, replicas: []*replica{r}}
	w.until("it is ready", func() bool { return w.ask(r, "GET", "/readyz", "").Status == http.StatusOK })
	return w
}

func TestDevAsksForNoKeyAndMatchesWithoutAnLLM(t *testing.T) {
	t.Parallel()
	w := atDev(t, nil)
	w.put("/v1/apps/clinic", `{}`)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"opening-hours","description":"Tell when the clinic is open","examples":["When are you open?"]}]}`)
	require.Equal(t, "opening-hours", w.say("s1", "m1", "when are you open").Matches[0].Name)
	require.Empty(t, w.say("s1", "m2", "my cat is asleep").Matches)
	require.Contains(t, w.replicas[0].log.String(), "matching: no LLM is configured")
}

func TestDemoRunsOnServersThatAreNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	delete(w.env, "OPENAI_API_KEY")
	delete(w.env, "OPENAI_BASE_URL")
	r := launch(t, w.env, "dev", "--demo")
	r.log.await(t, regexp.MustCompile(`event   tool\.result\.demo\.s1\.request-for-appointment`))
	require.Zero(t, r.stop())
	require.Len(t, w.events("tool.trigger.demo.s1.request-for-appointment"), 1)
}

func TestDevRunsOnServersThatAreNamed(t *testing.T) {
	t.Parallel()
	servers := newWorld(t)
	w := atDev(t, map[string]string{"REDIS_URL": servers.redis.URL(), "NATS_URL": servers.nats.URL(), "OPENAI_BASE_URL": servers.llm.URL()}, "--no-keys")
	w.put("/v1/apps/clinic", `{}`)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book"}]}`)
	require.Len(t, w.say("s1", "m1", "call book {}").Matches, 1)
	require.Equal(t, 1, servers.llm.Count())
	require.Len(t, servers.events("tool.trigger.clinic.s1.book"), 1)
	require.NotContains(t, w.replicas[0].log.String(), servers.nats.URL(), "it may hold a password")
}

func TestDevAsksForTheKeyThatItIsGiven(t *testing.T) {
	t.Parallel()
	servers := newWorld(t)
	for name, env := range map[string]map[string]string{
		"its own store": {}, "the Redis of others": {"REDIS_URL": servers.redis.URL(), "NATS_URL": servers.nats.URL()},
	} {
		env["EARSHOT_ADMIN_KEY"] = "given"
		w := atDev(t, env)
		w.env["EARSHOT_ADMIN_KEY"] = "another"
		w.call(http.StatusUnauthorized, "GET", "/v1/apps", "")
		w.env["EARSHOT_ADMIN_KEY"] = "given"
		w.call(http.StatusOK, "GET", "/v1/apps", "")
		require.Contains(t, w.replicas[0].log.String(), "the EARSHOT_ADMIN_KEY is asked for", name)

		w = atDev(t, env, "--no-keys")
		w.env["EARSHOT_ADMIN_KEY"] = ""
		w.call(http.StatusOK, "GET", "/v1/apps", "")
	}
}

func TestDevServesNobodysRedisWithoutAKey(t *testing.T) {
	t.Parallel()
	servers := newWorld(t)
	code, _, fault := command(t, map[string]string{"REDIS_URL": servers.redis.URL(), "EARSHOT_ADDR": "127.0.0.1:0"}, "dev")
	require.Equal(t, 1, code)
	require.Contains(t, fault, "give EARSHOT_ADMIN_KEY (--admin-key), or --no-keys where that is meant")
}

func TestDemoAndFilesUseTheKeyThatIsAskedFor(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "tools.yaml"), []byte("kind: tool\nname: one\n"), 0o600))
	r := launch(t, map[string]string{"EARSHOT_ADMIN_KEY": "given"}, "dev", "--demo", "--addr", "127.0.0.1:0", "-f", folder, "--app", "clinic")
	r.log.await(t, regexp.MustCompile(`1 file loaded: created 2`))
	r.log.await(t, regexp.MustCompile(`try     curl .* -H "Authorization: Bearer \$EARSHOT_ADMIN_KEY"`))
	require.Zero(t, r.stop())
}

func TestDevLoadsItsFilesWhenRedisHasBeenChecked(t *testing.T) {
	t.Parallel()
	servers := newWorld(t)
	servers.redis.Stop() // so that the check takes as long as we like
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "tools.yaml"), []byte("kind: tool\nname: one\n"), 0o600))
	r := launch(t, map[string]string{"REDIS_URL": servers.redis.URL(), "NATS_URL": servers.nats.URL()},
		"dev", "--no-keys", "--addr", "127.0.0.1:0", "-f", folder, "--app", "clinic")
	r.log.await(t, regexp.MustCompile(`"msg":"redis.unavailable"`))
	servers.redis.Start()
	r.log.await(t, regexp.MustCompile(`1 file loaded: created 2`))
	require.Zero(t, r.stop())
}
