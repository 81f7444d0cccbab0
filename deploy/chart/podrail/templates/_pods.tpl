{{/* What all objects, and all pods, have in common. */}}

{{/* Give it root and component. */}}
{{- define "podrail.labels" -}}
{{ include "podrail.selector" . }}
app.kubernetes.io/part-of: podrail
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{- define "podrail.selector" -}}
app.kubernetes.io/name: podrail
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end -}}

{{/* An image's name: registry/repository@digest, else with its tag; give it image and tag. */}}
{{- define "podrail.image" -}}
{{- $name := .image.repository -}}
{{- with .image.registry -}}{{- $name = printf "%s/%s" . $name -}}{{- end -}}
{{- if .image.digest -}}{{ $name }}@{{ .image.digest }}{{- else -}}{{ $name }}:{{ .image.tag | default .tag }}{{- end -}}
{{- end -}}

{{- define "podrail.own-image" -}}
image: {{ include "podrail.image" (dict "image" .Values.image "tag" .Chart.AppVersion) }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end -}}

{{/* The minor version of the cluster, as in 1.36. */}}
{{- define "podrail.minor" -}}
{{- regexFind "[0-9]+\\.[0-9]+" .Capabilities.KubeVersion.Version -}}
{{- end -}}

{{/* The environment of a container: extraEnv takes the place of what has the same name; give it env and extra. */}}
{{- define "podrail.env" -}}
{{- $names := list -}}
{{- range .extra -}}{{- $names = append $names .name -}}{{- end -}}
{{- $env := list -}}
{{- range .env -}}{{- if not (has .name $names) -}}{{- $env = append $env . -}}{{- end -}}{{- end -}}
{{- toYaml (concat $env .extra) -}}
{{- end -}}

{{/* The variables that programs have in common: where they listen, what they log. */}}
{{- define "podrail.common-env" -}}
- {name: PODRAIL_LOG_LEVEL, value: {{ .Values.logLevel }}}
{{- if eq (include "podrail.has-profiles" .) "true" }}
- {name: PODRAIL_PROFILES, value: /etc/podrail/profiles}
{{- end }}
{{- end -}}

{{- define "podrail.multus-env" -}}
- {name: PODRAIL_NAMESPACE_ISOLATION, value: {{ .Values.multus.namespaceIsolation | quote }}}
- {name: PODRAIL_GLOBAL_NAMESPACES, value: {{ join "," .Values.multus.globalNamespaces | quote }}}
{{- end -}}

{{/* What PSA restricted asks of a container. */}}
{{- define "podrail.container-security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* The metadata of a pod; give it root, component, values and, where a change must restart it, checksum. */}}
{{- define "podrail.pod-metadata" -}}
labels:
  {{- include "podrail.labels" . | nindent 2 }}
  {{- with .values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- $annotations := .values.podAnnotations -}}
{{- with .checksum }}{{- $annotations = merge (dict "checksum/config" (sha256sum .)) $annotations -}}{{- end }}
{{- with $annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The part of a pod's spec that is the same for all but the agent; give it root, component and values. */}}
{{- define "podrail.pod" -}}
serviceAccountName: podrail-{{ .account | default .component }}
{{- include "podrail.pull-secrets" .root }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- if .values.hostNetwork }}
hostNetwork: true
dnsPolicy: ClusterFirstWithHostNet
{{- end }}
terminationGracePeriodSeconds: {{ .values.terminationGracePeriodSeconds }}
nodeSelector:
  kubernetes.io/os: linux
  {{- with .values.nodeSelector }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if gt (int .values.replicas) 1 }}
topologySpreadConstraints:
  {{- if .values.topologySpreadConstraints }}
  {{- toYaml .values.topologySpreadConstraints | nindent 2 }}
  {{- else }}
  {{- $selector := include "podrail.selector" . }}
  {{- range $key := list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - topologyKey: {{ $key }}
    maxSkew: 1
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- $selector | nindent 8 }}
  {{- end }}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "podrail.pull-secrets" -}}
{{- with concat .Values.global.imagePullSecrets .Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - {{ (kindIs "map" .) | ternary (toYaml .) (printf "name: %v" .) }}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "podrail.account" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: podrail-{{ .component }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "podrail.labels" . | nindent 4 }}
  {{- with .root.Values.serviceAccounts.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{/* Give it root, component, values. */}}
{{- define "podrail.budget" -}}
{{- if gt (int .values.replicas) 1 }}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: podrail-{{ .component }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "podrail.labels" . | nindent 4 }}
spec:
  minAvailable: 1
  # A pod that is not ready serves nobody; evicting it costs nothing.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "podrail.selector" . | nindent 6 }}
{{- end }}
{{- end -}}

{{/* A container's probes over HTTP; give it scheme and, on the host's network, host. */}}
{{- define "podrail.probes" -}}
{{- $at := printf "port: %s, scheme: %s" .port (.scheme | default "HTTP") -}}
{{- with .host -}}{{- $at = printf "%s, host: %s" $at . -}}{{- end -}}
livenessProbe:
  httpGet: {path: /healthz, {{ $at }}}
  periodSeconds: 20
  timeoutSeconds: 5
  # The watchdogs inside act first; this is for a process that is past them.
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /readyz, {{ $at }}}
  periodSeconds: 5
  timeoutSeconds: 3
{{- end -}}

{{/* Whether there are profiles beside the shipped ones: the user's, or shipped ones without a scheduler. */}}
{{- define "podrail.has-profiles" -}}
{{- or (not (empty .Values.profiles)) (eq .Values.scheduler.mode "none") -}}
{{- end -}}

{{/* A container's volumeMounts, if there are any: one more, the profiles', the user's; give it root, values, more. */}}
{{- define "podrail.mounts" -}}
{{- $found := empty .more | ternary (list) (list .more) -}}
{{- if eq (include "podrail.has-profiles" .root) "true" -}}
{{- $found = append $found (dict "name" "profiles" "mountPath" "/etc/podrail/profiles" "readOnly" true) -}}
{{- end -}}
{{- with concat $found .values.extraVolumeMounts -}}
volumeMounts:
{{ toYaml . }}
{{- end -}}
{{- end -}}

{{/* A pod's volumes, likewise. */}}
{{- define "podrail.volumes" -}}
{{- $found := empty .more | ternary (list) (list .more) -}}
{{- if eq (include "podrail.has-profiles" .root) "true" -}}
{{- $found = append $found (dict "name" "profiles" "configMap" (dict "name" "podrail-profiles")) -}}
{{- end -}}
{{- with concat $found .values.extraVolumes -}}
volumes:
{{ toYaml . }}
{{- end -}}
{{- end -}}

{{/* The image's interpreter, by the one name it has there (deploy/images/packages.txt). */}}
{{- define "podrail.python" -}}python3.11{{- end -}}
