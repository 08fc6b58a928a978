package deploypackage

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

// object is what the chart makes, as far as it is looked at here.
type object = map[string]any

// chart renders the templates with the functions of Helm that they use, with values laid over
// those of values.yaml, and returns what they make by kind. Helm itself would take minutes to build.
func chart(t *testing.T, over ...func(values object)) map[string]object {
	t.Helper()
	var about, values object
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "chart/Chart.yaml")), &about))
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "chart/values.yaml")), &values))
	for _, lay := range over {
		lay(values)
	}
	given := object{
		"Values": values, "Release": object{"Name": "mine", "Namespace": "chats", "Service": "Helm"},
		"Chart": object{"Name": about["name"], "Version": about["version"], "AppVersion": about["appVersion"]},
	}
	templates := template.New("").Option("missingkey=error")
	templates.Funcs(functions(templates))
	_, err := templates.ParseGlob("chart/templates/*")
	require.NoError(t, err)
	made := map[string]object{}
	files, err := filepath.Glob("chart/templates/*.yaml")
	require.NoError(t, err)
	for _, file := range files {
		var out strings.Builder
		require.NoError(t, templates.ExecuteTemplate(&out, filepath.Base(file), given))
		for document := range strings.SplitSeq(out.String(), "\n---\n") {
			var decoded object
			require.NoError(t, yaml.Unmarshal([]byte(document), &decoded), "%s: %s", file, document)
			if decoded != nil {
				made[decoded["kind"].(string)] = decoded
			}
		}
	}
	return made
}

// functions are those of Helm that the chart uses, as its documentation describes them.
func functions(templates *template.Template) template.FuncMap {
	indent := func(by int, text string) string {
		return "\n" + strings.Repeat(" ", by) + strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", by))
	}
	return template.FuncMap{
		"include": func(name string, given any) (string, error) {
			var out strings.Builder
			err := templates.ExecuteTemplate(&out, name, given)
			return out.String(), err
		},
		"toYaml": func(value any) (string, error) {
			text, err := yaml.Marshal(value)
			return strings.TrimSuffix(string(text), "\n"), err
		},
		"nindent":    indent,
		"quote":      func(value any) string { return fmt.Sprintf("%q", fmt.Sprint(value)) },
		"trunc":      func(length int, text string) string { return text[:min(length, len(text))] },
		"trimSuffix": func(suffix, text string) string { return strings.TrimSuffix(text, suffix) },
		"contains":   func(part, text string) bool { return strings.Contains(text, part) },
		"default": func(fallback, value any) any {
			if value == nil || value == "" {
				return fallback
			}
			return value
		},
	}
}

// in follows keys and places of lists.
func in(t *testing.T, value any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			require.Contains(t, value, step)
			value = value.(object)[step]
		case int:
			value = value.([]any)[step]
		}
	}
	return value
}

// TestHelmMakesTheSame holds what Helm itself has made of the chart beside what is made here.
// After a change of the chart, write it anew, with Helm or:
//
//	go run helm.sh/helm/v3/cmd/helm@v3.21.4 template mine deploy/package/chart -n chats --kube-version 1.31.0 > deploy/package/testdata/rendered.yaml
func TestHelmMakesTheSame(t *testing.T) {
	made := chart(t)
	documents := strings.Split(read(t, "testdata/rendered.yaml"), "---\n# Source: ")[1:]
	require.Len(t, documents, len(made))
	for _, document := range documents {
		var decoded object
		require.NoError(t, yaml.Unmarshal([]byte("# Source: "+document), &decoded))
		require.Equal(t, decoded, made[decoded["kind"].(string)])
	}
}

func TestChartRunsTheServiceShutIn(t *testing.T) {
	made := chart(t)
	require.ElementsMatch(t, []string{"Deployment", "PodDisruptionBudget", "Service", "ServiceAccount"}, slices.Collect(maps.Keys(made)), "no Secret: credentials are somebody else's")
	deployment := made["Deployment"]
	pod := in(t, deployment, "spec", "template", "spec")
	require.Equal(t, true, in(t, pod, "securityContext", "runAsNonRoot"))
	require.Equal(t, false, in(t, pod, "automountServiceAccountToken"))
	container := in(t, pod, "containers", 0)
	require.Equal(t, true, in(t, container, "securityContext", "readOnlyRootFilesystem"))
	require.Equal(t, false, in(t, container, "securityContext", "allowPrivilegeEscalation"))
	require.Equal(t, []any{"ALL"}, in(t, container, "securityContext", "capabilities", "drop"))
	require.Equal(t, "/healthz", in(t, container, "livenessProbe", "httpGet", "path"), "a Redis that is away is mended by no restart")
	require.Equal(t, "/readyz", in(t, container, "readinessProbe", "httpGet", "path"))
	require.Greater(t, in(t, pod, "terminationGracePeriodSeconds"), uint64(20), "what is under way is finished in 20 seconds")

	selector := in(t, deployment, "spec", "selector", "matchLabels")
	for name, other := range map[string]any{"PodDisruptionBudget": in(t, made["PodDisruptionBudget"], "spec", "selector", "matchLabels"), "Service": in(t, made["Service"], "spec", "selector")} {
		require.Equal(t, selector, other, name)
	}
	require.Subset(t, in(t, deployment, "spec", "template", "metadata", "labels"), selector)
}

func TestChartTakesCredentialsByReference(t *testing.T) {
	made := chart(t, func(values object) { values["env"] = object{"EARSHOT_SERMAS": "on"} })
	variables := in(t, made["Deployment"], "spec", "template", "spec", "containers", 0, "env").([]any)
	found := map[string]any{}
	for _, variable := range variables {
		name := in(t, variable, "name").(string)
		require.Contains(t, settings(t), "`"+name+"`", "it is a setting")
		found[name] = variable.(object)["value"]
		if slices.Contains([]string{"REDIS_URL", "NATS_URL", "EARSHOT_ADMIN_KEY", "EARSHOT_SECRET_KEY"}, name) {
			require.NotContains(t, variable, "value")
			require.Equal(t, "earshot", in(t, variable, "valueFrom", "secretKeyRef", "name"))
		}
	}
	for _, name := range []string{"REDIS_URL", "NATS_URL", "EARSHOT_ADMIN_KEY", "EARSHOT_SECRET_KEY"} {
		require.Contains(t, found, name, "serve does not start without")
	}
	require.Equal(t, "on", found["EARSHOT_SERMAS"], "a text, not YAML's true")
}

func TestChartScalesByWhatIsOwed(t *testing.T) {
	made := chart(t, func(values object) {
		values["autoscaling"].(object)["enabled"] = true
		values["autoscaling"].(object)["effectsDue"].(object)["enabled"] = true
		values["autoscaling"].(object)["effectsDue"].(object)["selector"] = object{"cluster": "one"}
		values["networkPolicy"].(object)["enabled"] = true
		values["serviceMonitor"].(object)["enabled"] = true
		values["podLabels"] = object{"team": "chats"}
		values["args"] = []any{"--nats-replicas=3"}
		values["topologySpread"] = false
	})
	scaler := made["HorizontalPodAutoscaler"]
	require.Equal(t, in(t, made["Deployment"], "metadata", "name"), in(t, scaler, "spec", "scaleTargetRef", "name"))
	require.NotContains(t, in(t, made["Deployment"], "spec"), "replicas", "each upgrade would set it back")
	metric := in(t, scaler, "spec", "metrics", 1, "external")
	require.Contains(t, settings(t), "`"+in(t, metric, "metric", "name").(string)+"`", "it is a metric of /metrics")
	require.Equal(t, object{"cluster": "one"}, in(t, metric, "metric", "selector", "matchLabels"))
	require.Equal(t, "AverageValue", in(t, metric, "target", "type"))
	require.Equal(t, []any{"serve", "--nats-replicas=3"}, in(t, made["Deployment"], "spec", "template", "spec", "containers", 0, "args"))
	require.Equal(t, "http", in(t, made["NetworkPolicy"], "spec", "ingress", 0, "ports", 0, "port"))
	require.Equal(t, "/metrics", in(t, made["ServiceMonitor"], "spec", "endpoints", 0, "path"))
}
