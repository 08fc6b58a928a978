package main

import (
	"bytes"
	"encoding/base64"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/secret"
)

func secretKeyOf(letter string) string {
	return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte(letter), 32))
}

const marksKey = "earshot:secretkey"

// withSecret is an app that holds a credential.
const withSecret = `{"modules":[{"moduleId":"calendar","secret":"s","tokenUrl":"http://127.0.0.1:1/token"}]}`

func TestRedisOfAnotherSecretKeyIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env["EARSHOT_SECRET_KEY"] = secretKeyOf("a")
	w.serve()
	w.put("/v1/apps/clinic", withSecret)
	require.Zero(t, w.replicas[0].stop())
	for _, step := range []string{"by its mark", "without one, by what it holds"} {
		w.env["EARSHOT_SECRET_KEY"] = secretKeyOf("b")
		fault := w.refused()
		require.Contains(t, fault, "was sealed with another secret key", step)
		require.Contains(t, fault, "EARSHOT_SECRET_KEY (--secret-key)")
		require.Contains(t, fault, "EARSHOT_SECRET_KEY_OLD (--secret-key-old)")
		require.NotContains(t, fault, secretKeyOf("a"))
		require.NoError(t, w.client().Del(t.Context(), marksKey).Err(), "as an older version has left it")
	}
	require.Zero(t, w.client().Exists(t.Context(), marksKey).Val(), "who is refused leaves no mark")

	w.env["EARSHOT_SECRET_KEY"] = secretKeyOf("a")
	require.Zero(t, w.serve().stop())
	require.EqualValues(t, 1, w.client().Exists(t.Context(), marksKey).Val())
}

func TestRedisWhoseToolsAloneHoldCredentialsIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env["EARSHOT_SECRET_KEY"] = secretKeyOf("a")
	w.serve()
	w.put("/v1/apps/clinic", `{}`)
	w.put("/v1/apps/clinic/repositories/r", `{"tools":[{"name":"t","url":"http://127.0.0.1:1","request":{"auth":"basic","basic":{"username":"u","password":"p"}}}]}`)
	require.Zero(t, w.replicas[0].stop())
	require.NoError(t, w.client().Del(t.Context(), marksKey).Err())
	w.env["EARSHOT_SECRET_KEY"] = secretKeyOf("b")
	require.Contains(t, w.refused(), "was sealed with another secret key")
}

func TestTheSecretKeyIsChangedReplicaByReplica(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env["EARSHOT_SECRET_KEY"] = secretKeyOf("a")
	old := w.serve()
	w.put("/v1/apps/clinic", withSecret)
	w.env["EARSHOT_SECRET_KEY"], w.env["EARSHOT_SECRET_KEY_OLD"] = secretKeyOf("b"), secretKeyOf("a")
	w.serve()
	require.Equal(t, http.StatusOK, w.ask(old, "GET", "/readyz", "").Status, "it is still to be replaced")
	require.Zero(t, old.stop())

	w.env["EARSHOT_SECRET_KEY"], w.env["EARSHOT_SECRET_KEY_OLD"] = secretKeyOf("a"), ""
	require.Contains(t, w.refused(), "was sealed with another secret key", "nobody starts with the old one any more")
	w.env["EARSHOT_SECRET_KEY"] = secretKeyOf("b")
	require.Zero(t, w.serve().stop())
}

func TestRedisThatBecomesAnothersIsNotReady(t *testing.T) {
	t.Parallel()
	w, other := serving(t, 1), newWorld(t)
	other.env["EARSHOT_SECRET_KEY"] = secretKeyOf("b")
	require.Zero(t, other.serve().stop())
	theirs := other.client().HGetAll(t.Context(), marksKey).Val()
	require.NoError(t, w.client().HSet(t.Context(), marksKey, theirs).Err(), "as a restored snapshot does")
	require.Contains(t, w.call(http.StatusServiceUnavailable, "GET", "/readyz", "").Body, "redis holds what another secret key has sealed")
}

func TestDevWithAMadeUpKeySaysWhatItNeedsTheSecondTime(t *testing.T) {
	t.Parallel()
	servers := newWorld(t)
	env := map[string]string{"REDIS_URL": servers.redis.URL(), "NATS_URL": servers.nats.URL()}
	w := atDev(t, env, "--no-keys")
	w.put("/v1/apps/clinic", `{}`)
	require.Zero(t, w.replicas[0].stop())
	w = atDev(t, env, "--no-keys")
	w.put("/v1/apps/clinic", withSecret)
	require.Zero(t, w.replicas[0].stop())

	again := launch(t, env, "dev", "--no-keys", "--addr", "127.0.0.1:0")
	require.Equal(t, 1, again.wait())
	require.Contains(t, again.log.String(), "dev makes up a key at every start where none is given: start with that key as EARSHOT_SECRET_KEY")

	given := maps.Clone(servers.env)
	given["EARSHOT_SECRET_KEY"] = secretKeyOf("a")
	require.NoError(t, servers.client().FlushAll(t.Context()).Err())
	for range 2 {
		w = atDev(t, given)
		w.env["EARSHOT_ADMIN_KEY"] = testAdminKey
		w.put("/v1/apps/clinic", withSecret)
		require.Zero(t, w.replicas[0].stop())
	}
}

func TestTheProductionCommandMakesOneKeyForAllStarts(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, production, _ := strings.Cut(string(readme), "### 9. In production")
	_, production, _ = strings.Cut(production, "```sh\n")
	production, _, _ = strings.Cut(production, "```")
	for _, typed := range []string{newServe(environment{}).Example, production} {
		shown := strings.NewReplacer("go run ./cmd/earshot serve", `printf %s "$EARSHOT_SECRET_KEY"`, "earshot serve", `printf %s "$EARSHOT_SECRET_KEY"`).Replace(typed)
		require.NotEqual(t, typed, shown)
		shown = strings.Replace(shown, `\`+"\n  printf", "; printf", 1) // the variables of a command are not its own arguments'
		shown = strings.Replace(shown, `\`+"\nprintf", "; printf", 1)
		folder := t.TempDir()
		var keys []string
		for range 2 {
			command := exec.Command("sh", "-ec", shown)
			command.Dir = folder
			key, err := command.Output()
			require.NoError(t, err, shown)
			keys = append(keys, string(key))
		}
		require.Equal(t, keys[0], keys[1], "a key for every start")
		_, err := secretKey("it", secret.New(keys[0]))
		require.NoError(t, err)
	}
}

func TestAReplicaStartsOnARedisThatIsFull(t *testing.T) {
	t.Parallel()
	w := serving(t, 1)
	require.Zero(t, w.replicas[0].stop())
	require.NoError(t, w.client().Del(t.Context(), marksKey).Err())
	w.fill()
	r := launch(t, w.env, "serve")
	r.url = r.log.await(t, startedAt)
	w.until("it serves what it can", func() bool { return w.ask(r, "GET", "/v1/apps/clinic", "").Status == http.StatusOK })
	w.drain()
	require.Zero(t, r.stop())
}
