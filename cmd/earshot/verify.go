package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"earshot/cmd/earshot/redisdb"
	"earshot/cmd/earshot/terminal"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
	"earshot/trigger/sealing"
	"earshot/trigger/verify"
)

type verification struct {
	env       environment
	config    config // REDIS_URL, which may contain a password, and the keys
	retention store.Retention
	mend      bool
	allowOwed bool
	json      bool
}

func newVerify(env environment) *cobra.Command {
	v := &verification{env: env}
	cmd := &cobra.Command{Use: "verify", Args: arguments(0, 0), RunE: func(cmd *cobra.Command, _ []string) error { return v.run(cmd.Context()) }}
	set := settings{cmd.Flags()}
	set.redis(&v.config)
	set.duration(&v.retention.Done, "retention", "EARSHOT_RETENTION", store.DefaultRetention, "how long the service keeps records that have delivered everything")
	set.duration(&v.retention.Dead, "dead-retention", "EARSHOT_DEAD_RETENTION", store.DefaultDeadRetention, "how long it keeps failed ones")
	set.BoolVar(&v.mend, "mend", false, "fix what can be fixed")
	set.BoolVar(&v.allowOwed, "allow-owed", false, "exit with 0 even if something is pending, as while the service works")
	set.BoolVar(&v.json, "json", false, "print the report as JSON")
	return cmd
}

// verifyPause is how long a fault must last: a change by several scripts takes less.
const verifyPause = 2 * time.Second

type verified struct {
	*verify.Report
	Sealed *sealing.Tally `json:"sealed,omitempty"` // nil without a key
}

func (v *verification) run(ctx context.Context) error {
	err := v.config.checkRedis(v.env.now(), "; what dev keeps without one is gone with it")
	for name, duration := range map[string]time.Duration{"--retention (EARSHOT_RETENTION)": v.retention.Done, "--dead-retention (EARSHOT_DEAD_RETENTION)": v.retention.Dead} {
		if duration < time.Second {
			err = errors.Join(err, fmt.Errorf("%s is %s; it must be a second or more, as the service has it", name, duration))
		}
	}
	var sealer *store.Sealer
	if !v.config.SecretKey.Empty() {
		var sealerErr error
		sealer, sealerErr = v.config.sealer()
		err = errors.Join(err, sealerErr)
	}
	if err != nil {
		return err
	}
	db, err := v.config.openRedis(ctx)
	if err != nil {
		return err
	}
	defer db.Close()

	report, err := verify.Ledger(ctx, verify.Options{
		DB: db, Mend: v.mend, Done: v.retention.Done, Dead: v.retention.Dead,
		Pause: func(ctx context.Context) error { return v.env.pause(ctx, verifyPause) },
	})
	result := verified{Report: report}
	if err == nil && sealer != nil {
		walk := sealing.Walk{DB: db, Sealer: sealer, After: func(ctx context.Context, _ sealing.Progress) error { return ctx.Err() }}
		var pass sealing.Progress
		pass, err = walk.Run(ctx)
		result.Sealed = &pass.Tally
	}
	v.print(result)
	if err != nil {
		return fmt.Errorf("the check did not finish: %w", err)
	}
	hasPending := report.Pending.Messages+report.Pending.Calls+report.Pending.Events > 0
	if result.Sealed != nil && result.Sealed.Sum(sealing.ByNone) > 0 || !report.Clean() || hasPending && !v.allowOwed {
		return exitWith(1)
	}
	return nil
}

func (c *config) checkRedis(now time.Time, hint string) error {
	if c.RedisURL.Empty() {
		return errors.New("REDIS_URL (--redis-url) is not set: it names the Redis of the service, as in redis://127.0.0.1:6379" + hint)
	}
	return redisdb.CheckFiles(c.RedisURL.Reveal(), c.RedisTLS, now)
}

// openRedis opens the Redis of a service. It fails if this version cannot read the data.
func (c *config) openRedis(ctx context.Context) (*keyspace.DB, error) {
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

func (v *verification) print(report verified) {
	if v.json {
		text, _ := json.Marshal(report) // strings and numbers always encode
		fmt.Fprintf(v.env.out, "%s\n", text)
		return
	}
	pending, oldest := report.Pending, ""
	if pending.Oldest >= 1 {
		oldest = fmt.Sprintf("; the oldest has been due for %s", time.Duration(pending.Oldest*float64(time.Second)).Round(time.Second))
	}
	fmt.Fprintf(v.env.out, "looked at   %s: %s, %s, %s\n", plural(report.Keys, "key"), plural(report.Apps, "app"), plural(report.Sessions, "session"), plural(report.Triggers, "trigger"))
	fmt.Fprintf(v.env.out, "owed        %s, %s, %s; %d held back, %d failed%s\n", plural(int(pending.Messages), "message"), plural(int(pending.Calls), "call"),
		plural(int(pending.Events), "event"), pending.Held, pending.Failed, oldest)
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
	if len(report.Findings) > 0 {
		v.table(report.Report)
	}
}

func printSealed(out io.Writer, sealed sealing.Tally) {
	fmt.Fprintf(out, "sealed      by the newest key: %s; by the old one: %s; by none that is here: %s\n",
		sealed.Text(sealing.ByCurrent), sealed.Text(sealing.ByOld), sealed.Text(sealing.ByNone))
	if sealed.Sum(sealing.ByNone) > 0 {
		fmt.Fprintln(out, "note: credentials that no key decrypts cannot be used: give the key that encrypted them as EARSHOT_SECRET_KEY_OLD (--secret-key-old)")
	}
}

func (v *verification) table(report *verify.Report) {
	rows := [][]string{{"APP", "RULE", "CLASS", "OF", "MEND", "WHAT"}}
	canMend := false
	for _, f := range report.Findings {
		state, text := "no", f.Detail
		switch {
		case f.Mended:
			state = "mended"
		case f.Mend != "":
			state, canMend = "yes", true
		}
		rules := verify.Rules()
		if i := slices.IndexFunc(rules, func(rule verify.Rule) bool { return rule.Name == f.Rule }); i >= 0 {
			text = rules[i].Fault
			if f.Detail != "" {
				text += " (" + f.Detail + ")"
			}
			if f.Mended {
				text += ": " + f.Mend
			}
		}
		rows = append(rows, []string{cmp.Or(f.App, "-"), f.Rule, string(f.Class), terminal.OneLine(f.Object), state, terminal.OneLine(text)})
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
