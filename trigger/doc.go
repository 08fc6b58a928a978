// Package trigger is the heart of Earshot: a message becomes a turn, a turn becomes
// firings of tools, a firing becomes effects.
//
// The promise, which everything here serves:
//
//   - An accepted message is decided exactly once, or listed dead with a reason.
//   - A trigger's effects each happen at least once, every attempt with one id.
//   - A triggerOnce repository fires at most once per registration, under any number
//     of replicas, crashes and retries.
//   - After kill -9 at any instant nothing accepted is lost: it goes on when the
//     lease of the dead process has ended, within a second.
//   - Events of one session reach JetStream in the order in which they were decided.
//
// It holds because one Redis script decides (ledger/commit.go): it checks the lease of the
// turn and the generation of every repository that fires, writes all effects and
// closes the turn, in one slot, and gives the same answer when it runs twice. All
// after it is replay of a decision that is already made.
package trigger
