package eval

import (
	"context"
	"fmt"

	"earshot/cmd/earshot/client"
	"earshot/repositories"
	"earshot/repositories/fault"
	"earshot/repositories/files"
	"earshot/trigger/examples"
	"earshot/trigger/scope"
)

// Examples makes a test of each example of the tools that messages may call for: it fires its own
// tool, and nothing else. Those of tools that ask for a verified user are counted, as no test has
// one. The place of an example, where there is one, is found by the id of its repository and a
// JSON Pointer.
func Examples(list []*repositories.Repository, at func(repositoryID, pointer string) (file string, line int)) (tests []*files.Test, left int) {
	inScope := map[*repositories.Tool]bool{}
	for _, one := range scope.Of(nil, list).Shared.Tools {
		inScope[one.Tool] = true
	}
	for _, repository := range list {
		for i := range repository.Tools {
			tool := &repository.Tools[i]
			if !inScope[tool] {
				continue
			}
			if tool.AsksForUser() {
				left += len(tool.Examples)
				continue
			}
			for j, said := range tool.Spoken() {
				file, line := at(repository.ID, fault.Point("tools", i, "examples", j))
				tests = append(tests, &files.Test{
					Name: fmt.Sprintf("%s: %s", tool.Name, said), File: file, Line: line, AppID: repository.AppID,
					Chat: []files.Said{{Text: said, Line: line, Expect: []files.Expectation{{Line: line, Tool: tool.Name, Lacking: examples.Free(tool)}}}},
				})
			}
		}
	}
	return tests, left
}

// Repositories are those of the service's app.
func (s *Service) Repositories(ctx context.Context) ([]*repositories.Repository, error) {
	appID, err := s.Client.App(ctx, s.AppID)
	if err != nil {
		return nil, err
	}
	items, err := s.Client.All(ctx, client.Path("apps", appID, "repositories"))
	if err != nil {
		return nil, err
	}
	list := make([]*repositories.Repository, len(items))
	for i, item := range items {
		list[i] = &repositories.Repository{}
		if err := client.Decode(item, list[i]); err != nil {
			return nil, err
		}
		list[i].AppID = appID
		if err := list[i].Compile(); err != nil {
			return nil, fmt.Errorf("repository %s: %w", list[i].ID, err)
		}
	}
	return list, nil
}
