package console

import "slices"

// tab is a page of an app that every page leads to.
type tab struct {
	Name  string // of its icon
	Title string
	Key   string   // letter that follows g
	at    string   // its path below the app's; empty for the app's own
	pages []string // names of the templates that are within it
}

// tabs are those of every app, in order.
var tabs = []tab{
	{"now", "Now", "n", "", []string{"now"}},
	{"sessions", "Sessions", "s", "sessions", []string{"sessions", "session", "mend"}},
	{"triggers", "Triggers", "r", "triggers", []string{"triggers", "trigger"}},
	{"webhooks", "Endpoints", "e", "endpoints", []string{"endpoints"}},
	{"tools", "Tools", "t", "tools", []string{"tools", "editor", "try", "versions"}},
	{"tests", "Tests", "x", "tests", []string{"tests", "test"}},
	{"playground", "Playground", "p", "playground", []string{"playground"}},
	{"app", "App", "a", "settings", []string{"app"}},
}

// tabLink is a tab as a page shows it.
type tabLink struct {
	tab
	To   string
	Here bool // the page is within it
}

// tabsOf are the tabs of an app on a page of it.
func tabsOf(app, page string) (shown []tabLink) {
	for _, one := range tabs {
		to := link("apps", app)
		if one.at != "" {
			to = link("apps", app, one.at)
		}
		shown = append(shown, tabLink{one, to, slices.Contains(one.pages, page)})
	}
	return shown
}
