// Package template fills the templates of Toolbox's tools: the statement of a SQL
// tool, the path and the body of an http tool.
//
// The syntax is that of text/template, of which it takes what such texts need and
// nothing else: {{.name}}, {{index . "a-name"}}, {{if}} with {{else}}, the functions
// and, or, not, eq and ne, and those that Parse is given. {{json .}} is an object of all
// values that there are. No method is called, no
// loop runs, nothing is defined, so that a text that a stranger has written costs no
// more time than it is long.
//
// What a value becomes where it is pasted is decided by an Escaper, never by the text:
// the one who writes a template cannot switch escaping off.
package template
