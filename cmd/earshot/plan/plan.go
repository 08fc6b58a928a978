// Package plan updates a running service from files: it compares the two, lists the differing fields, and
// applies the changes.
package plan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"earshot/cmd/earshot/client"
	"earshot/cmd/earshot/terminal"
	"earshot/repositories"
	"earshot/repositories/files"
)

type operation string

const (
	opCreate operation = "create"
	opUpdate operation = "update"
	opLeave  operation = "leave"
	opRemove operation = "remove"
	opKeep   operation = "keep" // keeps a definition that is not in the files
)

type step struct {
	operation  operation
	definition *files.Definition // nil if it is not in the files
	kind       string            // app or repository
	id         string
	body       []byte
	// firstBody is a preliminary body for an app that loses members, since tools may name these until the other
	// steps are done. Nil if it loses none.
	firstBody []byte
	lines     []string // the fields that change
}

// Plan lists the steps to apply files, in order.
type Plan struct {
	appID string
	steps []step
}

// Changes counts the steps that change something.
func (p *Plan) Changes() int {
	n := p.count()
	return n[opCreate] + n[opUpdate] + n[opRemove]
}

func (p *Plan) count() map[operation]int {
	n := map[operation]int{}
	for _, s := range p.steps {
		n[s.operation]++
	}
	return n
}

// After returns the app after the plan, and its repositories that are not in the files.
func (p *Plan) After() (app *repositories.App, unlisted []*repositories.Repository, err error) {
	app = &repositories.App{ID: p.appID}
	for _, s := range p.steps {
		switch {
		case s.kind == "app":
			err = errors.Join(err, client.Decode(s.body, app))
		case s.operation == opKeep:
			repository := &repositories.Repository{}
			err = errors.Join(err, client.Decode(s.body, repository), repository.Compile())
			unlisted = append(unlisted, repository)
		}
	}
	return app, unlisted, err
}

// Apply executes the plan in its service. It stops at the first fault and reports it on out. Finished steps
// stay, and the next run continues.
func (p *Plan) Apply(ctx context.Context, service *client.Client, out io.Writer) error {
	// An app loses members last, when nothing names them any more.
	var steps, removals []step
	for _, s := range p.steps {
		if s.firstBody != nil {
			removals = append(removals, s)
			s.body = s.firstBody
		}
		steps = append(steps, s)
	}
	for _, s := range append(steps, removals...) {
		path := client.Path("apps", p.appID)
		if s.kind == "repository" {
			path = client.Path("apps", p.appID, "repositories", s.id)
		}
		var err error
		switch s.operation {
		case opCreate, opUpdate:
			var answer []byte
			if answer, err = service.Call(ctx, http.MethodPut, path, s.body); err == nil && s.kind == "repository" {
				var written struct {
					Notes []string `json:"notes"`
				}
				if client.Decode(answer, &written) == nil { // it is stored even if the answer is unreadable
					for _, note := range written.Notes {
						fmt.Fprintf(out, "note: %s %s: %s\n", s.kind, s.id, terminal.Printable(note))
					}
				}
			}
		case opRemove:
			_, err = service.Call(ctx, http.MethodDelete, path, nil)
			if client.HasStatus(err, http.StatusNotFound) {
				err = nil // already removed
			}
		}
		if err != nil {
			fmt.Fprintf(out, "stopped at %s %s; run it again to continue\n", s.kind, s.id)
			return s.locate(err)
		}
	}
	return nil
}

// locate converts the faults of an answer to places in the files. An app's faults keep their pointers, as its
// body was merged with the stored one.
func (s *step) locate(err error) error {
	var refusal *client.Refusal
	if s.kind == "app" || !errors.As(err, &refusal) || len(refusal.Errors) == 0 {
		return fmt.Errorf("%s %s: %w", s.kind, s.id, err)
	}
	return s.definition.Locate(refusal.Errors)
}

var signs = map[operation]string{opCreate: "+", opUpdate: "~", opLeave: "=", opRemove: "-", opKeep: " "}

// Print writes the plan, one definition per line, followed by its changed fields.
func (p *Plan) Print(out io.Writer) {
	for _, s := range p.steps {
		title := s.kind + " " + s.id
		if s.kind == "repository" {
			title = s.kind + " " + p.appID + "/" + s.id
		}
		if s.operation == opKeep {
			title += " is not in the files and stays (--prune removes it)"
		}
		fmt.Fprintf(out, "%s %s\n", signs[s.operation], title)
		for _, line := range s.lines {
			fmt.Fprintf(out, "    %s\n", terminal.Printable(line))
		}
	}
}

// Summary sums the plan up in a line.
func (p *Plan) Summary() string {
	n := p.count()
	return fmt.Sprintf("created %d, updated %d, left %d, removed %d", n[opCreate], n[opUpdate], n[opLeave]+n[opKeep], n[opRemove])
}
