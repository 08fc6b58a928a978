package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"earshot/repositories/keyspace"
	"earshot/repositories/store"
	"earshot/trigger/sealing"
)

type resealing struct {
	env    environment
	config config
	dryRun bool
	lost   bool
}

func newReseal(env environment) *cobra.Command {
	r := &resealing{env: env}
	cmd := &cobra.Command{Use: "reseal", Args: arguments(0, 0), RunE: func(cmd *cobra.Command, _ []string) error { return r.run(cmd.Context()) }}
	set := settings{cmd.Flags()}
	set.redis(&r.config)
	set.BoolVar(&r.dryRun, "dry-run", false, "count what each key has encrypted, and write nothing")
	set.BoolVar(&r.lost, "lost", false, "the key that Redis belongs to is lost: let it belong to EARSHOT_SECRET_KEY, and give the credentials again")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "lost")
	return cmd
}

const (
	// mostPasses bounds the passes of reseal. The second finds values that moved during the first; more are
	// needed only while some replica still encrypts with the old key.
	mostPasses    = 4
	progressPause = time.Second // the least time between two progress lines
)

func (r *resealing) run(ctx context.Context) error {
	err := r.config.checkRedis(r.env.now(), "")
	if r.config.SecretKey.Empty() {
		return errors.Join(err, errors.New("EARSHOT_SECRET_KEY (--secret-key) is not set: it is the newest key, which the replicas have"))
	}
	sealer, fault := r.config.sealer()
	if err = errors.Join(err, fault); err != nil {
		return err
	}
	db, err := r.config.openRedis(ctx)
	if err != nil {
		return err
	}
	defer db.Close()

	found, resealed, err := r.walk(ctx, db, sealer)
	if err == nil || ctx.Err() != nil || resealed > 0 { // else nothing was counted
		if !r.dryRun {
			fmt.Fprintf(r.env.out, "sealed anew %d\n", resealed)
		}
		printSealed(r.env.out, found)
	}
	switch {
	case ctx.Err() != nil:
		return errors.New("it was stopped: run it again to do the rest")
	case err != nil:
		return fmt.Errorf("it was not finished: %w; run it again to do the rest", err)
	case found.Sum(sealing.ByNone) > 0 && r.lost:
		fmt.Fprintf(r.env.out, "lost are the credentials of %s: start the replicas, and give these again\n", found.Text(sealing.ByNone))
	case found.Sum(sealing.ByNone) > 0:
		return fmt.Errorf("no key here decrypts the credentials of %s: give the key that encrypted them as EARSHOT_SECRET_KEY_OLD (--secret-key-old), and run it again", found.Text(sealing.ByNone))
	case found.Sum(sealing.ByOld) > 0 && !r.dryRun:
		return fmt.Errorf("the old key has encrypted %s meanwhile: start all replicas with the newest key as EARSHOT_SECRET_KEY, and run it again", found.Text(sealing.ByOld))
	case found.Sum(sealing.ByOld) > 0:
		return exitWith(1)
	}
	return nil
}

// walk makes passes until nothing is left to do, and returns the tally of the last.
func (r *resealing) walk(ctx context.Context, db *keyspace.DB, sealer *store.Sealer) (found sealing.Tally, resealed int, err error) {
	last := r.env.now()
	walk := sealing.Walk{DB: db, Sealer: sealer, Reseal: !r.dryRun, After: func(ctx context.Context, p sealing.Progress) error {
		if now := r.env.now(); now.Sub(last) >= progressPause {
			last = now
			fmt.Fprintf(r.env.out, "looked at %s, sealed anew %d\n", plural(p.Keys, "key"), resealed+p.Resealed)
		}
		return ctx.Err()
	}}
	definitions := store.New(db, store.Options{Sealer: sealer})
	if r.lost {
		if err := definitions.ReplaceLostKey(ctx); err != nil {
			return found, 0, err
		}
	}
	if !r.dryRun {
		if err := definitions.Adopted(ctx); err != nil {
			return found, 0, fmt.Errorf("%w: start the replicas with it, and with the one before it as EARSHOT_SECRET_KEY_OLD (--secret-key-old)", err)
		}
		if err := definitions.RetireSecretKey(ctx); err != nil {
			return found, 0, err
		}
	}
	for range mostPasses {
		pass, err := walk.Run(ctx)
		found, resealed = pass.Tally, resealed+pass.Resealed
		if err != nil || pass.Resealed == 0 && found.Sum(sealing.ByOld) == 0 || r.dryRun {
			return found, resealed, err
		}
	}
	return found, resealed, nil
}
