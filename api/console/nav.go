package console

// tab is a main page of an app.
type tab struct {
	Name  string // also of its icon
	Title string
	Key   string   // the letter after g
	at    string   // path below the app; empty for the app's own
	pages []string // templates of the tab
}

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

// tabLink is a tab on a page.
type tabLink struct {
	tab
	To   string
	Here bool // the page belongs to the tab
}
