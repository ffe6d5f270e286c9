{{- define "precedent.labels" -}}
app.kubernetes.io/name: precedent
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* config of the values, with the keys that the chart sets. */}}
{{- define "precedent.config" -}}
{{- $fixed := dict
  "stack" (dict "folder" "/var/lib/precedent/stack")
  "instance" "${HOSTNAME}"
  "http" (dict "host" "0.0.0.0" "port" 9464)
  "gateway" (dict "host" "0.0.0.0" "port" 7717) }}
{{- toYaml (mustMergeOverwrite (deepCopy .Values.config) $fixed) }}
{{- end }}

{{/* Names of the queued arms, whose work generate consumes, as JSON. */}}
{{- define "precedent.queued" -}}
{{- $queued := list }}
{{- range .Values.config.arms }}
{{- $isQueued := or (eq .type "llama") (eq (default "off" .batch) "provider") (eq (default "inline" .dispatch) "queued") }}
{{- if $isQueued }}{{ $queued = append $queued .name }}{{ end }}
{{- end }}
{{- toJson $queued }}
{{- end }}

{{/* Names of the stages that run, as JSON. */}}
{{- define "precedent.stages" -}}
{{- $stages := list "plan" "generate" "record" "learn" "curate" "gateway" }}
{{- if .Values.config.tenants }}{{ $stages = concat $stages (list "intake" "outlet") }}{{ end }}
{{- toJson $stages }}
{{- end }}

{{- define "precedent.prefix" -}}
{{- dig "kafka" "prefix" "precedent." .Values.config }}
{{- end }}
