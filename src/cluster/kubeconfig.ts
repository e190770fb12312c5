/** The kubeconfig file through which clients find the cluster. */

/** YAML is a superset of JSON, and every client reads it. */
/** `authority`, a PEM text, is what the server's certificate is verified with. */
export function kubeConfigText(server: string, token: string | undefined, authority?: string): string {
  const name = 'podwright-cluster';
  // Some clients refuse plain HTTP unless they are told that nothing is to be verified.
  const trust =
    authority === undefined
      ? { 'insecure-skip-tls-verify': true }
      : { 'certificate-authority-data': Buffer.from(authority).toString('base64') };
  return `${JSON.stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name, cluster: { server, ...trust } }],
      users: [{ name, user: token === undefined ? {} : { token } }],
      contexts: [{ name, context: { cluster: name, user: name, namespace: 'default' } }],
      'current-context': name,
    },
    undefined,
    2,
  )}\n`;
}
