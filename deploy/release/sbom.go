package main

import (
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"earshot/deploy/release/licences"
)

// sbom is a list of what a release holds: CycloneDX 1.6, as far as it is used here.
type sbom struct {
	Schema       string       `json:"$schema"`
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Serial       string       `json:"serialNumber"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	Licenses   []licence  `json:"licenses"`
	PURL       string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type licence struct {
	License struct {
		ID string `json:"id"`
	} `json:"license"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

// writeSBOM lists the modules that the linker has written into the programs, and returns the
// path of the list.
func (r *release) writeSBOM(ctx context.Context, programs []string) (string, error) {
	components, err := r.components(ctx, programs)
	if err != nil {
		return "", err
	}
	list := sbom{Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", Format: "CycloneDX", Spec: "1.6", Version: 1, Components: components}
	list.Metadata = metadata{r.made.Format(time.RFC3339), newComponent("application", program, "v"+r.version, []string{"Apache-2.0"})}
	list.Metadata.Component.Properties = []property{{"earshot:commit", r.commit}}
	below := dependency{Ref: list.Metadata.Component.Ref}
	for _, c := range components {
		below.DependsOn = append(below.DependsOn, c.Ref)
	}
	list.Dependencies = []dependency{below}
	list.Serial = serialOf(list)
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return "", err
	}
	path := filepath.Join(r.out, fmt.Sprintf("%s_%s.cdx.json", program, r.version))
	return path, os.WriteFile(path, append(text, '\n'), 0o644)
}

// components are the modules in the programs, with their licences and the checksums that go.sum
// has of them.
func (r *release) components(ctx context.Context, programs []string) ([]component, error) {
	modules, err := licences.Linked(ctx, platformsOf(r.platforms))
	if err != nil {
		return nil, err
	}
	sums, err := linkedInto(programs)
	if err != nil {
		return nil, err
	}
	var all []component
	for _, m := range modules {
		sum, linked := sums[m.Path+" "+m.Version]
		if !linked {
			continue // a build tag leaves it out
		}
		delete(sums, m.Path+" "+m.Version)
		of := newComponent("library", m.Path, m.Version, m.IDs)
		if sum != "" {
			of.Properties = []property{{"go:sum", sum}}
		}
		all = append(all, of)
	}
	if len(sums) > 0 {
		return nil, fmt.Errorf("no licences are known of what is linked in: %s", strings.Join(slices.Sorted(maps.Keys(sums)), ", "))
	}
	return all, nil
}

// linkedInto reads which modules programs have, and their checksums.
func linkedInto(programs []string) (map[string]string, error) {
	sums := map[string]string{}
	for _, path := range programs {
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			return nil, err
		}
		sums["std v"+strings.TrimPrefix(info.GoVersion, "go")] = ""
		for _, module := range info.Deps {
			sums[module.Path+" "+module.Version] = module.Sum
		}
	}
	return sums, nil
}

// newComponent names a module as package URLs do: in small letters.
func newComponent(kind, path, version string, ids []string) component {
	named := strings.TrimPrefix(version, "v")
	if kind == "library" && path != "std" {
		named = version
	}
	c := component{Type: kind, Name: path, Version: named, PURL: "pkg:golang/" + strings.ToLower(path) + "@" + strings.ReplaceAll(named, "+", "%2B")}
	c.Ref = c.PURL
	for _, id := range ids {
		var l licence
		l.License.ID = id
		c.Licenses = append(c.Licenses, l)
	}
	return c
}

// serialOf makes the number of a list out of what stands in it, so that the same list has the
// same number: a UUID of version 8.
func serialOf(list sbom) string {
	text, _ := json.Marshal(list) // was made here of texts alone
	sum := sha256.Sum256(text)
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
