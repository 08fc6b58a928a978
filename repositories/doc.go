// Package repositories holds what Earshot knows before anybody speaks: apps with
// their modules, sources and settings, repositories of tools, and the parameters of a
// tool.
//
// A definition passes three gates, in this order. Decode (DecodeApp,
// DecodeRepository) reads a body, untrusted, and names every fault in it at once.
// Check compares a repository with the app that it is for: modules, sources and
// authentication services must exist there. Store keeps both in Redis, where all
// replicas read the same truth.
//
// The package imports no other package of Earshot but template, which is below it.
// What it writes for others, the event that a change owes, goes through Owed: the
// ledger of package trigger picks it up from there.
package repositories
