package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"earshot/cmd/earshot/redisdb"
	"earshot/cmd/earshot/terminal"
	"earshot/emitter"
	"earshot/repositories/finding"
	"earshot/repositories/keyspace"
)

// examination is one look at the servers of a service.
type examination struct {
	env    environment
	config config
	json   bool
}

// looked is one check, as it is printed.
type looked struct {
	Server string `json:"server"`
	At     string `json:"at,omitempty"` // which of several
	Check  string `json:"check"`
	State  string `json:"state"`
	Found  string `json:"found,omitempty"`
	Change string `json:"change,omitempty"`
}

// States of a check.
const (
	stateOK   = "ok"
	stateWarn = "warn"
	stateFail = "fail"
)

func newDoctor(env environment) *cobra.Command {
	e := &examination{env: env}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check Redis and NATS, and say what to change",
		Long: "Look whether the Redis and the NATS that are named are as the service needs them:\n" +
			"permissions, durability, limits of time and of room, the stream, a cluster. It prints a line\n" +
			"for each check: ok, warn or fail, what was found, and what to change. It takes the settings of\n" +
			"serve, changes nothing, and needs no service. Exits with 1 where a check fails: serve would be\n" +
			"refused, or something would not work. With --strict-redis what may lose something fails too.",
		Example: "  REDIS_URL=redis://127.0.0.1:6379 NATS_URL=nats://127.0.0.1:4222 \\\n  earshot doctor",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return e.run(cmd.Context()) },
	}
	e.config.register(cmd.Flags())
	cmd.Flags().BoolVar(&e.json, "json", false, "print the checks as JSON")
	return cmd
}

func (e *examination) run(ctx context.Context) error {
	if e.config.RedisURL.Empty() && e.config.NATSURL.Empty() {
		return errors.New("REDIS_URL (--redis-url) and NATS_URL (--nats-url) are not set: they name what to look at, one of them or both")
	}
	if err := errors.Join(e.config.check(), e.config.checkFiles(e.env.now())); err != nil {
		return err
	}
	var checks []looked
	for _, one := range []struct {
		server string
		named  bool
		look   func(context.Context) ([]finding.Finding, error)
	}{{"redis", !e.config.RedisURL.Empty(), e.redis}, {"nats", !e.config.NATSURL.Empty(), e.nats}} {
		if !one.named {
			continue
		}
		found, err := one.look(ctx)
		if err != nil {
			return err
		}
		for _, f := range found {
			checks = append(checks, looked{Server: one.server, At: f.At, Check: f.Check, State: e.state(one.server, f), Found: f.Value, Change: f.Advice})
		}
	}
	e.print(checks)
	for _, one := range checks {
		if one.State == stateFail {
			return exitWith(1)
		}
	}
	return ctx.Err()
}

// state is how good something is in the words of doctor.
func (e *examination) state(server string, f finding.Finding) string {
	switch {
	case f.Grade == finding.Good:
		return stateOK
	case f.Grade == finding.Unusable, f.Grade == finding.Doubtful && server == "redis" && e.config.StrictRedis:
		return stateFail
	}
	return stateWarn
}

func (e *examination) redis(ctx context.Context) ([]finding.Finding, error) {
	redis.SetLogger(redisdb.Logger{Log: slog.New(slog.DiscardHandler)})
	client, err := redisdb.Open(e.config.RedisURL.Reveal(), e.config.RedisTLS)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return redisdb.Diagnose(ctx, &keyspace.DB{UniversalClient: client}, e.config.RedisReplicas.Count, e.env.now), nil
}

// natsPatience is how long a server of NATS has to answer each question: longer than a healthy
// one takes, the election of a leader included.
const natsPatience = 5 * time.Second

func (e *examination) nats(ctx context.Context) ([]finding.Finding, error) {
	return emitter.Diagnose(ctx, e.config.NATSURL.Reveal(), emitter.Options{
		MaxAge: e.config.StreamMaxAge, MaxBytes: int64(e.config.StreamMax), Replicas: e.config.NATSReplicas, Timeout: natsPatience, Now: e.env.now, Login: e.config.NATSLogin,
	}, bool(e.config.NATSIngress))
}

func (e *examination) print(checks []looked) {
	if e.json {
		text, _ := json.Marshal(map[string]any{"checks": checks}) // texts always marshal
		fmt.Fprintf(e.env.out, "%s\n", text)
		return
	}
	style := terminal.StyleOf(e.env.out, e.env.lookup)
	colours := map[string]string{stateOK: terminal.Green, stateWarn: terminal.Yellow, stateFail: terminal.Red}
	for _, one := range checks {
		text := cmp.Or(one.Change, one.Found)
		if one.Change != "" && one.Found != "" && len(one.Found) < 40 {
			text = one.Found + ": " + one.Change
		}
		if one.At != "" {
			text = one.At + ": " + text
		}
		fmt.Fprintf(e.env.out, "%s  %-5s  %-22s  %s\n", style.Paint(colours[one.State], fmt.Sprintf("%-4s", one.State)), one.Server, one.Check, terminal.OneLine(text))
	}
}
