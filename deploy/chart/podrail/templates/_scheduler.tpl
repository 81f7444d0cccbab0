{{/* The version of kube-scheduler: upstream's of the cluster's, without what a vendor adds to it. */}}
{{- define "podrail.scheduler-tag" -}}
{{- .Values.scheduler.image.tag | default (regexFind "v[0-9]+\\.[0-9]+\\.[0-9]+" .Capabilities.KubeVersion.Version) -}}
{{- end -}}

{{/* The extender's container, but for its probes; give it root and scheduler, the name of its pods' scheduler. */}}
{{- define "podrail.extender" -}}
{{- $values := .root.Values.extender -}}
name: extender
{{ include "podrail.own-image" .root }}
command: [podrail-extender]
env:
{{- $told := list }}
{{- with .bulletin }}{{- $told = list (dict "name" "PODRAIL_BULLETIN" "value" (printf "%s:%d" $.root.Values.listenHost (int .))) }}{{- end }}
{{- $env := concat (list
      (dict "name" "PODRAIL_LISTEN" "value" (printf "127.0.0.1:%d" (int $values.port)))
      (dict "name" "PODRAIL_SCHEDULER" "value" .scheduler)
      (dict "name" "PODRAIL_NOMINATE" "value" (toString .root.Values.scheduler.nominate))) $told (include "podrail.common-env" .root | fromYamlArray) }}
{{- include "podrail.env" (dict "env" $env "extra" $values.extraEnv) | nindent 0 }}
resources:
  {{- toYaml $values.resources | nindent 2 }}
securityContext:
  {{- include "podrail.container-security" .root | nindent 2 }}
{{- include "podrail.mounts" (dict "root" .root "values" $values) | nindent 0 }}
{{- end -}}

{{/* The second scheduler's KubeSchedulerConfiguration: the one of deploy/, with its lease and values. */}}
{{- define "podrail.scheduler-config" -}}
{{- $config := (include "podrail.manifests" (dict "root" . "path" "extender/scheduler-second.yaml") | fromJson).items | first -}}
{{- $_ := set (first $config.extenders) "urlPrefix" (printf "http://127.0.0.1:%d" (int .Values.extender.port)) -}}
{{- range (first $config.profiles).pluginConfig -}}
{{- if eq .name "NodeResourcesFit" -}}
{{- $resources := list -}}
{{- range $.Values.scheduler.gpuResources -}}{{- $resources = append $resources (dict "name" . "weight" 1) -}}{{- end -}}
{{- $_ := set .args.scoringStrategy "resources" $resources -}}
{{- end -}}
{{- end -}}
{{- $_ := set $config "leaderElection" (dict "leaderElect" true "resourceName" "podrail-scheduler" "resourceNamespace" .Release.Namespace) -}}
{{- toYaml $config -}}
{{- end -}}
