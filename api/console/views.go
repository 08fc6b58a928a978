package console

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"mime"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"earshot/api/page"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
	"earshot/repositories/lists"
	"earshot/trigger/query"
)

//go:embed templates static
var embedded embed.FS

type views struct {
	pages map[string]*template.Template
	files files
}

// parseViews panics if an embedded template is invalid.
func parseViews() views {
	v := views{pages: map[string]*template.Template{}, files: files{named: map[string]string{}, served: map[string]page.File{}}}
	static, _ := embedded.ReadDir("static") // embedded
	for _, entry := range static {
		if content, _ := embedded.ReadFile("static/" + entry.Name()); entry.Name() != styles {
			v.files.add(entry.Name(), content)
		}
	}
	v.files.add("definition.schema.json", repositories.DefinitionSchema())
	// The styles name the font file by its hash, so the font comes first.
	sheet, _ := embedded.ReadFile("static/" + styles)
	v.files.add(styles, bytes.ReplaceAll(sheet, []byte(font), []byte(v.files.named[font])))
	functions := template.FuncMap{
		"file": v.files.name, "link": link, "iso": func(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) },
		"clock": func(at time.Time) string { return at.UTC().Format("2 Jan 15:04:05") }, "json": indentedJSON,
		"short": func(value any) (string, error) {
			text, err := exactjson.Encode(value)
			return string(text), err
		},
		"dict": dict, "score": func(score *float32) string { return strconv.FormatFloat(float64(*score), 'f', 2, 32) },
		"repository": repositoryLink, "more": func(all []string) int { return len(all) - 1 }, "plain": unquoted, "came": stateOf,
		"advice": adviceOn, "compared": compared,
	}
	shared := template.Must(template.New("layout.html").Funcs(functions).ParseFS(embedded, "templates/layout.html", "templates/parts.html", "templates/icons.html"))
	names, _ := embedded.ReadDir("templates") // embedded
	for _, entry := range names {
		name := strings.TrimSuffix(entry.Name(), ".html")
		if name != "layout" && name != "parts" && name != "icons" {
			v.pages[name] = template.Must(template.Must(shared.Clone()).ParseFS(embedded, "templates/"+entry.Name()))
		}
	}
	return v
}

// stateOf returns the state of a trigger that has not taken effect, or never will; empty for a fired one,
// whatever became of its event and call.
func stateOf(of query.Match) string {
	switch of.State {
	case query.StateConfirming, query.StateCancelled, query.StateDuplicate, query.StateDraft:
		return of.State
	case query.StatePending:
		if of.DueAt != nil && of.Event != nil && of.Event.State == query.StatePending {
			return of.State // it settles
		}
	}
	return ""
}

// link returns a console path with these parts, each escaped.
func link(parts ...string) string {
	return root + "/" + strings.Join(lists.Map(parts, url.PathEscape), "/")
}

// repositoryLink returns the path of a repository's page, of an app or a session.
func repositoryLink(app, session string, parts ...string) string {
	if session == "" {
		return link(append([]string{"apps", app, "tools"}, parts...)...)
	}
	return link(append([]string{"apps", app, "sessions", session, "tools"}, parts...)...)
}

func indentedJSON(value any) (string, error) {
	text, err := exactjson.Encode(value)
	if err != nil {
		return "", err
	}
	var indented bytes.Buffer
	err = json.Indent(&indented, text, "", "  ")
	return indented.String(), err
}

// unquoted returns a JSON string without its quotes, and other values unchanged.
func unquoted(value string) string {
	var text string
	if json.Unmarshal([]byte(value), &text) == nil {
		return text
	}
	return value
}

// dict builds a map of names and values, for templates with several arguments.
func dict(pairs ...any) map[string]any {
	made := map[string]any{}
	for pair := range slices.Chunk(pairs, 2) {
		made[pair[0].(string)] = pair[1]
	}
	return made
}

// files holds the static files. Their names include the hash of their content, so that browsers cache them
// forever and never show an old one.
type files struct {
	named  map[string]string // by plain name
	served map[string]page.File
}

const (
	styles = "console.css"
	font   = "figtree.woff2"
)

func (f files) add(plain string, content []byte) {
	kind := mime.TypeByExtension(path.Ext(plain))
	if plain == font {
		kind = "font/woff2" // some machines do not know it
	}
	name := page.Hashed(plain, content)
	f.named[plain], f.served[name] = name, page.New(kind, content)
}

// name returns the path of a file for templates.
func (f files) name(plain string) (string, error) {
	name, known := f.named[plain]
	if !known {
		return "", fmt.Errorf("there is no file %q", plain)
	}
	return root + "/static/" + name, nil
}

func (f files) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	found, known := f.served[r.PathValue("file")]
	if !known {
		http.NotFound(w, r)
		return
	}
	page.Kept(w)
	found.ServeHTTP(w, r)
}

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
	{"tests", "Tests", "x", "tests", []string{"tests"}},
	{"playground", "Playground", "p", "playground", []string{"playground"}},
	{"app", "App", "a", "settings", []string{"app"}},
}

type tabLink struct {
	tab
	To   string
	Here bool // the page belongs to the tab
}

// flawPlace is the place of a fault in an edited text.
type flawPlace struct {
	flaw
	Line     int    // from 1; 0 if unknown
	Text     string // of the line
	From, To int    // in UTF-16 code units, as in scripts
}

func placed(flaws []flaw, text string) []flawPlace {
	places := make([]flawPlace, len(flaws))
	for i, one := range flaws {
		places[i] = flawPlace{flaw: one}
		from, to, found := span(text, one)
		if !found {
			continue
		}
		begin := strings.LastIndexByte(text[:from], '\n') + 1
		line, _, _ := strings.Cut(text[begin:], "\n")
		places[i].Line, places[i].Text = strings.Count(text[:from], "\n")+1, strings.TrimSpace(line)
		places[i].From, places[i].To = units(text[:from]), units(text[:to])
	}
	return places
}

// units returns the length of a text in UTF-16 code units.
func units(text string) int { return len(utf16.Encode([]rune(text))) }

// malformed matches the place of a syntax error in REST's fault.
var malformed = regexp.MustCompile(`at line (\d+), column (\d+)`)

// span returns the byte range of the value that a fault is about, or of the object that lacks it.
func span(text string, of flaw) (from, to int, found bool) {
	at := malformed.FindStringSubmatch(of.Detail)
	if at == nil || of.Pointer != "" {
		return walker{json.NewDecoder(strings.NewReader(text)), text}.find(fault.Tokens(of.Pointer))
	}
	line, _ := strconv.Atoi(at[1])
	column, _ := strconv.Atoi(at[2])
	for ; line > 1; line-- {
		end := strings.IndexByte(text[from:], '\n')
		if end < 0 {
			return 0, 0, false
		}
		from += end + 1
	}
	from = min(from+max(column-1, 0), len(text))
	return from, min(from+1, len(text)), true
}

type walker struct {
	*json.Decoder
	text string
}

// find returns the span of the value that tokens lead to from the next value.
func (w walker) find(tokens []string) (from, to int, found bool) {
	at := int(w.InputOffset())
	from = at + len(w.text[at:]) - len(strings.TrimLeft(w.text[at:], " \t\r\n:,"))
	if len(tokens) == 0 {
		var value json.RawMessage
		if w.Decode(&value) != nil {
			return 0, 0, false
		}
		return from, from + len(bytes.TrimSpace(value)), true
	}
	begin, err := w.Token()
	if delimiter, is := begin.(json.Delim); err != nil || !is || delimiter != '{' && delimiter != '[' {
		return from, from + 1, err == nil
	}
	for i := 0; w.More(); i++ {
		name := strconv.Itoa(i)
		if begin == json.Delim('{') {
			key, err := w.Token()
			if err != nil {
				return from, from + 1, true
			}
			name, _ = key.(string)
		}
		if name == tokens[0] {
			return w.find(tokens[1:])
		}
		var skipped json.RawMessage
		if w.Decode(&skipped) != nil {
			break
		}
	}
	return from, from + 1, true
}

// laidOut formats JSON for people, in its own order: a short value takes one line, except on the first open
// levels.
func laidOut(value json.RawMessage, indent string, open int) string {
	const width = 100
	line := onOneLine(value)
	parts, begin, end := partsOf(value, func(part json.RawMessage) string { return laidOut(part, indent+"  ", open-1) })
	if len(parts) == 0 || open <= 0 && len(indent)+len(line) <= width {
		return line
	}
	inner := "\n" + indent + "  "
	return begin + inner + strings.Join(parts, ","+inner) + "\n" + indent + end
}

func onOneLine(value json.RawMessage) string {
	parts, begin, end := partsOf(value, onOneLine)
	if begin == "" {
		return strings.TrimSpace(string(value))
	}
	return begin + strings.Join(parts, ", ") + end
}

// partsOf formats the parts of an object or a list. Other values have none, and an empty begin.
func partsOf(value json.RawMessage, write func(json.RawMessage) string) (parts []string, begin, end string) {
	switch text := strings.TrimSpace(string(value)); {
	case strings.HasPrefix(text, "{"):
		names, members, _ := membersOf(value) // REST wrote valid JSON
		for _, name := range names {
			quoted, _ := json.Marshal(name) // a text
			parts = append(parts, string(quoted)+": "+write(members[name]))
		}
		return parts, "{", "}"
	case strings.HasPrefix(text, "["):
		return lists.Map(membersOfList(value), write), "[", "]"
	}
	return nil, "", ""
}

// membersOf returns the members of an object, and their names in order.
func membersOf(object json.RawMessage) (names []string, members map[string]json.RawMessage, err error) {
	if len(object) == 0 {
		return nil, nil, nil
	}
	if names, err = exactjson.Keys(object); err == nil {
		err = json.Unmarshal(object, &members)
	}
	return names, members, err
}
