// Program fields writes what follows from the schemas of bodies: the reference of fields in deploy/docs/reference/fields.md
// and the types of the Go client. Run it in the root of the module after each change of a schema:
//
//	go run ./deploy/fields
//
// A field is described in its schema. Its description is short, for editors, clients and
// /openapi.json; x-doc says more in Markdown, for the reference alone, and x-default what holds without
// it, if that is not the default of the schema.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// The schemas, and the files that are written of them, from the root of the module.
const (
	definitionsFile = "repositories/definition.schema.json"
	bodiesFile      = "api/bodies.schema.json"
	pageFile        = "deploy/docs/reference/fields.md"
	clientFile      = "deploy/clients/go/definitions.go"
)

func main() {
	made, err := write(".")
	for path, text := range made {
		if err == nil {
			err = os.WriteFile(path, text, 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fields:", err)
		os.Exit(1)
	}
}

// write returns the files as they are to be, by their paths.
func write(root string) (map[string][]byte, error) {
	var texts [2][]byte
	for i, path := range []string{definitionsFile, bodiesFile} {
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return nil, err
		}
		texts[i] = text
	}
	definitions, err := read(texts[0])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", definitionsFile, err)
	}
	bodies, err := read(texts[1])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", bodiesFile, err)
	}
	document, err := page(append(definitions, bodies...))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pageFile, err)
	}
	types, err := goTypes(definitions)
	return map[string][]byte{filepath.Join(root, pageFile): document, filepath.Join(root, clientFile): types}, err
}
