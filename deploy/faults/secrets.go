package main

import (
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"sync"
)

// planted are the credentials of a world, each a word that stands nowhere else.
type planted struct {
	admin, llm, password, module, token, remote string
	key                                         string // EARSHOT_SECRET_KEY
	signing                                     string // of the app

	mu    sync.Mutex
	found []string
}

func plant() *planted {
	word := func(name string) string { return "PLANTED" + name + "credential0123456789" }
	return &planted{
		admin: word("admin"), llm: word("llm"), password: word("password"), module: word("module"), token: word("token"), remote: word("remote"),
		key:     base64.StdEncoding.EncodeToString([]byte("PLANTEDkey0123456789012345678901")),
		signing: "whsec_" + base64.StdEncoding.EncodeToString([]byte("PLANTEDsigning01234567890123456789")),
	}
}

const user = "clerk"

// words are the credentials in all forms in which they could turn up.
func (p *planted) words() []string {
	return []string{
		p.admin, p.llm, p.password, p.module, p.token, p.remote, p.key, strings.TrimPrefix(p.signing, "whsec_"), "PLANTEDkey", "PLANTEDsigning",
		base64.StdEncoding.EncodeToString([]byte(user + ":" + p.password)),
	}
}

// look notes credentials in a text that came by at a place where they do not belong.
func (p *planted) look(place, text string) {
	for _, word := range p.words() {
		if strings.Contains(text, word) {
			p.mu.Lock()
			p.found = append(p.found, fmt.Sprintf("%s holds the credential that starts with %.14s", place, word))
			p.mu.Unlock()
		}
	}
}

// lookInto looks through a file, and returns what is in it.
func (p *planted) lookInto(file string) (string, error) {
	text, err := os.ReadFile(file)
	p.look(file, string(text))
	return string(text), err
}

func (p *planted) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.found...)
}
