package repositories

// DecodeRepository reads the body of a repository. Scope and id are those of the
// path; ids in the body must agree with them. An empty id means that the path names
// none: the body may, and where it does not the caller makes one up. All faults are
// returned at once, as Faults.
func DecodeRepository(scope Scope, id string, body []byte) (*Repository, error) {
	d, err := decode("Repository", body)
	if err != nil {
		return nil, err
	}
	d.place(scope, id)
	r := &Repository{}
	d.into(r)
	d.tools(r.Tools)
	if err := d.err(); err != nil {
		return nil, err
	}
	r.AppID, r.SessionID = scope.AppID, scope.SessionID
	if id != "" {
		r.ID = id
	}
	if r.Tools == nil {
		r.Tools = []Tool{}
	}
	return r, nil
}

// DecodePatch reads the body of a PATCH of a repository, by the same rules: the tools
// to add or override, and the options that replace those that are there.
func DecodePatch(scope Scope, id string, body []byte) (*Patch, error) {
	d, err := decode("Patch", body)
	if err != nil {
		return nil, err
	}
	d.place(scope, id)
	p := &Patch{}
	d.into(p)
	d.tools(p.Tools)
	if err := d.err(); err != nil {
		return nil, err
	}
	return p, nil
}

// place holds the ids of a body against its path and takes out what is ours to say:
// the times are read back by clients and sent again with the rest.
func (d *decoding) place(scope Scope, id string) {
	d.agree("appId", scope.AppID)
	d.agree("sessionId", scope.SessionID)
	if id != "" {
		d.agree("repositoryId", id)
	}
	delete(d.object(), "created")
	delete(d.object(), "updated")
	d.prepareTools()
}
