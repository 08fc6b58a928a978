{{- define "earshot.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 63 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "earshot.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "earshot.labels" -}}
{{ include "earshot.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- /* A value as text, with the digits that it was given: numbers of a file come as floats. */}}
{{- define "earshot.text" -}}
{{- if kindIs "float64" . }}{{ if eq (floor .) . }}{{ printf "%.0f" . }}{{ else }}{{ . }}{{ end }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{- /* "yes" where the values set a variable, in env or in extraEnv. */}}
{{- define "earshot.sets" -}}
{{- $name := index . 1 }}
{{- if hasKey (index . 0).env $name }}yes{{ end }}
{{- range (index . 0).extraEnv }}{{ if eq .name $name }}yes{{ end }}{{ end }}
{{- end }}

{{- /* What the service is spoken to by. */}}
{{- define "earshot.scheme" -}}
{{- $flag := "" }}
{{- range .Values.args }}{{ if hasPrefix "--tls-cert" . }}{{ $flag = "yes" }}{{ end }}{{ end }}
{{- if or $flag (include "earshot.sets" (list .Values "EARSHOT_TLS_CERT")) }}HTTPS{{ else }}HTTP{{ end }}
{{- end }}

{{- /* The port of EARSHOT_ADDR. */}}
{{- define "earshot.port" -}}
{{- get .Values.env "EARSHOT_ADDR" | default ":8080" | splitList ":" | last }}
{{- end }}

{{- define "earshot.account" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "earshot.name" .) }}{{ else }}{{ .Values.serviceAccount.name | default "default" }}{{ end }}
{{- end }}

{{- /* Annotations of pods: those that Prometheus looks for unless an operator does, and the values'. */}}
{{- define "earshot.annotations" -}}
{{- if and .Values.scrapeAnnotations (not .Values.serviceMonitor.enabled) }}
{{- $given := .Values.podAnnotations }}
{{- $scheme := include "earshot.scheme" . | lower }}
{{- range $name, $value := dict "prometheus.io/scrape" "true" "prometheus.io/path" "/metrics" "prometheus.io/scheme" $scheme "prometheus.io/port" (include "earshot.port" .) }}
{{- if not (hasKey $given $name) }}
{{ $name }}: {{ $value | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- range $name, $value := .Values.podAnnotations }}
{{ $name }}: {{ $value | quote }}
{{- end }}
{{- end }}
