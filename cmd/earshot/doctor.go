package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"earshot/cmd/earshot/redisdb"
	"earshot/cmd/earshot/terminal"
	"earshot/emitter"
	"earshot/repositories/finding"
	"earshot/repositories/keyspace"
)

type examination struct {
	env    environment
	config config
	json   bool
}

type looked struct {
	Server string `json:"server"`
	At     string `json:"at,omitempty"` // which of several servers
	Check  string `json:"check"`
	State  string `json:"state"`
	Found  string `json:"found,omitempty"`
	Change string `json:"change,omitempty"`
}

const (
	stateOK   = "ok"
	stateWarn = "warn"
	stateFail = "fail"
)

// natsPatience bounds each answer of NATS: longer than a leader election takes.
const natsPatience = 5 * time.Second

func newDoctor(env environment) *cobra.Command {
	e := &examination{env: env}
	cmd := &cobra.Command{
		Use:  "doctor",
		Args: arguments(0, 0),
		PreRunE: func(*cobra.Command, []string) error {
			var missing error
			c := &e.config
			if c.lacks(c.RedisURL, "redis-url") && c.lacks(c.NATSURL, "nats-url") {
				missing = errors.New("REDIS_URL (--redis-url) and NATS_URL (--nats-url) are not set: set one or both; doctor checks the servers that they name")
			}
			return errors.Join(missing, c.check(), c.checkFiles(e.env.now()))
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, c := cmd.Context(), &e.config
			var checks []looked
			if !c.RedisURL.Empty() {
				redis.SetLogger(redisdb.Logger{Log: slog.New(slog.DiscardHandler)})
				client, err := redisdb.Open(c.RedisURL.Reveal(), c.RedisTLS)
				if err != nil {
					return err
				}
				defer client.Close()
				found := redisdb.Diagnose(ctx, &keyspace.DB{UniversalClient: client}, c.RedisReplicas.Count, e.env.now)
				checks = append(checks, checksOf("redis", found, c.StrictRedis)...)
			}
			if !c.NATSURL.Empty() {
				found, err := emitter.Diagnose(ctx, c.NATSURL.Reveal(), emitter.Options{
					MaxAge: c.StreamMaxAge, MaxBytes: int64(c.StreamMax), Replicas: c.NATSReplicas, Timeout: natsPatience, Now: e.env.now, Login: c.NATSLogin,
				}, c.NATSIngress.on())
				if err != nil {
					return err
				}
				checks = append(checks, checksOf("nats", found, false)...)
			}
			e.print(checks)
			if slices.ContainsFunc(checks, func(one looked) bool { return one.State == stateFail }) {
				return exitWith(1)
			}
			return ctx.Err()
		},
	}
	e.config.register(cmd.Flags())
	cmd.Flags().BoolVar(&e.json, "json", false, "print the checks as JSON")
	return cmd
}

func checksOf(server string, found []finding.Finding, strict bool) (checks []looked) {
	for _, f := range found {
		state := stateWarn
		switch {
		case f.Grade == finding.Good:
			state = stateOK
		case f.Grade == finding.Unusable, f.Grade == finding.Doubtful && strict:
			state = stateFail
		}
		checks = append(checks, looked{Server: server, At: f.At, Check: f.Check, State: state, Found: f.Value, Change: f.Advice})
	}
	return checks
}

func (e *examination) print(checks []looked) {
	if e.json {
		text, _ := json.Marshal(map[string]any{"checks": checks}) // strings always encode
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
