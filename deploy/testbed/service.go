package testbed

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// AdminKey is the admin key of a service that Environment or NewReplica is for.
const AdminKey = "admin-key-of-the-tests"

// secretKey is also that of the data that deploy/rolling/record has recorded.
const secretKey = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

// Environment lets an earshot dev ask for AdminKey, and use nothing that is configured on the machine.
func Environment() []string {
	return []string{"EARSHOT_ADMIN_KEY=" + AdminKey, "OPENAI_API_KEY=", "OPENAI_BASE_URL=", "REDIS_URL=", "NATS_URL="}
}

// Dev is an earshot dev with AdminKey that runs until the end of the test.
type Dev struct {
	Client
	*Process
	NATS string     // its URL
	T    testing.TB // at whose end it ends
}

// NewDev starts one with further variables and arguments.
func NewDev(t testing.TB, variables []string, arguments ...string) *Dev {
	arguments = append([]string{"dev", "--addr", "127.0.0.1:0"}, arguments...)
	p := Start(t, t.TempDir(), append(Environment(), variables...), Program(t), arguments...)
	d := &Dev{Client{URL: p.Await(t, `Earshot listens on (http://\S+)\s`), Key: AdminKey}, p, p.Await(t, `events: (nats://[^,]+),`), t}
	require.NoError(t, p.Until(t.Context(), d.Ready))
	return d
}

// Call makes a request that must succeed, and returns the body of its answer.
func (d *Dev) Call(method, path, body string) []byte {
	answer, err := d.Ask(d.T.Context(), method, path, body)
	require.NoError(d.T, err)
	require.Less(d.T, answer.Status, 300, "%s %s: %s", method, path, answer.Body)
	return answer.Body
}

// Replica is a place for an earshot serve, at an address of its own.
type Replica struct {
	*Process
	Client
}

// NewReplica returns a replica that does not run yet. Its log is in a folder and has its name.
func NewReplica(t TB, folder, name, program string, variables ...string) *Replica {
	t.Helper()
	address := Address(t)
	r := &Replica{NewProcess(folder, name, program, "serve"), Client{URL: "http://" + address, Key: AdminKey}}
	r.Env = append([]string{
		"EARSHOT_ADDR=" + address, "EARSHOT_ADMIN_KEY=" + AdminKey, "EARSHOT_SECRET_KEY=" + secretKey, "EARSHOT_PRIVATE_URLS=allow",
		"OPENAI_API_KEY=", "OPENAI_BASE_URL=",
	}, variables...)
	t.Cleanup(r.Kill)
	return r
}

// Up starts it, with further variables, and returns when it takes requests.
func (r *Replica) Up(ctx context.Context, variables ...string) error {
	if err := r.Start(variables...); err != nil {
		return err
	}
	return r.Until(ctx, r.Ready)
}

// Ready returns why the service takes no requests; nil if it does.
func (c Client) Ready(ctx context.Context) error {
	probe := Client{URL: c.URL, HTTP: probes}
	answer, err := probe.Ask(ctx, http.MethodGet, "/readyz", "")
	if err == nil && answer.Status != http.StatusOK {
		err = fmt.Errorf("/readyz: %d %s", answer.Status, answer.Body)
	}
	return err
}

// probes are requests that must not be answered over an old connection.
var probes = &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// Client speaks to a service over REST.
type Client struct {
	URL, Key string
	HTTP     *http.Client // http.DefaultClient if it is nil
}

// Answer is what a service has answered.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Ask makes a request, and reads its answer. Headers are names, each before its value.
func (c Client) Ask(ctx context.Context, method, path, body string, headers ...string) (Answer, error) {
	response, err := c.Open(ctx, method, path, body, headers...)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return Answer{response.StatusCode, response.Header, text}, err
}

// Open makes a request whose answer is read by the caller.
func (c Client) Open(ctx context.Context, method, path, body string, headers ...string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.URL+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if c.Key != "" {
		request.Header.Set("Authorization", "Bearer "+c.Key)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	if c.HTTP == nil {
		c.HTTP = http.DefaultClient
	}
	return c.HTTP.Do(request)
}

// RPC is an MCP request of an agent with tasks: its body and headers. name is the tool or task; params and meta are the fields
// of its parameters and of _meta, as JSON without braces.
func RPC(method, name, params, meta string) (body string, headers []string) {
	var fields []string
	for _, more := range []string{`"io.modelcontextprotocol/protocolVersion":"2026-07-28"`, `"io.modelcontextprotocol/clientInfo":{"name":"testbed","version":"1"}`,
		`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`, meta} {
		if more != "" {
			fields = append(fields, more)
		}
	}
	body = fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,"_meta":{%s}}}`, method, params, strings.Join(fields, ","))
	return body, []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Name", name, "Accept", "application/json, text/event-stream"}
}
