/** The kubeconfig file through which clients find the cluster. */

/** YAML is a superset of JSON, and every client reads it. */
export function kubeConfigText(server: string, token: string | undefined): string {
  const name = 'podwright-cluster';
  return `${JSON.stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      // Some clients refuse plain HTTP unless they are told that nothing is to be verified.
      clusters: [{ name, cluster: { server, 'insecure-skip-tls-verify': true } }],
      users: [{ name, user: token === undefined ? {} : { token } }],
      contexts: [{ name, context: { cluster: name, user: name, namespace: 'default' } }],
      'current-context': name,
    },
    undefined,
    2,
  )}\n`;
}
