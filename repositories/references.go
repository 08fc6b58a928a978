package repositories

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"earshot/repositories/fault"
	"earshot/repositories/lists"
)

// Check returns a fault.List of the modules, sources and authentication services that tools name and the app lacks.
func (r *Repository) Check(app *App) error {
	var faults fault.List
	if r.SessionID != "" && r.Options.Template {
		faults.Add("/options/template", "is for repositories of an app; sessions get copies of them")
	}
	if r.From != "" {
		checkSourceType(&faults, "/from", r.From, app, SourceMCP, "the tools of a repository are those of a source")
	}
	service := func(at, name string) {
		known := lists.Map(app.AuthServices, func(one AuthService) string { return one.Name })
		if !slices.Contains(known, name) {
			faults.Add(at, "%s", unknownName("authentication service", name, known))
		}
	}
	for i := range r.Tools {
		tool := &r.Tools[i]
		at := fault.Point("tools", i)
		if tool.Request != nil && tool.Request.ModuleID != "" {
			if reason := app.lacksModule(tool.Request.ModuleID); reason != nil {
				faults.Add(at+"/request/moduleId", "%s", reason)
			}
		}
		if tool.Type != "" && checkSourceType(&faults, at+"/source", tool.Source, app, tool.SourceType(), "a tool of type "+tool.Type+" needs one") && tool.Type == ToolHTTP {
			source, _ := app.Source(tool.Source)
			if _, err := resolved(tool.Path, source.BaseURL); err != nil {
				faults.Add(at+"/path", "%s", err)
			}
		}
		for j, name := range tool.AuthRequired {
			service(at+fault.Point("authRequired", j), name)
		}
		for _, p := range tool.Params().Placed() {
			for j, c := range p.Claims {
				service(at+p.Place+fault.Point("authServices", j, "name"), c.Service)
			}
		}
	}
	return faults.Err()
}

// checkSourceType checks that a source exists and has a type. reason tells what requires the type.
func checkSourceType(faults *fault.List, at, name string, app *App, want, reason string) bool {
	source, known := app.Source(name)
	switch {
	case !known:
		names := lists.Map(app.Sources, func(one Source) string { return one.Name })
		faults.Add(at, "%s", unknownName("source", name, names))
	case source.Type != want:
		faults.Add(at, "%s is of type %s; %s of type %s", fault.Show(name), source.Type, reason, want)
	}
	return known && source.Type == want
}

// lacksModule returns why a module cannot be used for calls; nil if it can.
func (a *App) lacksModule(id string) error {
	module, ok := a.Module(id)
	switch {
	case !ok:
		known := lists.Map(a.Modules, func(one Module) string { return one.ID })
		return unknownName("module", id, known)
	case module.TokenURL == "":
		return fmt.Errorf("module %s has no tokenUrl, so that there is no token to call with; give it one", fault.Show(id))
	}
	return nil
}

// listsOfApp maps kinds that tools name to the app's fields that list them.
var listsOfApp = map[string]string{"module": "modules", "source": "sources", "authentication service": "authServices"}

// unknownName describes a name that the app lacks, and lists its present ones.
func unknownName(what, name string, known []string) error {
	meant, more := fault.DidYouMean(name, known), ""
	switch {
	case meant.Suggestion != "": // it stands in the text
	case len(known) == 0:
		more = "; it has none: add one to the " + listsOfApp[what] + " of the app"
	default:
		more = "; it has " + fault.Clip(fault.OneOf(known))
	}
	return fault.New("", "the app has no %s %s%s%s", what, fault.Show(name), meant, more)
}

// Dropped are the modules and sources that an app's next state lacks, and the tools that name them.
type Dropped struct {
	parts []*droppedPart
	found int // tools and repositories
}

type droppedPart struct {
	list, kind, name string
	by               []string // the tools and repositories that name it
}

// Limits of the reported tools that name a dropped part.
const (
	maxNamers = 3
	maxFound  = 1000
)

// Drops returns the modules and sources that the next state lacks, or nil.
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

// MayBeIn reports whether the stored form of a repository contains a dropped name.
func (d *Dropped) MayBeIn(stored string) bool {
	return slices.ContainsFunc(d.parts, func(part *droppedPart) bool { return strings.Contains(stored, strconv.Quote(part.name)) })
}

// Look records which of the dropped parts the repository names.
func (d *Dropped) Look(r *Repository) {
	where := "repository " + fault.Show(r.ID)
	if r.SessionID != "" {
		where += " of session " + fault.Show(r.SessionID)
	}
	for _, part := range d.parts {
		if part.kind == "source" && r.From == part.name {
			part.by = append(part.by, where)
			d.found++
			continue
		}
		for i := range r.Tools {
			tool := &r.Tools[i]
			named := part.kind == "source" && tool.Source == part.name ||
				part.kind == "module" && tool.Request != nil && tool.Request.ModuleID == part.name
			if named {
				part.by = append(part.by, "tool "+fault.Show(tool.Name)+" of "+where)
				d.found++
			}
		}
	}
}

// Enough reports whether the search can stop.
func (d *Dropped) Enough() bool { return d.found >= maxFound }

// Err returns an *InUseError if any tool names a dropped part.
func (d *Dropped) Err() error {
	var faults fault.List
	for _, part := range d.parts {
		if len(part.by) > 0 {
			by := clipped(part.by, maxNamers, "%d more")
			faults.Add(fault.Point(part.list), "lacks the %s %s, which is named by %s", part.kind, fault.Show(part.name), strings.Join(by, ", "))
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return &InUseError{Faults: faults}
}

// clipped returns the first most of a list, and a line with the number of the others.
func clipped(list []string, most int, more string) []string {
	if len(list) <= most {
		return list
	}
	return append(list[:most:most], fmt.Sprintf(more, len(list)-most))
}

// InUseError means that an app would lose modules or sources that tools name.
type InUseError struct {
	Faults fault.List // one for each, with the tools that name it
}

// Error explains the consequence and how to force the change.
func (e *InUseError) Error() string {
	return "tools name what the app would lose, and their calls would fail: change or remove them first, or send it with ?force=true"
}
