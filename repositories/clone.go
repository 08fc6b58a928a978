package repositories

import (
	"maps"
	"slices"
)

// clone copies an app as deep as its credentials lie.
func (a *App) clone() *App {
	next := *a
	next.Modules = slices.Clone(a.Modules)
	return &next
}

// clone copies a repository as deep as its credentials lie, so that the copy can be
// given other ones. What is deeper is never changed and stays shared.
func (r *Repository) clone() *Repository {
	next := *r
	next.Tools = slices.Clone(r.Tools)
	for i := range next.Tools {
		next.Tools[i].Request = next.Tools[i].Request.clone()
	}
	return &next
}

func (r *Request) clone() *Request {
	if r == nil {
		return nil
	}
	next := *r
	next.Headers = maps.Clone(r.Headers)
	if r.Basic != nil {
		basic := *r.Basic
		next.Basic = &basic
	}
	if r.Bearer != nil {
		bearer := *r.Bearer
		next.Bearer = &bearer
	}
	return &next
}
