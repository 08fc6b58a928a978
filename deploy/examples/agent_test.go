//go:build nightly

package examples

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/natstest"
	"earshot/deploy/testbed/redistest"
)

// shop is the API of shop.yaml behind two replicas. Its report takes until the test has seen enough.
type shop struct {
	t        *testing.T
	orders   testbed.Sink
	ready    chan struct{} // closed when the report is ready
	replicas [2]*testbed.Replica
	folder   string // of the agent
	key      string
}

const report = "/reports/inventory"

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{t: t, ready: make(chan struct{}), folder: javascript(t, "agent", true)}
	s.orders.Answer = func(out http.ResponseWriter, request *http.Request, _ testbed.Call) {
		if request.URL.Path == report {
			select {
			case <-s.ready:
			case <-request.Context().Done():
			}
		}
		_, _ = io.WriteString(out, `{"done":"`+request.URL.Path+`"}`) // a replica that died reads nothing
	}
	const helper = "../../clients/agents/tasks.mjs"
	text := testbed.Got(os.ReadFile(filepath.Join("agent", helper)))(t)
	require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(s.folder, helper)), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(s.folder, helper), text, 0o600))

	variables := []string{"REDIS_URL=" + redistest.Run(t).URL(), "NATS_URL=" + natstest.Run(t).URL()}
	for i := range s.replicas {
		s.replicas[i] = testbed.NewReplica(t, s.folder, fmt.Sprintf("earshot%d", i), testbed.Program(t), variables...)
		require.NoError(t, s.replicas[i].Up(t.Context()))
	}
	s.earshot("import", "openapi", "shop.yaml", "--confirm-writes", "--base-url", testbed.Serve(t, "", &s.orders), "-o", "tools.yaml")
	tools := filepath.Join(s.folder, "tools.yaml")
	text = testbed.Got(os.ReadFile(tools))(t)
	require.NoError(t, os.WriteFile(tools, []byte(strings.Replace(string(text), "timeout: 60s", "timeout: 10s", 1)), 0o600)) // the other replica waits for its end
	s.earshot("apply", "-f", "tools.yaml", "--app", "shop")
	answer := testbed.Got(s.replicas[0].Ask(t.Context(), "POST", "/v1/apps/shop/keys", `{"scopes":["triggers"]}`))(t)
	var made struct{ Key string }
	require.NoError(t, json.Unmarshal(answer.Body, &made), "%s", answer.Body)
	s.key = made.Key
	return s
}

func (s *shop) earshot(args ...string) {
	s.t.Helper()
	cmd := exec.Command(testbed.Program(s.t), args...)
	cmd.Dir = s.folder
	cmd.Env = append(cmd.Environ(), "EARSHOT_URL="+s.replicas[0].URL, "EARSHOT_KEY="+testbed.AdminKey)
	testbed.Done(s.t, cmd)
}

func (s *shop) agent(says string) *testbed.Process {
	args := []string{"agent.mjs", says}
	for _, replica := range s.replicas {
		args = append(args, replica.URL+"/v1/apps/shop/sessions/s1/mcp")
	}
	return start(s.t, s.folder, []string{"EARSHOT_KEY=" + s.key}, "node", args...)
}

func TestAnAgentOfAShopAsksFirstAndItsReportOutlivesAReplica(t *testing.T) {
	s := newShop(t)
	ends := func(agent *testbed.Process) {
		require.Eventually(t, func() bool { return !agent.Running() }, testbed.Patience, testbed.Glance)
	}
	refused := s.agent("no")
	refused.Await(t, `^sees: (search_tools call_tool)\n`)
	refused.Await(t, `asked: Refund an order.*: order (A-17)\. Shall I go ahead\?.*\n(?s:.*)refundOrder: it was cancelled\n`)
	ends(refused)
	require.Empty(t, s.orders.Calls())

	agent := s.agent("yes")
	refund := agent.Await(t, `calls: refundOrder (\S+)\n`)
	agent.Await(t, `refundOrder: ({"done":"/orders/A-17/refund"})\n`)
	id := agent.Await(t, `calls: reportInventory (\S+)\n`)
	agent.Await(t, `reportInventory ([4-9]|\d\d): attempt \d+ is under way\n`) // it has become a task, after two seconds
	s.replicas[0].Kill()
	before := len(s.orders.Calls())
	require.Eventually(t, func() bool { return len(s.orders.Calls()) > before }, testbed.Patience, testbed.Glance)
	agent.Await(t, `reportInventory (\d+): attempt [2-9] is under way\n`)
	close(s.ready)
	agent.Await(t, `reportInventory: ({"done":"/reports/inventory"})\n`)
	ends(agent)

	refunds := 0
	for _, call := range s.orders.Calls() {
		if call.Path == report {
			require.Equal(t, id, call.IdempotencyKey)
			continue
		}
		require.Equal(t, []string{"/orders/A-17/refund", refund}, []string{call.Path, call.IdempotencyKey})
		refunds++
	}
	require.Equal(t, 1, refunds)
}

// TestAnAgentOfLiveKitHearsAndSpeaks runs LiveKit's own session and agent.
func TestAnAgentOfLiveKitHearsAndSpeaks(t *testing.T) {
	s := dev(t, `{}`)
	s.ask("PUT", "/v1/apps/clinic/repositories/rooms", spoken)
	around := s.around("EARSHOT_KEY=" + s.keyOf("clinic", "messages", "triggers"))
	got := start(t, javascript(t, "livekit", true), around, "node", append([]string{"rehearsal.js"}, conversation...)...)
	got.Await(t, `(closed)\n`)
	var lines []string
	for line := range strings.Lines(got.String()) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "event: ") {
			lines = append(lines, line)
		}
	}
	require.Len(t, lines, 13, got.String())
	require.Equal(t, `assistant: I know: turn-on-the-light {"room":"kitchen"}: pending ""`, lines[1])
	require.Contains(t, lines[3], `assistant: I know: ring-the-bell {}: delivered`)
	require.Equal(t, []string{
		"assistant: Which room?",
		"user: in the cellar", `assistant: I know: turn-on-the-light {"room":"cellar"}: pending ""`,
		"assistant: Open the front door. Shall I go ahead? (yes / no)",
		"user: yes", `assistant: I know: open-the-door {}: delivered ""`,
		"user: good morning", "assistant: I know: nothing", "closed",
	}, lines[4:], "what Earshot says, the model does not")
	require.Regexp(t, `event: tool\.cancelled turn-on-the-light (cancel|retract)\n`, got.String(), "the user began to speak again")
	require.Regexp(t, `event: tool\.trigger open-the-door\n`, got.String())
	s.conversed()
}
