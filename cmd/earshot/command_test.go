package main

import (
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"earshot/deploy/testbed"
	"earshot/repositories/files"
	"earshot/repositories/version"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

func TestVersionSaysWhatItIs(t *testing.T) {
	got := command(t, nil, "version").good(t)
	require.Regexp(t, `^earshot \S+ (\(commit .*\) )?go1\.\d+\S* \w+/\w+\n$`, got.out)
	require.Empty(t, got.err)

	got = command(t, nil, "version", "--json").good(t)
	require.Equal(t, version.Current(), read[version.Build](t, got.out))
}

// TestHelpShowsNoValueOfTheEnvironment holds although defaults are shown.
func TestHelpShowsNoValueOfTheEnvironment(t *testing.T) {
	env := map[string]string{}
	newServe(environment{}).Flags().VisitAll(func(flag *pflag.Flag) {
		for _, name := range flag.Annotations[envAnnotation] {
			env[name] = "planted-" + name
		}
	})
	require.GreaterOrEqual(t, len(env), 12)
	for _, name := range []string{"serve", "dev"} {
		got := command(t, env, name, "--help").good(t)
		require.NotContains(t, got.out, "planted")
		for variable := range env {
			require.Contains(t, got.out, variable)
		}
	}
}

func TestUnknownCommandsAndFlagsAreFaults(t *testing.T) {
	for _, test := range []struct {
		args []string
		says string
	}{
		{[]string{"sreve"}, `unknown command "sreve" for "earshot"; did you mean "serve"? (see: earshot --help)`},
		{[]string{"aply", "-f", "x"}, `unknown command "aply" for "earshot"; did you mean "apply"?`},
		{[]string{"help", "sreve"}, `unknown command "sreve" for "earshot"; did you mean "serve"? (see: earshot --help)`},
		{[]string{"help", "triggers", "retyr"}, `unknown command "retyr" for "earshot triggers"; did you mean "retry"?`},
		{[]string{"import", "petstore.yaml"}, `unknown command "petstore.yaml" for "earshot import"; write earshot import openapi petstore.yaml (see: earshot import --help)`},
		{[]string{"import", "swagger", "petstore.yaml"}, `unknown command "swagger" for "earshot import"; the only command is earshot import openapi`},
		{[]string{"completion", "tcsh"}, `unknown command "tcsh" for "earshot completion"; did you mean "bash"? (see: earshot completion --help)`},
		{[]string{"say", "hello"}, "earshot chat MESSAGE posts one message"},
		{[]string{"plan"}, "earshot apply --dry-run"},
		{[]string{"dev", "--nats-port", "x"}, `--nats-port is "x"; it must be a whole number (see: earshot dev --help)`},
		{[]string{"dev", "--session-ttl", "5"}, `--session-ttl is "5"; it must be a duration, as 30s`},
		{[]string{"import", "opnapi", "petstore.yaml"}, `unknown command "opnapi" for "earshot import"; did you mean "openapi"?`},
		{[]string{"explain"}, `unknown command "explain" for "earshot"; earshot chat shows why with /why`},
		{[]string{"start"}, "earshot dev runs all in one process"},
		{[]string{"dev", "--port", "9000"}, "unknown flag: --port; use --addr, as in --addr 127.0.0.1:9000"},
		{[]string{"listen", "--app", "clinic"}, "name the app in the SUBJECT, as in 'tool.*.APP.>'"},
		{[]string{"--port", "9000"}, "unknown flag: --port (see: earshot --help)"},
		{[]string{"triggers", "retyr"}, `unknown command "retyr" for "earshot triggers"; did you mean "retry"?`},
		{[]string{"serve", "--rediss-url", "x"}, `unknown flag: --rediss-url; did you mean "--redis-url"? (see: earshot serve --help)`},
		{[]string{"dev", "--prot", "9000"}, "unknown flag: --prot (see: earshot dev --help)"},
		{[]string{"serve", "-x"}, "in -x (see: earshot serve --help)"},
		{[]string{"serve", "now"}, `"now" is one argument too many: earshot serve [flags] (see: earshot serve --help)`},
		{[]string{"version", "now"}, `"now" is one argument too many`},
		{[]string{"triggers", "confirm"}, "an argument is missing: earshot triggers confirm ID [flags] (see: earshot triggers confirm --help)"},
		{[]string{"--version"}, "unknown flag: --version; use earshot version"},
	} {
		got := failing(t, nil, test.args...)
		require.Contains(t, got.err, "earshot: ")
		require.Contains(t, got.err, test.says)
	}
}

func TestHelpOfACommand(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"help", "triggers"}, {"help", "triggers", "retry"}, {"help", "help"}} {
		require.Contains(t, command(t, nil, args...).good(t).out, "Usage:\n  "+strings.TrimSpace("earshot "+strings.Join(args[1:], " ")))
	}
}

// full is a device without space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestWhatCannotBePrintedIsAnError(t *testing.T) {
	inFolder(t)
	write(t, "tools.yaml", "kind: tool\nname: x\n")
	for _, line := range []string{"validate tools.yaml", "migrate tools.yaml", "schema", "version", "help", "serve --help"} {
		var said testbed.Lines
		require.Equal(t, 1, run(t.Context(), strings.Fields(line), around(nil, full{}, &said, "")), line)
		require.Equal(t, 1, strings.Count(said.String(), "no space left on device"), "%s: %s", line, said.String())
	}
}

func TestDevRefusesAnAddressThatOthersReach(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:8080", ":8080", "192.0.2.1:8080", "example.org:80", "[::]:8080", "8080"} {
		require.Contains(t, failing(t, nil, "dev", "--addr", addr).err, "127.0.0.1")
		failing(t, map[string]string{"EARSHOT_ADDR": addr}, "dev")
	}
}

func TestDevRefusesAPortOfNATSThatCannotBeUsed(t *testing.T) {
	taken := testbed.Got(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer taken.Close()
	_, port, err := net.SplitHostPort(taken.Addr().String())
	require.NoError(t, err)
	for given, why := range map[string]string{port: "cannot be used", "70000": "must be 1 to 65535", "-2": "must be 1 to 65535"} {
		require.Contains(t, failing(t, nil, "dev", "--nats-port="+given).err, why)
	}
	got := failing(t, map[string]string{"NATS_URL": "nats://127.0.0.1:4222"}, "dev", "--nats-port=4223")
	require.Contains(t, got.err, "leave one of them out")
}

func TestHelpNamesTheKindOfEveryValue(t *testing.T) {
	cmd, _, err := newRoot(environment{}).Find([]string{"serve"})
	require.NoError(t, err)
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if flag.Value.Type() == "bool" {
			return
		}
		kind, usage := pflag.UnquoteUsage(flag)
		require.NotEmpty(t, kind, flag.Name)
		require.NotContains(t, usage, "`", flag.Name)
	})
	for flag, want := range map[string]string{"redis-url": "URL", "nats-url": "URL", "admin-key": "KEY", "gemini-api-key": "KEY"} {
		kind, _ := pflag.UnquoteUsage(cmd.Flags().Lookup(flag))
		require.Equal(t, want, kind, flag)
	}
}

func TestAPauseEndsWithItsCommand(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	require.ErrorIs(t, pause(ended, time.Hour), context.Canceled)
}

// commands lists all commands except cobra's own.
func commands(cmd *cobra.Command) []*cobra.Command {
	found := []*cobra.Command{cmd}
	for _, child := range cmd.Commands() {
		found = append(found, commands(child)...)
	}
	return found
}

func TestEveryCommandHasAnExampleThatCanBeTyped(t *testing.T) {
	all := commands(newRoot(environment{}))
	require.Equal(t, len(all), strings.Count(helpText, "# earshot"), "help.txt is about commands that there are")
	require.Contains(t, helpText, "$schema="+files.SchemaFile)
	for _, cmd := range all {
		require.NotEmpty(t, cmd.Example, cmd.CommandPath())
		require.NotEmpty(t, cmd.Short, cmd.CommandPath())
		for line := range strings.Lines(strings.ReplaceAll(cmd.Example, "\\\n", "")) {
			_, typed, found := strings.Cut(line, "earshot ")
			require.True(t, found, line)
			typed, _, _ = strings.Cut(typed, " > ") // shell redirection
			named, rest, err := newRoot(environment{}).Find(words(typed))
			require.NoError(t, err, line)
			require.Contains(t, named.CommandPath(), cmd.CommandPath(), line) // or one below it
			require.NoError(t, named.ParseFlags(rest), line)
			require.NoError(t, named.ValidateArgs(named.Flags().Args()), line)
		}
	}
}

func cond(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}

// words splits a line as a shell does, sufficiently for examples.
func words(line string) []string {
	var found []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			found = append(found, part)
			continue
		}
		part, _, _ = strings.Cut(part, "$(")
		found = append(found, strings.Fields(part)...)
	}
	if strings.Contains(line, "$(") {
		found = append(found, "KEY")
	}
	return found
}

func TestTheShellCompletesStates(t *testing.T) {
	require.Contains(t, command(t, nil, "__complete", "triggers", "--state", "").out, "failed\n")
	require.Equal(t, 0, command(t, nil, "completion", "bash").code)
}

func TestAllFaultsOfSettingsComeAtOnce(t *testing.T) {
	wrong := map[string]string{
		"EARSHOT_SERMAS": "maybe", "EARSHOT_RETENTION": "x", "EARSHOT_EXPLAIN_SHARE": "some", "EARSHOT_NATS_INGRESS": "keys", "EARSHOT_RELAY_HEADERS": `"X`,
		"EARSHOT_HISTORY": "-1", "EARSHOT_ADMIN_KEY_FILE": "nowhere", "NATS_URL": "nats://user:planted@ho st",
	}
	everywhere := []string{
		`EARSHOT_SERMAS (--sermas) is "maybe"; it must be on or off`, `EARSHOT_RETENTION (--retention) is "x"; it must be a duration`, `EARSHOT_EXPLAIN_SHARE (--explain-share) is "some"; it must be a number`,
		`EARSHOT_RELAY_HEADERS (--relay-headers) is "\"X"; it must be a list with commas`, "EARSHOT_ADMIN_KEY_FILE: open nowhere", "EARSHOT_HISTORY) is -1", "NATS_URL (--nats-url)",
	}
	for command, also := range map[string][]string{"serve": {"REDIS_URL is not set", "EARSHOT_SECRET_KEY is not set"}, "dev": {}, "doctor": {}} {
		got := failing(t, wrong, command)
		for _, says := range append(also, everywhere...) {
			require.Equal(t, 1, strings.Count(got.err, says), "%s: %s: %s", command, says, got.err)
		}
		for _, not := range []string{"planted", "EARSHOT_ADMIN_KEY is not set", "requests need no key", "it must be a second or more", "NATS_URL is not set"} {
			require.NotContains(t, got.err, not, command)
		}
	}
}

// complete holds the required variables of serve, with servers that do not exist.
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
		{"--drain", "EARSHOT_DRAIN", "-1s", "must be 0 to 10m0s"},
		{"--retention", "EARSHOT_RETENTION", "999ms", "must be a second or more"},
		{"--dead-retention", "EARSHOT_DEAD_RETENTION", "0s", "must be a second or more"},
		{"--explain-retention", "EARSHOT_EXPLAIN_RETENTION", "0s", "must be a second or more"},
		{"--explain-share", "EARSHOT_EXPLAIN_SHARE", "1.01", "must be 0 to 1"},
		{"--explain-share", "EARSHOT_EXPLAIN_SHARE", "NaN", "must be 0 to 1"},
		{"--audit-entries", "EARSHOT_AUDIT_ENTRIES", "0", "must be 1 or more"},
		{"--audit-retention", "EARSHOT_AUDIT_RETENTION", "0s", "must be a second or more"},
		{"--metrics-apps", "EARSHOT_METRICS_APPS", "10001", "must be 0 to 10000"},
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
		{"--sermas", "EARSHOT_SERMAS", "perhaps", "sermas"},
		{"--sermas-token-ttl", "EARSHOT_SERMAS_TOKEN_TTL", "34s", "it must be 35s to 576h0m0s (24 days)"},
		{"--sermas-token-ttl", "EARSHOT_SERMAS_TOKEN_TTL", "577h", "it must be 35s to 576h0m0s (24 days)"},
		{"--stream-max-bytes", "EARSHOT_STREAM_MAX_BYTES", "12", "stream-max-bytes"},
		{"--stream-max-bytes", "EARSHOT_STREAM_MAX_BYTES", "much", "stream-max-bytes"},
		{"--trusted-proxies", "EARSHOT_TRUSTED_PROXIES", "x", `"x" is neither an address nor a CIDR`},
		{"--relay-headers", "EARSHOT_RELAY_HEADERS", ",x", `--relay-headers (EARSHOT_RELAY_HEADERS): ""`},
		{"--log-format", "EARSHOT_LOG_FORMAT", "xml", "it must be json or text"},
		{"--max-turns", "EARSHOT_MAX_TURNS", "1", "it must be 2 or more"},
	} {
		t.Run(test.flag+" "+test.value, func(t *testing.T) {
			got := failing(t, complete, "serve", test.flag, test.value)
			require.Contains(t, got.err, test.says)
			if test.flag != "--llm-timeout" && test.flag != "--history" && test.flag != "--stream-max-bytes" { // pflag's own errors contain these values
				require.NotContains(t, got.err, "planted")
			}
			if test.variable == "" {
				return
			}
			env := maps.Clone(complete)
			env[test.variable] = test.value
			got = failing(t, env, "serve")
			require.Contains(t, got.err, strings.TrimPrefix(test.says, "--"))
			require.NotContains(t, got.err, "planted")
		})
	}
}

func TestFlagWinsOverItsVariable(t *testing.T) {
	env := maps.Clone(complete)
	env["EARSHOT_SESSION_TTL"], env["EARSHOT_LLM_TIMEOUT"] = "1ms", ""
	got := failing(t, env, "serve", "--session-ttl", "24h", "--history", "-1")
	require.Contains(t, got.err, "--history")
	require.NotContains(t, got.err, "--session-ttl")
	require.NotContains(t, got.err, "--llm-timeout", "an empty variable is one that is not set")
}

func TestAddressThatIsTakenIsAFaultAtStart(t *testing.T) {
	other := newSink(t)
	got := failing(t, complete, "serve", "--addr", other.Listener.Addr().String())
	require.Contains(t, got.err, other.Listener.Addr().String())
	require.Contains(t, got.err, "--addr or EARSHOT_ADDR")
}

func TestHelpFitsTheScreen(t *testing.T) {
	require.Regexp(t, `(?s)Flags:\n      --all .*Global Flags:\n      --app ID `, command(t, nil, "triggers", "retry", "--help").out)
	for _, cmd := range commands(newRoot(environment{lookup: func(string) (string, bool) { return "", false }})) {
		path := strings.Fields(cmd.CommandPath())[1:]
		shown := command(t, map[string]string{"COLUMNS": "80"}, append(path, "--help")...).out
		require.Contains(t, shown, "\nExamples:\n"+cmd.Example)
		shown, _, _ = strings.Cut(strings.ReplaceAll(shown, cmd.Example, ""), "Global Flags:")
		for line := range strings.Lines(shown) {
			require.LessOrEqual(t, len(strings.TrimRight(line, "\n")), 80, line)
		}
	}
}

// TestCredentialsComeFromFilesToo covers containers and systemd, which pass one file per credential.
func TestCredentialsComeFromFilesToo(t *testing.T) {
	folder := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	w := atDev(t, map[string]string{"EARSHOT_ADMIN_KEY_FILE": file("admin", "planted-admin\n")})
	asked := func(env map[string]string) commandResult {
		env["EARSHOT_URL"] = w.env["EARSHOT_URL"]
		return command(t, env, "triggers", "--app", "none")
	}
	require.Contains(t, asked(map[string]string{}).err, "a key is needed")
	require.NotContains(t, asked(map[string]string{"EARSHOT_KEY_FILE": file("key", "planted-admin")}).err, "key", "it was taken")

	faulty := command(t, map[string]string{
		"EARSHOT_ADMIN_KEY": "planted", "EARSHOT_ADMIN_KEY_FILE": file("both", "planted"),
		"REDIS_URL_FILE": filepath.Join(folder, "away"), "NATS_URL_FILE": file("empty", "\n"),
	}, "serve")
	require.Equal(t, 1, faulty.code)
	for _, fault := range []string{"EARSHOT_ADMIN_KEY and EARSHOT_ADMIN_KEY_FILE are both set", "REDIS_URL_FILE: open", "NATS_URL_FILE: " + filepath.Join(folder, "empty") + " has 1 bytes"} {
		require.Contains(t, faulty.err, fault)
	}
	require.NotContains(t, faulty.err, "planted")

	endless := failing(t, map[string]string{"EARSHOT_ADMIN_KEY_FILE": "/dev/zero", "EARSHOT_SECRET_KEY_FILE": file("long", strings.Repeat("k", 64<<10+1))}, "serve")
	require.Contains(t, endless.err, "EARSHOT_ADMIN_KEY_FILE: /dev/zero is neither a regular file nor a pipe")
	require.Contains(t, endless.err, "long has more than 65536 bytes")

	fifo := filepath.Join(folder, "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	go func() { _ = os.WriteFile(fifo, []byte("planted-admin\n"), 0o600) }()
	require.NotContains(t, asked(map[string]string{"EARSHOT_KEY_FILE": fifo}).err, "key", "another program may hand it on")
}
