{{- define "treenail.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* The name of all objects: the release's, with the chart's unless that is in it. */}}
{{- define "treenail.fullname" -}}
{{- $name := include "treenail.name" . }}
{{- $full := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) }}
{{- default $full .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "treenail.selectorLabels" -}}
app.kubernetes.io/name: {{ include "treenail.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Labels and annotations of every object; more annotations as the second of a list. */}}
{{- define "treenail.metadata" -}}
{{- $root := index . 0 -}}
labels:
  helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
  {{- include "treenail.selectorLabels" $root | nindent 2 }}
  app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ $root.Release.Service }}
  {{- with $root.Values.additionalLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with merge dict (index . 1) $root.Values.additionalAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "treenail.serviceAccountName" -}}
{{- default (.Values.serviceAccount.create | ternary (include "treenail.fullname" .) "default") .Values.serviceAccount.name }}
{{- end }}

{{/* Subjects of every binding: the controller's account. */}}
{{- define "treenail.subjects" -}}
subjects:
  - kind: ServiceAccount
    name: {{ include "treenail.serviceAccountName" . }}
    namespace: {{ .Release.Namespace }}
{{- end }}

{{- define "treenail.leaseNamespace" -}}
{{- default .Release.Namespace .Values.leaderElection.namespace }}
{{- end }}

{{/* The API of flow control that the cluster serves: v1 from 1.29 on. The older ones there were differ. */}}
{{- define "treenail.flowControl" -}}
{{- $version := .Capabilities.KubeVersion.Version }}
{{- if semverCompare "<1.26-0" $version }}
{{- fail (printf "flowSchema.enabled: Kubernetes %s has no API for it that fits; it needs 1.26" $version) }}
{{- end }}
{{- semverCompare ">=1.29-0" $version | ternary "flowcontrol.apiserver.k8s.io/v1" "flowcontrol.apiserver.k8s.io/v1beta3" }}
{{- end }}

{{- define "treenail.image" -}}
{{- $image := .Values.controller.image }}
{{- $repository := required "controller.image.repository: the image must be named (deploy/docker builds it)" $image.repository }}
{{- if hasSuffix "karpenter/controller" $repository }}
{{- fail (printf "controller.image.repository: %s is Karpenter's image, not Treenail's" $repository) }}
{{- end }}
{{- printf "%s:%s" $repository (default .Chart.AppVersion $image.tag) }}
{{- with $image.digest }}@{{ . }}{{ end }}
{{- end }}

{{/* A value as the controller reads it: numbers without exponent, maps as JSON, strings as templates. */}}
{{- define "treenail.text" -}}
{{- $root := index . 0 }}
{{- $value := index . 1 }}
{{- if kindIs "map" $value }}
{{- toJson $value }}
{{- else if and (kindIs "float64" $value) (eq (floor $value) $value) }}
{{- printf "%.0f" $value }}
{{- else }}
{{- tpl (toString $value) $root }}
{{- end }}
{{- end }}

{{/* Karpenter's feature gates as it writes them: NodeRepair=true,... */}}
{{- define "treenail.gates" -}}
{{- $gates := list }}
{{- range $gate, $on := . }}
{{- $gates = append $gates (printf "%s%s=%t" (substr 0 1 $gate | upper) (substr 1 -1 $gate) $on) }}
{{- end }}
{{- join "," $gates }}
{{- end }}

{{/* Settings as environment variables: clusterCABundle is CLUSTER_CA_BUNDLE. Those that are empty are left out. */}}
{{- define "treenail.settings" -}}
{{- $root := . }}
{{- $_ := required "settings.clusterName: the cluster must be named" .Values.settings.clusterName }}
{{- range $key, $value := omit .Values.settings "featureGates" "awsFeatureGates" }}
{{- if not (or (kindIs "invalid" $value) (and (kindIs "string" $value) (eq $value "")) (and (kindIs "map" $value) (empty $value))) }}
- name: {{ replace "ENIs" "Enis" $key | snakecase | upper }}
  value: {{ include "treenail.text" (list $root $value) | quote }}
{{- end }}
{{- end }}
{{- range $variable, $gates := dict "FEATURE_GATES" .Values.settings.featureGates "AWS_FEATURE_GATES" .Values.settings.awsFeatureGates }}
{{- with $gates }}
- name: {{ $variable }}
  value: {{ include "treenail.gates" . | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* The controller's environment, as a list. */}}
{{- define "treenail.env" -}}
- name: SYSTEM_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
- name: KARPENTER_SERVICE
  value: {{ include "treenail.fullname" . }}
- name: LOG_LEVEL
  value: {{ .Values.logLevel }}
{{- range $variable, $paths := dict "LOG_OUTPUT_PATHS" .Values.logOutputPaths "LOG_ERROR_OUTPUT_PATHS" .Values.logErrorOutputPaths }}
{{- with $paths }}
- name: {{ $variable }}
  value: {{ join "," . | quote }}
{{- end }}
{{- end }}
- name: METRICS_PORT
  value: {{ .Values.controller.metrics.port | quote }}
- name: HEALTH_PROBE_PORT
  value: {{ .Values.controller.healthProbe.port | quote }}
- name: WEBHOOK_PORT
  value: {{ .Values.webhook.port | quote }}
- name: DISABLE_WEBHOOK
  value: {{ not .Values.webhook.enabled | quote }}
- name: DISABLE_LEADER_ELECTION
  value: {{ not .Values.leaderElection.enabled | quote }}
{{- if .Values.leaderElection.enabled }}
- name: LEADER_ELECTION_NAME
  value: {{ .Values.leaderElection.name }}
- name: LEADER_ELECTION_NAMESPACE
  value: {{ include "treenail.leaseNamespace" . }}
{{- end }}
{{- with .Values.traces }}
{{- if .endpoint }}
- name: OTEL_EXPORTER_OTLP_ENDPOINT
  value: {{ tpl .endpoint $ | quote }}
{{- with .headersSecret }}
{{- if .name }}
- name: OTEL_EXPORTER_OTLP_HEADERS
  valueFrom:
    secretKeyRef:
      name: {{ .name }}
      key: {{ .key }}
{{- end }}
{{- end }}
- name: OTEL_TRACES_SAMPLER
  value: traceidratio
- name: OTEL_TRACES_SAMPLER_ARG
  value: {{ .sampling | quote }}
{{- end }}
{{- end }}
{{- include "treenail.settings" . }}
{{- end }}

{{/* Give a term of pods, the second of a list, the controller's own as labelSelector where it has none. */}}
{{- define "treenail.selectOwn" -}}
{{- $term := index . 1 }}
{{- if not (hasKey $term "labelSelector") }}
{{- $_ := set $term "labelSelector" (dict "matchLabels" (include "treenail.selectorLabels" (index . 0) | fromYaml)) }}
{{- end }}
{{- end }}

{{- define "treenail.affinity" -}}
{{- $root := . }}
{{- $affinity := deepCopy .Values.affinity }}
{{- range pick $affinity "podAffinity" "podAntiAffinity" }}
{{- range .requiredDuringSchedulingIgnoredDuringExecution }}
{{- include "treenail.selectOwn" (list $root .) }}
{{- end }}
{{- range .preferredDuringSchedulingIgnoredDuringExecution }}
{{- include "treenail.selectOwn" (list $root .podAffinityTerm) }}
{{- end }}
{{- end }}
{{- toYaml $affinity }}
{{- end }}

{{- define "treenail.topologySpreadConstraints" -}}
{{- $root := . }}
{{- $constraints := deepCopy .Values.topologySpreadConstraints }}
{{- range $constraints }}
{{- include "treenail.selectOwn" (list $root .) }}
{{- end }}
{{- toYaml $constraints }}
{{- end }}

{{/* Two listeners on one port: the second would end the process. */}}
{{- define "treenail.refuseSharedPorts" -}}
{{- $ports := dict "controller.healthProbe.port" .Values.controller.healthProbe.port "controller.metrics.port" .Values.controller.metrics.port }}
{{- if .Values.webhook.enabled }}{{- $_ := set $ports "webhook.port" .Values.webhook.port }}{{- end }}
{{- if .Values.settings.enableUI }}{{- $_ := set $ports "settings.uiPort" .Values.settings.uiPort }}{{- end }}
{{- if .Values.settings.enableProfiling }}{{- $_ := set $ports "settings.profilingPort" .Values.settings.profilingPort }}{{- end }}
{{- $taken := dict }}
{{- range $name, $port := $ports }}
{{- with get $taken (toString (int $port)) }}{{- fail (printf "%s: %d is %s already" $name (int $port) .) }}{{- end }}
{{- $_ := set $taken (toString (int $port)) $name }}
{{- end }}
{{- end }}
