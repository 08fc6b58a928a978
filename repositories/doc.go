// Package repositories holds what Earshot knows before anybody speaks: apps with
// their modules, sources and settings, and repositories of tools.
//
// A definition passes two gates here, in this order. Decode (DecodeApp,
// DecodeRepository) reads a body, untrusted, and names every fault in it at once.
// Check compares a repository with the app that it is for: modules, sources and
// authentication services must exist there. Package store keeps both in Redis.
//
// Below are packages that know nothing of definitions: fault and secret, exactjson,
// schema and bodies (what is wrong with a body), parameters and template (the values of
// a tool). Above are store and files, which reads definitions from a folder.
package repositories
