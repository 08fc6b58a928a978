// Package repositories defines what clients register before any message is matched: apps
// with their modules, sources and settings, and repositories of tools. A body has at most 1
// MiB; up to 100 of its faults are listed.
//
// A definition is validated in two steps. Decode (DecodeApp, DecodeRepository) reads a
// body, untrusted, and names every fault in it at once. Check compares a repository with
// its app: the modules, sources and authentication services that it names must exist there.
// Package store keeps both in Redis.
//
// Below it are packages that know nothing of definitions: fault and secret, exactjson,
// schema and bodies (what is wrong with a body), parameters and template (the values of a
// tool). Above it are store and files, which reads definitions from a folder.
package repositories
