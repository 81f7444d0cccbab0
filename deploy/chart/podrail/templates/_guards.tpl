{{/* What would install and then not work is refused, in words that say what to change. */}}
{{- define "podrail.guards" -}}
{{- $values := .Values -}}
{{- if has .Release.Namespace (list "kube-system" "kube-node-lease") -}}
{{- fail (printf "podrail cannot live in %s, which its webhook never looks at and never may: choose a namespace of its own, such as podrail-system" .Release.Namespace) -}}
{{- end -}}
{{- $image := $values.scheduler.image -}}
{{- if and (eq $values.scheduler.mode "second") $image.tag (not $image.digest) -}}
{{- $minor := include "podrail.minor" . -}}
{{- if ne $minor (regexFind "[0-9]+\\.[0-9]+" $image.tag) -}}
{{- fail (printf "scheduler.image.tag is %s and the cluster is Kubernetes %s: a kube-scheduler of another minor version reads other APIs. Leave the tag empty, or take a %s one (for helm template say --kube-version)" $image.tag .Capabilities.KubeVersion.Version $minor) -}}
{{- end -}}
{{- end -}}
{{- if eq $values.certificates.method "cert-manager" -}}
{{- if not (or (.Capabilities.APIVersions.Has "cert-manager.io/v1") (.Capabilities.APIVersions.Has "cert-manager.io/v1/Certificate")) -}}
{{- fail "certificates.method is cert-manager, and this cluster serves no cert-manager.io/v1: install cert-manager first, or use auto (for helm template say --api-versions cert-manager.io/v1)" -}}
{{- end -}}
{{- end -}}
{{- if and $values.certificates.certManager.issuerRef (ne $values.certificates.method "cert-manager") -}}
{{- fail (printf "certificates.certManager.issuerRef is given and certificates.method is %s: say cert-manager, or leave the issuer out" $values.certificates.method) -}}
{{- end -}}
{{- if and (or $values.monitoring.monitors $values.monitoring.rules) (not (.Capabilities.APIVersions.Has "monitoring.coreos.com/v1")) -}}
{{- fail "monitoring.monitors and monitoring.rules need the Prometheus operator, and this cluster serves no monitoring.coreos.com/v1: install it first, or turn them off (for helm template say --api-versions monitoring.coreos.com/v1)" -}}
{{- end -}}
{{- if eq $values.test.namespace .Release.Namespace -}}
{{- fail (printf "test.namespace is %s, podrail's own namespace, whose pods the webhook never sees: choose another" .Release.Namespace) -}}
{{- end -}}
{{- if and $values.webhook.hostNetwork (eq (int $values.webhook.port) (int $values.nodeagent.port)) $values.nodeagent.hostNetwork -}}
{{- fail (printf "webhook.port and nodeagent.port are both %d, and both are on the host's network: choose two" (int $values.webhook.port)) -}}
{{- end -}}
{{- range $values.profiles -}}
{{- if ne .kind "FabricProfile" -}}
{{- fail (printf "profiles holds a %s: only FabricProfiles go there" .kind) -}}
{{- end -}}
{{- end -}}
{{- range list "webhook" "scheduler" "controller" -}}
{{- if hasKey (index $values .).podLabels "podrail.dev/fabric" -}}
{{- fail (printf "%s.podLabels has podrail.dev/fabric: podrail's own pods must not wait for its webhook" .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
