package repositories

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"earshot/repositories/fault"
	"earshot/repositories/secret"
)

// A module's token is the owner's: whoever may only write tools sends it to the hosts
// that the module names and to no other. What somebody who may change the app has
// written goes anywhere, and that is noted with the tool (see Request.anywhere).

// checkModuleHost accepts a host, or *. and a host.
func checkModuleHost(text string) error {
	if _, err := netip.ParseAddr(text); err != nil && !hostPattern.MatchString(strings.TrimPrefix(text, "*.")) {
		return fmt.Errorf("%q is not a host: one name, *. and a name for all that are one label below it, or an IP address; without scheme, port and path", fault.Clip(text))
	}
	return nil
}

// Reaches reports whether every tool may send the module's token to a host, on any port. As
// in certificates, a * stands for one label.
func (m Module) Reaches(host string) bool {
	host = plainHost(host)
	if token, err := url.Parse(m.TokenURL); err == nil && token.Host != "" && plainHost(token.Hostname()) == host {
		return true
	}
	_, below, _ := strings.Cut(host, ".")
	return slices.ContainsFunc(m.Hosts, func(entry string) bool {
		entry = plainHost(entry)
		above, wild := strings.CutPrefix(entry, "*.")
		return entry == host || wild && above == below
	})
}

// plainHost writes a host in the one way in which it is compared.
func plainHost(host string) string {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if address, err := netip.ParseAddr(host); err == nil {
		return address.Unmap().String()
	}
	return host
}

// moduleUse is the destination of a grant to use a module with any host.
func (t *Tool) moduleUse(*App) destination {
	if t.Source != "" {
		return destination{"moduleId": t.Request.ModuleID, "source": t.Source}
	}
	return endpoint(t.URL).with(destination{"moduleId": t.Request.ModuleID})
}

// granted marks a request whose module may be used with any host, as somebody who may
// change the app has allowed.
var granted = secret.New("granted")

// GrantModules lets the tools use the modules that they name with any host. Call it only if
// the author of the repository may change the app.
func (r *Repository) GrantModules() { grantModules(r.Tools) }

// GrantModules does for the tools of a patch what it does for those of a Repository.
func (p *Patch) GrantModules() { grantModules(p.Tools) }

func grantModules(tools []Tool) {
	for i := range tools {
		if request := tools[i].Request; request != nil && request.Auth == AuthModule {
			request.anywhere = granted
		}
	}
}

// MayUse reports whether a call with this request may carry the module's token to a host.
func (r *Request) MayUse(module Module, host string) bool {
	return !r.anywhere.Empty() || module.Reaches(host)
}

// CheckModuleHosts finds the tools that would send a module's token to a host that only
// somebody who may change the app can allow. Tools that a PATCH leaves unchanged are not at
// fault: they are checked when they are called.
func (r *Repository) CheckModuleHosts(app *App, there *Repository) error {
	var faults fault.List
	for i := range r.Tools {
		tool := &r.Tools[i]
		was := there.Tool(tool.Name)
		if tool.Request == nil || tool.Request.Auth != AuthModule || was != nil && was.params == tool.params {
			continue
		}
		module, known := app.Module(tool.Request.ModuleID)
		field, host := tool.callee(app)
		if known && !tool.Request.MayUse(module, host) {
			faults.Add(fault.Point("tools", i, field),
				"leads to %s, and a key without the scope app may use module %s towards the host of its tokenUrl and its hosts alone; have %[1]s added to the hosts of the module, or the tool written with a key of scope app",
				fault.Show(fault.Clip(host)), fault.Show(module.ID))
		}
	}
	return faults.Err()
}

// callee returns the host that the tool calls, and the field that names it.
func (t *Tool) callee(app *App) (field, host string) {
	field, text := "url", t.URL
	if t.Source != "" {
		source, _ := app.Source(t.Source)
		field, text = "source", source.BaseURL
	}
	parsed, err := url.Parse(text)
	if err != nil {
		return field, ""
	}
	return field, parsed.Hostname()
}
