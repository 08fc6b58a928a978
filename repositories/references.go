package repositories

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"earshot/repositories/fault"
)

// Check compares the repository with the app that it is for: the modules, the sources and
// the authentication services that its tools name must be the app's. It returns a
// fault.List.
func (r *Repository) Check(app *App) error {
	var faults fault.List
	if r.SessionID != "" && r.Options.Template {
		faults.Add(fault.Point("options", "template"), "is for repositories of an app; sessions get copies of them")
	}
	if r.From != "" {
		checkFrom(&faults, r.From, app)
	}
	for i := range r.Tools {
		tool := &r.Tools[i]
		at := fault.Point("tools", i)
		checkModule(&faults, at, tool.Request, app)
		checkSource(&faults, at, tool, app)
		for j, name := range tool.AuthRequired {
			checkService(&faults, at+fault.Point("authRequired", j), name, app)
		}
		checkClaims(&faults, at, tool, app)
	}
	return faults.Err()
}

func checkModule(faults *fault.List, at string, request *Request, app *App) {
	if request == nil || request.ModuleID == "" {
		return
	}
	if wrong := app.lacksModule(request.ModuleID); wrong != "" {
		faults.Add(at+fault.Point("request", "moduleId"), "%s", wrong)
	}
}

// lacksModule says why nothing can be called with a module; empty where it can.
func (a *App) lacksModule(id string) string {
	module, ok := a.Module(id)
	switch {
	case !ok:
		known := make([]string, len(a.Modules))
		for i := range a.Modules {
			known[i] = a.Modules[i].ID
		}
		return unknownName("module", id, known)
	case module.TokenURL == "":
		return fmt.Sprintf("module %s has no tokenUrl, so that there is no token to call with; give it one", fault.Show(id))
	}
	return ""
}

// checkSource checks that the tool's source exists and has the right type, and that a path
// stays within it.
func checkSource(faults *fault.List, at string, tool *Tool, app *App) {
	if tool.Type == "" {
		return
	}
	source, ok := app.Source(tool.Source)
	if !ok {
		faults.Add(at+fault.Point("source"), "%s", unknownName("source", tool.Source, app.sourceNames()))
		return
	}
	if want := tool.SourceType(); source.Type != want {
		faults.Add(at+fault.Point("source"), "%s is of type %s; a tool of type %s needs one of type %s", fault.Show(tool.Source), source.Type, tool.Type, want)
		return
	}
	if tool.Type != ToolHTTP {
		return
	}
	if _, err := resolved(tool.Path, source.BaseURL); err != nil {
		faults.Add(at+fault.Point("path"), "%s", err)
	}
}

// checkClaims checks the services of authenticated parameters.
func checkClaims(faults *fault.List, at string, tool *Tool, app *App) {
	for _, p := range tool.Params().Placed() {
		for i, c := range p.Claims {
			checkService(faults, at+p.Place+fault.Point("authServices", i, "name"), c.Service, app)
		}
	}
}

func checkService(faults *fault.List, at, name string, app *App) {
	known := make([]string, len(app.AuthServices))
	for i := range app.AuthServices {
		known[i] = app.AuthServices[i].Name
	}
	if !slices.Contains(known, name) {
		faults.Add(at, "%s", unknownName("authentication service", name, known))
	}
}

// unknownName describes a name that the app does not have, and lists those that it has.
func unknownName(what, name string, known []string) string {
	text := fmt.Sprintf("the app has no %s %s", what, fault.Show(name))
	switch hint := fault.DidYouMean(name, known); {
	case hint != "":
		return text + hint
	case len(known) == 0:
		return text + "; it has none at all"
	default:
		return text + "; it has " + fault.Clip(fault.OneOf(known))
	}
}

// Dropped are the modules and sources that an app has and its next state has not, and where
// tools name them.
type Dropped struct {
	parts []*droppedPart
	found int // tools and repositories
}

// droppedPart is a module or a source that goes.
type droppedPart struct {
	list, kind, name string
	by               []string // the first of those who name it
	more             int
}

// Bounds of what is said of those who name what goes.
const (
	maxNamers = 3
	maxFound  = 1000
)

// Drops returns the modules and sources that the next state of the app lacks; nil where there
// are none.
func (a *App) Drops(next *App) *Dropped {
	dropped := &Dropped{}
	for _, module := range a.Modules {
		if _, stays := next.Module(module.ID); !stays {
			dropped.parts = append(dropped.parts, &droppedPart{list: "modules", kind: "module", name: module.ID})
		}
	}
	for _, source := range a.Sources {
		if _, stays := next.Source(source.Name); !stays {
			dropped.parts = append(dropped.parts, &droppedPart{list: "sources", kind: "source", name: source.Name})
		}
	}
	if len(dropped.parts) == 0 {
		return nil
	}
	return dropped
}

// MayBeIn reports whether the stored form of a repository has one of the names at all.
func (d *Dropped) MayBeIn(stored string) bool {
	return slices.ContainsFunc(d.parts, func(part *droppedPart) bool { return strings.Contains(stored, strconv.Quote(part.name)) })
}

// Look notes what the repository names of what goes.
func (d *Dropped) Look(r *Repository) {
	where := "repository " + fault.Show(r.ID)
	if r.SessionID != "" {
		where += " of session " + fault.Show(r.SessionID)
	}
	for _, part := range d.parts {
		if part.kind == "source" && r.From == part.name {
			d.note(part, where)
			continue
		}
		for i := range r.Tools {
			if tool := &r.Tools[i]; part.namedBy(tool) {
				d.note(part, "tool "+fault.Show(tool.Name)+" of "+where)
			}
		}
	}
}

func (p *droppedPart) namedBy(tool *Tool) bool {
	if p.kind == "source" {
		return tool.Source == p.name
	}
	return tool.Request != nil && tool.Request.ModuleID == p.name
}

func (d *Dropped) note(part *droppedPart, who string) {
	d.found++
	if len(part.by) < maxNamers {
		part.by = append(part.by, who)
		return
	}
	part.more++
}

// Enough reports whether so many were found that no more are looked for.
func (d *Dropped) Enough() bool { return d.found >= maxFound }

// Err returns an *InUseError where anything was found.
func (d *Dropped) Err() error {
	var faults fault.List
	for _, part := range d.parts {
		if len(part.by) == 0 {
			continue
		}
		by := part.by
		if part.more > 0 {
			by = append(by, fmt.Sprintf("%d more", part.more))
		}
		faults.Add(fault.Point(part.list), "lacks the %s %s, which is named by %s", part.kind, fault.Show(part.name), strings.Join(by, ", "))
	}
	if len(faults) == 0 {
		return nil
	}
	return &InUseError{Faults: faults}
}

// InUseError means that an app was to lose modules or sources that tools name.
type InUseError struct {
	Faults fault.List // one for each of them, with who names it
}

// Error says what goes on, and how to have it all the same.
func (e *InUseError) Error() string {
	return "tools name what the app would lose, and their calls would fail: change or remove them first, or send it with ?force=true"
}
