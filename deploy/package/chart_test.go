package deploypackage

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

type object = map[string]any

// chart renders the templates with changed values, and returns the objects by kind. Helm itself would take minutes to build.
func chart(t *testing.T, over ...func(values object)) map[string]object {
	return testbed.Got(render(t, over...))(t)
}

func render(t *testing.T, over ...func(values object)) (map[string]object, error) {
	var about, values object
	require.NoError(t, yaml.Unmarshal([]byte(testbed.Read(t, "chart/Chart.yaml")), &about))
	require.NoError(t, yaml.Unmarshal([]byte(testbed.Read(t, "chart/values.yaml")), &values))
	for _, lay := range over {
		lay(values)
	}
	require.NoError(t, checkValues(t, values))
	given := object{
		"Values": values, "Release": object{"Name": "mine", "Namespace": "chats", "Service": "Helm"},
		"Chart": object{"Name": about["name"], "Version": about["version"], "AppVersion": about["appVersion"]},
	}
	templates := template.New("").Option("missingkey=error")
	templates.Funcs(functions(templates))
	testbed.Got(templates.ParseGlob("chart/templates/*"))(t)
	made := map[string]object{}
	files := testbed.Got(filepath.Glob("chart/templates/*.yaml"))(t)
	for _, file := range files {
		var out strings.Builder
		if err := templates.ExecuteTemplate(&out, filepath.Base(file), given); err != nil {
			return nil, err
		}
		for document := range strings.SplitSeq(out.String(), "\n---\n") {
			var decoded object
			require.NoError(t, yaml.Unmarshal([]byte(document), &decoded), "%s: %s", file, document)
			if decoded != nil {
				made[decoded["kind"].(string)] = decoded
			}
		}
	}
	return made, nil
}

func checkValues(t *testing.T, values object) error {
	schema := testbed.Got(jsonschema.UnmarshalJSON(strings.NewReader(testbed.Read(t, "chart/values.schema.json"))))(t)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("values.schema.json", schema))
	compiled := testbed.Got(compiler.Compile("values.schema.json"))(t)
	text := testbed.Got(json.Marshal(values))(t)
	decoded := testbed.Got(jsonschema.UnmarshalJSON(strings.NewReader(string(text))))(t)
	return compiled.Validate(decoded)
}

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
		"trim":       strings.TrimSpace,
		"lower":      strings.ToLower,
		"hasPrefix":  func(prefix, text string) bool { return strings.HasPrefix(text, prefix) },
		"splitList":  func(separator string, text any) []string { return strings.Split(text.(string), separator) },
		"last":       func(list []string) string { return list[len(list)-1] },
		"list":       func(values ...any) []any { return values },
		"dict": func(pairs ...any) object {
			made := object{}
			for i := 0; i < len(pairs); i += 2 {
				made[pairs[i].(string)] = pairs[i+1]
			}
			return made
		},
		"hasKey": func(of object, key string) bool {
			_, has := of[key]
			return has
		},
		"get": func(of object, key string) any {
			if value, has := of[key]; has {
				return value
			}
			return ""
		},
		"kindIs":   func(kind string, value any) bool { return kind == fmt.Sprintf("%T", value) },
		"floor":    math.Floor,
		"fail":     func(why string) (string, error) { return "", errors.New(why) },
		"contains": func(part, text string) bool { return strings.Contains(text, part) },
		"default": func(fallback, value any) any {
			if value == nil || value == "" {
				return fallback
			}
			return value
		},
	}
}

func in(t *testing.T, value any, path ...any) any {
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
	documents := strings.Split(testbed.Read(t, "testdata/rendered.yaml"), "---\n# Source: ")[1:]
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
	require.Contains(t, testbed.Read(t, root+"/deploy/docs/reference/metrics.md"), "`"+in(t, metric, "metric", "name").(string)+"`", "it is a metric of /metrics")
	require.Equal(t, object{"cluster": "one"}, in(t, metric, "metric", "selector", "matchLabels"))
	require.Equal(t, "AverageValue", in(t, metric, "target", "type"))
	require.Equal(t, []any{"serve", "--nats-replicas=3"}, in(t, made["Deployment"], "spec", "template", "spec", "containers", 0, "args"))
	require.Equal(t, "http", in(t, made["NetworkPolicy"], "spec", "ingress", 0, "ports", 0, "port"))
	require.Equal(t, "/metrics", in(t, made["ServiceMonitor"], "spec", "endpoints", 0, "path"))
}

func container(t *testing.T, made map[string]object) object {
	t.Helper()
	return in(t, made["Deployment"], "spec", "template", "spec", "containers", 0).(object)
}

// TestChartKeepsNumbersAndNamesEachVariableOnce has values as helm reads them of a file: numbers are floats.
func TestChartKeepsNumbersAndNamesEachVariableOnce(t *testing.T) {
	made := chart(t, func(values object) {
		values["env"] = object{
			"EARSHOT_STREAM_MAX_BYTES": float64(4294967296), "EARSHOT_MAX_TURNS": 1500000, "EARSHOT_ADDR": ":9090", "GOMEMLIMIT": "1GiB",
			"REDIS_URL": "redis://one", "GOGC": 50.5,
		}
		values["extraEnv"] = []any{object{"name": "EARSHOT_ADMIN_KEY", "valueFrom": object{"fieldRef": object{"fieldPath": "metadata.name"}}}}
	})
	found := map[string]any{}
	for _, variable := range in(t, container(t, made), "env").([]any) {
		name := in(t, variable, "name").(string)
		require.NotContains(t, found, name, "twice")
		found[name] = variable.(object)["value"]
	}
	require.Equal(t, "4294967296", found["EARSHOT_STREAM_MAX_BYTES"])
	require.Equal(t, "1500000", found["EARSHOT_MAX_TURNS"])
	require.Equal(t, "50.5", found["GOGC"])
	require.Equal(t, "redis://one", found["REDIS_URL"])
	require.Equal(t, "1GiB", found["GOMEMLIMIT"])
	require.EqualValues(t, 9090, in(t, container(t, made), "ports", 0, "containerPort"))
	require.Equal(t, "9090", in(t, made["Deployment"], "spec", "template", "metadata", "annotations", "prometheus.io/port"))

	_, err := render(t, func(values object) {
		values["env"], values["extraEnv"] = object{"GOGC": 50}, []any{object{"name": "GOGC", "value": "60"}}
	})
	require.ErrorContains(t, err, "GOGC is in env and in extraEnv")
}

func TestChartServesHTTPSByACertificateOfAVolume(t *testing.T) {
	made := chart(t, func(values object) {
		values["env"] = object{"EARSHOT_TLS_CERT": "/tls/tls.crt", "EARSHOT_TLS_KEY": "/tls/tls.key"}
		values["extraVolumes"] = []any{object{"name": "tls", "secret": object{"secretName": "earshot-tls"}}}
		values["extraVolumeMounts"] = []any{object{"name": "tls", "mountPath": "/tls", "readOnly": true}}
		values["envFrom"] = []any{object{"secretRef": object{"name": "more"}}}
		values["serviceMonitor"].(object)["enabled"] = true
	})
	for _, probe := range []string{"startupProbe", "livenessProbe", "readinessProbe"} {
		require.Equal(t, "HTTPS", in(t, container(t, made), probe, "httpGet", "scheme"))
	}
	require.Equal(t, "/tls", in(t, container(t, made), "volumeMounts", 0, "mountPath"))
	require.Equal(t, "earshot-tls", in(t, made["Deployment"], "spec", "template", "spec", "volumes", 0, "secret", "secretName"))
	require.Equal(t, "more", in(t, container(t, made), "envFrom", 0, "secretRef", "name"))
	require.Equal(t, "https", in(t, made["ServiceMonitor"], "spec", "endpoints", 0, "scheme"))
	require.NotContains(t, in(t, made["Deployment"], "spec", "template", "metadata"), "annotations", "it would be scraped twice")
	require.Equal(t, "HTTP", in(t, container(t, chart(t)), "readinessProbe", "httpGet", "scheme"))
}

func TestChartIsReachedFromOutside(t *testing.T) {
	monitoring := object{"namespaceSelector": object{"matchLabels": object{"kubernetes.io/metadata.name": "monitoring"}}}
	made := chart(t, func(values object) {
		values["ingress"] = object{
			"enabled": true, "className": "nginx", "annotations": object{"a": "b"}, "hosts": []any{object{"host": "earshot.example"}, object{"host": "two.example", "path": "/chats"}},
			"tls": []any{object{"secretName": "tls", "hosts": []any{"earshot.example"}}},
		}
		values["networkPolicy"] = object{"enabled": true, "from": []any{}, "metricsFrom": []any{monitoring}}
		values["serviceAccount"] = object{"create": true, "name": "chats", "annotations": object{"iam.example/role": "reader"}}
		values["podAnnotations"] = object{"prometheus.io/scrape": "false", "team": "chats"}
	})
	rules := in(t, made["Ingress"], "spec", "rules")
	require.Equal(t, "earshot.example", in(t, rules, 0, "host"))
	require.Equal(t, "/", in(t, rules, 0, "http", "paths", 0, "path"))
	require.Equal(t, "/chats", in(t, rules, 1, "http", "paths", 0, "path"))
	require.Equal(t, in(t, made["Service"], "metadata", "name"), in(t, rules, 0, "http", "paths", 0, "backend", "service", "name"))
	require.Equal(t, "tls", in(t, made["Ingress"], "spec", "tls", 0, "secretName"))
	require.Equal(t, []any{monitoring}, in(t, made["NetworkPolicy"], "spec", "ingress", 1, "from"))
	require.Equal(t, "chats", in(t, made["ServiceAccount"], "metadata", "name"))
	require.Equal(t, "reader", in(t, made["ServiceAccount"], "metadata", "annotations", "iam.example/role"))
	require.Equal(t, "chats", in(t, made["Deployment"], "spec", "template", "spec", "serviceAccountName"))
	annotations := in(t, made["Deployment"], "spec", "template", "metadata", "annotations")
	require.Equal(t, "false", in(t, annotations, "prometheus.io/scrape"), "what is given counts")
	require.Equal(t, "chats", in(t, annotations, "team"))

	made = chart(t, func(values object) {
		values["serviceAccount"] = object{"create": false, "name": "theirs", "annotations": object{}}
	})
	require.NotContains(t, made, "ServiceAccount")
	require.Equal(t, "theirs", in(t, made["Deployment"], "spec", "template", "spec", "serviceAccountName"))
}

// TestChartRefusesWhatItDoesNotKnow has a misspelt value be an error in place of nothing.
func TestChartRefusesWhatItDoesNotKnow(t *testing.T) {
	for name, values := range map[string]object{
		"an unknown value":           {"imageTag": "x"},
		"an unknown value below":     {"image": object{"tagg": "x"}},
		"a value of another kind":    {"replicaCount": "9"},
		"on without quotes":          {"env": object{"EARSHOT_SERMAS": true}},
		"no name of a variable":      {"env": object{"EARSHOT SERMAS": "on"}},
		"a port that probes miss":    {"extraEnv": []any{object{"name": "EARSHOT_ADDR", "value": ":1"}}},
		"a secret that is no object": {"secret": "earshot"},
	} {
		require.Error(t, checkValues(t, values), name)
	}
	_, err := render(t, func(values object) {
		values["autoscaling"].(object)["enabled"], values["autoscaling"].(object)["targetCPU"] = true, 0
	})
	require.ErrorContains(t, err, "nothing to scale by")
}
