import type { Scenario } from '../scenario.ts';

/** What the server says it is and serves. */
export const discovery: Scenario = {
  name: 'discovery',
  steps: [
    { command: 'version', lines: /Server|erver Version/ },
    { command: 'cluster-info' },
    {
      command: 'api-resources --api-group= --no-headers',
      lines: /^(configmaps|events|namespaces|nodes|pods|secrets|serviceaccounts)\s/,
    },
    { command: 'api-resources --api-group=events.k8s.io' },
    { command: 'api-resources --api-group=rbac.authorization.k8s.io' },
    { command: 'api-resources --api-group=policy' },
    { command: 'api-resources --api-group=nothing' },
    { command: 'api-resources -o name --verbs=evict' },
    {
      command: 'api-versions',
      lines: /^(v1|events.k8s.io\/v1|policy\/v1|rbac.authorization.k8s.io\/v1|coordination.k8s.io\/v1)$/,
    },
    { command: 'explain pod.spec.containers.restartPolicy', lines: /^(KIND|VERSION|FIELD)/ },
    { command: 'explain pod.spec.nothing' },
    { command: 'get --raw /version', lines: /"(major|minor|platform|compiler)"/ },
    { command: 'get --raw /healthz' },
    { command: 'get --raw /livez' },
    { command: 'get --raw /readyz' },
    { command: 'auth can-i list pods' },
    { command: 'auth can-i create pods --subresource=eviction' },
    { command: 'auth can-i get /healthz' },
    { command: 'auth can-i list nothing' },
    { command: 'auth whoami', lines: /ATTRIBUTE|error/ },
  ],
};

/** A user with a Role, and one that the server does not know. `$USER` and `$NOBODY` are kubeconfigs of theirs. */
export const access: Scenario = {
  name: 'access',
  steps: [
    { command: 'create role reader --verb=get,list,watch --resource=pods,pods/log' },
    { command: 'create rolebinding reader --role=reader --user=$USERNAME' },
    { command: 'get pods --kubeconfig=$USER -n=$NS' },
    { command: 'auth can-i list pods --kubeconfig=$USER -n=$NS' },
    { command: 'auth can-i delete pods --kubeconfig=$USER -n=$NS' },
    { command: 'auth can-i list pods --kubeconfig=$USER -n=default' },
    { command: 'get pods --kubeconfig=$USER -n=default' },
    { command: 'get pods nothing --kubeconfig=$USER -n=$NS' },
    { command: 'get pods -A --kubeconfig=$USER' },
    { command: 'get ns --kubeconfig=$USER' },
    { command: 'get nodes nothing --kubeconfig=$USER' },
    { command: 'delete pod x --kubeconfig=$USER -n=$NS' },
    { command: 'get events.events.k8s.io --kubeconfig=$USER -n=$NS' },
    { command: 'create cm x --kubeconfig=$USER -n=$NS' },
    { command: 'logs x --kubeconfig=$USER -n=$NS' },
    { command: 'describe role reader' },
    { command: 'describe rolebinding reader' },
    { command: 'get role,rolebinding -o wide' },
    { command: 'get pods --kubeconfig=$NOBODY -n=$NS' },
    { command: 'get --raw /api/v1/namespaces --kubeconfig=$NOBODY' },
    { command: 'delete rolebinding reader' },
    { command: 'get pods --kubeconfig=$USER -n=$NS' },
  ],
};
