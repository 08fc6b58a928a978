package main

import (
	"path"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

// leads checks that an answer has the words that lead to the right way.
func leads(t *testing.T, words []string, sent string, got httpAnswer) {
	require.NoError(t, got.Err)
	told := read[struct {
		Detail string
		Errors []struct{ Pointer, Detail string }
		Notes  []string
	}](t, got.Body)
	text := strings.Join(append(told.Notes, told.Detail), "\n")
	for _, one := range told.Errors {
		text += "\n" + one.Pointer + " " + one.Detail
	}
	for _, word := range words {
		require.Contains(t, text, word, "%s: %d %s", sent, got.Status, got.Body)
	}
}

// TestTypicalMistakesLeadToTheRightWay makes typical mistakes, and checks the hints.
func TestTypicalMistakesLeadToTheRightWay(t *testing.T) {
	w := serving(t, 1)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","description":"Books an appointment","schema":[
		{"parameter":"day","type":"string","required":true},{"parameter":"people","type":"integer"}],"examples":["book [Monday](day)"]}]}`)
	var mistakes []struct {
		What, Request, Body, Tool, Command, File string
		Words                                    []string
	}
	require.NoError(t, yaml.UnmarshalWithOptions([]byte(fixture("mistakes.yaml")), &mistakes, yaml.Strict()))
	for _, m := range mistakes {
		t.Run(m.What, func(t *testing.T) {
			switch {
			case m.Request != "":
				method, at, _ := strings.Cut(m.Request, " ")
				at, query, asked := strings.Cut(at, "?")
				at = path.Join("/v1/apps/clinic", at)
				if asked {
					at += "?" + query
				}
				leads(t, m.Words, m.Body, w.ask(w.replicas[0], method, at, m.Body))
			case m.Tool != "":
				tool := strings.ReplaceAll(m.Tool, "DAY", `{"parameter":"day","type":"string"}`)
				if !strings.HasPrefix(tool, `"name"`) {
					tool = `"name":"a",` + tool
				}
				leads(t, m.Words, tool, w.ask(w.replicas[0], "PUT", "/v1/apps/clinic/repositories/r", `{"tools":[{`+tool+`}]}`))
			default:
				inFolder(t)
				if m.File != "" {
					write(t, "tools.yaml", m.File)
				}
				args := strings.Fields(m.Command)
				for i := range args {
					args[i] = strings.ReplaceAll(args[i], "%20", " ")
				}
				got := failing(t, map[string]string{"EARSHOT_URL": w.replicas[0].url, "EARSHOT_KEY": testAdminKey}, args...)
				for _, word := range m.Words {
					require.Contains(t, got.out+got.err, word, m.Command)
				}
			}
		})
	}
	require.GreaterOrEqual(t, len(mistakes), 150)
	require.NotContains(t, w.call(404, "GET", "/v1/apps/clinic/zzzzzzzz", "").Body, "did you mean", "no path is like it")
}
