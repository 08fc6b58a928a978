package files

import (
	"regexp"
	"strings"
)

// render writes a value as YAML in blocks, each line behind the indent.
func render(value *node, indent string) string {
	var b strings.Builder
	switch value.kind {
	case object:
		for _, f := range value.fields {
			b.WriteString(indent + renderText(f.name, indent) + ":" + renderBeside(f.value, indent))
		}
	case list:
		for _, item := range value.items {
			if item.kind == object && len(item.fields) > 0 {
				b.WriteString(indent + "- " + strings.TrimPrefix(render(item, indent+"  "), indent+"  "))
				continue
			}
			b.WriteString(indent + "-" + renderBeside(item, indent))
		}
	}
	return b.String()
}

// renderBeside writes a value behind a key or a dash, with the end of the line.
func renderBeside(value *node, indent string) string {
	switch {
	case value.kind == object && len(value.fields) == 0:
		return " {}\n"
	case value.kind == list && len(value.items) == 0:
		return " []\n"
	case value.kind == object || value.kind == list:
		return "\n" + render(value, indent+"  ")
	case value.kind == null:
		return " null\n"
	case value.kind != text, value.plain != "" && placeholder.MatchString(value.plain):
		return " " + value.text + "\n"
	}
	return " " + renderText(value.text, indent+"  ") + "\n"
}

// Texts that YAML reads as they are written, without quotes, and texts of several
// lines that can stand as a block.
var (
	plainText = regexp.MustCompile(`^[A-Za-z0-9_/](?:[^:#\x00-\x1f\x7f-\x{9f}\x{feff}\x{fffe}]|:[^\s:#\x00-\x1f])*$`)
	blockText = regexp.MustCompile(`^[^\s\x00-\x1f\x7f-\x{9f}\x{feff}][^\x00-\x09\x0b-\x1f\x7f-\x{9f}\x{feff}]*[^\s]\n?$`)
)

func renderText(value, indent string) string {
	if strings.Contains(value, "\n") && indent != "" && blockText.MatchString(value) && !strings.Contains(value, " \n") {
		return renderBlock(value, indent)
	}
	if plain, err := resolve(value, place{}); err == nil && plain.kind == text && plainText.MatchString(value) &&
		strings.TrimSpace(value) == value && !strings.HasSuffix(value, ":") {
		return value
	}
	return string(quote(value)) // JSON's quotes are YAML's
}

func renderBlock(value, indent string) string {
	head := "|-"
	if strings.HasSuffix(value, "\n") {
		head = "|"
	}
	for line := range strings.Lines(strings.TrimSuffix(value, "\n")) {
		head += "\n"
		if line = strings.TrimSuffix(line, "\n"); line != "" {
			head += indent + line
		}
	}
	return head
}
