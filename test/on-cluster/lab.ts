/** What tests on a real cluster share: a namespace of their own, and the images that kubelab's node has. */
import { connect, type KubeClient } from '../../src/kube/client.ts';

export const kubeConfig = process.env['KUBECONFIG'];

/**
 * Put on the node by kubelab. Nobody may pull them under another name: from Kubernetes 1.35 on the kubelet then wants to
 * check the rights to them, and a name that no registry serves cannot be checked. Nor may anybody pull `hang/…`: a
 * kubelet pulls one image at a time, so all pods of the node wait with it.
 */
export const images = {
  base: 'lab.local/base:1',
  placeholder213: { image: 'lab.local/placeholder213:1', restartOn: 213 },
  missing: 'localhost:5000/step:none',
} as const;

export interface Lab {
  readonly client: KubeClient;
  readonly namespace: string;
  end(): Promise<void>;
}

/** A namespace in which pods can be created at once. */
export async function openLab(prefix: string): Promise<Lab> {
  if (kubeConfig === undefined) throw new Error('KUBECONFIG is not set: these tests need a cluster');
  const client = await connect({ kubeConfig });
  const namespace = `${prefix}-${process.pid}-${Date.now().toString(36)}`;
  await client.create(
    { resource: 'namespaces' },
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
  );
  for (;;) {
    try {
      await client.get({ resource: 'serviceaccounts', namespace, name: 'default' });
      break;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  return {
    client,
    namespace,
    end: async () => {
      await client.delete({ resource: 'namespaces', name: namespace });
      await client.close();
    },
  };
}
