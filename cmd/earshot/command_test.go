package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// command runs a command line that ends by itself, and returns its exit code and what
// it wrote to its two outputs.
func command(t *testing.T, env map[string]string, args ...string) (code int, out, fault string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var stdout, stderr output
	code = run(ctx, args, environment{out: &stdout, err: &stderr, lookup: func(name string) (string, bool) {
		value, set := env[name]
		return value, set
	}})
	require.NoError(t, ctx.Err(), "it did not end by itself")
	return code, stdout.String(), stderr.String()
}

func TestVersionSaysWhatItIs(t *testing.T) {
	code, out, fault := command(t, nil, "version")
	require.Zero(t, code)
	require.Regexp(t, `^earshot \S+ go1\.\d+\S* \w+/\w+\n$`, out)
	require.Empty(t, fault)
}

func TestEveryCommandHasHelpWithAnExample(t *testing.T) {
	root := newRoot(environment{})
	root.InitDefaultHelpCmd()
	for _, cmd := range append(root.Commands(), root) {
		if cmd.Name() == "help" {
			continue // cobra's own
		}
		path := strings.Fields(cmd.CommandPath())[1:]
		code, out, fault := command(t, nil, append(path, "--help")...)
		require.Zero(t, code, fault)
		require.Regexp(t, `(?s)\nExamples:\n.*  earshot.*\nFlags:\n`, out, cmd.CommandPath())
		require.Contains(t, out, "earshot "+strings.Join(path, " "))
		require.NotEmpty(t, cmd.Short)
	}
}

// TestHelpShowsNoValueOfTheEnvironment holds although defaults are shown.
func TestHelpShowsNoValueOfTheEnvironment(t *testing.T) {
	env := map[string]string{}
	for _, name := range variables(t) {
		env[name] = "planted-" + name
	}
	require.GreaterOrEqual(t, len(env), 12)
	for _, name := range []string{"serve", "dev"} {
		code, out, fault := command(t, env, name, "--help")
		require.Zero(t, code, fault)
		require.NotContains(t, out, "planted")
		for variable := range env {
			require.Contains(t, out, variable)
		}
	}
}

// variables lists the environment variables of serve.
func variables(t *testing.T) (names []string) {
	cmd, _, err := newRoot(environment{}).Find([]string{"serve"})
	require.NoError(t, err)
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Annotations[variable]...) })
	return names
}

func TestUnknownCommandsAndFlagsAreFaults(t *testing.T) {
	for _, test := range []struct {
		args []string
		says string
	}{
		{[]string{"sreve"}, `unknown command "sreve"`},
		{[]string{"serve", "--rediss-url", "x"}, "unknown flag: --rediss-url"},
		{[]string{"serve", "now"}, `"now"`},
		{[]string{"version", "now"}, `"now"`},
	} {
		code, _, fault := command(t, nil, test.args...)
		require.Equal(t, 1, code)
		require.Contains(t, fault, "earshot: ")
		require.Contains(t, fault, test.says)
	}
}

func TestServeWithoutItsVariablesNamesThemAllAndPointsToDev(t *testing.T) {
	code, _, fault := command(t, nil, "serve")
	require.Equal(t, 1, code)
	for _, name := range []string{"REDIS_URL", "NATS_URL", "EARSHOT_ADMIN_KEY", "EARSHOT_SECRET_KEY", "earshot dev"} {
		require.Contains(t, fault, name)
	}
	code, _, fault = command(t, map[string]string{"REDIS_URL": "redis://127.0.0.1:1", "EARSHOT_ADMIN_KEY": "k"}, "serve", "--nats-url", "nats://127.0.0.1:1")
	require.Equal(t, 1, code)
	require.Contains(t, fault, "EARSHOT_SECRET_KEY")
	for _, given := range []string{"REDIS_URL", "NATS_URL", "EARSHOT_ADMIN_KEY"} {
		require.NotContains(t, fault, given+" is not set")
	}
}

func TestDevRefusesAnAddressThatOthersReach(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:8080", ":8080", "192.0.2.1:8080", "example.org:80", "[::]:8080", "8080"} {
		code, _, fault := command(t, nil, "dev", "--addr", addr)
		require.Equal(t, 1, code, addr)
		require.Contains(t, fault, "127.0.0.1")
		code, _, _ = command(t, map[string]string{"EARSHOT_ADDR": addr}, "dev")
		require.Equal(t, 1, code, addr)
	}
}

func TestDefaultsOfTheProgramAreThoseOfItsUsers(t *testing.T) {
	cmd, _, err := newRoot(environment{}).Find([]string{"serve"})
	require.NoError(t, err)
	for flag, want := range map[string]string{
		"addr": "127.0.0.1:8080", "private-urls": "deny", "llm-timeout": "20s", "history": "40", "session-ttl": "24h0m0s",
	} {
		require.Equal(t, want, cmd.Flags().Lookup(flag).DefValue, flag)
	}
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
