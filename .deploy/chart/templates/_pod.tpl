{{/* The pod of a component: dict "root" $ "component" "gateway" "values" .Values.gateway "command" "serve" "ports" (dict …) "health" "api" */}}
{{- define "helper-gateway.pod" -}}
{{- $root := .root -}}
{{- $plugins := $root.Values.plugins -}}
metadata:
  labels:
    {{- include "helper-gateway.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
  {{- with .values.podAnnotations }}
  annotations: {{ toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "helper-gateway.fullname" $root }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- with $root.Values.imagePullSecrets }}
  imagePullSecrets: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with .values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  terminationGracePeriodSeconds: {{ include "helper-gateway.graceSeconds" $root }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: { type: RuntimeDefault }
  topologySpreadConstraints:
    {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
    - topologyKey: {{ . }}
      maxSkew: 1
      whenUnsatisfiable: ScheduleAnyway
      # Each rollout is spread by itself.
      matchLabelKeys: [pod-template-hash]
      labelSelector:
        matchLabels:
          {{- include "helper-gateway.selector" $root | nindent 10 }}
          app.kubernetes.io/component: {{ $.component }}
    {{- end }}
  {{- with .values.nodeSelector }}
  nodeSelector: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with .values.tolerations }}
  tolerations: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with .values.affinity }}
  affinity: {{ toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: {{ .component }}
      image: {{ include "helper-gateway.image" $root | quote }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      args: [{{ .command }}]
      env: {{ include "helper-gateway.env" . | nindent 8 }}
      ports:
        {{- range $name, $port := .ports }}
        - { name: {{ $name }}, containerPort: {{ $port }} }
        {{- end }}
      # A minute for a start; then a readiness that is asked often, because it is what a balancer goes by.
      startupProbe:
        httpGet: { path: /readyz, port: {{ .health }} }
        periodSeconds: 2
        timeoutSeconds: 2
        failureThreshold: 30
      readinessProbe:
        httpGet: { path: /readyz, port: {{ .health }} }
        periodSeconds: 2
        timeoutSeconds: 2
        failureThreshold: 2
      # A minute without an answer: busy is no reason to be killed.
      livenessProbe:
        httpGet: { path: /healthz, port: {{ .health }} }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      resources: {{ toYaml .values.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: { drop: [ALL] }
      volumeMounts:
        - { name: data, mountPath: /data }
        - { name: tmp, mountPath: /tmp }
        {{- if or $plugins.configMap.name $plugins.volume }}
        - { name: plugins, mountPath: /plugins, readOnly: true }
        {{- end }}
  volumes:
    - name: data
      {{- if $root.Values.results.existingClaim }}
      persistentVolumeClaim: { claimName: {{ $root.Values.results.existingClaim }} }
      {{- else }}
      emptyDir: { sizeLimit: {{ $root.Values.scratch.data }} }
      {{- end }}
    - name: tmp
      emptyDir: { sizeLimit: {{ $root.Values.scratch.tmp }} }
    {{- if $plugins.configMap.name }}
    - name: plugins
      configMap: {{ toYaml $plugins.configMap | nindent 8 }}
    {{- else if $plugins.volume }}
    - name: plugins {{- toYaml $plugins.volume | nindent 6 }}
    {{- end }}
{{- end }}

{{/* A deployment of a component, given as to the pod. */}}
{{- define "helper-gateway.deployment" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "helper-gateway.fullname" .root }}-{{ .component }}
  labels:
    {{- include "helper-gateway.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
spec:
  {{- if not (or .root.Values.autoscaling.enabled .root.Values.keda.enabled) }}
  replicas: {{ .values.replicas }}
  {{- end }}
  revisionHistoryLimit: 3
  strategy:
    type: RollingUpdate
    rollingUpdate: { maxUnavailable: 0, maxSurge: 1 }
  selector:
    matchLabels:
      {{- include "helper-gateway.selector" .root | nindent 6 }}
      app.kubernetes.io/component: {{ .component }}
  template: {{ include "helper-gateway.pod" . | nindent 4 }}
{{- end }}
