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
	"github.com/spf13/pflag"

	"earshot/cmd/earshot/redisdb"
	"earshot/cmd/earshot/terminal"
	"earshot/repositories/certfiles"
	"earshot/repositories/keyspace"
	"earshot/repositories/secret"
	"earshot/repositories/store"
	"earshot/trigger/verify"
)

// verification is a look at the ledger of a Redis.
type verification struct {
	env      environment
	redisURL secret.Secret // may hold a password
	redisTLS certfiles.Files
	keep     store.Retention
	mend     bool
	mayOwe   bool
	json     bool
}

func newVerify(env environment) *cobra.Command {
	v := &verification{env: env}
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Look whether the ledger in Redis is in order, and mend it",
		Long: "Look through all that the service keeps in Redis, while it runs or not: what is owed, what\n" +
			"is orphaned (nobody would ever come to it), and what is impossible. Exits with 1 where\n" +
			"something is, and with 0 where nothing is. A service at work always owes something, which\n" +
			"is no fault: --allow-owed exits with 1 for what is orphaned or impossible alone.\n" +
			"Without --mend nothing is written. With it what can be mended is, so that nothing is lost\n" +
			"and nothing fires twice; the exit code is 1 then where something is left. Only Redis is\n" +
			"needed, by REDIS_URL, and the retentions that the service has.",
		Example: "  REDIS_URL=redis://127.0.0.1:6379 earshot verify\n  earshot verify --redis-url redis://127.0.0.1:6379 --mend --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return v.run(cmd.Context()) },
	}
	v.register(cmd.Flags())
	return cmd
}

func (v *verification) register(flags *pflag.FlagSet) {
	set := settings{flags}
	set.credential(&v.redisURL, "redis-url", "REDIS_URL", "`URL` of the Redis of the service, as serve reads it")
	registerFiles(set, "Redis", &v.redisTLS)
	set.duration(&v.keep.Done, "retention", "EARSHOT_RETENTION", store.DefaultRetention, "how long the service keeps records that have delivered everything")
	set.duration(&v.keep.Dead, "dead-retention", "EARSHOT_DEAD_RETENTION", store.DefaultDeadRetention, "how long it keeps those that have failed")
	flags.BoolVar(&v.mend, "mend", false, "mend what can be mended")
	flags.BoolVar(&v.mayOwe, "allow-owed", false, "exit with 0 although something is owed, as it is while the service works")
	flags.BoolVar(&v.json, "json", false, "print the report as JSON")
}

// verifyPause is how long what looks like a fault has to be one: a change that takes several
// scripts takes less.
const verifyPause = 2 * time.Second

func (v *verification) run(ctx context.Context) error {
	if err := v.check(); err != nil {
		return err
	}
	redis.SetLogger(redisdb.Logger{Log: slog.New(slog.DiscardHandler)})
	client, err := redisdb.Open(v.redisURL.Reveal(), v.redisTLS)
	if err != nil {
		return err
	}
	defer client.Close()
	db := &keyspace.DB{UniversalClient: client}
	if err := redisdb.Look(ctx, db); err != nil {
		return fmt.Errorf("REDIS_URL (--redis-url): %w", err)
	}
	report, err := verify.Ledger(ctx, verify.Options{
		DB: db, Mend: v.mend, Done: v.keep.Done, Dead: v.keep.Dead,
		Pause: func(ctx context.Context) error { return v.env.pause(ctx, verifyPause) },
	})
	if err != nil {
		v.print(report)
		return fmt.Errorf("it was not looked through: %w", err)
	}
	v.print(report)
	if owes := report.Owed.Messages+report.Owed.Calls+report.Owed.Events > 0; !report.Clean() || owes && !v.mayOwe {
		return exitWith(1)
	}
	return nil
}

func (v *verification) check() error {
	var faults []error
	if v.redisURL.Empty() {
		faults = append(faults, errors.New("REDIS_URL (--redis-url) is not set: it names the Redis of the service, as in redis://127.0.0.1:6379; what dev keeps without one is gone with it"))
	}
	if err := redisdb.CheckFiles(v.redisURL.Reveal(), v.redisTLS, v.env.now()); !v.redisURL.Empty() && err != nil {
		faults = append(faults, err)
	}
	for name, keep := range map[string]time.Duration{"--retention (EARSHOT_RETENTION)": v.keep.Done, "--dead-retention (EARSHOT_DEAD_RETENTION)": v.keep.Dead} {
		if keep < time.Second {
			faults = append(faults, fmt.Errorf("%s is %s; it must be a second or more, as the service has it", name, keep))
		}
	}
	return errors.Join(faults...)
}

func (v *verification) print(report *verify.Report) {
	if v.json {
		text, _ := json.Marshal(report) // texts and numbers always marshal
		fmt.Fprintf(v.env.out, "%s\n", text)
		return
	}
	owed := report.Owed
	fmt.Fprintf(v.env.out, "looked at   %s: %s, %s, %s\n", plural(report.Keys, "key"), plural(report.Apps, "app"), plural(report.Sessions, "session"), plural(report.Triggers, "trigger"))
	fmt.Fprintf(v.env.out, "owed        %s, %s, %s; %d held back, %d failed%s\n", plural(int(owed.Messages), "message"), plural(int(owed.Calls), "call"),
		plural(int(owed.Events), "event"), owed.Held, owed.Failed, sinceWhen(owed.Oldest))
	fmt.Fprintf(v.env.out, "orphaned    %d\nimpossible  %d\n", report.Orphaned, report.Impossible)
	if v.mend {
		fmt.Fprintf(v.env.out, "mended      %d\n", report.Mended)
	}
	for _, note := range report.Notes {
		fmt.Fprintf(v.env.out, "note: %s\n", note)
	}
	if report.Keys == 0 {
		fmt.Fprintln(v.env.out, "note: nothing of Earshot is in this Redis; is it the right one, and the right database?")
	}
	v.table(report)
}

func sinceWhen(seconds float64) string {
	if seconds < 1 {
		return ""
	}
	return fmt.Sprintf("; the oldest has been due for %s", time.Duration(seconds*float64(time.Second)).Round(time.Second))
}

// table prints the findings, and what is to be done about them.
func (v *verification) table(report *verify.Report) {
	if len(report.Findings) == 0 {
		return
	}
	rows := [][]string{{"APP", "RULE", "CLASS", "OF", "MEND", "WHAT"}}
	canMend := false
	for _, f := range report.Findings {
		state := "no"
		switch {
		case f.Mended:
			state = "mended"
		case f.Mend != "":
			state, canMend = "yes", true
		}
		rows = append(rows, []string{cmp.Or(f.App, "-"), f.Rule, string(f.Class), terminal.OneLine(f.Of), state, terminal.OneLine(says(f))})
	}
	fmt.Fprintln(v.env.out)
	style := terminal.StyleOf(v.env.out, v.env.lookup)
	colours := map[string]string{string(verify.Impossible): terminal.Red, string(verify.Orphaned): terminal.Yellow, "mended": terminal.Green}
	terminal.Table{Style: style, Columns: terminal.Width(v.env.out, v.env.lookup), Below: 5}.Print(v.env.out, rows, func(cell string) string { return colours[cell] })
	if more := report.Orphaned + report.Impossible + report.Mended - len(report.Findings); more > 0 {
		fmt.Fprintf(v.env.out, "there are %d more\n", more)
	}
	if canMend && !v.mend {
		fmt.Fprintln(v.env.out, "\n--mend mends those that say yes")
	}
}

// says is a finding in words.
func says(f verify.Finding) string {
	for _, rule := range verify.Rules() {
		if rule.Name != f.Rule {
			continue
		}
		text := rule.Says
		if f.Detail != "" {
			text += " (" + f.Detail + ")"
		}
		if f.Mended {
			text += ": " + f.Mend
		}
		return text
	}
	return f.Detail
}
