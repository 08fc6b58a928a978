package main

import (
	"errors"
	"io"
	"log/slog"

	"github.com/spf13/cobra"
)

func newServe(env environment) *cobra.Command {
	c := &config{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the service on a Redis and a NATS server",
		Long: "Run one replica of the service. Several on the same Redis and NATS are one service,\n" +
			"and have one EARSHOT_SECRET_KEY: what is stored with one key opens with no other. The example makes one once.\n" +
			"Every flag with a variable in brackets may be given by that variable.",
		Example: "  test -s secret.key || (umask 077; head -c 32 /dev/urandom | base64 > secret.key); \\\n" +
			"  REDIS_URL=redis://127.0.0.1:6379 NATS_URL=nats://127.0.0.1:4222 \\\n" +
			"  EARSHOT_ADMIN_KEY=change-me EARSHOT_SECRET_KEY=$(cat secret.key) \\\n  earshot serve",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(c.required(), c.check()); err != nil {
				return err
			}
			log := newLogger(env.err, c)
			s, err := newService(*c, false, env, log)
			if err != nil {
				return err
			}
			log.Info("service.started", "version", version, "url", s.URL(), "matcher", s.matcher.Describe())
			return s.run(cmd.Context())
		},
	}
	c.register(cmd.Flags())
	return cmd
}

// newLogger writes one JSON line per outcome.
func newLogger(out io.Writer, c *config) *slog.Logger {
	level, _ := c.level() // was checked
	return slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: level}))
}
