package manual

import (
	"bytes"
	"fmt"
	"html/template"
	"path"
	"regexp"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// document is a parsed page.
type document struct {
	name, title, summary string
	text                 []byte
	body                 template.HTML
	sections             []section
	links                []link
}

type heading struct{ ID, Title string }

// section is a heading with the text below it.
type section struct {
	heading
	level int
	text  string
}

// link is a link to another document, with the level-2 heading above it.
type link struct{ document, heading string }

// markdown renders Markdown like GitHub. The documents are our own, so their HTML is kept.
var markdown = goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()), goldmark.WithRendererOptions(html.WithUnsafe()))

func read(name string, source []byte) *document {
	d := &document{name: name, title: name, text: source}
	tree := markdown.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(&anchors{}))))
	chapter := ""
	_ = ast.Walk(tree, func(node ast.Node, entering bool) (ast.WalkStatus, error) { // the function never fails
		if !entering {
			return ast.WalkContinue, nil
		}
		switch node := node.(type) {
		case *ast.Heading:
			id, _ := node.AttributeString("id")
			one := section{heading: heading{fmt.Sprintf("%s", id), strings.TrimSpace(words(node, source))}, level: node.Level}
			if node.Level == 1 && len(d.sections) == 0 {
				d.title = one.Title
			}
			if node.Level == 2 {
				chapter = one.Title
			}
			d.sections = append(d.sections, one)
		case *ast.Link:
			if to := d.resolve(string(node.Destination)); to.document != "" {
				d.links = append(d.links, link{to.document, chapter})
			}
		case *ast.Paragraph:
			_, picture := node.FirstChild().(*ast.Image)
			if said := words(node, source); d.summary == "" && !picture && !leading.MatchString(said) {
				d.summary = said
				if end := strings.Index(said, ". "); end > 0 {
					d.summary = said[:end+1]
				}
			}
		}
		// A block of text is a paragraph, a table cell or a code block.
		first := node.FirstChild()
		isText := node.Type() == ast.TypeBlock && node.Kind() != ast.KindHeading && (first == nil || first.Type() == ast.TypeInline)
		if last := len(d.sections) - 1; last >= 0 && isText {
			d.sections[last].text = strings.TrimSpace(d.sections[last].text + " " + words(node, source))
		}
		return ast.WalkContinue, nil
	})
	d.retarget(tree)
	var rendered bytes.Buffer
	_ = markdown.Renderer().Render(&rendered, source, tree) // into memory
	// Headings link to themselves, and wide elements are scrollable.
	body := headed.ReplaceAllString(rendered.String(), `<h$1 id="$2">$3 <a class="anchor" href="#$2" aria-label="Link to this heading">#</a></h$1>`)
	body = strings.NewReplacer(
		"<pre>", `<pre tabindex="0">`,
		"<table>", `<div class="table" tabindex="0"><table>`, "</table>", "</table></div>",
		"<th></th>", "<td></td>",
	).Replace(body)
	d.body = template.HTML(body) //nolint:gosec // our own documents
	return d
}

// leading matches lines that only lead to other pages.
var leading = regexp.MustCompile(`^(Before|Next|All documents|Part of)\b`)

// words returns the text of a node without markup.
func words(node ast.Node, source []byte) string {
	var b strings.Builder
	if node.Type() == ast.TypeBlock && node.ChildCount() == 0 {
		for i := range node.Lines().Len() {
			line := node.Lines().At(i)
			b.Write(line.Value(source))
		}
	}
	_ = ast.Walk(node, func(one ast.Node, entering bool) (ast.WalkStatus, error) { // the function never fails
		if entering {
			switch one := one.(type) {
			case *ast.Text:
				b.Write(one.Segment.Value(source))
				if one.SoftLineBreak() || one.HardLineBreak() {
					b.WriteByte(' ')
				}
			case *ast.String:
				b.Write(one.Value)
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}

type target struct {
	document string // one of the documents; empty for others
	path     string // in the site; empty outside
}

func (d *document) resolve(to string) target {
	file, anchor, has := strings.Cut(to, "#")
	if strings.Contains(to, ":") || strings.HasPrefix(to, "/") {
		return target{path: to}
	}
	if has {
		anchor = "#" + anchor
	}
	if file == "" {
		return target{path: anchor}
	}
	name := path.Join(path.Dir(d.name), file)
	switch {
	case strings.HasPrefix(name, ".."):
		return target{}
	case path.Ext(name) == ".md":
		return target{name, pathOf(name) + anchor}
	}
	return target{path: root + "/" + name}
}

// retarget points links to pages of the site, and replaces other relative links by their path.
func (d *document) retarget(tree ast.Node) {
	var away []*ast.Link
	_ = ast.Walk(tree, func(node ast.Node, entering bool) (ast.WalkStatus, error) { // the function never fails
		switch node := node.(type) {
		case *ast.Link:
			if to := d.resolve(string(node.Destination)); to.path != "" {
				node.Destination = []byte(to.path)
			} else if entering {
				away = append(away, node)
			}
		case *ast.Image:
			if !entering {
				node.Destination = []byte(d.resolve(string(node.Destination)).path)
			}
		}
		return ast.WalkContinue, nil
	})
	for _, one := range away {
		place := ast.NewString([]byte(" (" + path.Join("deploy/docs", path.Dir(d.name), string(one.Destination)) + ")"))
		for child := one.FirstChild(); child != nil; child = one.FirstChild() {
			one.Parent().InsertBefore(one.Parent(), one, child)
		}
		one.Parent().ReplaceChild(one.Parent(), one, place)
	}
}

var headed = regexp.MustCompile(`<h([1-6]) id="([^"]*)">(.*)</h[1-6]>`)

// anchors makes the anchors of headings as GitHub does.
type anchors struct{ taken map[string]int }

// Generate implements parser.IDs.
func (a *anchors) Generate(value []byte, _ ast.NodeKind) []byte {
	var b strings.Builder
	for _, r := range strings.ToLower(string(value)) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		}
	}
	if a.taken == nil {
		a.taken = map[string]int{}
	}
	id := b.String()
	n := a.taken[id]
	a.taken[id]++
	if n > 0 {
		id = fmt.Sprintf("%s-%d", id, n)
	}
	return []byte(id)
}

// Put implements parser.IDs.
func (a *anchors) Put([]byte) {}
