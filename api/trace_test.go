package api_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/apitest"
)

// TestEveryEventBelongsToTheTraceOfItsRequest lists the events that no message and no direct trigger sends itself.
func TestEveryEventBelongsToTheTraceOfItsRequest(t *testing.T) {
	t.Parallel()
	s := apitest.Live(t, apitest.Everything)
	ours := "Traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	session, triggers := "/v1/apps/clinic/sessions/s1", "/v1/apps/clinic/sessions/s1/triggers"
	s.Call("PUT", "/v1/apps/clinic", `{}`, ours).Is(201, "")
	s.Call("PUT", "/v1/apps/clinic/repositories/hours", `{"options":{"template":true},"tools":[{"name":"hours"}]}`, ours).Is(201, "")
	s.Call("PUT", session, `{"repositories":["hours"]}`, ours).Is(201, "")
	s.Call("PUT", session+"/repositories/once", `{"options":{"triggerOnce":true},"tools":[{"name":"once"}]}`, ours).Is(201, "")
	s.Call("POST", triggers, `{"name":"once","source":"ui"}`, ours).Is(201, "")
	s.Call("PUT", session+"/repositories/late", `{"tools":[{"name":"late","settle":"60s"}]}`, ours).Is(201, "")
	s.Call("POST", triggers, `{"name":"late","source":"ui","triggerId":"t1"}`, ours).Is(201, "")
	s.Call("POST", "/v1/apps/clinic/triggers/t1/cancel", "").Is(202, "")
	s.Call("PATCH", session+"/repositories/late", `{"tools":[{"name":"later"}]}`, ours).Is(200, "")
	s.Call("DELETE", session+"/repositories/late/tools/later", "", ours).Is(204, "")
	s.Call("DELETE", session+"/repositories/late", "", ours).Is(204, "")
	s.Call("DELETE", session, "", ours).Is(204, "")

	told := func() map[string]int {
		kinds := map[string]int{}
		for _, event := range s.Sink.All() {
			var payload struct{ Operation string }
			require.NoError(t, json.Unmarshal(event.Data, &payload))
			kinds[event.Subject+" "+payload.Operation]++
			require.Contains(t, event.TraceParent, "4bf92f3577b34da6a3ce929d0e0e4736", "%s %s", event.Subject, event.Data)
		}
		return kinds
	}
	require.Eventually(t, func() bool {
		kinds := told()
		return kinds["tool.cancelled.clinic.s1.late "] == 1 && kinds["tool.changed.clinic.late updated"] == 2 &&
			kinds["tool.changed.clinic.once deleted"] == 1 && kinds["tool.changed.clinic.hours deleted"] == 1
	}, time.Minute, 5*time.Millisecond, "each change is an event")
}
