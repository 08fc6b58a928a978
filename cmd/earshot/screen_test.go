package main

import (
	"context"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"earshot/deploy/testbed"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
)

// person sits at a terminal with a command.
type person struct {
	*replica
	keys *os.File
}

// sitting starts a command at a terminal of 80 columns.
func sitting(t *testing.T, variables map[string]string, args ...string) person {
	t.Helper()
	keys, screen, err := pty.Open()
	require.NoError(t, err)
	require.NoError(t, pty.Setsize(screen, &pty.Winsize{Rows: 24, Cols: 80}))
	ctx, end := context.WithCancel(context.Background())
	r := &replica{t: t, log: &testbed.Lines{}, end: end, ended: make(chan struct{})}
	world := around(variables, screen, screen, "")
	world.in = screen
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		_, _ = io.Copy(r.log, keys) // ends when the terminal is closed
	}()
	go func() {
		defer close(r.ended)
		r.code = run(ctx, args, world)
	}()
	t.Cleanup(func() {
		r.stop()
		_, _ = keys.WriteString("\r") // ends a line that is still read
		require.NoError(t, screen.Close())
		<-shown
		require.NoError(t, keys.Close())
	})
	return person{r, keys}
}

func (p person) types(text string) {
	p.t.Helper()
	_, err := p.keys.WriteString(text)
	require.NoError(p.t, err)
}

// sees waits until something has come up that often.
func (p person) sees(text string, times int) {
	p.t.Helper()
	require.Eventually(p.t, func() bool { return strings.Count(p.log.String(), text) >= times }, patience, glance, "no %q in\n%s", text, p.log)
}

const (
	keyUp, keyBackspace, keyTab, keyEnd = "\x1b[A", "\x7f", "\t", "\x04"
)

func TestAPersonEditsLinesAndGoesBackToEarlierOnes(t *testing.T) {
	w, _ := talking(t)
	p := sitting(t, w.env, "chat", "--session", "s1")
	p.sees("/help lists commands", 1)
	p.types("I want an appointmentX" + keyBackspace + "\r")
	p.sees("fired", 1)
	p.types(keyUp + "\r")
	p.sees("fired", 2)
	require.Len(t, w.request("GET", "/v1/apps/clinic/sessions/s1/messages", "")["items"], 2)
	p.types("/he" + keyTab + "\r")
	p.sees("The arrow keys move in a line", 1)
	p.types("/hlep\r")
	p.sees(`/hlep is no command: /help, /why, /tools, /history, /quit; did you mean "/help"?`, 1)
	p.types("/tools\r")
	p.sees("  booking/book\r\n", 1)
	require.Contains(t, p.log.String(), "\x1b[32mfired\x1b[0m")
	p.sees("> \x1b[0m", 6) // before it the terminal takes the key for itself
	p.types(keyEnd)
	require.Zero(t, p.wait())

	again := sitting(t, w.env, "chat", "--session", "s1")
	again.sees("fired", 2) // of the history
	again.types(keyUp + "\r")
	again.sees("fired", 3)
	again.end() // as a signal does
	require.Zero(t, again.wait())
}

func TestDevShowsAPersonWhatHappens(t *testing.T) {
	e := newSink(t)
	p := sitting(t, map[string]string{"NO_COLOR": "1"}, "dev", "--addr", "127.0.0.1:0")
	p.url = p.log.Await(t, `Earshot listens on (http://127\.0\.0\.1:\d+)`)
	w := &world{t: t, env: map[string]string{}, replicas: []*replica{p.replica}}
	w.until("it is ready", func() bool { return w.ask(p.replica, "GET", "/readyz", "").Status == 200 })
	w.put("/v1/apps/clinic", `{}`)
	w.say("s0", "m0", "hello")
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","url":"`+e.URL+`/book","examples":["I want an appointment"]},
		{"name":"cancel","examples":["cancel it"],"schema":[{"parameter":"day","type":"string","required":true}]}]}`)
	w.say("s1", "m1", "I want an appointment")
	e.answer(400)
	w.say("s2", "m2", "I want an appointment")
	w.say("s3", "m3", "my cat is asleep")
	w.say("s4", "m4", "cancel it")
	for _, line := range []string{
		`message +clinic/s0  no tool in scope  "hello"`, `changed +clinic +desk  created, tools: 2`,
		`message +clinic/s1  match \(\w+\)  "I want an appointment"`, `trigger +clinic/s1  book`, `call +clinic/s1  POST 127\.0\.0\.1:\d+/book  200`, `result +clinic/s1  book  200 {"ok":true}`,
		`call +clinic/s2  POST 127\.0\.0\.1:\d+/book  400 failed: `, `result +clinic/s2  book  failed \(request\): `,
		`message +clinic/s3  no match \(offline\)  "my cat is asleep"`, `notmatching +clinic/s3  none of book, cancel`,
		`message +clinic/s4  values missing \(\w+\)  "cancel it"`, `rejected +clinic/s4  cancel  day is required`,
	} {
		p.log.Await(t, `(?m)^\d\d:\d\d:\d\d  `+line)
	}
	require.NotContains(t, p.log.String(), "\x1b", "no colours with NO_COLOR")
	require.NotContains(t, p.log.String(), "{\"time\"", "no log")
	p.end()
	require.Zero(t, p.wait())
}

func TestDevLogsJSONForPrograms(t *testing.T) {
	t.Parallel()
	p := sitting(t, nil, "dev", "--addr", "127.0.0.1:0", "--json")
	p.sees(`"msg":"service.started"`, 1)
	p.end()
	require.Zero(t, p.wait())
}

func TestDevReadsNoFilesFromStandardInput(t *testing.T) {
	require.Contains(t, command(t, nil, "dev", "-f", "-").err, "earshot: -f is -: dev reads its files again when they change")
}

func TestHelpOfDevHasItsOwnDefaults(t *testing.T) {
	dev, serve := command(t, nil, "dev", "--help").out, command(t, nil, "serve", "--help").out
	for flag, values := range map[string][2]string{
		"private-urls": {`"allow"`, `"deny"`}, "log-level": {`"warn"`, `"info"`}, "sqlite-dir": {`"."`, ""}, "stream-max-bytes": {"512MiB", "4GiB"}, "sermas": {"(default on)", "(default off)"},
	} {
		for i, shown := range []string{dev, serve} {
			line := regexp.MustCompile(`(?m)^ +--` + flag + ` .*$`).FindString(shown)
			require.Equal(t, values[i] != "", strings.Contains(line, "(default "), line)
			require.Contains(t, line, values[i])
		}
	}
	require.Contains(t, dev, "an embedded store where none is given")
	require.NotContains(t, serve, "embedded store")
}

func TestServeHasStartedWhenAllIsReached(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.redis.Stop()
	r := launch(t, w.env, "serve")
	r.log.Await(t, regexp.QuoteMeta(`"msg":"service.listening"`))
	r.log.Await(t, regexp.QuoteMeta(`"msg":"redis.unavailable"`))
	require.NotContains(t, r.log.String(), "service.started")
	w.redis.Start()
	r.log.Await(t, regexp.QuoteMeta(`"msg":"service.started"`))
	require.Zero(t, r.stop())
}

func TestAddressesCertificatesAndKeysAreCheckedAtStart(t *testing.T) {
	folder := t.TempDir()
	env := map[string]string{
		"EARSHOT_TLS_CERT": folder + "/cert.pem", "EARSHOT_TLS_KEY": folder + "/key.pem", "OPENAI_BASE_URL": "http://user:pass word@host/v1", "EARSHOT_ADMIN_KEY": "two words",
		"ANTHROPIC_BASE_URL": "api.anthropic.com", "GEMINI_BASE_URL": "ftp://host", "COHERE_BASE_URL": "http://",
	}
	for _, name := range []string{"serve", "dev"} {
		said := command(t, env, name).err
		for _, want := range []string{
			`OPENAI_BASE_URL (--openai-base-url) is "http://xxxxx@host/v1"; it must be a URL with http or https, as in https://`,
			`ANTHROPIC_BASE_URL (--anthropic-base-url) is "api.anthropic.com"`, `GEMINI_BASE_URL (--gemini-base-url) is "ftp://host"`, `COHERE_BASE_URL (--cohere-base-url) is "http://"`,
			`EARSHOT_TLS_CERT (--tls-cert) is "` + folder + `/cert.pem"`, "EARSHOT_ADMIN_KEY (--admin-key) has a space",
		} {
			require.Contains(t, said, want)
		}
		require.NotContains(t, said, "pass word")
	}
	cert, key, _ := newCertificate(t)
	_, other, _ := newCertificate(t)
	require.ErrorContains(t, (&config{TLSCert: cert, TLSKey: other}).checkFiles(time.Now()), "cannot be used")
	require.ErrorContains(t, (&config{TLSCert: cert, TLSKey: key}).checkFiles(time.Now().Add(48*time.Hour)), "has ended on")
}

func TestAWeakAdminKeyIsWarnedOf(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env["EARSHOT_ADMIN_KEY"] = "change-me"
	w.serve().log.Await(t, regexp.QuoteMeta(`"msg":"admin_key.weak"`))
	w.env["EARSHOT_ADMIN_KEY"] = testAdminKey
	require.NotContains(t, w.serve().log.String(), "admin_key.weak")
}
