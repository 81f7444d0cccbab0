{{/*
What deploy/ says is said there and nowhere else: files/ leads to its folders, and the chart takes
their documents over, with this release's namespace and labels. Roles, policies, the webhook's
registration, the definitions, the agent and the scheduler configurations have one source so.
*/}}

{{/* The documents of a manifest as {"items": […]} in JSON; give it root and path. */}}
{{- define "podrail.manifests" -}}
{{- $root := .root -}}
{{- $text := required (printf "files/%s is missing: was the chart packaged without following links?" .path) ($root.Files.Get (printf "files/%s" .path)) -}}
{{- $found := list -}}
{{- range regexSplit "(?m)^---\\s*$" ($text | replace "podrail-system" $root.Release.Namespace) -1 -}}
{{- $one := fromYaml . -}}
{{- with $one.Error -}}{{- fail . -}}{{- end -}}
{{- if $one.kind -}}
{{- if $one.metadata -}}
{{- $component := dig "metadata" "labels" "app.kubernetes.io/component" "" $one -}}
{{- $_ := set $one.metadata "labels" (include "podrail.labels" (dict "root" $root "component" $component) | fromYaml) -}}
{{- end -}}
{{- $found = append $found $one -}}
{{- end -}}
{{- end -}}
{{- toJson (dict "items" $found) -}}
{{- end -}}

{{/* The same as YAML documents, without kinds, names and rights that are left out; give it root, path, without. */}}
{{- define "podrail.documents" -}}
{{- $without := .without | default list -}}
{{- range (include "podrail.manifests" . | fromJson).items }}
{{- if not (or (has .kind $without) (has .metadata.name $without)) }}
{{- $rules := list }}
{{- range .rules }}
{{- if not (has (join " " .resources) $without) }}{{ $rules = append $rules . }}{{ end }}
{{- end }}
{{- if .rules }}{{ $_ := set . "rules" $rules }}{{ end }}
---
{{ toYaml . }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Add namespaces to those that a namespaceSelector excludes by name; give it selector and more. */}}
{{- define "podrail.exclude" -}}
{{- $more := .more -}}
{{- range .selector.matchExpressions -}}
{{- if eq .key "kubernetes.io/metadata.name" -}}
{{- $_ := set . "values" (concat .values $more | uniq) -}}
{{- end -}}
{{- end -}}
{{- end -}}
