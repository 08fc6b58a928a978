// Package docs holds the documents that a person reads, beginning with README.md, and the tests that keep them true:
// each command in them is run, and the pages of reference are what the program says. Its code hands them on alone.
package docs

import "embed"

// Files are the documents with their pictures. The service shows them at /docs.
//
//go:embed *.md */*.md pictures
var Files embed.FS
