package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"earshot/cmd/earshot/redisdb"
	"earshot/cmd/earshot/terminal"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
	"earshot/trigger/sealing"
	"earshot/trigger/verify"
)

// verification is a look at the ledger of a Redis.
type verification struct {
	env    environment
	config config // REDIS_URL, which may hold a password, and the keys
	keep   store.Retention
	mend   bool
	mayOwe bool
	json   bool
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
			"needed, by REDIS_URL, and the retentions that the service has. With EARSHOT_SECRET_KEY, and\n" +
			"EARSHOT_SECRET_KEY_OLD where there is one, it counts as well what each key seals, and exits\n" +
			"with 1 where no key opens something.",
		Example: "  REDIS_URL=redis://127.0.0.1:6379 earshot verify\n  earshot verify --redis-url redis://127.0.0.1:6379 --mend --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return v.run(cmd.Context()) },
	}
	v.register(cmd.Flags())
	return cmd
}

func (v *verification) register(flags *pflag.FlagSet) {
	set := settings{flags}
	set.redis(&v.config)
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
	sealer, err := v.check()
	if err != nil {
		return err
	}
	db, err := v.config.lookAtRedis(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	report, err := verify.Ledger(ctx, verify.Options{
		DB: db, Mend: v.mend, Done: v.keep.Done, Dead: v.keep.Dead,
		Pause: func(ctx context.Context) error { return v.env.pause(ctx, verifyPause) },
	})
	said := verified{Report: report}
	if err == nil && sealer != nil {
		said.Sealed, err = v.sealed(ctx, db, sealer)
	}
	v.print(said)
	if err != nil {
		return fmt.Errorf("it was not looked through: %w", err)
	}
	if said.Sealed != nil && said.Sealed.Sum(sealing.ByNone) > 0 {
		return exitWith(1)
	}
	if owes := report.Owed.Messages+report.Owed.Calls+report.Owed.Events > 0; !report.Clean() || owes && !v.mayOwe {
		return exitWith(1)
	}
	return nil
}

// lookAtRedis opens the Redis of a service for a command that works beside it, once it is one that holds
// what this version can read. The caller closes it.
func (c config) lookAtRedis(ctx context.Context) (*keyspace.DB, error) {
	redis.SetLogger(redisdb.Logger{Log: slog.New(slog.DiscardHandler)})
	client, err := redisdb.Open(c.RedisURL.Reveal(), c.RedisTLS)
	if err != nil {
		return nil, err
	}
	db := &keyspace.DB{UniversalClient: client}
	if err := redisdb.Look(ctx, db); err != nil {
		return nil, errors.Join(fmt.Errorf("REDIS_URL (--redis-url): %w", err), client.Close())
	}
	return db, nil
}

// verified is what is printed.
type verified struct {
	*verify.Report
	Sealed *sealing.Tally `json:"sealed,omitempty"` // nil: no key was given
}

// sealed counts what each key seals.
func (v *verification) sealed(ctx context.Context, db *keyspace.DB, sealer *store.Sealer) (*sealing.Tally, error) {
	found, err := sealing.Walk{DB: db, Sealer: sealer, After: func(ctx context.Context, _ sealing.Progress) error { return ctx.Err() }}.Run(ctx)
	return &found.Tally, err
}

// printSealed prints what each key seals.
func printSealed(out io.Writer, found sealing.Tally) {
	fmt.Fprintf(out, "sealed      by the newest key: %s; by the old one: %s; by none that is here: %s\n",
		found.Words(sealing.ByCurrent), found.Words(sealing.ByOld), found.Words(sealing.ByNone))
	if found.Sum(sealing.ByNone) > 0 {
		fmt.Fprintln(out, "note: what no key opens cannot be used: give the key that has sealed it as EARSHOT_SECRET_KEY_OLD (--secret-key-old)")
	}
}

// check returns what opens credentials, nil where no key was given.
func (v *verification) check() (sealer *store.Sealer, err error) {
	var faults []error
	if v.config.RedisURL.Empty() {
		faults = append(faults, errors.New("REDIS_URL (--redis-url) is not set: it names the Redis of the service, as in redis://127.0.0.1:6379; what dev keeps without one is gone with it"))
	}
	if err := redisdb.CheckFiles(v.config.RedisURL.Reveal(), v.config.RedisTLS, v.env.now()); !v.config.RedisURL.Empty() && err != nil {
		faults = append(faults, err)
	}
	for name, keep := range map[string]time.Duration{"--retention (EARSHOT_RETENTION)": v.keep.Done, "--dead-retention (EARSHOT_DEAD_RETENTION)": v.keep.Dead} {
		if keep < time.Second {
			faults = append(faults, fmt.Errorf("%s is %s; it must be a second or more, as the service has it", name, keep))
		}
	}
	if !v.config.SecretKey.Empty() {
		sealer, err = v.config.sealer()
	}
	return sealer, errors.Join(append(faults, err)...)
}

func (v *verification) print(report verified) {
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
	if report.Sealed != nil {
		printSealed(v.env.out, *report.Sealed)
	}
	for _, note := range report.Notes {
		fmt.Fprintf(v.env.out, "note: %s\n", note)
	}
	if report.Keys == 0 {
		fmt.Fprintln(v.env.out, "note: nothing of Earshot is in this Redis; is it the right one, and the right database?")
	}
	v.table(report.Report)
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
