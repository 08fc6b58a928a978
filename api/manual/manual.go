// Package manual serves the service's documents as pages: the repository's Markdown with a table of contents, a
// search in the browser, and plain texts for models. It does not depend on the rest of the service.
package manual

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/api/page"
)

var (
	//go:embed page.html
	pageTemplate string
	//go:embed page.css
	style []byte
	//go:embed page.js
	script []byte
	//go:embed icon.svg
	icon []byte
)

const (
	root         = "/docs" // the path of the pages, and contentsFile the page that lists all others
	contentsFile = "README.md"
	// policy allows only the page's own style, script, pictures and search index.
	policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	// indexedText is how much of a section is searched, in bytes: a long table is found by its heading and
	// beginning.
	indexedText = 6 << 10
)

// Pages serves documents.
type Pages struct {
	made func() (map[string]page.File, error) // by path
}

// New returns the pages of documents, built on first use. A nil files has no pages.
func New(files fs.FS) *Pages {
	return &Pages{sync.OnceValues(func() (map[string]page.File, error) {
		if files == nil {
			return nil, nil
		}
		return build(files)
	})}
}

// ServeContents serves the page that lists all others.
func (p *Pages) ServeContents(c echo.Context) error { return p.serve(c, root) }

// ServeLLMs serves the contents for models.
func (p *Pages) ServeLLMs(c echo.Context) error { return p.serve(c, "/llms.txt") }

// ServeLLMsFull serves all texts for models.
func (p *Pages) ServeLLMsFull(c echo.Context) error { return p.serve(c, "/llms-full.txt") }

// Serve serves a page, its text, or a file.
func (p *Pages) Serve(c echo.Context) error {
	return p.serve(c, path.Join(root, c.Param("*")))
}

func (p *Pages) serve(c echo.Context, name string) error {
	files, err := p.made()
	if err != nil {
		return err
	}
	file, ok := files[name]
	if !ok {
		return answer.NewProblem(answer.UnknownPath, "this page does not exist; /docs lists all pages")
	}
	c.Response().Header().Set("Content-Security-Policy", policy)
	if strings.HasPrefix(name, root+"/_") {
		page.Kept(c.Response())
	}
	file.ServeHTTP(c.Response(), c.Request())
	return nil
}

// entry is a page in the contents.
type entry struct {
	Path, Title string
	Here        bool
	Headings    []heading // of the current page
}

// group is a part of the contents.
type group struct {
	Title   string
	Entries []entry
}

// shown is the data of the template.
type shown struct {
	Title, Style, Script, Index, Icon string
	Text                              string // path of the page as Markdown
	Contents                          []group
	Body                              template.HTML
	Previous, Next                    entry
}

func build(files fs.FS) (map[string]page.File, error) {
	var names []string
	err := fs.WalkDir(files, ".", func(name string, item fs.DirEntry, err error) error {
		if err == nil && !item.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	parsed, err := template.New("page").Parse(pageTemplate)
	if err != nil {
		return nil, err
	}
	documents, made := map[string]*document{}, map[string]page.File{}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		switch path.Ext(name) {
		case ".md":
			documents[name] = read(name, text)
			made[root+"/"+name] = page.New("text/markdown; charset=UTF-8", text)
		case ".svg":
			made[root+"/"+name] = page.New("image/svg+xml", text)
		case ".png":
			made[root+"/"+name] = page.New("image/png", text)
		}
	}
	if documents[contentsFile] == nil {
		return nil, fmt.Errorf("the documents have no %s", contentsFile)
	}
	contents := contentsOf(documents)
	index, err := json.Marshal(map[string][]found{"sections": indexOf(contents, documents)})
	if err != nil {
		return nil, err
	}
	index = append(index, '\n')
	common := shown{Style: page.Hashed("_page.css", style), Script: page.Hashed("_page.js", script), Index: page.Hashed("_search.json", index), Icon: page.Hashed("_icon.svg", icon)}
	made[root+"/"+common.Style] = page.New("text/css; charset=UTF-8", style)
	made[root+"/"+common.Script] = page.New("text/javascript; charset=UTF-8", script)
	made[root+"/"+common.Icon] = page.New("image/svg+xml", icon)
	made[root+"/"+common.Index] = page.New("application/json", index)
	for name, one := range documents {
		text, err := one.page(parsed, common, contents)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		made[pathOf(name)] = page.New("text/html; charset=UTF-8", text)
	}
	short, long := forModels(contents, documents)
	made["/llms.txt"], made["/llms-full.txt"] = page.New("text/plain; charset=UTF-8", short), page.New("text/plain; charset=UTF-8", long)
	return made, nil
}

func pathOf(name string) string {
	if name == contentsFile {
		return root
	}
	return root + "/" + strings.TrimSuffix(name, ".md")
}

func nameOf(at string) string {
	if at == root {
		return contentsFile
	}
	return strings.TrimPrefix(at, root+"/") + ".md"
}

// contentsOf lists the pages in the order of the links in the contents, below its headings.
func contentsOf(documents map[string]*document) []group {
	list := []group{{Entries: []entry{{Path: root, Title: "Contents"}}}}
	seen := map[string]bool{contentsFile: true}
	for _, to := range documents[contentsFile].links {
		if to.heading != "" && to.heading != list[len(list)-1].Title {
			list = append(list, group{Title: to.heading})
		}
		if one := documents[to.document]; one != nil && !seen[to.document] {
			seen[to.document] = true
			last := &list[len(list)-1]
			last.Entries = append(last.Entries, entry{Path: pathOf(to.document), Title: one.title})
		}
	}
	last := &list[len(list)-1]
	last.Entries = append(last.Entries, entry{Path: root + "/reference/api", Title: "API, with forms to try it"})
	return slices.DeleteFunc(list, func(one group) bool { return len(one.Entries) == 0 })
}

func (d *document) page(parsed *template.Template, common shown, contents []group) ([]byte, error) {
	common.Title, common.Body, common.Text = d.title, d.body, root+"/"+d.name
	var before entry
	after := false
	for _, part := range contents {
		entries := slices.Clone(part.Entries)
		for i, one := range entries {
			if after {
				common.Next, after = one, false
			}
			if one.Path == pathOf(d.name) {
				entries[i].Here = true
				for _, s := range d.sections {
					if s.level == 2 {
						entries[i].Headings = append(entries[i].Headings, s.heading)
					}
				}
				common.Previous, after = before, true
			}
			before = one
		}
		common.Contents = append(common.Contents, group{part.Title, entries})
	}
	var text bytes.Buffer
	err := parsed.Execute(&text, common)
	return text.Bytes(), err
}

// found is a section in the search index, with short names to save space.
type found struct {
	Path  string `json:"p"`
	Title string `json:"t"`
	Text  string `json:"x"`
}

func indexOf(contents []group, documents map[string]*document) []found {
	list := []found{}
	for _, part := range contents {
		for _, one := range part.Entries {
			d := documents[nameOf(one.Path)]
			if d == nil {
				continue
			}
			for _, s := range d.sections {
				title, at := d.title, one.Path
				if s.level > 1 {
					title, at = d.title+" › "+s.Title, one.Path+"#"+s.ID
				}
				text := s.text
				if len(text) > indexedText {
					text = strings.ToValidUTF8(text[:indexedText], "") // without a partial character
				}
				list = append(list, found{at, title, text})
			}
		}
	}
	return list
}

// forModels returns the contents with a line per page, and all pages concatenated.
func forModels(contents []group, documents map[string]*document) (short, long []byte) {
	var list, all bytes.Buffer
	list.WriteString("# Earshot\n\n> Earshot hears in a chat what a user wants, and calls the registered tool: an event on NATS, an authenticated HTTP call.\n\nAll pages in one text: /llms-full.txt. The API as OpenAPI: /openapi.json. The events as AsyncAPI: /asyncapi.json.\n")
	for _, part := range contents {
		fmt.Fprintf(&list, "\n## %s\n\n", cmp.Or(part.Title, "Documents"))
		for _, one := range part.Entries {
			if d := documents[nameOf(one.Path)]; d != nil && d.name != contentsFile {
				fmt.Fprintf(&list, "- [%s](%s/%s): %s\n", d.title, root, d.name, d.summary)
				fmt.Fprintf(&all, "%s\n\n", bytes.TrimSpace(d.text))
			}
		}
	}
	return list.Bytes(), all.Bytes()
}
