package store

import (
	"context"
	"slices"

	"earshot/repositories"
	"earshot/repositories/keyspace"
)

// Condition says of which state a change may be made: it is given the revision that is
// there, empty for none, and its error ends the change, which has then written nothing. It
// is asked again where somebody else wrote in between. Nil lets every change be made.
type Condition func(revision string) error

func (c Condition) check(revision string) error {
	if c == nil {
		return nil
	}
	return c(revision)
}

func checkAll(conditions []Condition, revision string) error {
	for _, one := range conditions {
		if err := one.check(revision); err != nil {
			return err
		}
	}
	return nil
}

// AppChange is a change of an app, or its creation.
type AppChange struct {
	AppID string
	On    Condition
	// To makes the next state out of the one that is there, which it must not change: an
	// empty app without a Revision if there is none. It is called again where somebody
	// else wrote in between.
	To func(there *repositories.App) (*repositories.App, error)
	// Force lets the app lose modules and sources that tools name.
	Force bool
}

// RepositoryChange is a change of a repository, or its creation.
type RepositoryChange struct {
	Scope repositories.Scope
	ID    string
	On    Condition
	// To is as that of an AppChange. A next state without a Generation gets a new one.
	To func(there *repositories.Repository) (*repositories.Repository, error)
	// unasked marks a change that nobody in the session has asked for: it lives no longer.
	unasked bool
}

// ToRepository is the change that puts a repository in the place of whatever is there.
func ToRepository(repository *repositories.Repository) RepositoryChange {
	return RepositoryChange{Scope: repository.Scope(), ID: repository.ID, To: func(*repositories.Repository) (*repositories.Repository, error) {
		return repository.Clone(), nil
	}}
}

// claimApp renews the revision of an app: whoever goes on from the old one writes no more.
//
//	KEYS app
//	ARGV revision that is there, new revision
//	=>   ok, or conflict
var claimApp = keyspace.NewFreeingScript(`
local there = redis.call('HGET', KEYS[1], 'rev')
if there == ARGV[2] then return 'ok' end
if there ~= ARGV[1] then return 'conflict' end
redis.call('HSET', KEYS[1], 'rev', ARGV[2])
return 'ok'
`)

// claim lets an app be deleted on conditions, which its removal, in many steps, cannot keep
// an eye on: from here on, no other change that has one is made of the state that was read.
func (a *appReads) claim(ctx context.Context, appID string, conditions []Condition) error {
	return retry(ctx, func() error {
		app, err := a.App(ctx, appID)
		if err != nil {
			return err
		}
		none := !slices.ContainsFunc(conditions, func(one Condition) bool { return one != nil })
		if err := checkAll(conditions, app.Revision); err != nil || none {
			return err
		}
		return conflicts(claimApp.Run(ctx, a.db, []string{keyspace.KeysOf(appID).App()}, app.Revision, a.newID()))
	})
}
