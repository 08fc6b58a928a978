package repositories

import "earshot/repositories/fault"

// DecodeApp reads the body of an app. The id is that of the path; an appId in the
// body must agree with it. A credential that is Masked stands for the one that is
// stored. All faults are returned at once, as Faults.
func DecodeApp(id string, body []byte) (*App, error) {
	d, err := decode("App", body)
	if err != nil {
		return nil, err
	}
	d.agree("appId", id)
	d.prepareSources()
	app := &App{}
	d.into(app)
	d.modules(app.Modules)
	d.services(app.AuthServices)
	d.sources(app.Sources)
	if err := d.err(); err != nil {
		return nil, err
	}
	app.ID = id
	return app, nil
}

func (d *decoding) modules(modules []Module) {
	seen := map[string]int{}
	for i, module := range modules {
		if first, twice := seen[module.ID]; twice && module.ID != "" {
			d.add(fault.Point("modules", i, "moduleId"), "%q is the id of module %d as well", module.ID, first)
			continue
		}
		seen[module.ID] = i
	}
}

func (d *decoding) services(services []AuthService) {
	seen := map[string]int{}
	for i, service := range services {
		at := fault.Point("authServices", i)
		switch service.Type {
		case "google":
			d.needs(service.ClientID != "", at+fault.Point("clientId"), "google")
		case "oidc":
			d.needs(service.Issuer != "", at+fault.Point("issuer"), "oidc")
			d.needs(service.Audience != "", at+fault.Point("audience"), "oidc")
		}
		if first, twice := seen[service.Name]; twice && service.Name != "" {
			d.add(at+fault.Point("name"), "%q is the name of service %d as well", service.Name, first)
			continue
		}
		seen[service.Name] = i
	}
}
