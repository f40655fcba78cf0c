{{/* Values of Karpenter's charts before 1.0, each with what is in its place; the words after it are an advice. */}}
{{- define "treenail.oldValues" -}}
aws.defaultInstanceProfile: settings.awsDefaultInstanceProfile
clusterEndpoint: settings.clusterEndpoint
clusterName: settings.clusterName
controller.batchIdleDuration: settings.batchIdleDuration
controller.batchMaxDuration: settings.batchMaxDuration
controller.errorOutputPaths: logErrorOutputPaths
controller.logEncoding: nothing, logs are JSON
controller.logLevel: logLevel
controller.outputPaths: logOutputPaths
logConfig.enabled: nothing
logConfig.errorOutputPaths: logErrorOutputPaths
logConfig.logEncoding: nothing, logs are JSON
logConfig.logLevel: logLevel
logConfig.outputPaths: logOutputPaths
logEncoding: nothing, logs are JSON
settings.assumeRoleARN: serviceAccount.annotations with eks.amazonaws.com/role-arn, or an association of EKS Pod Identity
settings.assumeRoleDuration: nothing
settings.aws.assumeRoleARN: serviceAccount.annotations with eks.amazonaws.com/role-arn, or an association of EKS Pod Identity
settings.aws.assumeRoleDuration: nothing
settings.aws.clusterCABundle: settings.clusterCABundle
settings.aws.clusterEndpoint: settings.clusterEndpoint
settings.aws.clusterName: settings.clusterName
settings.aws.defaultInstanceProfile: settings.awsDefaultInstanceProfile
settings.aws.enableENILimitedPodDensity: spec.kubelet.maxPods of an EC2NodeClass
settings.aws.enablePodENI: nothing
settings.aws.interruptionQueueName: settings.interruptionQueue
settings.aws.isolatedVPC: settings.isolatedVPC
settings.aws.nodeNameConvention: nothing
settings.aws.reservedENIs: settings.reservedENIs
settings.aws.tags: settings.awsTags
settings.aws.vmMemoryOverheadPercent: settings.vmMemoryOverheadPercent
settings.featureGates.driftEnabled: settings.featureGates.drift
settings.interruptionQueueName: settings.interruptionQueue
webhook.logEncoding: nothing, logs are JSON
webhook.logLevel: logLevel
webhook.metrics: controller.metrics
{{- end }}

{{/* Refuse values of Karpenter's charts before 1.0 by their names: they would have no effect. */}}
{{- define "treenail.refuseOldValues" -}}
{{- $found := list }}
{{- range $path, $new := include "treenail.oldValues" . | fromYaml }}
{{- $value := $.Values }}
{{- range splitList "." $path }}
{{- if kindIs "map" $value }}
{{- $value = get $value . }}
{{- else }}
{{- $value = "" }}
{{- end }}
{{- end }}
{{- if not (or (kindIs "invalid" $value) (has (toString $value) (list "" "map[]" "[]"))) }}
{{- $found = append $found (printf "%s: of Karpenter before 1.0; in its place is %s" $path $new) }}
{{- end }}
{{- end }}
{{- with $found }}
{{- fail (join "; " .) }}
{{- end }}
{{- end }}
