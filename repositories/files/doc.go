// Package files reads what users keep in files: apps of SERMAS, tools of Toolbox in
// every generation of its format, and Earshot's own documents. It makes of them the
// bodies that the REST API takes, and names every fault of every file at once, each
// with file, line and column.
//
// Reading goes in three steps. A file becomes a tree that knows where each value
// stands (yaml.go, json.go); a tree becomes documents, each one app, module, source,
// authentication service, tool or repository, whichever form it was written in
// (form.go, toolbox.go, sermas.go); documents become the body of one app and
// of its repositories (assemble.go). Those bodies go through the decoders of package
// repositories, whose faults are JSON pointers; the tree turns them back into positions
// (definition.go).
//
// ${NAME} and ${NAME:default} are filled in from the environment after parsing, in
// values alone: what a variable holds can change a value but never the structure
// around it.
//
// Migrate rewrites a file of an older form as text, so that comments and layout stay,
// and proves by reading both that the new text means the same.
package files
