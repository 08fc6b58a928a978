package main

import (
	"encoding/base64"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// complete are the variables that serve cannot do without, of servers that are not there.
var complete = map[string]string{
	"REDIS_URL": "redis://user:planted-redis@127.0.0.1:1", "NATS_URL": "nats://user:planted-nats@127.0.0.1:1",
	"EARSHOT_ADMIN_KEY": "planted-admin", "EARSHOT_SECRET_KEY": base64.StdEncoding.EncodeToString([]byte("planted-secret-key-of-32-bytes.!")),
	"OPENAI_API_KEY": "planted-llm", "EARSHOT_ADDR": "127.0.0.1:0",
}

func TestSettingsThatCannotBeUsedAreNamed(t *testing.T) {
	for _, test := range []struct{ flag, variable, value, says string }{
		{"--llm-timeout", "EARSHOT_LLM_TIMEOUT", "0s", "must be more than 0"},
		{"--llm-timeout", "EARSHOT_LLM_TIMEOUT", "soon", "llm-timeout"},
		{"--history", "EARSHOT_HISTORY", "-1", "must be 0 or more"},
		{"--history", "EARSHOT_HISTORY", "many", "history"},
		{"--session-ttl", "EARSHOT_SESSION_TTL", "999ms", "must be a second or more"},
		{"--session-ttl", "EARSHOT_SESSION_TTL", "1d", "session-ttl"},
		{"--retention", "EARSHOT_RETENTION", "999ms", "must be a second or more"},
		{"--dead-retention", "EARSHOT_DEAD_RETENTION", "0s", "must be a second or more"},
		{"--session-messages", "EARSHOT_SESSION_MESSAGES", "0", "must be 1 or more"},
		{"--private-urls", "EARSHOT_PRIVATE_URLS", "10.0.0.0", "--private-urls"},
		{"--private-urls", "EARSHOT_PRIVATE_URLS", "perhaps", "--private-urls"},
		{"--secret-key", "EARSHOT_SECRET_KEY", "planted-too-short", "32 bytes in base64"},
		{"--secret-key", "EARSHOT_SECRET_KEY", "cGxhbnRlZA==", "32 bytes in base64"},
		{"--secret-key-old", "EARSHOT_SECRET_KEY_OLD", "cGxhbnRlZA==", "32 bytes in base64"},
		{"--redis-url", "REDIS_URL", "planted-redis@host", "REDIS_URL"},
		{"--redis-url", "REDIS_URL", "http://:planted-redis@host", "REDIS_URL"},
		{"--redis-url", "REDIS_URL", "redis://:planted-redis@host:port", "REDIS_URL"},
		{"--nats-url", "NATS_URL", "nats://user:planted-nats@ho st:4222", "NATS_URL"},
		{"--nats-url", "NATS_URL", "https://user:planted-nats@host:4222", "its scheme must be nats://"},
		{"--nats-url", "NATS_URL", "nats://host:4222, redis://user:planted-nats@host", "NATS URL 2 cannot be read: its scheme"},
		{"--addr", "EARSHOT_ADDR", "nowhere", "EARSHOT_ADDR"},
		{"--log-level", "", "loud", "debug, info, warn or error"},
		{"--nats-replicas", "", "-1", "eplicas"},
		{"--stream-max-age", "EARSHOT_STREAM_MAX_AGE", "999ms", "must be a second or more"},
		{"--stream-max-bytes", "EARSHOT_STREAM_MAX_BYTES", "12", "stream-max-bytes"},
		{"--stream-max-bytes", "EARSHOT_STREAM_MAX_BYTES", "much", "stream-max-bytes"},
	} {
		t.Run(test.flag+" "+test.value, func(t *testing.T) {
			code, _, fault := command(t, complete, "serve", test.flag, test.value)
			require.Equal(t, 1, code)
			require.Contains(t, fault, test.says)
			if test.flag != "--llm-timeout" && test.flag != "--history" && test.flag != "--stream-max-bytes" { // pflag's own words hold the value of these
				require.NotContains(t, fault, "planted")
			}
			if test.variable == "" {
				return
			}
			env := maps.Clone(complete)
			env[test.variable] = test.value
			code, _, fault = command(t, env, "serve")
			require.Equal(t, 1, code)
			require.Contains(t, fault, strings.TrimPrefix(test.says, "--"))
			require.NotContains(t, fault, "planted")
		})
	}
}

func TestAllSettingsThatCannotBeUsedAreNamedAtOnce(t *testing.T) {
	code, _, fault := command(t, map[string]string{"EARSHOT_LLM_TIMEOUT": "soon", "EARSHOT_HISTORY": "many"}, "serve")
	require.Equal(t, 1, code)
	require.Contains(t, fault, "EARSHOT_LLM_TIMEOUT")
	require.Contains(t, fault, "EARSHOT_HISTORY")
	code, _, fault = command(t, nil, "serve", "--llm-timeout", "-1s", "--history", "-1", "--session-ttl", "1ms", "--log-level", "loud", "--private-urls", "x")
	require.Equal(t, 1, code)
	for _, name := range []string{"--llm-timeout", "--history", "--session-ttl", "--log-level", "--private-urls", "REDIS_URL"} {
		require.Contains(t, fault, name)
	}
}

func TestFlagWinsOverItsVariable(t *testing.T) {
	env := maps.Clone(complete)
	env["EARSHOT_SESSION_TTL"], env["EARSHOT_LLM_TIMEOUT"] = "1ms", ""
	code, _, fault := command(t, env, "serve", "--session-ttl", "24h", "--history", "-1")
	require.Equal(t, 1, code)
	require.Contains(t, fault, "--history")
	require.NotContains(t, fault, "--session-ttl")
	require.NotContains(t, fault, "--llm-timeout", "an empty variable is one that is not set")
}

func TestAddressThatIsTakenIsAFaultAtStart(t *testing.T) {
	other := newSink(t)
	code, _, fault := command(t, complete, "serve", "--addr", other.Listener.Addr().String())
	require.Equal(t, 1, code)
	require.Contains(t, fault, other.Listener.Addr().String())
	require.Contains(t, fault, "--addr or EARSHOT_ADDR")
}
