/** The schemas of what a pod says about where it wants to be. */
import { any, integer, list, object, string } from '../schema.ts';

const requirement = object('NodeSelectorRequirement', { key: string, operator: string, values: list(string) });

const nodeSelector = object('NodeSelector', {
  nodeSelectorTerms: list(
    object('NodeSelectorTerm', { matchExpressions: list(requirement), matchFields: list(requirement) }),
  ),
});

/** Of these only that they are there is looked at. */
const podTerms = {
  requiredDuringSchedulingIgnoredDuringExecution: list(any),
  preferredDuringSchedulingIgnoredDuringExecution: list(any),
};

export const affinity = object('Affinity', {
  nodeAffinity: object('NodeAffinity', {
    requiredDuringSchedulingIgnoredDuringExecution: nodeSelector,
    preferredDuringSchedulingIgnoredDuringExecution: list(any),
  }),
  podAffinity: object('PodAffinity', podTerms),
  podAntiAffinity: object('PodAntiAffinity', podTerms),
});

export const topologySpreadConstraint = object('TopologySpreadConstraint', {
  maxSkew: integer,
  topologyKey: string,
  whenUnsatisfiable: string,
  labelSelector: any,
  minDomains: integer,
  nodeAffinityPolicy: string,
  nodeTaintsPolicy: string,
  matchLabelKeys: list(string),
});
