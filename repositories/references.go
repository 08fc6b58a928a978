package repositories

import (
	"fmt"
	"slices"

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

// sourceOf is the type of source that a type of tool works on.
var sourceOf = map[string]string{ToolPostgres: SourcePostgres, ToolSQLite: SourceSQLite, ToolHTTP: SourceHTTP, ToolMCP: SourceMCP}

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
	if want := sourceOf[tool.Type]; source.Type != want {
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
