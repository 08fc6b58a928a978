package main

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// statement says of files where they come from: in-toto's Statement v1 with the predicate of SLSA
// v1, as far as both are used here.
type statement struct {
	Type          string     `json:"_type"`
	Subject       []resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     predicate  `json:"predicate"`
}

// resource is a file, or what went into one.
type resource struct {
	Name   string            `json:"name,omitempty"`
	URI    string            `json:"uri,omitempty"`
	Digest map[string]string `json:"digest,omitempty"`
}

type predicate struct {
	BuildDefinition struct {
		BuildType            string         `json:"buildType"`
		ExternalParameters   map[string]any `json:"externalParameters"`
		ResolvedDependencies []resource     `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
	RunDetails struct {
		Builder struct {
			ID      string            `json:"id"`
			Version map[string]string `json:"version"`
		} `json:"builder"`
	} `json:"runDetails"`
}

// buildType names this command: what its parameters mean is in its documentation.
const buildType = "urn:earshot:deploy/release:1"

// writeProvenance says of all that has a checksum which builder made it, of which commit, by which
// toolchain and modules. It names its builder, and is therefore not among the checksums that the
// same commit gives everybody.
func (r *release) writeProvenance(programs []string) (string, error) {
	sums, err := readSums(filepath.Join(r.out, sumsName))
	if err != nil {
		return "", err
	}
	modules, err := linkedInto(programs)
	if err != nil {
		return "", err
	}
	said := statement{Type: "https://in-toto.io/Statement/v1", PredicateType: "https://slsa.dev/provenance/v1"}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		said.Subject = append(said.Subject, resource{Name: name, Digest: map[string]string{"sha256": sums[name]}})
	}
	build := &said.Predicate.BuildDefinition
	build.BuildType = buildType
	build.ExternalParameters = map[string]any{"version": r.version, "platforms": platformsOf(r.platforms), "tags": r.tags}
	source := resource{Name: program, Digest: map[string]string{"gitCommit": r.commit}}
	if r.source != "" {
		source.URI = "git+" + r.source + "@" + r.commit
	}
	if r.modified {
		source.Digest = nil // files differ from those of any commit
		source.URI = "urn:earshot:modified:" + r.commit
	}
	build.ResolvedDependencies = append([]resource{source}, materials(modules)...)
	said.Predicate.RunDetails.Builder.ID = r.builder
	said.Predicate.RunDetails.Builder.Version = map[string]string{"go": runtime.Version()}
	text, err := json.MarshalIndent(said, "", "  ")
	if err != nil {
		return "", err
	}
	path := filepath.Join(r.out, fmt.Sprintf("%s_%s.provenance.json", program, r.version))
	return path, os.WriteFile(path, append(text, '\n'), 0o644)
}

// materials are the modules that are linked in, by their checksums in go.sum. In-toto writes those
// as hexadecimal digits.
func materials(modules map[string]string) (all []resource) {
	for _, module := range slices.Sorted(maps.Keys(modules)) {
		path, version, _ := strings.Cut(module, " ")
		one := resource{URI: newComponent("library", path, version, nil).PURL}
		sum, hashed := strings.CutPrefix(modules[module], "h1:")
		if bytes, err := base64.StdEncoding.DecodeString(sum); hashed && err == nil {
			one.Digest = map[string]string{"dirHash": hex.EncodeToString(bytes)}
		}
		all = append(all, one)
	}
	return all
}
