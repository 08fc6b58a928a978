package console

import (
	"net/url"
	"strings"

	"earshot/repositories/annotations"
	"earshot/repositories/lists"
	"earshot/repositories/plaintext"
	"earshot/trigger/query"
)

// toolsBody is the body of the page Tools: the repositories of the app, and of a session if one is named.
type toolsBody struct {
	Session, Search string
	Trees           []tree
	Host            string
}

type tree struct {
	Session      string // empty for the app
	Repositories []branch
	Next         string // the next page
}

// branch is a repository with those of its tools that match the search.
type branch struct {
	repository
	Found []leaf
	More  int // tools that are not listed
}

// maxUnfolded is how many tools of a repository are visible by default.
const maxUnfolded = 12

// Unfolded reports whether the tools are visible.
func (b branch) Unfolded(search string) bool { return search != "" || b.Count() <= maxUnfolded }

// Count returns how many tools matched.
func (b branch) Count() int { return len(b.Found) + b.More }

// Fired returns how often the listed tools fired in the last 24 hours.
func (b branch) Fired() (sum int) {
	for _, one := range b.Found {
		if one.Used != nil {
			sum += one.Used.Fired
		}
	}
	return sum
}

// Rejected returns how often the listed tools were rejected in the last 24 hours.
func (b branch) Rejected() (sum int) {
	for _, one := range b.Found {
		if one.Used != nil {
			sum += one.Used.Rejected
		}
	}
	return sum
}

type leaf struct {
	Name, Description string
	Examples          []string
	Used              *query.ToolUse // in the last 24 hours; nil for never
}

// maxLeaves is how many tools of a repository this page lists.
const maxLeaves = 40

func toolsPage(v *pageRequest) error {
	asked := v.r.URL.Query()
	if id := asked.Get("open"); id != "" {
		return v.redirect(repositoryLink(v.app(), asked.Get("session"), id))
	}
	shown := toolsBody{Session: asked.Get("session"), Search: strings.TrimSpace(asked.Get("q")), Host: v.r.Host}
	used := map[string]*query.ToolUse{} // in the last 24 hours, by tool name
	uses, err := every[query.ToolUse](v, v1("apps", v.app(), "tools", "usage"))
	if err != nil {
		return err
	}
	for i := range uses {
		used[uses[i].Name] = &uses[i]
	}
	sessions := []string{""}
	if shown.Session != "" {
		sessions = []string{shown.Session, ""}
	}
	for _, session := range sessions {
		path := owner(v.app(), session) + "/repositories?limit=100"
		if after := asked.Get("after"); after != "" && session == "" {
			path += "&after=" + url.QueryEscape(after)
		}
		var found list[repository]
		if err := v.get(path, &found); err != nil {
			return err
		}
		grown := tree{Session: session, Next: found.Next}
		for _, one := range found.Items {
			if b := one.branch(shown.Search, used); shown.Search == "" || len(b.Found) > 0 {
				grown.Repositories = append(grown.Repositories, b)
			}
		}
		shown.Trees = append(shown.Trees, grown)
	}
	return v.render("tools", "Tools", shown)
}

// branch lists the tools whose name, description or examples contain the search text, ignoring case.
func (r repository) branch(search string, used map[string]*query.ToolUse) branch {
	b := branch{repository: r}
	for _, tool := range r.Tools {
		examples := lists.Map(tool.Examples, func(given string) string { return plaintext.Text(annotations.Plain(given)) })
		// No search contains the separator.
		texts := strings.Join(append([]string{tool.Name, tool.Description}, examples...), "\x00")
		if !strings.Contains(strings.ToLower(texts), strings.ToLower(search)) {
			continue
		}
		if len(b.Found) == maxLeaves {
			b.More++
			continue
		}
		b.Found = append(b.Found, leaf{tool.Name, plaintext.Text(tool.Description), examples, used[tool.Name]})
	}
	return b
}

// repository is the part of a repository that lists of tools need.
type repository struct {
	ID      string `json:"repositoryId"`
	Options struct {
		TriggerOnce bool `json:"triggerOnce"`
		Exclusive   bool `json:"exclusive"`
		Template    bool `json:"template"`
	} `json:"options"`
	Tools []struct {
		Name        string   `json:"name"`
		Description string   `json:"description"`
		Examples    []string `json:"examples"`
	} `json:"tools"`
}

// owner returns the REST path of an app or of its session.
func owner(app, session string) string {
	if session == "" {
		return v1("apps", app)
	}
	return v1("apps", app, "sessions", session)
}
