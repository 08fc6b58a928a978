package files

import (
	"slices"

	"earshot/repositories"
	"earshot/repositories/fault"
	"earshot/repositories/parameters"
)

// checkTests holds the tests against the tools of the files: what they name, and the values
// that they expect, which become what the tools would make of them. Tools that the files do
// not have themselves, such as those of a server, are not known, and neither are an app's
// that is elsewhere.
func (s *Set) checkTests(c *collector) {
	tools, complete := s.testable()
	for _, one := range c.read {
		test := one.Test
		s.Tests = append(s.Tests, test)
		if len(tools) == 0 || !s.IsFor(test.AppID) {
			continue
		}
		check := testCheck{&testReader{c, one.document, test}, tools, complete}
		for _, name := range test.Tools {
			check.tool(check.d.at, name)
		}
		for i := range test.Chat {
			for j := range test.Chat[i].Expect {
				check.expectation(&test.Chat[i].Expect[j])
			}
		}
	}
}

// IsFor reports whether the files may be those of an app that a test names: they name no other.
func (s *Set) IsFor(appID string) bool { return appID == "" || !s.named || appID == s.AppID }

// testable are the tools of the files by their names, and whether there can be no others.
func (s *Set) testable() (tools map[string]*repositories.Tool, complete bool) {
	tools, complete = map[string]*repositories.Tool{}, true
	for _, repository := range s.Decoded() {
		complete = complete && repository.From == ""
		for i := range repository.Tools {
			if tool := &repository.Tools[i]; tools[tool.Name] == nil {
				tools[tool.Name] = tool
			}
		}
	}
	return tools, complete
}

// Decoded are the repositories as a service has them, without those at fault.
func (s *Set) Decoded() []*repositories.Repository {
	var found []*repositories.Repository
	for _, definition := range s.Repositories {
		if repository, err := repositories.DecodeRepository(repositories.Scope{AppID: s.appID()}, definition.ID, definition.Body()); err == nil {
			found = append(found, repository)
		}
	}
	return found
}

// testCheck holds one test against the tools.
type testCheck struct {
	*testReader
	tools    map[string]*repositories.Tool
	complete bool
}

// tool finds a tool that the test names; nil if there is none, or it may be elsewhere.
func (t testCheck) tool(at position, name string) *repositories.Tool {
	tool := t.tools[name]
	if tool == nil && t.complete && !t.missing[kindTool+" "+name] {
		names := make([]string, 0, len(t.tools))
		for known := range t.tools {
			names = append(names, known)
		}
		slices.Sort(names)
		t.fault(at, "there is no tool %q%s", fault.Clip(name), fault.DidYouMean(name, names))
	}
	return tool
}

func (t testCheck) expectation(one *Expectation) {
	named := one.Tool + one.Rejected // one of them is empty
	if named == "" {
		return
	}
	if len(t.test.Tools) > 0 && !slices.Contains(t.test.Tools, named) {
		t.fault(one.at, "expects the tool %q, which is not among its tools", fault.Clip(named))
	}
	tool := t.tool(one.at, named)
	if tool == nil {
		return
	}
	for _, name := range one.Missing {
		if names := tool.Params().Names(); !slices.Contains(names, name) {
			t.fault(one.at, "missing: tool %q has no parameter %q%s", tool.Name, fault.Clip(name), fault.DidYouMean(name, names))
		}
	}
	t.values(one, tool)
}

// values checks those that are expected as those of a program are: what they lack is free.
func (t testCheck) values(one *Expectation, tool *repositories.Tool) {
	given := map[string]any{}
	for name, value := range one.Values {
		if value != nil {
			given[name] = value
		}
	}
	made, found := tool.Params().Check(given)
	for name := range given {
		if value, is := made[name]; is {
			one.Values[name] = value
		}
	}
	for _, flaw := range found {
		if _, is := given[flaw.Parameter]; !is {
			continue
		}
		at := one.at
		if f := one.values.field(flaw.Parameter); f != nil {
			at = f.value.at
		}
		t.fault(at, "values/%s: %s", fault.Clip(flaw.Parameter), hinted(flaw, tool))
	}
	for name, value := range one.Values {
		if names := tool.Params().Names(); value == nil && !slices.Contains(names, name) {
			t.fault(one.values.field(name).at, "values/%s: tool %q has no such parameter%s", fault.Clip(name), tool.Name, fault.DidYouMean(name, names))
		}
	}
}

// hinted is a flaw with the tool that it is about.
func hinted(flaw parameters.ValueFault, tool *repositories.Tool) string {
	return flaw.Detail + " (tool " + tool.Name + ")"
}
