{{/* A variable as text: Helm reads numbers as floats, and would write 40000000 as 4e+07. */}}
{{- define "helper-gateway.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{/* How long a stop may take: the drain, then the longest task and the longest download, then the margin. */}}
{{- define "helper-gateway.graceSeconds" -}}
{{- $env := .Values.env -}}
{{- $ms := add (int64 (dig "HELPER_DRAIN_MS" 2000 $env)) (int64 (dig "HELPER_TASK_TIMEOUT_MS" 10000 $env)) (int64 (dig "HELPER_SOURCE_TIMEOUT_MS" 10000 $env)) -}}
{{ add (ceil (divf $ms 1000)) .Values.stopMarginSeconds }}
{{- end }}

{{/* Worker threads of one process: what the container may use of the processor, divided by its processes. */}}
{{- define "helper-gateway.threads" -}}
{{- $cpu := toString . -}}
{{- if hasSuffix "m" $cpu }}{{ divf (float64 (trimSuffix "m" $cpu)) 1000 }}{{ else }}{{ float64 $cpu }}{{ end }}
{{- end }}

{{- define "helper-gateway.env" -}}
{{- $root := .root -}}
{{- $secret := $root.Values.secret -}}
{{- $env := $root.Values.env -}}
{{- range $name, $value := $env }}
{{- if not (and (eq $name "HELPER_PROCESSES") (eq $.component "worker")) }}
- name: {{ $name }}
  value: {{ include "helper-gateway.text" $value | quote }}
{{- end }}
{{- end }}
{{- $cpu := dig "limits" "cpu" "" .values.resources }}
{{- if and $cpu (not (hasKey $env "HELPER_POOL_THREADS")) }}
{{- $processes := eq .component "worker" | ternary 1 (int (dig "HELPER_PROCESSES" 1 $env)) }}
- name: HELPER_POOL_THREADS
  value: {{ max 1 (ceil (divf (float64 (include "helper-gateway.threads" $cpu)) $processes) | int) | quote }}
{{- end }}
{{- if eq .component "worker" }}
- name: HELPER_WORK_PORT
  value: "8082"
{{- else if not (hasKey $env "HELPER_JOBS") }}
- name: HELPER_JOBS
  value: {{ $root.Values.worker.enabled | ternary "off" "on" | quote }}
{{- end }}
{{- $plugins := $root.Values.plugins }}
{{- if or $plugins.configMap.name $plugins.volume }}
- name: HELPER_PLUGINS
  value: /plugins
{{- end }}
{{- $secrets := dict "DATABASE_URL" "databaseUrl" "REDIS_URL" "redisUrl" "HELPER_OPERATOR_TOKEN" "operatorToken" "HELPER_SIGNING_SECRET" "signingSecret" }}
{{- if $root.Values.results.url }}
- name: HELPER_RESULTS_URL
  value: {{ $root.Values.results.url | quote }}
{{- $secrets = merge $secrets (dict "AWS_ACCESS_KEY_ID" "s3AccessKeyId" "AWS_SECRET_ACCESS_KEY" "s3SecretAccessKey") }}
{{- end }}
{{- range $name, $key := $secrets }}
- name: {{ $name }}
  valueFrom:
    secretKeyRef: { name: {{ $secret.name }}, key: {{ get $secret.keys $key }} }
{{- end }}
{{- with $root.Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}
